"""What reading gives: modules with kernels, and the problems met on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sassql.errors import Problem
from sassql.model.kernel import Kernel, Source


@dataclass(frozen=True, slots=True)
class Module:
    """One cubin, or one listing: kernels of one architecture.

    ``layout`` is ``new`` (CUDA 13 ELF), ``old`` (ELF before that) or ``listing``.
    ``distinct_words`` counts instruction words that differ (control bits aside), and
    ``new_word_ids`` has the numbers of those that no earlier module had; None for a listing.
    """

    source: Source
    arch: str
    kernels: tuple[Kernel, ...]
    layout: str
    producer: str = ""
    distinct_words: int | None = None
    new_word_ids: npt.NDArray[np.int32] | None = None

    @property
    def new_words(self) -> int | None:
        """Words that no earlier module had."""
        return None if self.new_word_ids is None else len(self.new_word_ids)

    @property
    def instructions(self) -> int:
        return sum(len(kernel.form_ids) for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class Program:
    """Everything that one call of ``sassql.load`` read."""

    source: str
    modules: tuple[Module, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels, in the order of the file."""
        return tuple(kernel for module in self.modules for kernel in module.kernels)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def __repr__(self) -> str:
        return (
            f"<Program {self.source}: {len(self.modules)} modules, {len(self.kernels)} kernels, "
            f"{len(self.problems)} problems>"
        )
