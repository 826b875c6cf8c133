"""Which architectures an `arch` header covers."""

from __future__ import annotations

import re

_ARCH = re.compile(r"sm_(?P<number>\d+)(?P<variant>[a-z]?)(?P<later>\+?)")


def covers(wanted: str, arch: str) -> bool:
    """True where ``arch`` is one of those that ``wanted`` names.

    ``sm_90+`` covers 90 and later, ``sm_90`` every variant of 90, ``sm_90a`` itself only.

    >>> covers("sm_70+", "sm_100a"), covers("sm_90", "sm_90a"), covers("sm_90a", "sm_90")
    (True, True, False)
    """
    left, right = _ARCH.fullmatch(wanted), _ARCH.fullmatch(arch)
    if left is None or right is None:
        return wanted == arch
    if left["later"]:
        return int(right["number"]) >= int(left["number"])
    return left["number"] == right["number"] and left["variant"] in ("", right["variant"])


def is_arch(text: str) -> bool:
    """True for text that an `arch` header takes."""
    return _ARCH.fullmatch(text) is not None
