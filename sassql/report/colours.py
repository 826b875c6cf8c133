"""Colours that people with any colour vision tell apart: Okabe and Ito's, in a fixed order.

A colour never says anything alone: motifs bear their names, lines of plots have their own markers.
"""

from __future__ import annotations

import zlib

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Okabe and Ito, Color Universal Design (2008), without black."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d")


def colour(name: str) -> int:
    """The number of a name's colour; the same name has the same colour everywhere."""
    return zlib.crc32(name.encode()) % len(PALETTE)
