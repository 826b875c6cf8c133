"""A kernel as arrays: form numbers, addresses, control bits, branch targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from sassql.model.demangle import demangle
from sassql.model.form import Form
from sassql.model.instruction import Instruction

if TYPE_CHECKING:
    import networkx as nx

FACTS: dict[str, Callable[[Kernel], Any]] = {}
"""Analyses by name. Packages above the model register theirs here, so that the model knows none of them."""

Analysis = TypeVar("Analysis", bound="Callable[[Kernel], Any]")


def provides(name: str) -> Callable[[Analysis], Analysis]:
    """Register the decorated function as the analysis ``name``; it runs once per kernel, when asked for."""

    def register(function: Analysis) -> Analysis:
        FACTS[name] = function
        return function

    return register


class Forms(Protocol):
    """Where a kernel's forms are kept: by row number, made when looked at."""

    def __getitem__(self, row: int, /) -> Form: ...

    def count_opcodes(self, rows: npt.NDArray[np.int32]) -> Counter[str]:
        """How often each opcode stands among ``rows``."""
        ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter: ``offset`` and ``size`` in bytes, from the start of the parameter block."""

    ordinal: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs, as its ELF says; ``None`` where it says nothing.

    ``shared`` is the size of the kernel's `.nv.shared` section in bytes: the static variables, and
    from sm_90 on also 1,024 bytes that the driver keeps for itself, the number that
    ``cuobjdump -res-usage`` prints. ``local`` is the stack in bytes a thread; ``parameter_base``
    is the offset of parameter 0 in constant bank 0.
    """

    registers: int | None = None
    shared: int | None = None
    local: int | None = None
    barriers: int | None = None
    parameters: tuple[Parameter, ...] = ()
    parameter_base: int | None = None
    max_threads: int | None = None
    required_block: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """The entry or a local function of a kernel's section; ``start`` and ``size`` in bytes."""

    name: str
    start: int
    size: int
    entry: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kernel was read from: a file, and the entry inside it where it is a container."""

    file: str
    entry: str = ""

    def __str__(self) -> str:
        return f"{self.file}[{self.entry}]" if self.entry else self.file


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the source that an instruction came from; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Lines(Protocol):
    """Where source lines come from: looked at only when somebody asks."""

    def at(self, section: str, address: int, /) -> SourceLine | None: ...


class Instructions(Sequence[Instruction]):
    """The instructions of a kernel in address order; views are made when looked at."""

    __slots__ = ("_kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __len__(self) -> int:
        return len(self._kernel.form_ids)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Instruction]: ...
    def __getitem__(self, index: int | slice) -> Instruction | list[Instruction]:
        if isinstance(index, slice):
            return [Instruction(self._kernel, i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return Instruction(self._kernel, index % len(self))

    def __iter__(self) -> Iterator[Instruction]:
        return (Instruction(self._kernel, i) for i in range(len(self)))


@dataclass(slots=True, eq=False)
class Kernel:
    """One code section: an entry function with its local functions.

    Arrays have one element per instruction: ``form_ids`` (numbers into ``forms``),
    ``addresses`` (bytes), ``control`` (bits 105-125 of the word, or None), ``targets``
    (the offset that a label operand names, -1 for none). ``symbols`` has, by
    instruction number, the names of labels that lie outside of the section.
    """

    name: str
    arch: str
    source: Source
    forms: Forms
    form_ids: npt.NDArray[np.int32]
    addresses: npt.NDArray[np.int64]
    control: npt.NDArray[np.uint32] | None
    targets: npt.NDArray[np.int64]
    symbols: dict[int, str] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    resources: Resources = Resources()
    indirect_targets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Targets of indirect branches by the branch's address; a branch not in it is unresolved."""
    is_entry: bool = True
    lines: Lines | None = None
    word_ids: npt.NDArray[np.int32] | None = None
    """``form_ids`` before relocated operands got their names; None for a listing."""
    constants: dict[int, bytes] = field(default_factory=dict)
    """Constant banks that the compiler filled for this kernel, by number; bank 0 is the launch's."""
    linked: dict[int, str] = field(default_factory=dict)
    """Words of constant bank 4 that the loader fills in, by offset: whose address it puts there."""
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)
    _rows: list[int] | None = field(default=None, repr=False)

    @property
    def rows(self) -> list[int]:
        """``form_ids`` as a list: numpy is slow when asked for one number at a time."""
        if self._rows is None:
            self._rows = self.form_ids.tolist()
        return self._rows

    @property
    def instructions(self) -> Instructions:
        return Instructions(self)

    @property
    def demangled(self) -> str:
        """The name as the source wrote it; equal to ``name`` where it is not mangled."""
        return demangle(self.name)

    def at(self, address: int) -> Instruction:
        """The instruction at ``address`` bytes.

        Raises:
            KeyError: no instruction starts there.
        """
        index = int(np.searchsorted(self.addresses, address))
        if index == len(self.addresses) or self.addresses[index] != address:
            raise KeyError(f"{self.name} has no instruction at {address:#x}")
        return Instruction(self, index)

    def function_at(self, address: int) -> str:
        """Name of the function that covers ``address``; local functions win over the entry."""
        best = self.name
        for function in self.functions:
            if not function.entry and function.start <= address < function.start + function.size:
                best = function.name
        return best

    def fact(self, name: str) -> Any:  # noqa: ANN401  (each analysis has its own type)
        """The result of analysis ``name``, computed on the first call.

        Raises:
            KeyError: no analysis of that name is registered.
        """
        if name not in self._facts:
            self._facts[name] = FACTS[name](self)
        return self._facts[name]

    def forget(self) -> None:
        """Drop every fact that was computed, so that a long pass over a library stays small."""
        self._facts.clear()

    @property
    def cfg(self) -> nx.DiGraph[int]:
        """Control flow between basic blocks; nodes are start addresses.

        Node attributes ``start`` and ``end`` are the addresses of the first and last
        instruction, ``function`` names the function. Calls fall through; edges of calls
        are in :attr:`callgraph`. ``graph["unresolved"]`` lists branches whose targets are
        not known.
        """
        graph: nx.DiGraph[int] = self.fact("cfg")
        return graph

    @property
    def callgraph(self) -> nx.MultiDiGraph[str]:
        """Who calls whom; edge attribute ``address`` is the call's."""
        graph: nx.MultiDiGraph[str] = self.fact("callgraph")
        return graph

    @property
    def dataflow(self) -> nx.MultiDiGraph[int]:
        """Definitions to uses; nodes are instruction addresses.

        Node attributes: ``opcode`` and ``text``.
        Edge attributes: ``register`` (its name), ``operand`` (index of the reading operand,
        -1 for the guard or a hidden register), ``guarded`` (the definition may not have
        happened).
        """
        graph: nx.MultiDiGraph[int] = self.fact("dataflow")
        return graph

    def __repr__(self) -> str:
        return f"<Kernel {self.demangled} {self.arch}, {len(self.form_ids)} instructions>"
