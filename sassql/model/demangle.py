"""C++ names as people wrote them, by the demangler of the C++ runtime that is loaded already."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache


@cache
def _runtime() -> ctypes.CDLL | None:
    for name in ("libstdc++.so.6", "libc++abi.so.1", ctypes.util.find_library("stdc++") or ""):
        try:
            library = ctypes.CDLL(name) if name else None
            if library is not None:
                library.__cxa_demangle.restype = ctypes.c_void_p
                return library
        except (OSError, AttributeError):
            continue
    return None


@cache
def demangle(name: str) -> str:
    """The demangled form of an Itanium-mangled name; any other name as it is.

    Without a C++ runtime in the process every name stays as it is.

    >>> demangle("saxpy")
    'saxpy'
    """
    if not name.startswith("_Z") or (runtime := _runtime()) is None:
        return name
    status = ctypes.c_int()
    result = runtime.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not result:
        return name
    try:
        return ctypes.string_at(result).decode(errors="replace")
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(result))
