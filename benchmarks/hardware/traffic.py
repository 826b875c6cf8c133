"""Writes the launches whose memory traffic is measured, and what they should move: `traffic.json` of a job.

python benchmarks/hardware/traffic.py FOLDER

`traffic.toml` has the cases. A prediction needs the formula of each stream, how many blocks are resident at once
(from registers, shared memory and threads of the cubin), and the size of the L2 cache.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from prepare import HERE, LAUNCH, LOWERING, Kernels, Record, side_record

import sassql
from sassql.insight.launch import Side, evaluate, parse_launch

MULTIPROCESSORS = 132
L2_BYTES, L1_BYTES = 60 << 20, 256 << 10
"""Of the H200: what its driver says; of compute capability 9.0, shared memory included."""
SURELY_L2, SURELY_L1 = 0.5, 0.25
"""A cache holds what fits into this part of it; what does not fit into all of it is gone; between, it is open."""
LEVELS = ("dram", "l2", "l1")
"""Where a byte is counted: at DRAM; between L1 and L2; asked of L1."""
_THREADS, _BLOCKS, _REGISTERS, _SHARED = 2048, 32, 65536, 233472
_WARP_REGISTERS, _SHARED_STEP = 256, 128
Stream = dict[str, Any]


def blocks_per_multiprocessor(kernel: sassql.Kernel, threads: int, dynamic: int) -> int:
    """How many blocks of a kernel fit into a multiprocessor of compute capability 9.0.

    Limits: CUDA C++ Programming Guide, "Compute Capabilities"; registers come in units of 256 a warp, shared
    memory in units of 128 bytes.
    """
    resources = kernel.resources
    warps = -(-threads // 32)
    each = -(-(resources.registers or 1) * 32 // _WARP_REGISTERS) * _WARP_REGISTERS * warps
    shared = -(-((resources.shared or 0) + dynamic) // _SHARED_STEP) * _SHARED_STEP
    return min(_THREADS // (32 * warps), _BLOCKS, _REGISTERS // each, _SHARED // max(shared, 1))


def stops(stream: Stream, names: dict[str, int], resident: int, fit: int, shared: int) -> list[str]:
    """The level where a stream stops, or the two or three where it may; see traffic.toml."""
    if "stops" in stream:
        return list(stream["stops"])
    if "again" not in stream:
        return ["dram"]
    each = evaluate(stream["again"], names)
    at_l1, at_l2 = fit * each / (L1_BYTES - fit * shared), resident * each / L2_BYTES
    found = []
    if at_l2 > SURELY_L2:
        found.append("dram")
    if at_l2 <= 1 and (at_l1 > SURELY_L1 or "store" in stream):  # L1 writes through
        found.append("l2")
    if at_l1 <= 1 and "store" not in stream:
        found.append("l1")
    return found


def prediction(streams: list[Stream], names: dict[str, int], resident: int, fit: int, shared: int) -> Record:
    """Least and most bytes at each level: what goes to DRAM is also counted between L1 and L2, and asked of L1."""
    rows: list[Record] = []
    for stream in streams:
        what = next(f"{key} {stream[key]}" for key in ("load", "store", "move") if key in stream)
        at = stops(stream, names, resident, fit, shared)
        rows.append({"what": what, "bytes": evaluate(stream["bytes"], names), "stops": at})
    totals = {}
    for place, level in enumerate(LEVELS):
        reach = [[LEVELS.index(at) <= place for at in row["stops"]] for row in rows]
        least = sum(row["bytes"] for row, there in zip(rows, reach, strict=True) if all(there))
        most = sum(row["bytes"] for row, there in zip(rows, reach, strict=True) if any(there))
        totals[level] = [least, most]
    return {"bytes": totals, "streams": rows}


def saved(case: Record, level: str) -> tuple[float, float]:
    """Least and most bytes that the case saves at a level."""
    before, after = (case[which]["predicted"]["bytes"][level] for which in ("before", "after"))
    return before[0] - after[1], before[1] - after[0]


def side_of(entry: dict[str, Any], shape: dict[str, int]) -> Side:
    """The launch of a kernel: what the case says, else what launch.toml does."""
    name = entry["kernel"]
    given = {key: value for key, value in entry.items() if key != "kernel"}
    if "args" in given and "grid" in given:
        return parse_launch({"launch": given, "shape": [shape]}, "traffic.toml").a
    described = dict(tomllib.loads(LAUNCH.read_text("utf-8"))["kernel"][name])
    described.pop("shapes")
    return parse_launch({"launch": {**described, **given}, "shape": [shape]}, "traffic.toml").a


def launch_table(side: Side, shape: dict[str, int]) -> dict[str, Any]:
    """A side as a launch description."""
    arguments = []
    for argument in side.arguments:
        text = f"{argument.name}:{argument.direction}:{argument.type}[{argument.size}]"
        text = text if argument.is_buffer else f"{argument.name}:{argument.type}"
        arguments.append(f"{text}={argument.value}" if argument.value else text)
    entries = {"block": list(side.block), "grid": list(side.grid), "shared": side.shared, "args": arguments}
    return {"launch": entries, "shape": [shape]}


def number_of(formula: str, record: Record) -> float:
    """A formula of `sassql advise` for a launch: parameters, extents, blocks, warps and threads."""
    names: dict[str, float] = {}
    for place, argument in enumerate(record["arguments"]):
        if "value" in argument:
            names[f"param{place}"] = argument["value"]
    for axis, block, grid in zip("xyz", record["block"], record["grid"], strict=True):
        names[f"ntid_{axis}"], names[f"nctaid_{axis}"] = block, grid
    blocks, threads = math.prod(record["grid"]), math.prod(record["block"])
    names |= {"blocks": blocks, "threads": blocks * threads, "warps": blocks * -(-threads // 32)}
    return evaluate(re.sub(r"(\w+)\.([xyz])\b", r"\1_\2", formula), names)


def advised(kernel: sassql.Kernel, side: Side, case: dict[str, Any], record: Record) -> Record:
    """What `sassql advise` says that the change of a case saves: bytes that threads ask for, by finding."""
    launch = launch_table(side, case["shape"])
    found: list[Record] = []
    for finding in sassql.advise(kernel, launch=launch).findings:
        if finding.rule in case["follows"]:
            effect = next(e for e in finding.effects if e.unit.startswith("bytes"))
            value = number_of(effect.formula, record)
            shown = {"rule": finding.rule, "kind": finding.kind, "status": finding.status}
            found.append({**shown, "formula": effect.formula, "bytes": value})
    costs = evaluate(case["costs"], case["shape"]) if "costs" in case else 0
    return {"findings": found, "costs": costs, "bytes": sum(f["bytes"] for f in found) - costs}


def case_record(case: dict[str, Any], corpora: list[Kernels]) -> Record:
    """A case with both launches and their predictions."""
    found: Record = {"name": case["name"], "rule": case["rule"], "levels": case.get("levels", LEVELS)}
    for which in ("before", "after"):
        name, shape = case[which]["kernel"], case["shape"]
        kernels = next(k for k in corpora if name in k.kernels)
        side = side_of(case[which], shape)
        record = side_record(name, kernels.cubins[name].name, side, shape)
        if which == "before" and case["follows"]:
            found["advised"] = advised(kernels.kernels[name], side, case, record)
        threads = record["block"][0] * record["block"][1] * record["block"][2]
        blocks = record["grid"][0] * record["grid"][1] * record["grid"][2]
        fit = blocks_per_multiprocessor(kernels.kernels[name], threads, record["shared"])
        resident = min(blocks, fit * MULTIPROCESSORS)
        shared = (kernels.kernels[name].resources.shared or 0) + record["shared"]
        foretold = prediction(case[f"streams_{which}"], shape, resident, min(fit, blocks), shared)
        found[which] = {**record, "fit": fit, "resident": resident, "predicted": foretold}
    return found


def sources(folder: Path) -> Kernels:
    """The kernels of kernels.cu."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "kernels.cu", folder / "after_advice.cu")
    return Kernels(folder)


def write(folder: Path) -> list[Record]:
    """Write the cases of traffic.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    corpora = [Kernels(LOWERING), sources(folder / "sources")]
    for kernels in corpora:
        kernels.copy(folder)
    table = tomllib.loads((HERE / "traffic.toml").read_text("utf-8"))
    cases = [case_record(case, corpora) for case in table["case"]]
    (folder / "traffic.json").write_text(json.dumps(cases), "utf-8")
    return cases


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    for case in write(options.folder):
        text = [f"{lv} {low / 1e9:.2f}..{high / 1e9:.2f}" for lv in LEVELS for low, high in [saved(case, lv)]]
        print(case["name"], "GB saved:", ", ".join(text))
        for side in (case["before"], case["after"]):
            streams = [f"{s['what']}: {'/'.join(s['stops'])}" for s in side["predicted"]["streams"]]
            print(f"    {side['kernel']}, {side['resident']} blocks:", "; ".join(streams))


if __name__ == "__main__":
    main()
