"""Makes the small `results.json` out of what came back from the GPU and of the job that was sent there.

python benchmarks/hardware/collect.py JOB_FOLDER RESULTS_FOLDER [--seconds DEVICE_SECONDS]
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from traffic import LEVELS, saved

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
Record = dict[str, Any]
COUNTERS = {
    "dram": ("dram__bytes_read", "dram__bytes_write"),
    "l2": ("l1tex__m_xbar2l1tex_read_bytes", "l1tex__m_l1tex2xbar_write_bytes"),
    "l1": ("l1tex__t_bytes_pipe_lsu_mem_global_op_ld", "l1tex__t_bytes_pipe_lsu_mem_global_op_st"),
}
"""Nsight Compute's counters whose sums are the bytes at each level."""


def pair_result(pair: Record, verdicts: Record) -> Record:
    """A pair over its shapes: how many bits differ, and the largest errors against what was foretold."""
    verdict = {kind: verdicts[kind] for kind in ("launch", "larger")}
    found: Record = {"a": pair["a"], "b": pair["b"], "level": verdict["launch"]["level"]}
    found["elements"] = sum(run["elements"] for run in pair["runs"])
    found["bits differ"] = sum(run["bits differ"] for run in pair["runs"])
    specials = [run["special"] for run in pair["runs"] if "special" in run]
    found["special elements"] = sum(run["elements"] for run in specials)
    found["special bits differ"] = sum(run["bits differ"] for run in specials)
    found["harmed"] = [text for run in pair["runs"] for text in run["harmed"]]
    for kind, said in verdict.items():
        runs = [run for run in pair["runs"] if run["kind"] == kind]
        found[kind] = {
            "measured": largest(run["between"] for run in runs),
            "predicted": None if said["error_a"] is None else said["error_a"] + said["error_b"],
            "difference": said["difference"],
            "errors": [largest(run[f"error_{x}"] for run in runs) for x in "ab"],
            "predicted errors": [said["error_a"], said["error_b"]],
        }
    small = [run for run in pair["runs"] if run["foretold"]]
    found["same data"] = {
        "shapes": len(small),
        "bits as foretold": sum(run["bits differ"] == run["foretold"]["bits differ"] for run in small),
        "ratio": largest(ratio_on_the_same_data(run) for run in small),
    }
    return found


def ratio_on_the_same_data(run: Record) -> float | None:
    """The largest difference that was measured over that of the executor for the same inputs."""
    foretold = run["foretold"]["between"]
    if not foretold or run["between"] is None:
        return None
    ratio: float = run["between"] * run["largest"] / foretold
    return ratio


def largest(values: Iterable[float | None]) -> float | None:
    """The largest value that there is."""
    return max((v for v in values if v is not None), default=None)


def kernel_results(singles: list[Record]) -> list[Record]:
    """By kernel: runs, elements, bits that differ from the executor's, largest errors."""
    by_kernel: dict[str, list[Record]] = {}
    for single in singles:
        by_kernel.setdefault(single["kernel"], []).append(single)
    return [
        {
            "kernel": kernel,
            "runs": len(runs),
            "unmodelled": runs[0].get("unmodelled", []),
            "elements": sum(run["elements"] for run in runs),
            "bits differ": sum(run["bits differ"] for run in runs),
            "executor": largest(run["executor"] for run in runs),
            "reference": largest(run["reference"] for run in runs),
            "wrong": sum(run.get("wrong_a", 0) for run in runs),
            "harmed": [text for run in runs for text in run["harmed"]],
        }
        for kernel, runs in sorted(by_kernel.items())
    ]


def variant_results(pairs: list[Record], verdicts: dict[tuple[str, str], Record]) -> list[Record]:
    """By compiler option and level: kernels, elements, how many have the same bits, the largest ratio of errors."""
    groups: dict[tuple[str, str], list[tuple[Record, Record]]] = {}
    for pair in pairs:
        said = verdicts[pair["a"], pair["b"]]["launch"]
        groups.setdefault((pair["b"].rpartition(" ")[2], said["level"]), []).append((pair, said))
    found = []
    for (option, level), members in groups.items():
        runs = [run for pair, _ in members for run in pair["runs"]]
        specials = [run["special"] for run in runs]
        found.append(
            {
                "option": option,
                "level": level,
                "kernels": len(members),
                "elements": sum(run["elements"] for run in runs),
                "bits differ": sum(run["bits differ"] for run in runs),
                "special elements": sum(run["elements"] for run in specials),
                "special bits differ": sum(run["bits differ"] for run in specials),
                "ratio": largest(ratio_of_errors(pair, said) for pair, said in members),
                "harmed": [text for run in runs for text in run["harmed"]],
            }
        )
    return found


def ratio_of_errors(pair: Record, said: Record) -> float | None:
    """The largest measured difference over the sum of the predicted errors."""
    measured = largest(run["between"] for run in pair["runs"])
    predicted = (said["error_a"] or 0.0) + (said["error_b"] or 0.0)
    return measured / predicted if measured and predicted else None


def profiled(text: str) -> list[Record]:
    """The launches of ncu's table: kernel and bytes at each level."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first has the units
    return [
        {
            "kernel": row["Kernel Name"].partition("(")[0],
            **{
                level: sum(float(row[f"{name}.sum"].replace(",", "")) for name in names)
                for level, names in COUNTERS.items()
            },
        }
        for row in rows
    ]


def traffic_results(cases: list[Record], launches: list[Record], times: list[Record]) -> list[Record]:
    """By case: bytes that were foretold and measured, saved and in all, and times."""
    found = []
    for number, (case, time) in enumerate(zip(cases, times, strict=True)):
        before, after = launches[2 * number : 2 * number + 2]
        if [before["kernel"], after["kernel"]] != [case[w]["kernel"] for w in ("before", "after")]:
            raise ValueError(f"{case['name']}: the profiler ran {before['kernel']} and {after['kernel']}")
        found.append(
            {
                "name": case["name"],
                "rule": case["rule"],
                "kernels": [before["kernel"], after["kernel"]],
                "levels": case["levels"],
                "saved": {
                    level: {"foretold": saved(case, level), "measured": before[level] - after[level]}
                    for level in LEVELS
                },
                "totals": {
                    level: [
                        {"foretold": case[which]["predicted"]["bytes"][level], "measured": launch[level]}
                        for which, launch in (("before", before), ("after", after))
                    ]
                    for level in LEVELS
                },
                "ms": [time["before"]["ms"], time["after"]["ms"]],
                "fit": [[time[w]["fit"], case[w]["fit"]] for w in ("before", "after")],
                "difference": time["difference"],
                "advised": case.get("advised"),
            }
        )
    return found


def verdicts_of(file: Path) -> dict[tuple[str, str], Record]:
    """What sassql says about the pairs of a job."""
    pairs = json.loads(file.read_text("utf-8"))["pairs"]
    return {(pair["a"], pair["b"]): pair["verdicts"] for pair in pairs}


def collect(job: Path, results: Path, seconds: float | None = None) -> Record:
    """Everything that the page needs."""
    variants = json.loads((results / "variants.json").read_text("utf-8"))["pairs"]
    pairs = json.loads((results / "pairs.json").read_text("utf-8"))
    machine = (results / "machine.txt").read_text("utf-8").splitlines()
    verdicts = verdicts_of(job / "job.json")
    cases = json.loads((job / "traffic.json").read_text("utf-8"))
    times = json.loads((results / "times.json").read_text("utf-8"))
    launches = profiled((results / "ncu.csv").read_text("utf-8"))
    return {
        "machine": {**pairs["gpu"], "driver_text": machine[0].split(", ")[-1], "ncu": machine[1]},
        "device_seconds": seconds,
        "pairs": [pair_result(pair, verdicts[pair["a"], pair["b"]]) for pair in pairs["pairs"]],
        "kernels": kernel_results(pairs["singles"]),
        "variants": variant_results(variants, verdicts_of(job / "variants.json")),
        "functions": json.loads((results / "functions.json").read_text("utf-8")),
        "traffic": traffic_results(cases, launches, times),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    found = collect(options.job, options.results, options.seconds)
    RESULTS.write_text(json.dumps(found, indent=None, separators=(",", ":")).replace("},{", "},\n{"), "utf-8")
    print(f"{RESULTS}: {RESULTS.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
