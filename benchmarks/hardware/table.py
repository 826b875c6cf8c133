# ruff: noqa: RUF001  (dashes and minus signs of a printed table)
"""Writes the tables of docs/hardware.md from results.json.

python benchmarks/hardware/table.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "hardware.md"
Record = dict[str, Any]

OPTIONS = {
    "O0": "--ptxas-options=-O0",
    "registers": "--maxrregcount=32",
    "nofma": "--fmad=false",
    "fast": "--use_fast_math",
}
ALLOWED = 2.0
"""A difference may be this many times the sum of the predicted errors, which come from few samples."""
CLOSE = 0.1
"""How far a predicted number of bytes may be off."""
_LEAST = 1e-15


def exponent(value: float | None) -> str:
    """A small number with one digit behind the point."""
    return "–" if value is None else "0" if abs(value) < _LEAST else f"{value:.1e}".replace("e-0", "e-")


def count(value: int) -> str:
    """A whole number with commas."""
    return f"{value:,}"


def gigabytes(value: float | list[float]) -> str:
    """Bytes as GB, or two where it is a range."""
    if isinstance(value, list):
        low, high = (gigabytes(v) for v in value)
        return low if low == high else f"{low} to {high}"
    text = f"{value / 1e9:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def worst_part(pair: Record) -> Record:
    """The shapes, those of the launch file or the larger one, where most is measured against what was predicted."""

    def share(part: Record) -> float:
        found: float = part["measured"] / part["predicted"] if part["predicted"] else 0.0
        return found

    return max((pair["launch"], pair["larger"]), key=share)


def ratio(pair: Record) -> float | None:
    """The largest measured difference over the sum of the predicted errors."""
    part = worst_part(pair)
    return part["measured"] / part["predicted"] if part["predicted"] else None


def confirmed(pair: Record) -> bool | None:
    """Whether the hardware bears out a level; None where sassql shows none."""
    if pair["harmed"]:
        return False
    if pair["level"] == "E0":
        return not pair["bits differ"] and not pair["special bits differ"]
    if pair["level"] == "not_shown":
        return None
    found = ratio(pair)
    return not pair["bits differ"] if found is None else found <= ALLOWED


def line(cells: list[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table whose first ``left`` columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join([line(head), line(rule), *map(line, rows)])


def pairs_table(results: Record) -> str:
    """Every pair: level, bits, errors."""
    rows = []
    for pair in results["pairs"]:
        said = confirmed(pair)
        part = worst_part(pair)
        measured, predicted, over = part["measured"], part["predicted"], ratio(pair)
        e0 = pair["level"] == "E0"
        rows.append(
            [
                f"`{pair['a']}` / `{pair['b']}`",
                pair["level"].replace("_", " "),
                count(pair["elements"]),
                count(pair["bits differ"]),
                count(pair["special bits differ"]) if e0 else "–",
                exponent(measured),
                exponent(predicted),
                "–" if over is None or pair["level"] == "not_shown" else f"{over:.1f}",
                f"{pair['same data']['bits as foretold']} of {pair['same data']['shapes']}",
                {True: "yes", False: "**no**", None: "differs" if pair["bits differ"] else "**equal**"}[said],
            ]
        )
    head = ["pair", "level", "elements", "bits differ", "special values", "difference", "predicted"]
    return table([*head, "ratio", "bits foretold", "confirmed"], rows, 2)


def variants_table(results: Record) -> str:
    """The same source with other options."""
    rows = []
    for group in results["variants"]:
        if group["level"] == "refused":
            continue
        over = group["ratio"] if group["level"] not in ("E0", "not_shown") else None
        rows.append(
            [
                f"`{OPTIONS[group['option']]}`",
                group["level"].replace("_", " "),
                count(group["kernels"]),
                count(group["elements"]),
                count(group["bits differ"]),
                count(group["special bits differ"]),
                "–" if over is None else f"{over:.1f}",
            ]
        )
    head = ["option", "level", "kernels", "elements", "bits differ", "with special values", "largest ratio"]
    return table(head, sorted(rows), 2)


def kernels_table(results: Record) -> str:
    """The kernels where the executor does not foretell every bit."""
    rows = [
        [
            f"`{kernel['kernel']}`",
            count(kernel["elements"]),
            count(kernel["bits differ"]),
            exponent(kernel["executor"]),
            exponent(kernel["reference"]),
        ]
        for kernel in results["kernels"]
        if kernel["bits differ"]
    ]
    return table(["kernel", "elements", "bits differ", "GPU against executor", "GPU against numpy"], rows)


def functions_table(results: Record) -> str:
    """The multifunction unit against correctly rounded values."""
    rows = [
        [
            f"`{entry['name'].removeprefix('mufu_').upper()}`",
            entry["what"],
            count(entry["values"]),
            f"{100 * entry['not_nearest'] / entry['values']:.1f} %",
            f"{entry['ulp']:.2f}" if entry["ulp"] < 1e5 else "–",
            exponent(entry["absolute"]),
        ]
        for entry in results["functions"]
    ]
    head = ["instruction", "function", "values", "not the nearest float", "largest error in ulp", "absolute"]
    return table(head, rows, 2)


def off(foretold: list[float], measured: float, total: float) -> str:
    """How far a number of bytes was off; of ``total``, where none were foretold."""
    low, high = foretold
    if low != high:
        return "in range" if low <= measured <= high else "**out of range**"
    if not low:
        text = f"{100 * abs(measured) / total:.1f} % of all"
        return text if abs(measured) <= CLOSE * total else f"**{text}**"
    text = f"{100 * (low - measured) / abs(measured):+.1f} %".replace("-", "−")
    return text if abs(low - measured) <= CLOSE * abs(measured) else f"**{text}**"


def traffic_table(results: Record) -> str:
    """Bytes that were foretold and measured."""
    rows = []
    for case in results["traffic"]:
        cells = [case["name"], "`" + "` → `".join(case["kernels"]) + "`", str(case["rule"])]
        for level in ("dram", "l2", "l1"):
            part = case["saved"][level]
            known = level in case["levels"]
            cells.append(gigabytes(part["foretold"]) if known else "–")
            cells.append(gigabytes(part["measured"]))
            if level == "dram":
                cells.append(off(part["foretold"], part["measured"], case["totals"][level][0]["measured"]))
        cells.append(f"{case['ms'][0]:.2f} → {case['ms'][1]:.2f}")
        rows.append(cells)
    head = ["what", "kernels", "rule", "DRAM foretold", "measured", "off", "L1–L2 foretold", "measured"]
    return table([*head, "asked of L1 foretold", "measured", "ms"], rows, 3)


def advice_table(results: Record) -> str:
    """What sassql advise says that a change saves, and what it saved."""
    rows = []
    for case in results["traffic"]:
        said = case["advised"]
        if said is None:
            continue
        formulas = "; ".join(f"rule {f['rule']}: `{f['formula']}`" for f in said["findings"])
        if said["costs"]:
            formulas += f"; less {gigabytes(said['costs'])} that it adds"
        asked, dram = (case["saved"][level]["measured"] for level in ("l1", "dram"))
        cells = [case["name"], formulas, gigabytes(said["bytes"]), gigabytes(asked)]
        share = f"{100 * abs(dram) / said['bytes']:.0f} %"
        rows.append([*cells, off([said["bytes"]] * 2, asked, asked), gigabytes(dram), share])
    head = [
        "what",
        "formulas of `sassql advise`",
        "GB",
        "asked of L1 less",
        "off",
        "DRAM less",
        "of the advice",
    ]
    return table(head, rows, 2)


TABLES: dict[str, Callable[[Record], str]] = {
    "pairs": pairs_table,
    "variants": variants_table,
    "kernels": kernels_table,
    "functions": functions_table,
    "traffic": traffic_table,
    "advice": advice_table,
}


def filled(page: str, results: Record) -> str:
    """The page with every table written anew between its marks."""
    for name, render in TABLES.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{render(results)}\n\n{end}{rest.partition(end)[2]}"
    return page


def main() -> None:
    """The command."""
    results = json.loads(RESULTS.read_text("utf-8"))
    PAGE.write_text(filled(PAGE.read_text("utf-8"), results), "utf-8")
    said = [confirmed(pair) for pair in results["pairs"]]
    print(f"{said.count(True)} pairs confirmed, {said.count(False)} not, {said.count(None)} not shown")


if __name__ == "__main__":
    main()
