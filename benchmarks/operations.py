"""Writes docs/operations.md: every kernel of the corpus, what is true of it, and what is reported.

sassql classify corpora/lowering --format jsonl > found.jsonl
python benchmarks/operations.py found.jsonl
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from sassql.testing.truth import KernelTruth, read_truth, vocabulary

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "corpora" / "lowering"
HEAD = """\
# Operations

What the operations of neural networks become, kernel by kernel: the class and the motifs that are true of the source and
survive in the machine code (`corpora/lowering/truth.tsv`, `names.tsv`), and what `sassql classify` reports. Written by
`benchmarks/operations.py` from one run over {archs}; **missed** and **not in the truth** are said where they occur. The
truth does not list every barrier, broadcast input or special function, so motifs that it is not complete for are shown
only where it has them. How this adds up: [accuracy](accuracy.md).
"""


def kinds(motif: str, rows: list[dict[str, Any]]) -> set[str]:
    """A motif with its kinds: ``warp_reduce sum``."""
    kind = vocabulary()[motif].kind
    return {f"{motif} {row[kind]}" if kind and row.get(kind) else motif for row in rows}


def expected(truth: KernelTruth) -> set[str]:
    found = set()
    for claim in truth.claims:
        word = vocabulary().get(claim.motif)
        if word is None or not claim.survives or "stage" in claim.columns:
            continue
        values = claim.columns.get(word.kind, "").split(",") if word.kind else [""]
        found |= {f"{claim.motif} {value}".strip() for value in values}
    return found


def reported(records: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Motifs by architecture."""
    found = {}
    for record in records:
        certain: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for motif in record["motifs"]:
            if motif["status"] == "match":
                certain[motif["motif"]].append(motif)
        found[record["arch"]] = {k for name, rows in certain.items() for k in kinds(name, rows)}
    return found


def differences(truth: KernelTruth, by_arch: dict[str, set[str]]) -> str:
    wanted = {e.split()[0] for e in expected(truth)}
    parts = []
    for what, pick in (
        ("missed", lambda said: wanted - {s.split()[0] for s in said}),
        ("not in the truth", lambda said: {s.split()[0] for s in said if vocabulary()[s.split()[0]].complete} - wanted
         - {c.motif for c in truth.claims if "stage" in c.columns}),
    ):  # fmt: skip
        wrong = defaultdict(list)
        for arch, said in by_arch.items():
            for motif in pick(said):
                wrong[motif].append(arch)
        for motif, archs in sorted(wrong.items()):
            where = "" if len(archs) == len(by_arch) else f" on {', '.join(archs)}"
            parts.append(f"**{what}:** {motif}{where}")
    return "; ".join(parts)


def main() -> int:
    records: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["kernel"]:
            records[record["kernel"]].append(record)
    truth = read_truth(CORPUS)
    with (CORPUS / "names.tsv").open(encoding="utf-8", newline="") as file:
        names = {row["kernel"]: row["what"] for row in csv.DictReader(file, delimiter="\t")}
    sources = tomllib.loads((CORPUS / "manifest.toml").read_text("utf-8"))["source"]
    archs = sorted({r["arch"] for rs in records.values() for r in rs}, key=lambda a: int(a.strip("sm_af")))
    out = [HEAD.format(archs=", ".join(archs))]
    for source in sources:
        out.append(f"\n## {source['subject'][0].upper()}{source['subject'][1:]}: `{source['file']}`\n")
        out.append("| kernel | what it is | class: reported | motifs: true | motifs: reported everywhere | |")
        out.append("| --- | --- | --- | --- | --- | --- |")
        for name, what in names.items():
            if truth[name].file != source["file"] or name not in records:
                continue
            by_arch = reported(records[name])
            common = set.intersection(*by_arch.values())
            wanted = expected(truth[name])
            shown = {m for m in common if vocabulary()[m.split()[0]].complete or m in wanted}
            classes = sorted({r["class"] for r in records[name]})
            cells = [f"`{name}`", what, ", ".join(classes), ", ".join(sorted(wanted)), ", ".join(sorted(shown)),
                     differences(truth[name], by_arch)]  # fmt: skip
            out.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    (ROOT / "docs" / "operations.md").write_text("\n".join(out) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
