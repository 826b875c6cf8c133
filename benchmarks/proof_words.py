"""The word path against the text path: the same cubins read both ways give equal instructions.

    python benchmarks/proof_words.py libbitsandbytes_cuda130.so corpora/lowering more.cubin

Compares, per architecture and instruction: address, text, target, opcode, modifiers, guard, operands, definitions and
uses, control bits and function; and the sets of kernels. Prints every kind of difference with an example.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sassql.corpus.build import build
from sassql.corpus.ingest import is_corpus
from sassql.errors import Problem
from sassql.model.instruction import Instruction
from sassql.model.kernel import Source
from sassql.reading import containers, cubin, text

FIELDS = ("address", "text", "target", "opcode", "modifiers", "guard", "defs", "uses", "control", "function")


def cubins(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every cubin of a file, a library or a corpus (for all its architectures)."""
    if path.is_dir() and is_corpus(path):
        for made in build(path, ["all"]).cubins:
            yield str(made.path), made.path.read_bytes()
        return
    data = path.read_bytes()
    if data[18:20] == b"\xbe\x00":
        yield str(path), data
        return
    for entry in containers.entries(data, file=str(path)):
        if not isinstance(entry, Problem) and entry.kind == "cubin":
            yield f"{path}[{entry.name}]", entry.data


def different(one: Instruction, other: Instruction) -> str:
    """The first field in which two instructions differ, or an empty string."""
    same_operands = [str(o) for o in one.operands] == [str(o) for o in other.operands]
    return next(
        (f for f in FIELDS if getattr(one, f) != getattr(other, f)), "" if same_operands else "operands"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    arguments = parser.parse_args()
    equal: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    files = problems = 0
    for path in arguments.paths:
        for name, data in cubins(path):
            files += 1
            words, first = cubin.read_module(data, Source(name))
            whole, second = text.read_module(data, Source(name))
            problems += len(first) + len(second)
            for problem in [*first, *second]:
                print("problem:", problem)
            filled = {k.name: k for k in words.kernels if len(k.form_ids)}
            if set(filled) != {k.name for k in whole.kernels}:
                wrong["kernels"] += 1
                print(f"{name}: kernels differ: {set(filled) ^ {k.name for k in whole.kernels}}")
            for other in whole.kernels:
                kernel = filled[other.name]
                for a, b in zip(kernel.instructions, other.instructions, strict=True):
                    field = different(a, b)
                    if field:
                        wrong[field] += 1
                        if wrong[field] <= 3:
                            print(f"{name} {kernel.name} {a.address:#x}: {field}: {a.text!r} / {b.text!r}")
                    else:
                        equal[words.arch] += 1
    for arch, count in sorted(equal.items()):
        print(f"{arch}: {count} instructions equal")
    print(
        f"{files} cubins, {equal.total()} instructions equal, {wrong.total()} different {dict(wrong)}, {problems} problems"
    )
    return 1 if wrong or problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
