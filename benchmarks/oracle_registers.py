"""Definitions and uses against the vendor's oracle, `nvdisasm --print-life-ranges`.

    python benchmarks/oracle_registers.py libbitsandbytes_cuda130.so kernel.cubin --arch sm_90

Prints, per architecture, how many instructions have exactly the registers that nvdisasm marks,
and the most frequent differences with an example each. Calls are judged apart: nvdisasm marks
what the ABI lets a callee clobber. Cubins of the old ELF layout need a 12.x tool, named by
`SASSQL_NVDISASM_12`; without it they are counted as not judged. UR63 and up, which Blackwell
has, are not in nvdisasm's table and are left out of the comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from sassql.errors import Problem
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel, Source
from sassql.model.program import Module
from sassql.model.register import Register
from sassql.reading import containers, elf, tools
from sassql.reading.cubin import read_module

GROUPS = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
FUNCTIONS_PER_CALL = 40
_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*// (\|.*\|)\s*$")
_HEADER = re.compile(r"// (\|.*[A-Z0-9#].*\|)\s*$")
_SECTION = re.compile(r"^\s*//-+ \.text\.(\S+)\s+-")

Marks = dict[int, tuple[frozenset[str], frozenset[str]]]


def columns(header: list[str]) -> dict[int, str]:
    """Register name by column of the table, from its header rows."""
    bars = [i for i, c in enumerate(header[-1]) if c == "|"]
    found: dict[int, str] = {}
    for left, right in pairwise(bars):
        name = next((n for row in header if (n := row[left + 1 : right].strip()) in GROUPS), "")
        start = header[-1].find("#", left) + 1
        for column in range(start, right):
            digits = "".join(row[column] for row in header if column < len(row) and row[column].isdigit())
            if digits and name:
                found[column] = f"{GROUPS[name]}{int(digits)}"
    return found


def parse(text: str) -> dict[str, Marks]:
    """Marked definitions and uses by section and address."""
    found: dict[str, Marks] = {}
    marks: Marks = {}
    names: dict[int, str] = {}
    header: list[str] = []
    for line in text.splitlines():
        if section := _SECTION.match(line):
            marks = found.setdefault(section[1], {})
            names, header = {}, []
        elif row := _LINE.match(line):
            if not names and header:
                names = columns(header)
            cells = row[3]
            defs = frozenset(n for c, n in names.items() if cells[c : c + 1] in ("^", "x"))
            uses = frozenset(n for c, n in names.items() if cells[c : c + 1] in ("v", "x"))
            marks[int(row[1], 16)] = defs, uses
        elif not names and (table := _HEADER.search(line)):
            header.append(table[1])
    return found


def oracle(data: bytes, layout: str) -> dict[str, Marks] | None:
    """What nvdisasm marks, in chunks of functions to bound its memory; None where no tool can."""
    tool = str(tools.find("nvdisasm").path) if layout == "new" else os.environ.get("SASSQL_NVDISASM_12")
    if not tool:
        return None
    indices = [s.symbol_index for s in elf.read_cubin(data).sections]
    found: dict[str, Marks] = {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(data)
        file.flush()
        for start in range(0, len(indices), FUNCTIONS_PER_CALL):
            chunk = ",".join(map(str, indices[start : start + FUNCTIONS_PER_CALL]))
            command = [tool, "-c", "-plr", "-lrm", "narrow", "-fun", chunk, file.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"  oracle refuses {chunk[:40]}…: {done.stderr.strip()[:160]}", file=sys.stderr)
            found.update({k: v for k, v in parse(done.stdout).items() if v})
    return found


def _shown(registers: frozenset[Register]) -> frozenset[str]:
    """Names of the registers that the oracle can show: its table of uniform registers ends at UR62."""
    return frozenset(str(r) for r in registers if r.file != "UR" or r.index < 63)


class Score:
    def __init__(self, observed: dict[str, str] | None = None) -> None:
        self.observed = observed
        self.equal = self.total = self.calls = self.calls_equal = self.unmarked = 0
        self.silent: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def judge(self, kernel: Kernel, marks: Marks) -> None:
        for ins in kernel.instructions:
            if ins.address not in marks:
                self.unmarked += 1
                self.silent[ins.opcode] += 1
                continue
            defs, uses = marks[ins.address]
            mine = _shown(ins.defs), _shown(ins.uses)
            same = mine == (defs, uses)
            if self.observed is not None:
                self._observe(ins, defs, uses)
            if ins.opcode == "CALL":
                self.calls += 1
                self.calls_equal += same
                continue
            self.total += 1
            self.equal += same
            if not same:
                key = re.sub(r"\d+", "#", re.sub(r"^@\S+ ", "", ins.form.shape.text))[:70]
                self.wrong[key] += 1
                lack = f"defs {sorted(defs ^ mine[0])} uses {sorted(uses ^ mine[1])}"
                oracle_says = f"oracle defs {sorted(defs)} uses {sorted(uses)}"
                self.examples.setdefault(key, f"{ins.text}   {lack}   {oracle_says}")

    def _observe(self, ins: Instruction, defs: frozenset[str], uses: frozenset[str]) -> None:
        """Keep the first instruction of each mnemonic and operand shape, guards left out."""
        key = re.sub(r"^@\S+ ", "", ins.form.shape.text)
        hidden = " ".join(map(str, ins.form.hidden))
        fields = [ins.kernel.arch, ins.form.text, hidden, " ".join(sorted(defs)), " ".join(sorted(uses))]
        self.observed.setdefault(key, "\t".join(fields))


def cubins(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    if data[18:20] == b"\xbe\x00":
        yield str(path), data
        return
    for entry in containers.entries(data, file=str(path)):
        if not isinstance(entry, Problem) and entry.kind == "cubin":
            yield f"{path}[{entry.name}]", entry.data


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--arch", help="only this architecture")
    parser.add_argument("--show", type=int, default=12, help="differences shown per architecture")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument(
        "--record", type=Path, help="write one observed instruction per mnemonic and shape here"
    )
    arguments = parser.parse_args()
    observed: dict[str, str] = {}
    scores: dict[str, Score] = defaultdict(lambda: Score(observed))
    unjudged: Counter[str] = Counter()
    for path in arguments.paths:
        for name, data in cubins(path):
            module: Module = read_module(data, Source(name))[0]
            if arguments.arch and module.arch != arguments.arch:
                continue
            found = oracle(data, module.layout)
            if found is None:
                unjudged[module.arch] += module.instructions
                continue
            for kernel in module.kernels:
                scores[module.arch].judge(kernel, found.get(kernel.name, {}))
    for arch, score in sorted(scores.items()):
        share = 100 * score.equal / max(1, score.total)
        print(
            f"{arch}: {score.equal} of {score.total} instructions equal ({share:.3f} %), "
            f"calls {score.calls_equal} of {score.calls}, not shown by the oracle {score.unmarked} "
            f"{dict(score.silent.most_common(3))}"
        )
        for key, count in score.wrong.most_common(arguments.show):
            print(f"    {count:7} {key}\n            {score.examples[key]}")
    for arch, count in sorted(unjudged.items()):
        print(f"{arch}: {count} instructions not judged (old ELF layout, no SASSQL_NVDISASM_12)")
    if arguments.record:
        head = "arch\ttext\thidden\tdefs\tuses"
        arguments.record.write_text("\n".join([head, *sorted(observed.values())]) + "\n")
    if arguments.json:
        figures = {a: {"equal": s.equal, "total": s.total} for a, s in scores.items()}
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
