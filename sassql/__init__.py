"""Ask GPU machine code what your mathematics became.

>>> import sassql
>>> program = sassql.load("libfoo.so")                                  # doctest: +SKIP
>>> pattern = sassql.Pattern.load("patterns/warp/shuffle_ladder.sq")    # doctest: +SKIP
>>> [row.columns for kernel in program.kernels for row in pattern.match(kernel)]  # doctest: +SKIP
[{'op': '<add>', 'width': 32, 'mode': 'BFLY', 'rungs': 5}]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sassql.corpus.corpus import Corpus, load
    from sassql.engine.pattern import Pattern
    from sassql.errors import (
        CompileError,
        InputError,
        ListingError,
        NoDeviceCodeError,
        PatternError,
        Place,
        Problem,
        SassqlError,
        ToolFailedError,
        ToolMissingError,
        UnsupportedArchError,
        UsageError,
    )
    from sassql.insight.advice import Advice, Finding, advise, group_advice
    from sassql.insight.classify import classify
    from sassql.insight.compare import Comparison, compare
    from sassql.insight.invariants import invariants
    from sassql.insight.invariants_statements import Invariants
    from sassql.model.instruction import Control, Instruction
    from sassql.model.kernel import Function, Kernel, Parameter, Resources, Source, SourceLine
    from sassql.model.program import Module, Program
    from sassql.model.register import Register
    from sassql.model.rows import Row

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Comparison",
    "CompileError",
    "Control",
    "Corpus",
    "Finding",
    "Function",
    "InputError",
    "Instruction",
    "Invariants",
    "Kernel",
    "ListingError",
    "Module",
    "NoDeviceCodeError",
    "Parameter",
    "Pattern",
    "PatternError",
    "Place",
    "Problem",
    "Program",
    "Register",
    "Resources",
    "Row",
    "SassqlError",
    "Source",
    "SourceLine",
    "ToolFailedError",
    "ToolMissingError",
    "UnsupportedArchError",
    "UsageError",
    "advise",
    "classify",
    "compare",
    "group_advice",
    "invariants",
    "load",
]

_HOMES = {
    "sassql.corpus.corpus": ("Corpus", "load"),
    "sassql.engine.pattern": ("Pattern",),
    "sassql.insight.advice": ("Advice", "Finding", "advise", "group_advice"),
    "sassql.insight.classify": ("classify",),
    "sassql.errors": (
        "CompileError",
        "InputError",
        "ListingError",
        "NoDeviceCodeError",
        "PatternError",
        "Place",
        "Problem",
        "SassqlError",
        "ToolFailedError",
        "ToolMissingError",
        "UnsupportedArchError",
        "UsageError",
    ),
    "sassql.insight.compare": ("Comparison", "compare"),
    "sassql.insight.invariants": ("invariants",),
    "sassql.insight.invariants_statements": ("Invariants",),
    "sassql.model.instruction": ("Control", "Instruction"),
    "sassql.model.kernel": ("Function", "Kernel", "Parameter", "Resources", "Source", "SourceLine"),
    "sassql.model.program": ("Module", "Program"),
    "sassql.model.register": ("Register",),
    "sassql.model.rows": ("Row",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line starts without what it does not need."""
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'sassql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
