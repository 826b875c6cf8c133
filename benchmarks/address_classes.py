"""How much is known of the addresses in cubins: pure polynomials, with div/mod/select, data-dependent, opaque.

    python benchmarks/address_classes.py FILE.cubin … FOLDER …

One line per architecture: kernels, addresses that are no spill of the compiler's, the share
of each kind, and microseconds of processor time per instruction for the polynomials (counters and addresses;
values, copies, constants and loops are there already) and for all of it. `--reasons` lists why addresses are
opaque, `--examples` shows some.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sassql.facts
from sassql.facts import addresses, counters, formulas
from sassql.facts.addresses import Address, AddressKind
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel
from sassql.reading.load import Options, collect, read

assert sassql.facts.__all__ and addresses and counters and formulas  # importing registers the analyses

SPACES = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC, Space.CONSTANT)
BEFORE = ("copies", "constants", "loops", "dominators")


@dataclass(slots=True)
class Outcome:
    """Sums over the kernels of one architecture."""

    kernels: int = 0
    instructions: int = 0
    kinds: Counter[AddressKind] = field(default_factory=Counter)
    bases: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0
    all_seconds: float = 0.0

    def add(self, kernel: Kernel) -> None:
        start = time.process_time()
        for name in BEFORE:
            kernel.fact(name)
        middle = time.process_time()
        found = kernel.fact("addresses")
        end = time.process_time()
        self.kernels += 1
        self.instructions += len(kernel.form_ids)
        self.seconds += end - middle
        self.all_seconds += end - start
        slots = kernel.fact("ssa").slots
        for address in found:
            if address.space in SPACES and address.instruction not in slots:
                self._count(kernel, address)

    def _count(self, kernel: Kernel, address: Address) -> None:
        self.kinds[address.kind] += 1
        if address.space is Space.GLOBAL:
            self.bases[address.base.kind] += 1
        if address.kind is AddressKind.OPAQUE:
            self.reasons[address.reason] += 1
            text = kernel.instructions[address.instruction].text
            self.examples.append(f"{address.reason}: {kernel.name} {text}\n        {address}")


def lines(arch: str, outcome: Outcome, reasons: bool, examples: int) -> list[str]:
    total = sum(outcome.kinds.values()) or 1
    shares = "  ".join(f"{kind.value} {outcome.kinds[kind] / total:6.2%}" for kind in AddressKind)
    per = 1e6 / max(outcome.instructions, 1)
    bases = sum(outcome.bases.values()) or 1
    found = [
        f"{arch:8} {outcome.kernels:5} kernels {outcome.instructions:8} instructions {total:7} addresses  {shares}  "
        f"global with a base {1 - outcome.bases['none'] / bases:.1%}  "
        f"{outcome.seconds * per:.1f} us/instruction, {outcome.all_seconds * per:.1f} with all before"
    ]
    if reasons:
        found += [f"    {count:6} {reason}" for reason, count in outcome.reasons.most_common(20)]
    step = max(1, len(outcome.examples) // max(examples, 1))
    return found + [f"    {text}" for text in outcome.examples[::step][:examples]]


def main() -> int:
    """Report on the files of the command line."""
    parser = argparse.ArgumentParser(description="Count kinds of addresses.")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--examples", type=int, default=0)
    options = parser.parse_args()
    outcomes: dict[str, Outcome] = {}
    for path in options.paths:
        program = collect(str(path), read(path, Options(jobs=1)))
        for problem in program.problems:
            print(problem, file=sys.stderr)
        for kernel in program.kernels:
            outcomes.setdefault(kernel.arch, Outcome()).add(kernel)
    for arch, outcome in outcomes.items():
        print(*lines(arch, outcome, options.reasons, options.examples), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
