"""Makes comparisons of two inputs, and renders them as HTML, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from sassql.corpus.batch import Question
from sassql.model.kernel import Kernel
from sassql.report import html
from sassql.report.build import Chosen, Job, Key, Progress, build, key_of
from sassql.report.comparison import Aligned, Comparison, Pair, Statement, align, comparison_record, pair_up
from sassql.report.document import KernelRecord
from sassql.report.markdown import plain, table

MOST_SHOWN = 40
"""Pairs that are shown in full, those that differ and are heaviest."""
MOST_PAIRS = 1_000


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two inputs: its name for people, and what it is made of."""

    name: str
    job: Job


def compare(a: Side, b: Side, title: str = "", progress: Progress = lambda _: None) -> Comparison:
    """Read both sides, pair their kernels, and align the listings of the pairs that are shown."""
    documents = [build(side.job, progress) for side in (a, b)]
    found = Comparison(
        title or f"{a.name} and {b.name}",
        documents[0],
        documents[1],
        a.name,
        b.name,
        pair_up(documents[0].kernels, documents[1].kernels),
    )
    shown = [found.pairs[number] for number in _shown(found)]
    ours = _statements(a.job, [pair.a for pair in shown])
    theirs = _statements(b.job, [pair.b for pair in shown])
    for number, pair in zip(_shown(found), shown, strict=True):
        if pair.a is not None and pair.b is not None:
            found.listings[number] = align(ours[key_of(pair.a)], theirs[key_of(pair.b)])
    return found


def _shown(found: Comparison) -> list[int]:
    """Numbers of the pairs that are shown in full."""
    both = [number for number, pair in enumerate(found.pairs) if pair.a is not None and pair.b is not None]
    return both if len(both) == 1 else [n for n in both if found.pairs[n].differs][:MOST_SHOWN]


def _statements(job: Job, records: Iterable[KernelRecord | None]) -> dict[Key, list[Statement]]:
    wanted = [record for record in records if record is not None]
    found: dict[Key, list[Statement]] = {}
    for done in job.run(partial(_question), Chosen(wanted)):
        for answer in done.answers:
            found[answer["key"]] = [Statement(address, text) for address, text in answer["statements"]]
    return found


def _question() -> Question:
    return _listed


def _listed(kernel: Kernel) -> dict[str, Any]:
    padding = {index for index, tags in kernel.fact("tags").items() if "padding" in tags}
    statements = [(ins.address, ins.text) for ins in kernel.instructions if ins.index not in padding]
    return {"key": key_of(kernel), "statements": statements}


# --- HTML

_CLASSES = {"differs": "differs", "a": "only-a", "b": "only-b"}
_SIGNS = {"same": "", "registers": "", "differs": "≠", "a": "<", "b": ">"}


def to_html(found: Comparison) -> str:
    """The comparison as a page that needs nothing else."""
    template = html.environment().get_template("comparison.html.j2")
    return template.render(
        found=found,
        differing=sum(pair.differs for pair in found.pairs),
        failures=[*found.a.failures, *found.b.failures],
        shown=_shown(found),
        most=MOST_PAIRS,
        rows=_rows,
        policy=html.policy(files=False),
        style=Markup(html.asset(html.STYLE)),
        script=Markup(html.asset(html.SCRIPT)),
        style_file="",
        script_file="",
    )


def _rows(lines: Sequence[Aligned]) -> Markup:
    parts = []
    for line in lines:
        sign = escape(_SIGNS[line.kind])
        cells = f"{_cells(line.a)}<td>{sign}</td>{_cells(line.b)}"
        parts.append(f'<tr class="{_CLASSES.get(line.kind, "")}">{cells}</tr>')
    return Markup("".join(parts))


def _cells(statement: Statement | None) -> str:
    if statement is None:
        return "<td></td><td></td>"
    return f'<td class="a">{statement.address:#06x}</td><td>{escape(statement.text)}</td>'


# --- Markdown and JSON


def to_json(found: Comparison) -> str:
    """The comparison as JSON text."""
    return json.dumps(comparison_record(found), ensure_ascii=False, indent=1) + "\n"


def to_markdown(found: Comparison) -> str:
    """The comparison as Markdown: for a pull request."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield f"# {plain(found.title)}\n"
    differing = sum(pair.differs for pair in found.pairs)
    sides = f"A is {plain(found.name_a)}, B is {plain(found.name_b)}"
    yield f"{sides}: {len(found.pairs)} pairs, {differing} differ."
    for failure in (*found.a.failures, *found.b.failures):
        yield f"* {plain(failure.text)}"
    for word, single in (
        ("A", [p.a for p in found.pairs if not p.b]),
        ("B", [p.b for p in found.pairs if not p.a]),
    ):
        if single:
            names = ", ".join(k.short for k in single[:MOST_SHOWN] if k)
            more = f" and {len(single) - MOST_SHOWN} more" if len(single) > MOST_SHOWN else ""
            yield f"\nOnly in {word}: {plain(names)}{more}."
    for number in _shown(found):
        yield from _pair(found.pairs[number], found.listings.get(number, ()))


def _pair(pair: Pair, listing: Sequence[Aligned]) -> Iterator[str]:
    yield f"\n## {plain(pair.name)}\n"
    for word, texts in (("gained", pair.gained), ("lost", pair.lost), ("kept", pair.kept)):
        yield from (f"* {word}: {plain(text)}" for text in texts)
    yield ""
    numbers = [(name, _known(one), _known(two)) for name, one, two in pair.changes() if one != two]
    mix = [(name, one, two) for name, one, two in pair.mix() if one != two]
    yield from table(("what", "A", "B"), [*numbers, *mix], 1)
    if listing:
        differing = sum(line.kind not in ("same", "registers") for line in listing)
        yield f"\n{differing} of {len(listing)} lines of the aligned listings differ."


def _known(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
