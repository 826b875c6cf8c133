"""Checks of `use`: the motif exists, its interface fits, its columns exist, and nothing uses itself."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.lang.ast import Attribute, Emit, Motif, PatternFile, Position, Symbol, Use
from sassql.lang.findings import Told, check, meant
from sassql.lang.library import find_motif
from sassql.lang.walk import expressions, parts, statements


def _uses(motif: Motif) -> Iterator[Use]:
    return (s for s in statements(motif.body) if isinstance(s, Use))


@check("SQ024", "unknown-motif")
def unknown_motif(file: PatternFile) -> Iterator[Told]:
    """Use a motif of this file, of a file of its name beside it, or of the library."""
    for motif in file.motifs:
        for use in _uses(motif):
            if find_motif(use.motif, file) is None:
                known = {m.name for m in file.motifs}
                hint = (
                    meant(use.motif, known) or f"looked for `{use.motif}.sq` beside the file and in patterns/"
                )
                yield f"no motif `{use.motif}`", use.at, hint


@check("SQ025", "circular-use")
def circular_use(file: PatternFile) -> Iterator[Told]:
    """Let motifs use each other in one direction only."""
    for motif in file.motifs:
        for use in _uses(motif):
            if _leads_to(use, file, motif):
                yield f"`{motif.name}` uses itself, through `{use.motif}`", use.at


def _leads_to(use: Use, file: PatternFile, wanted: Motif) -> bool:
    pending = [(use.motif, file)]
    seen: set[tuple[str, str]] = set()
    while pending:
        name, where = pending.pop()
        found = find_motif(name, where)
        if found is None or (found[1].file, name) in seen:
            continue
        seen.add((found[1].file, name))
        if found[0] is wanted or (name == wanted.name and found[1].file == file.file):
            return True
        pending += [(inner.motif, found[1]) for inner in _uses(found[0])]
    return False


@check("SQ026", "interface")
def interface(file: PatternFile) -> Iterator[Told]:
    """Give a used motif as many names as its interface has, inputs before the arrow and outputs behind it."""
    for motif in file.motifs:
        for use in _uses(motif):
            found = find_motif(use.motif, file)
            if found is not None:
                yield from _interface(use, found[0])


def _interface(use: Use, used: Motif) -> Iterator[Told]:
    for kind, given, wanted in (
        ("input", use.inputs, used.inputs),
        ("output", use.outputs, used.outputs),
    ):
        if len(given) > len(wanted):
            names = ", ".join(f"`{name}`" for name in wanted) or "none"
            told = f"{len(given)} {kind}{'s' if len(given) > 1 else ''}, but `{used.name}` has {len(wanted)}"
            yield told, use.at, f"its {kind}s: {names}"


@check("SQ027", "column-of-use")
def column_of_use(file: PatternFile) -> Iterator[Told]:
    """Ask an alias for columns that the used motif emits."""
    for motif in file.motifs:
        aliases: dict[str, set[str]] = {}
        for use in _uses(motif):
            found = find_motif(use.motif, file)
            if use.alias and found is not None:
                columns = {
                    c.name for s in statements(found[0].body) if isinstance(s, Emit) for c in s.columns
                }
                aliases[use.alias] = aliases.get(use.alias, set()) | columns
        yield from _columns(motif, aliases)


def _columns(motif: Motif, aliases: dict[str, set[str]]) -> Iterator[Told]:
    seen: set[Position] = set()
    for statement in statements(motif.body):
        for expression in expressions(statement):
            for part in parts(expression):
                match part:
                    case Attribute(base=Symbol(name=alias), name=name, at=at) if alias in aliases:
                        if name not in aliases[alias] and at not in seen:
                            seen.add(at)
                            yield f"`{alias}` has no column `{name}`", at, meant(name, aliases[alias])
