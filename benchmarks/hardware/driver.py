"""The CUDA driver through ctypes: modules, memory, launches, events. Needs `libcuda.so.1` and nothing else.

CUDA Driver API reference: https://docs.nvidia.com/cuda/cuda-driver-api/
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Extent = tuple[int, int, int]

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_REGISTERS = 4  # CU_FUNC_ATTRIBUTE_NUM_REGS
_MULTIPROCESSORS, _L2_BYTES = 16, 38  # CU_DEVICE_ATTRIBUTE_...


class DriverError(RuntimeError):
    """A call of the driver failed; the message has its name and the error's."""


class Gpu:
    """The first GPU, with its primary context current in this thread."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", c_uint(0))
        self._device = c_int()
        self._call("cuDeviceGet", byref(self._device), c_int(0))
        context = c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._functions: dict[tuple[str, str], c_void_p] = {}
        self._modules: dict[str, c_void_p] = {}

    def _call(self, name: str, *arguments: object) -> None:
        error = getattr(self._cuda, name)(*arguments)
        if error:
            text = c_char_p()
            self._cuda.cuGetErrorName(c_int(error), byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()}")

    def describe(self) -> dict[str, object]:
        """Name, driver version (as 13000 for 13.0), multiprocessors, bytes of the L2 cache."""
        name = ctypes.create_string_buffer(128)
        self._call("cuDeviceGetName", name, c_int(128), self._device)
        version = c_int()
        self._call("cuDriverGetVersion", byref(version))
        return {
            "name": name.value.decode(),
            "driver": version.value,
            "multiprocessors": self._attribute(_MULTIPROCESSORS),
            "l2_bytes": self._attribute(_L2_BYTES),
        }

    def _attribute(self, which: int) -> int:
        value = c_int()
        self._call("cuDeviceGetAttribute", byref(value), c_int(which), self._device)
        return value.value

    def function(self, cubin: Path, name: str) -> c_void_p:
        """A kernel of a cubin, loaded once."""
        key = (str(cubin), name)
        if key not in self._functions:
            if key[0] not in self._modules:
                module = c_void_p()
                self._call("cuModuleLoadData", byref(module), cubin.read_bytes())
                self._modules[key[0]] = module
            function = c_void_p()
            self._call("cuModuleGetFunction", byref(function), self._modules[key[0]], name.encode())
            self._functions[key] = function
        return self._functions[key]

    def occupancy(self, function: c_void_p, threads: int, shared: int) -> tuple[int, int]:
        """Registers a thread, and blocks that a multiprocessor holds at once."""
        self._allow(function, shared)
        registers, blocks = c_int(), c_int()
        self._call("cuFuncGetAttribute", byref(registers), c_int(_REGISTERS), function)
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        self._call(name, byref(blocks), function, c_int(threads), c_size_t(shared))
        return registers.value, blocks.value

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes."""
        address = c_uint64()
        self._call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self._call("cuMemFree_v2", c_uint64(address))

    def upload(self, address: int, data: npt.NDArray[np.generic]) -> None:
        """Copy an array to the GPU."""
        held = np.ascontiguousarray(data)
        self._call("cuMemcpyHtoD_v2", c_uint64(address), c_void_p(held.ctypes.data), c_size_t(held.nbytes))

    def download(self, address: int, size: int) -> Bytes:
        """``size`` bytes from the GPU."""
        held = np.empty(size, np.uint8)
        self._call("cuMemcpyDtoH_v2", c_void_p(held.ctypes.data), c_uint64(address), c_size_t(size))
        return held

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy inside of the GPU's memory."""
        self._call("cuMemcpyDtoD_v2", c_uint64(target), c_uint64(source), c_size_t(size))

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero, which also pushes other data out of the L2 cache."""
        self._call("cuMemsetD8_v2", c_uint64(address), ctypes.c_ubyte(0), c_size_t(size))

    def _allow(self, function: c_void_p, shared: int) -> None:
        if shared > 16 * 1024:  # above 48 KiB, static memory included, it must be asked for
            self._call("cuFuncSetAttribute", function, c_int(MAX_DYNAMIC_SHARED), c_int(shared))

    def launch(
        self, function: c_void_p, grid: Extent, block: Extent, shared: int, arguments: list[bytes]
    ) -> None:
        """Start a kernel; ``arguments`` are the bytes of each parameter, ``shared`` is dynamic, in bytes."""
        self._allow(function, shared)
        held = [ctypes.create_string_buffer(value, max(len(value), 8)) for value in arguments]
        pointers = (c_void_p * max(len(held), 1))(*(ctypes.addressof(b) for b in held))
        extents = [c_uint(v) for v in (*grid, *block)]
        self._call("cuLaunchKernel", function, *extents, c_uint(shared), c_void_p(0), pointers, c_void_p(0))

    def wait(self) -> None:
        """Until everything is done; an error of a kernel shows here."""
        self._call("cuCtxSynchronize")

    def event(self) -> c_void_p:
        """A point in the stream of work."""
        event = c_void_p()
        self._call("cuEventCreate", byref(event), c_uint(0))
        self._call("cuEventRecord", event, c_void_p(0))
        return event

    def milliseconds(self, first: c_void_p, last: c_void_p) -> float:
        """Time between two events; both are then gone."""
        self._call("cuEventSynchronize", last)
        found = c_float()
        name = (
            "cuEventElapsedTime_v2" if hasattr(self._cuda, "cuEventElapsedTime_v2") else "cuEventElapsedTime"
        )
        self._call(name, byref(found), first, last)
        for event in (first, last):
            self._call("cuEventDestroy_v2", event)
        return found.value
