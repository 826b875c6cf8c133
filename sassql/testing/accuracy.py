"""Precision and recall of what is reported about kernels whose truth is known.

A motif counts once for a kernel and an architecture. Kinds (`warp_reduce` with ``op=max``) are scored
apart, in the same way; columns are compared where the truth and a report of the same motif and kind
both have a value.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sassql.testing.truth import Claim, KernelTruth, Word, vocabulary

Found = Mapping[str, Any]
"""What `sassql classify` says of one kernel: kernel, arch, class, status, motifs."""


@dataclass(slots=True)
class Tally:
    """Counts of one row of the report."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    extra: int = 0
    """Reported where the truth is silent and does not claim to be complete."""
    columns_right: int = 0
    columns: int = 0

    @property
    def precision(self) -> float | None:
        said = self.right + self.wrong
        return self.right / said if said else None

    @property
    def recall(self) -> float | None:
        there = self.right + self.missed
        return self.right / there if there else None

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class Mistake:
    """One kernel and architecture for which the report and the truth differ."""

    what: str
    """``wrong`` (reported, not true), ``missed``, ``column``, ``decoy``, ``class`` or ``differs`` (between
    architectures)."""
    kernel: str
    arch: str
    motif: str
    detail: str = ""


@dataclass(slots=True)
class Score:
    """The whole report of one set of kernels."""

    motifs: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    kinds: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    archs: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    classes: Counter[str] = field(default_factory=Counter)
    decoys: Counter[str] = field(default_factory=Counter)
    same_everywhere: int = 0
    kernels: int = 0
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def total(self) -> Tally:
        whole = Tally()
        for tally in self.motifs.values():
            whole.add(tally)
        return whole


def score(truth: Mapping[str, KernelTruth], found: Iterable[Found]) -> Score:
    """Compare reports with the truth; kernels without truth are left out."""
    result = Score()
    sets: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for report in found:
        kernel = truth.get(str(report["kernel"]))
        if kernel is None:
            continue
        arch = str(report["arch"])
        motifs = [m for m in report["motifs"] if m.get("status", "match") == "match"]
        sets[kernel.name][arch] = frozenset(str(m["motif"]) for m in motifs)
        _score_motifs(result, kernel, arch, motifs)
        _score_decoys(result, kernel, arch, motifs)
        _score_class(result, kernel, arch, report)
    for name, by_arch in sets.items():
        result.kernels += 1
        result.same_everywhere += len(set(by_arch.values())) == 1
        if len(set(by_arch.values())) > 1:
            result.mistakes.append(Mistake("differs", name, "", "", _difference(by_arch)))
    return result


def _difference(by_arch: Mapping[str, frozenset[str]]) -> str:
    common = frozenset.intersection(*by_arch.values())
    return "; ".join(f"{arch}: {' '.join(sorted(s - common))}" for arch, s in by_arch.items() if s - common)


def _score_motifs(result: Score, kernel: KernelTruth, arch: str, motifs: Sequence[Found]) -> None:
    claims = [c for c in kernel.claims if c.survives and c.motif in vocabulary()]
    parts = {c.motif for c in claims if "stage" in c.columns}
    claims = [c for c in claims if "stage" not in c.columns]
    for word in vocabulary().values():
        true = [c for c in claims if c.motif == word.name]
        said = [m for m in motifs if m["motif"] == word.name]
        if not true and word.name in parts:
            continue  # a part of a larger kernel: neither expected nor wrong
        tally = Tally()
        for detail in _compare(tally, word, bool(true), bool(said)):
            result.mistakes.append(Mistake(detail, kernel.name, arch, word.name))
        for column, detail in _columns(tally, word, true, said):
            result.mistakes.append(Mistake("column", kernel.name, arch, word.name, f"{column}: {detail}"))
        result.motifs[word.name].add(tally)
        result.archs[arch].add(tally)
        if word.kind:
            for kind in sorted(_kinds(word, true) | _kinds(word, said)):
                of_kind = result.kinds[f"{word.name} {word.kind}={kind}"]
                list(_compare(of_kind, word, kind in _kinds(word, true), kind in _kinds(word, said)))


def _kinds(word: Word, rows: Iterable[Claim | Found]) -> set[str]:
    """Values of the column that tells kinds apart; ``SIN,COS`` are two."""
    found = set()
    for row in rows:
        columns = row.columns if isinstance(row, Claim) else row
        if columns.get(word.kind) not in (None, ""):
            found.update(str(columns[word.kind]).split(","))
    return found


def _compare(tally: Tally, word: Word, true: bool, said: bool) -> Iterator[str]:
    tally.right += true and said
    if true and not said:
        tally.missed += 1
        yield "missed"
    elif said and not true:
        if word.complete:
            tally.wrong += 1
            yield "wrong"
        else:
            tally.extra += 1


def _columns(
    tally: Tally, word: Word, true: Sequence[Claim], said: Sequence[Found]
) -> Iterator[tuple[str, str]]:
    """Compare the columns of each claim with the report of its kind that fits best."""
    for claim in true:
        kind = claim.columns.get(word.kind)
        same_kind = [m for m in said if not word.kind or not kind or str(m.get(word.kind)) in kind.split(",")]
        wanted = {c: claim.columns[c] for c in word.columns if c in claim.columns and c != word.kind}
        best: list[tuple[str, str]] | None = None
        compared = 0
        for report in same_kind:
            known = {c: v for c, v in wanted.items() if report.get(c) is not None}
            wrong = [
                (c, f"{_text(report[c])} in place of {v}") for c, v in known.items() if _text(report[c]) != v
            ]
            if best is None or len(wrong) < len(best):
                best, compared = wrong, len(known)
        tally.columns += compared
        tally.columns_right += compared - len(best or ())
        yield from best or ()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _score_decoys(result: Score, kernel: KernelTruth, arch: str, motifs: Sequence[Found]) -> None:
    for decoy in kernel.decoys:
        fooled = [
            m
            for m in motifs
            if m["motif"] == decoy.motif and all(str(m.get(c)) == v for c, v in decoy.columns.items())
        ]
        result.decoys["reported" if fooled else "left alone"] += 1
        if fooled:
            result.mistakes.append(
                Mistake("decoy", kernel.name, arch, decoy.motif, str(fooled[0].get("at", "")))
            )


def _score_class(result: Score, kernel: KernelTruth, arch: str, report: Found) -> None:
    if not kernel.cls:
        return
    said = str(report["class"])
    right = said == kernel.cls or said in kernel.also
    result.classes["right" if right else "unknown" if said == "unknown" else "wrong"] += 1
    if not right:
        result.mistakes.append(Mistake("class", kernel.name, arch, said, f"is {kernel.cls}"))
