"""Runs the launches of traffic.json on a GPU: once each for a profiler, or timed and with outputs compared.

python3 traffic_runner.py JOB_FOLDER                       launches in the order of the file, nothing else
python3 traffic_runner.py JOB_FOLDER --time RESULTS.json   median time of five, and before against after
ncu --csv --page raw --print-units base --clock-control none --metrics ... python3 traffic_runner.py JOB_FOLDER
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from driver import Gpu
from inputs import draw, number, values

Record = dict[str, Any]
_SIZES = {"f32": 4, "i32": 4, "u32": 4}
PATTERN = 1 << 22
"""Elements that are drawn; a buffer is filled with copies of them."""
COMPARED = 1 << 24
"""Bytes of an output that are compared."""
REPEATS = 5


class Memory:
    """The buffers of one launch on the GPU."""

    def __init__(self, gpu: Gpu, side: Record) -> None:
        self.gpu, self.side = gpu, side
        self.addresses: dict[str, int] = {}
        for argument in side["arguments"]:
            if argument["direction"]:
                size = argument["count"] * _SIZES[argument["type"]]
                self.addresses[argument["name"]] = address = gpu.allocate(size)
                if argument["direction"] in ("in", "inout"):
                    self._fill(address, size, argument)
                else:
                    gpu.clear(address, size)

    def _fill(self, address: int, size: int, argument: Record) -> None:
        pattern = draw(argument["name"], argument["type"], PATTERN, 0).view(np.uint8)[:size]
        self.gpu.upload(address, pattern)
        done = len(pattern)
        while done < size:
            part = min(done, size - done)
            self.gpu.copy(address + done, address, part)
            done += part

    def parameters(self) -> list[bytes]:
        """The bytes of each kernel parameter."""
        return [
            self.addresses[a["name"]].to_bytes(8, "little") if a["direction"] else number(a, 0)
            for a in self.side["arguments"]
        ]

    def outputs(self) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
        """The first elements of each output, as doubles."""
        found = {}
        for argument in self.side["arguments"]:
            if argument["direction"] in ("out", "inout"):
                size = min(argument["count"] * _SIZES[argument["type"]], COMPARED)
                raw = self.gpu.download(self.addresses[argument["name"]], size)
                found[argument["name"]] = values(raw, argument["type"])
        return found

    def free(self) -> None:
        """Give the memory back."""
        for address in self.addresses.values():
            self.gpu.free(address)


def launch(gpu: Gpu, folder: Path, side: Record, memory: Memory) -> None:
    """Start a kernel of the job."""
    function = gpu.function(folder / side["cubin"], side["kernel"])
    gpu.launch(function, tuple(side["grid"]), tuple(side["block"]), side["shared"], memory.parameters())


def once(gpu: Gpu, folder: Path, cases: list[Record]) -> None:
    """Every launch once, before and after by turns."""
    for case in cases:
        for which in ("before", "after"):
            memory = Memory(gpu, case[which])
            launch(gpu, folder, case[which], memory)
            gpu.wait()
            memory.free()


def timed(gpu: Gpu, folder: Path, cases: list[Record]) -> list[Record]:
    """Milliseconds of every launch, resident blocks as the driver says, and whether outputs agree."""
    found = []
    for case in cases:
        record: Record = {"name": case["name"]}
        outputs = []
        for which in ("before", "after"):
            side = case[which]
            memory = Memory(gpu, side)
            launch(gpu, folder, side, memory)
            gpu.wait()
            outputs.append(memory.outputs())
            times = []
            for _ in range(REPEATS):
                first = gpu.event()
                launch(gpu, folder, side, memory)
                times.append(gpu.milliseconds(first, gpu.event()))
            threads = int(np.prod(side["block"]))
            function = gpu.function(folder / side["cubin"], side["kernel"])
            registers, fit = gpu.occupancy(function, threads, side["shared"])
            record[which] = {"ms": statistics.median(times), "registers": registers, "fit": fit}
            memory.free()
        record["difference"] = largest_difference(*outputs)
        found.append(record)
    return found


def largest_difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Of the outputs that both have, relative to their largest value."""
    worst = 0.0
    for name in set(one) & set(other):
        length = min(len(one[name]), len(other[name]))
        a, b = one[name][:length], other[name][:length]
        worst = max(worst, float(np.abs(a - b).max()) / float(np.abs(a).max()))
    return worst


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--time", type=Path)
    options = parser.parse_args()
    cases = json.loads((options.folder / "traffic.json").read_text("utf-8"))
    gpu = Gpu()
    if options.time:
        options.time.write_text(json.dumps(timed(gpu, options.folder, cases), indent=1), "utf-8")
    else:
        once(gpu, options.folder, cases)


if __name__ == "__main__":
    main()
