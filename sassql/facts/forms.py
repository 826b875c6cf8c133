"""Fact "forms": the form of each instruction, and the distinct ones; what a shape decides is asked once.

Most of what an instruction means stands in its shape: opcode, modifiers, kinds and roles of
operands, RZ and PT. Only numbers written in the text may matter beside that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import ImmediateOperand

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """``of`` has the form of each instruction; ``distinct`` each once, ``number`` its place there."""

    distinct: list[Form]
    number: list[int]
    of: list[Form]

    def places(self, wanted: Callable[[Form], object]) -> list[int]:
        """The instructions whose form is ``wanted``, in order."""
        chosen = {number for number, form in enumerate(self.distinct) if wanted(form)}
        if not chosen:
            return []
        return [index for index, number in enumerate(self.number) if number in chosen]


@provides("forms")
def forms(kernel: Kernel) -> Forms:
    """The forms of a kernel."""
    numbers: dict[int, int] = {}
    number = [numbers.setdefault(row, len(numbers)) for row in kernel.rows]
    distinct = [kernel.forms[row] for row in numbers]
    return Forms(distinct, number, [distinct[n] for n in number])


class ByShape(Generic[Result]):
    """A function of a form whose result its shape decides, asked once for each shape.

    ``numbers`` says that numbers in the text may matter too: shapes with such operands are
    then asked about form by form.
    """

    def __init__(self, function: Callable[[Form], Result], *, numbers: bool) -> None:
        self._function = function
        self._numbers = numbers
        self._known: dict[str, Result] = {}
        self._open: set[str] = set()

    def __call__(self, form: Form) -> Result:
        """The function's result."""
        text = form.shape.text
        if text in self._known:
            return self._known[text]
        found = self._function(form)
        if text not in self._open:
            if self._numbers and any(isinstance(o, ImmediateOperand) for o in form.operands):
                self._open.add(text)
            else:
                self._known[text] = found
        return found
