"""Width rules of texture and surface instructions; words as in `widths`.

A fetch has up to four components: its second result operand takes the first two of them, its
first result operand the others, and ``mask`` says which there are. Sources are the coordinates
in one operand and in the next one what the modifiers ask for: the handle (``B``), level
(``LL``), sample (``MS``), offsets (``AOFFI``), reference (``DC``). With ``SCR`` each of the two
operands has half of all that.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Words = tuple[str, ...]

_SHAPE = re.compile(r"(ARRAY_)?(?:([1-3])D|CUBE)(_ARRAY)?")
_EXTRAS = frozenset({"LL", "LB", "LLA", "LBA", "MS", "AOFFI", "DC"})
_COMPONENTS = ("R", "G", "B", "A")


def pair(words: Words, _: Words) -> int:
    """Two components of 32 bits, or of 16 in one register."""
    return 1 if "F16" in words else 2


def low_count(mask: int) -> int:
    """The first two components of a mask."""
    return min(mask.bit_count(), 2)


def high_count(mask: int) -> int:
    """The others."""
    return max(mask.bit_count() - 2, 0)


def coordinates(gather: bool = False) -> Callable[[Words, Words], int]:
    """The first source operand of a fetch or gather."""

    def rule(words: Words, _: Words) -> int:
        own, others = _dimensions(words)[1], _others(words, gather)
        return (own + others + 1) // 2 if "SCR" in words else own

    return rule


def others(gather: bool = False) -> Callable[[Words, Words], int]:
    """The second source operand of a fetch or gather."""

    def rule(words: Words, _: Words) -> int:
        more = _others(words, gather)
        return (_dimensions(words)[1] + more) // 2 if "SCR" in words else more

    return rule


def gradient_coordinates(words: Words, _: Words) -> int:
    """The first source operand of a fetch with derivatives has everything but these."""
    return _dimensions(words)[1] + _others(words, False)


def gradients(words: Words, _: Words) -> int:
    """Two derivatives for each coordinate that is no index of an array."""
    return 2 * _dimensions(words)[0]


def query(words: Words, _: Words) -> int:
    """The level, behind the handle where there is one."""
    return 2 if "B" in words else 1


def surface_address(words: Words, *_: str) -> int:
    """Coordinates of a surface access, one register each."""
    return _dimensions(words)[1]


def surface_data(words: Words, _: Words) -> int:
    """A formatted store (``P``) has four components, others say how many bits they have."""
    if "P" in words:
        return 1 if "R" in words else 4
    return next((size for word, size in (("64", 2), ("U64", 2), ("S64", 2), ("128", 4)) if word in words), 1)


def _dimensions(words: Words) -> tuple[int, int]:
    """Coordinates without and with the index of an array: ``2D``, ``ARRAY_CUBE``, ``1D_ARRAY``."""
    found = next(filter(None, map(_SHAPE.fullmatch, words)), None)
    if found is None:
        return 1, 1
    plain = int(found[2] or 3)
    return plain, plain + bool(found[1] or found[3])


def _others(words: Words, gather: bool) -> int:
    """Values beside coordinates; a gather names its component, so that ``TLD4.B.B`` has a handle."""
    letters = sum(words.count(letter) for letter in _COMPONENTS) if gather else words.count("B") + 1
    return (letters > 1) + len(_EXTRAS.intersection(words))
