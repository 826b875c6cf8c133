"""Definitions and uses against the vendor's oracle, `nvdisasm --print-life-ranges`.

    python benchmarks/oracle_registers.py libbitsandbytes_cuda130.so kernel.cubin --arch sm_90

Prints, per architecture, how many instructions have exactly the registers that nvdisasm marks,
and the most frequent differences with an example each. Calls are judged by the rule that
`docs/accuracy.md` states. What is known to differ, and why, is there too; each of these cases
is a named rule of `known_different.py` and counted under its name. Cubins of the old ELF layout
need a 12.x tool, named by `SASSQL_NVDISASM_12`; without it they are counted as not judged.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import known_different
from life_ranges import Marks, Registers, cubins, oracle
from observations import Observations, shape_key

from sassql.errors import SassqlError
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel, Source
from sassql.reading.cubin import read_module

WORST = 8
"""Opcodes that are named for a rule."""


@dataclass(slots=True)
class Score:
    """Counts of one architecture; differences and unknown forms by shape, with an example each."""

    observed: Observations
    total: int = 0
    equal: int = 0
    calls: int = 0
    calls_equal: int = 0
    unmarked: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    known_opcodes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rule and opcode of instructions that are known to differ."""
    known_shapes: dict[str, str] = field(default_factory=dict)
    """Shapes of instructions that are known to differ, with the rule's name."""
    unknown: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def judge(self, kernel: Kernel, marks: Marks) -> None:
        """Compare every instruction of a kernel."""
        for ins in kernel.instructions:
            if ins.address not in marks.at:
                self.unmarked[ins.opcode] += 1
            elif ins.opcode == "CALL":
                self._judge_call(ins, marks)
            else:
                self._judge_plain(ins, marks)

    def _judge_plain(self, ins: Instruction, marks: Marks) -> None:
        defs, uses = marks.at[ins.address]
        mine = _names(ins.defs), _names(ins.uses)
        self.total += 1
        self.equal += mine == (defs, uses)
        if mine == (defs, uses):
            self.observed.add(ins, defs, uses)
        elif rule := known_different.rule(ins, marks):
            self.known[rule] += 1
            self.known_opcodes[rule, ins.opcode] += 1
            self.known_shapes[shape_key(ins.form.shape.text)] = rule
            if rule in known_different.FULLY_JUDGED:
                self.observed.add(ins, defs, uses)
        else:
            self._differs(self.wrong if ins.known else self.unknown, ins, mine, (defs, uses))

    def _judge_call(self, ins: Instruction, marks: Marks) -> None:
        defs, uses = marks.at[ins.address]
        mine = known_different.marked_at_call(ins, marks)
        self.calls += 1
        self.calls_equal += mine == (defs, uses)
        if mine != (defs, uses):
            self._differs(self.wrong, ins, mine, (defs, uses))

    def _differs(
        self,
        where: Counter[str],
        ins: Instruction,
        mine: tuple[Registers, Registers],
        theirs: tuple[Registers, Registers],
    ) -> None:
        key = re.sub(r"\d+", "#", shape_key(ins.form.shape.text))[:90]
        where[key] += 1
        lack = f"differ in defs {sorted(theirs[0] ^ mine[0])} uses {sorted(theirs[1] ^ mine[1])}"
        oracle_says = f"oracle defs {sorted(theirs[0])} uses {sorted(theirs[1])}"
        self.examples.setdefault(key, f"{ins.address:#x} {ins.text}   {lack}   {oracle_says}")

    def figures(self) -> dict[str, object]:
        return {
            "equal": self.equal,
            "total": self.total,
            "known_different": dict(self.known),
            "different": dict(self.wrong),
            "unknown": dict(self.unknown),
            "calls": self.calls,
            "calls_equal": self.calls_equal,
        }


def _names(registers: frozenset[object]) -> Registers:
    return frozenset(map(str, registers))


def report(scores: Mapping[str, Score], unjudged: Mapping[str, int], show: int) -> None:
    """The figures of each architecture, with the most frequent differences."""
    for arch, score in sorted(scores.items()):
        share = 100 * score.equal / max(1, score.total)
        print(
            f"{arch}: {score.equal} of {score.total} instructions equal ({share:.3f} %), "
            f"known different {dict(score.known)}, calls {score.calls_equal} of {score.calls}, "
            f"not shown by the oracle {score.unmarked.total()} {dict(score.unmarked.most_common(3))}"
        )
        for title, counts in (("unknown", score.unknown), ("different", score.wrong)):
            for key, count in counts.most_common(show):
                print(f"    {title} {count:7} {key}\n            {score.examples[key]}")
        only_known = {s: r for s, r in score.known_shapes.items() if s not in score.observed.rows}
        for key, rule in sorted(only_known.items()):
            print(f"    never fully judged ({rule}): {key}")
    for name in sorted({rule for score in scores.values() for rule in score.known}):
        opcodes: Counter[str] = Counter()
        for score in scores.values():
            opcodes.update({opcode: n for (rule, opcode), n in score.known_opcodes.items() if rule == name})
        worst = ", ".join(f"{opcode} {count}" for opcode, count in opcodes.most_common(WORST))
        print(f"rule {name}: {known_different.reason(name)} Most often {worst}")
    for arch, count in sorted(unjudged.items()):
        print(f"{arch}: {count} instructions not judged (no tool, or refused by it)")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Options that the scripts share."""
    parser.add_argument("--arch", help="only this architecture")
    parser.add_argument("--show", type=int, default=12, help="differences shown per architecture")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument(
        "--record", type=Path, help="write one observed instruction per mnemonic and shape here, or add it"
    )


def write_results(arguments: argparse.Namespace, scores: Mapping[str, Score], observed: Observations) -> None:
    """What `--record` and `--json` ask for."""
    if arguments.record:
        observed.write(arguments.record)
    if arguments.json:
        figures = {arch: score.figures() for arch, score in sorted(scores.items())}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def compare(
    found: Iterable[tuple[str, bytes]], observed: Observations, arch: str | None = None
) -> tuple[dict[str, Score], Counter[str]]:
    """Scores by architecture of all cubins, each a name and its bytes, and instructions that were not judged.

    A cubin of an architecture that sassql does not read is said on stderr and left out.
    """
    scores: dict[str, Score] = defaultdict(lambda: Score(observed))
    unjudged: Counter[str] = Counter()
    for name, data in found:
        try:
            module = read_module(data, Source(name))[0]
        except SassqlError as error:
            print(f"  {name}: {error}", file=sys.stderr)
            continue
        if arch not in (None, module.arch):
            continue
        marks = oracle(data) or {}
        for kernel in module.kernels:
            if kernel.name in marks:
                scores[module.arch].judge(kernel, marks[kernel.name])
            else:
                unjudged[module.arch] += len(kernel.instructions)
    return scores, unjudged


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    add_report_options(parser)
    arguments = parser.parse_args()
    observed = Observations()
    found = (cubin for path in arguments.paths for cubin in cubins(path))
    scores, unjudged = compare(found, observed, arguments.arch)
    report(scores, unjudged, arguments.show)
    write_results(arguments, scores, observed)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
