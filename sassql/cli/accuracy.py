"""`sassql accuracy`: precision and recall of motifs and classes on a corpus whose truth is known."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from sassql.cli.output import format_option, write_rows
from sassql.cli.progress import followed
from sassql.corpus.batch import Batch
from sassql.errors import EXIT_FOUND, EXIT_NOTHING
from sassql.insight.classify import question
from sassql.reading.load import Options, architectures
from sassql.testing.accuracy import Score, Tally, score
from sassql.testing.baseline import baseline
from sassql.testing.truth import KernelTruth, read_truth

COLUMNS = ("part", "what", "right", "wrong", "missed", "extra", "precision", "recall", "columns")


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--records", type=click.Path(path_type=Path, exists=True), help="Rows of `classify --format jsonl`."
)
@click.option("--kinds", is_flag=True, help="A row for each kind of a motif, too.")
@click.option("--mistakes", is_flag=True, help="What is wrong, missed or different, kernel by kernel.")
@click.option("--arch", metavar="LIST", help="Only these architectures; those of the manifest by default.")
@click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; all cores by default.")
@format_option
@click.pass_context
def accuracy(
    ctx: click.Context,
    corpus: Path,
    records: Path | None,
    kinds: bool,
    mistakes: bool,
    arch: str | None,
    jobs: int | None,
    format: str,
) -> None:
    """Compare what is reported about a corpus with its truth.

    CORPUS has truth.tsv and names.tsv beside its sources. A motif counts once for a kernel and an
    architecture. A third of the kernels, chosen by name, is held out: nothing is tuned on it.

    \b
    Examples:
      sassql accuracy corpora/lowering
      sassql accuracy corpora/lowering --arch sm_90 --mistakes
      sassql classify corpora/lowering --format jsonl > found.jsonl
      sassql accuracy corpora/lowering --records found.jsonl --kinds

    Exit codes: 0 done, 1 a decoy was reported, 2 the corpus has no truth.
    """
    truth = read_truth(corpus)
    found = list(_read(records) if records else _classified(corpus, arch, jobs))
    scores = {
        part: score(chosen, found)
        for part, chosen in (
            ("all", truth),
            ("tuned", {n: k for n, k in truth.items() if not k.held_out}),
            ("held out", {n: k for n, k in truth.items() if k.held_out}),
        )
    }
    rows = _mistakes(scores["all"]) if mistakes else _rows(scores, truth, found, kinds)
    write_rows(rows, format, columns=None if mistakes else COLUMNS)
    ctx.exit(EXIT_NOTHING if scores["all"].decoys["reported"] else EXIT_FOUND)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            record: dict[str, Any] = json.loads(line)
            if record.get("kernel"):
                yield record


def _classified(corpus: Path, arch: str | None, jobs: int | None) -> Iterator[dict[str, Any]]:
    batch = Batch(question, Options(architectures(arch)), jobs=jobs or os.cpu_count() or 1)
    for done in followed(batch, "classifying", [corpus]):
        yield from done.answers


def _rows(
    scores: dict[str, Score], truth: dict[str, KernelTruth], found: list[dict[str, Any]], kinds: bool
) -> Iterator[dict[str, Any]]:
    for part, one in scores.items():
        if part == "all":
            for name, tally in one.motifs.items():
                yield from _row(part, name, tally)
            for name, tally in sorted(one.kinds.items()) if kinds else ():
                yield from _row(part, name, tally)
            for name, tally in sorted(one.archs.items()):
                yield from _row(part, name, tally)
        yield from _row(part, "total", one.total)
        yield _count(part, "classes", one.classes["right"], one.classes["wrong"], one.classes["unknown"])
        yield _count(
            part, "same motifs everywhere", one.same_everywhere, one.kernels - one.same_everywhere, 0
        )
        yield _count(part, "decoys left alone", one.decoys["left alone"], one.decoys["reported"], 0)
    yield from _row("all", "baseline: opcodes alone", score(truth, baseline(found)).total)


def _row(part: str, name: str, tally: Tally) -> Iterator[dict[str, Any]]:
    if tally.right + tally.wrong + tally.missed + tally.extra:
        yield {
            **_count(part, name, tally.right, tally.wrong, tally.missed),
            "extra": tally.extra,
            "columns": f"{tally.columns_right} of {tally.columns}" if tally.columns else "",
        }


def _count(part: str, name: str, right: int, wrong: int, missed: int) -> dict[str, Any]:
    said, there = right + wrong, right + missed
    return {
        "part": part,
        "what": name,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "extra": 0,
        "precision": f"{right / said:.3f}" if said else "",
        "recall": f"{right / there:.3f}" if there else "",
        "columns": "",
    }


def _mistakes(one: Score) -> Iterable[dict[str, Any]]:
    return (
        {"what": m.what, "motif": m.motif, "kernel": m.kernel, "arch": m.arch, "detail": m.detail}
        for m in sorted(one.mistakes, key=lambda m: (m.what, m.motif, m.kernel, m.arch))
    )
