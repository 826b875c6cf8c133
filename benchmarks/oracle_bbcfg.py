"""Compares the control flow graphs of sassql with those of `nvdisasm -bbcfg`.

    python benchmarks/oracle_bbcfg.py FILE.cubin …

Prints a line per file: kernels, edges equal, edges that only one side has, with examples.
An edge is (address of the last instruction of a block, address of the first of the next).
nvdisasm also cuts blocks where it prints a label that no branch names, and behind calls;
such cuts are merged. Three kinds of edges are left out and counted: it draws one for
`@!PT BRA`, which never jumps, and one for the call of a function by itself, which belongs
to the call graph; it draws none for the padding behind a kernel, which nobody reaches.

Only new-layout cubins (ELF OSABI 0x41) can be compared: nvdisasm 13 draws nothing for
older ones.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import sassql.facts
from sassql.facts.blocks import Blocks
from sassql.model.kernel import Kernel
from sassql.reading import tools
from sassql.reading.load import Options, collect, read

assert sassql.facts.__all__  # importing it registers the analyses

Edge = tuple[int, int]

_INSTRUCTION = re.compile(r"(?:\\l|>|\{)([0-9a-f]{4,}):((?:\\.|[^\\|}])*?)(?=\\l)")
_EDGE = re.compile(r'"((?:[^"\\]|\\.)*)":\w+:\w -> "((?:[^"\\]|\\.)*)":entry')
_ESCAPE = re.compile(r"\\(.)")
_LABEL = re.compile(r"`\(([^`]*)\)")
_OPCODE = re.compile(r"(@\S+ +)?([A-Z][A-Z0-9_.]*)")
_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "CALL"})
EXAMPLES = 5


@dataclass(slots=True)
class Drawn:
    """One cluster of the vendor's graph: instructions of each block, and edges between blocks."""

    blocks: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Outcome:
    """Counts of one comparison; edges with the kernel's name and, for people, a reason."""

    kernels: int = 0
    equal: int = 0
    missing: list[tuple[str, Edge]] = field(default_factory=list)
    """Edges that only nvdisasm has."""
    extra: list[tuple[str, Edge]] = field(default_factory=list)
    left_out: int = 0
    """Edges of `@!PT` branches and of recursive calls, which nvdisasm draws."""
    padding: int = 0
    """Edges of unreachable blocks that nvdisasm does not draw."""
    absent: list[str] = field(default_factory=list)
    """Kernels that nvdisasm did not draw."""

    @property
    def differing(self) -> int:
        return len(self.missing) + len(self.extra)

    def add(self, other: Outcome) -> None:
        self.kernels += other.kernels
        self.equal += other.equal
        self.left_out += other.left_out
        self.padding += other.padding
        self.missing += other.missing
        self.extra += other.extra
        self.absent += other.absent


def draw(path: Path) -> dict[str, Drawn]:
    """The vendor's graphs of a cubin by function name."""
    command = [str(tools.find("nvdisasm").path), "-bbcfg", "-poff", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        raise SystemExit(f"{path}: nvdisasm drew nothing: {done.stderr.strip()}")
    return parse(done.stdout.splitlines())


def parse(lines: Iterable[str]) -> dict[str, Drawn]:
    """Clusters of dot text, as nvdisasm writes it: a node's name and label stand on lines of their own."""
    clusters: dict[str, Drawn] = {}
    here, node = Drawn(), ""
    for line in lines:
        if line.startswith('subgraph "cluster_'):
            here = clusters.setdefault(line.removeprefix('subgraph "cluster_').rpartition('"')[0], Drawn())
        elif line.startswith("[label="):
            texts = _INSTRUCTION.findall(line)
            here.blocks[node] = [(int(a, 16), _ESCAPE.sub(r"\1", t).strip(" ;")) for a, t in texts]
        elif found := _EDGE.match(line):
            here.edges.append((found[1], found[2]))
        elif line.startswith('"'):
            node = line.strip()[1:-1]
    return clusters


def vendor_edges(cluster: Drawn) -> tuple[set[Edge], int]:
    """Edges between the blocks that are left when cuts at unnamed labels and behind calls are merged.

    Second, how many edges of branches that never jump and of recursive calls were left out.
    """
    first = {name: rows[0][0] for name, rows in cluster.blocks.items() if rows}
    last = {name: rows[-1] for name, rows in cluster.blocks.items() if rows}
    named: set[str] = set()
    for rows in cluster.blocks.values():
        for _, text in rows:
            opcode = _OPCODE.match(text)
            if opcode and opcode[2].split(".")[0] in _JUMPS and not text.startswith("@!PT"):
                named.update(_LABEL.findall(text))
            named.update(*(t.split(",") for t in re.findall(r"BRANCH_TARGETS ([^\"]*)", text)))
    edges, left_out = set(), 0
    for source, target in cluster.edges:
        address, text = last[source]
        falls = first[target] == address + tools.WORD_BYTES
        if not falls and (text.startswith("@!PT") or _is_call_of_function(text)):
            left_out += 1
        elif falls and target not in named and not _ends_block(text):
            continue
        else:
            edges.add((address, first[target]))
    return edges, left_out


def _is_call_of_function(text: str) -> bool:
    """A call that comes back; one to a mere label is a jump in disguise."""
    found = _OPCODE.match(text)
    return found is not None and found[2].startswith("CALL") and ".L_x_" not in text


def _ends_block(text: str) -> bool:
    """Whether a block ends behind this statement even where nothing names the next one."""
    found = _OPCODE.match(text)
    if found is None or text.startswith("@!PT"):
        return False
    opcode = found[2].split(".")[0]
    return opcode in (*_JUMPS, "EXIT", "RET", "KILL") and not _is_call_of_function(text)


def own_edges(kernel: Kernel, drawn: set[int]) -> tuple[set[Edge], int]:
    """The same of sassql; second, how many edges of unreachable blocks not ``drawn`` were left out."""
    found: Blocks = kernel.fact("blocks")
    addresses = kernel.addresses.tolist()
    edges, padding = set(), 0
    for block, following in enumerate(found.successors):
        source = addresses[found.end[block] - 1]
        if source in drawn or found.reachable[block]:
            edges.update((source, addresses[found.start[target]]) for target in following)
        else:
            padding += len(following)
    return edges, padding


def compare(kernel: Kernel, clusters: dict[str, Drawn]) -> Outcome:
    """One kernel, with the local functions that nvdisasm draws as clusters of their own."""
    names = dict.fromkeys([kernel.name, *(f.name for f in kernel.functions)])
    drawn = [clusters[name] for name in names if name in clusters]
    if not drawn:
        return Outcome(absent=[kernel.name])
    theirs: set[Edge] = set()
    left_out = 0
    for cluster in drawn:
        edges, skipped = vendor_edges(cluster)
        theirs |= edges
        left_out += skipped
    covered = {address for c in drawn for rows in c.blocks.values() for address, _ in rows}
    ours, padding = own_edges(kernel, covered)
    return Outcome(
        kernels=1,
        equal=len(ours & theirs),
        missing=[(kernel.name, edge) for edge in sorted(theirs - ours)],
        extra=[(kernel.name, edge) for edge in sorted(ours - theirs)],
        left_out=left_out,
        padding=padding,
    )


def compare_file(path: Path) -> tuple[str, Outcome]:
    """Architecture and outcome of one cubin."""
    program = collect(str(path), read(path, Options(jobs=1)))
    if program.problems:
        raise SystemExit(f"{path}: {program.problems[0]}")
    clusters = draw(path)
    outcome = Outcome()
    for kernel in program.kernels:
        outcome.add(compare(kernel, clusters))
    return program.modules[0].arch, outcome


def report(title: str, outcome: Outcome) -> Iterator[str]:
    """Lines for people."""
    total = outcome.equal + outcome.differing
    share = outcome.equal / total if total else 1.0
    yield (
        f"{title}: {outcome.kernels} kernels, {outcome.equal} edges equal, {outcome.differing} differing "
        f"({share:.4%}); left out: {outcome.left_out} of @!PT and recursion, {outcome.padding} of padding"
    )
    for what, found in (("only nvdisasm", outcome.missing), ("only sassql", outcome.extra)):
        for name, (source, target) in found[:EXAMPLES]:
            yield f"    {what}: {source:#x} -> {target:#x} in {name[:80]}"
    for name in outcome.absent[:EXAMPLES]:
        yield f"    not drawn: {name}"


def main() -> int:
    """Compare the files of the command line; 1 if an edge differs."""
    parser = argparse.ArgumentParser(description="Compare control flow graphs with nvdisasm -bbcfg.")
    parser.add_argument("cubins", nargs="+", type=Path)
    totals: defaultdict[str, Outcome] = defaultdict(Outcome)
    for path in parser.parse_args().cubins:
        arch, outcome = compare_file(path)
        totals[arch].add(outcome)
        print(*report(path.name, outcome), sep="\n", flush=True)
    if len(totals) > 1:
        for arch, outcome in totals.items():
            print(*list(report(arch, outcome))[:1], sep="\n")
    return 1 if any(outcome.differing for outcome in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
