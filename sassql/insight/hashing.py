"""Hashes of nodes: 128 bits as four words, with a sign, sums, and order-free pairs.

A hash is an element of (Z/2^32)^4, so that the hash of a sum modulo 2^32 can be the sum of hashes: two
integer expressions have equal hashes if and only if they are the same linear form, up to a chance of 2^-128.
Negation is negation of the hash. Everything else is mixed with constants of its operation.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
"""Hashes, shape (nodes, 4)."""
Mask = npt.NDArray[np.bool_]
_FIRST = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_SECOND = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
_S1, _S2 = np.uint64(31), np.uint64(29)


@cache
def seed(text: str) -> Words:
    """A hash of a word, shape (1, 4)."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.frombuffer(digest, np.uint32).reshape(1, 4)


def mix(name: str, *parts: Words) -> Words:
    """A hash of an operation and its arguments, in their order."""
    found = np.ascontiguousarray(seed(name)).view(np.uint64)
    for part in parts:
        found = (found ^ np.ascontiguousarray(part).view(np.uint64)) * _FIRST
        found = found ^ found >> _S1
        found = found * _SECOND
        found = found ^ found >> _S2
    return np.ascontiguousarray(found).view(np.uint32)


def pair(a: Words, b: Words) -> Words:
    """A hash of two arguments in either order."""
    return mix("element", a) + mix("element", b)


def negative(words: Words) -> Words:
    """The hash of the opposite."""
    return np.uint32(0) - words


def where(mask: Mask, a: Words, b: Words) -> Words:
    """Hashes chosen node by node."""
    return np.where(mask[:, None], a, b)


def signed(mask: Mask, words: Words) -> Words:
    """The opposite where ``mask`` holds."""
    return where(mask, negative(words), words)


def magnitude(words: Words) -> tuple[Mask, Words]:
    """Whether a hash counts as the negative one of itself and its opposite, and the other one."""
    first = words[:, 0]
    below = first > np.uint32(0) - first
    return below, signed(below, words)


def equal(a: Words, b: Words) -> Mask:
    """Where two hashes are the same."""
    found: Mask = (a == b).all(axis=1)
    return found


def number(bits: npt.NDArray[np.uint64], width: int) -> Words:
    """Hashes of constants of a width: of opposite sign where only the sign bit differs."""
    if width == 1:
        true = seed("true")
        return where(bits != 0, true, negative(true))
    top = np.uint64(width - 1)
    value = bits & ((np.uint64(1) << top) - np.uint64(1))
    words = np.zeros((len(bits), 4), np.uint32)
    words[:, 0], words[:, 1] = value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)
    return signed((bits >> top).astype(bool), mix(f"number {width}", words))
