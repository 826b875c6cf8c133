"""Mutation test of `sassql compare`: kernels with one instruction changed must not pass as bitwise equal.

    python benchmarks/mutants.py [--count 1000] [--seed 0] [--arch sm_90] [--out mutants.tsv]

A mutant has one changed instruction: another register, a constant one off, a comparison or an operation replaced,
a guard inverted or dropped, an instruction left out. It is compared with its original on the shapes of
corpora/lowering/launch.toml, scratch buffers included. What is still called E0 is run on numbers, too: a difference there
is a wrong E0. The rest is explained by what the changed instruction writes:

same value   in every execution it writes what the original writes
not needed   it writes something else, and no output depends on that
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import sassql
from sassql.facts.blocks import Blocks
from sassql.insight.compare import compare
from sassql.insight.dag import Dag
from sassql.insight.launch import Launch, read_launch
from sassql.insight.launching import stage
from sassql.insight.machine import Machine
from sassql.insight.running import run
from sassql.insight.sampling import Draws
from sassql.insight.state import Fault, Refused, general, predicate
from sassql.model.kernel import Kernel
from sassql.reading.shapes import SHAPES

BUDGET = 30_000
"""Instructions of a run: a mutant may loop for ever."""
LOWERING = Path(sassql.__file__).parents[1] / "corpora" / "lowering"
KERNELS = [
    "aff_scalar",
    "aff_channel",
    "argmax_packed",
    "attn_online_warp",
    "br_sum_tree",
    "br_sum_warp",
    "br_max_row_sub",
    "conv3x3_bias_relu",
    "conv_dw3x3_smem",
    "dc_bitonic",
    "dc_wht",
    "dot_f4",
    "dot_warp",
    "dot_half2",
    "ew_divs",
    "ew_gelu_tanh",
    "ew_relu_f4",
    "ew_scale_gs",
    "ew_sigmoid",
    "ew_sin",
    "embed_gather",
    "gemm_tiled16",
    "gemm_cpasync",
    "gemm_wmma",
    "gr_pass1",
    "gr_lastblock",
    "hist_shared",
    "ln_onepass_warp",
    "ln_twopass",
    "rope_table",
    "rt_barrier_own",
    "rt_local",
    "rt_two_loops",
    "scan_block",
    "scan_hs_smem",
    "sm_block_mat",
    "sm_online_warp",
    "stencil3",
    "topk4_thread",
    "tr_padded",
    "wr_dsum_xor",
    "wr_imax_xor",
    "wr_isum_redux",
    "wr_sum_paramwidth",
    "xent_warp",
]
_OPPOSITES = {
    "GE": "GT", "GT": "GE", "LT": "LE", "LE": "LT", "EQ": "NE", "NE": "EQ", "GEU": "GTU", "NEU": "EQU",
    "BFLY": "DOWN", "DOWN": "UP", "UP": "DOWN", "AND": "OR", "OR": "AND", "U32": "S32",
}  # fmt: skip
_OPCODES = {"FADD": "FMUL", "FMUL": "FADD", "IADD3": "LOP3.LUT", "FMNMX": "FADD", "IADD": "VIADD"}


class OneChanged:
    """The forms of a kernel with one of them replaced."""

    def __init__(self, forms, form):
        self.forms, self.form, self.row = forms, form, -2

    def __getitem__(self, row):
        return self.form if row == self.row else self.forms[row]

    def count_opcodes(self, rows):
        return self.forms.count_opcodes(rows[rows != self.row])


def mutations(text: str, rng: random.Random) -> list[tuple[str, str]]:
    """Changed statements, with the kind of change."""
    found = [("left out", "NOP")]
    guard = re.match(r"@(!?)(U?P\d) ", text)
    if guard:
        other = f"@{'' if guard[1] else '!'}{guard[2]} "
        found += [("guard inverted", other + text[guard.end() :]), ("guard dropped", text[guard.end() :])]
    head, _, operands = text.partition(" ") if not guard else text[guard.end() :].partition(" ")
    start = text[: guard.end()] if guard else ""
    for place, word in enumerate(head.split(".")):
        if place and word in _OPPOSITES:
            words = head.split(".")
            words[place] = _OPPOSITES[word]
            found.append(("modifier", start + ".".join(words) + " " + operands))
    if head.split(".")[0] in _OPCODES and "LUT" not in head:
        replaced = _OPCODES[head.split(".")[0]]
        if replaced in ("FMUL", "FADD") and "PT" not in operands:
            found.append(("operation", start + ".".join([replaced, *head.split(".")[1:]]) + " " + operands))
    parts = operands.split(", ")
    for place, part in enumerate(parts):
        if place and re.fullmatch(r"-?R\d+(\.reuse)?", part):
            number = int(re.search(r"\d+", part)[0])
            other = part.replace(str(number), str(max(number + rng.choice((-1, 1, 2)), 0)), 1)
            found.append(
                ("register", start + head + " " + ", ".join([*parts[:place], other, *parts[place + 1 :]]))
            )
            if not re.match("[FDH](ADD|MUL|FMA|MNMX|SETP)|IADD3|IMAD", head):
                continue
            sign = part[1:] if part.startswith("-") else "-" + part
            found.append(
                ("sign", start + head + " " + ", ".join([*parts[:place], sign, *parts[place + 1 :]]))
            )
        elif place and re.fullmatch(r"-?0x[0-9a-f]+", part):
            value = int(part, 16) + rng.choice((-1, 1, 4, 16))
            other = f"{'-' if value < 0 else ''}{abs(value):#x}"
            found.append(
                ("number", start + head + " " + ", ".join([*parts[:place], other, *parts[place + 1 :]]))
            )
        elif "[" in part and "c[" not in part:
            found.append(
                ("address", text.replace(part, part.replace("]", "+0x4]", 1) if "+0x" not in part else part))
            )
    return [(kind, new) for kind, new in found if new != text]


def mutant(kernel: Kernel, index: int, text: str) -> Kernel | None:
    """A kernel with another instruction at ``index``; None for a statement that the tables do not know."""
    form = SHAPES.form(text)
    if form.shape.problem or not form.shape.known:
        return None
    forms = OneChanged(kernel.forms, form)
    rows = kernel.form_ids.copy()
    forms.row = int(rows.max()) + 1
    rows[index] = forms.row
    targets = kernel.targets.copy()
    if "`(" not in text:
        targets[index] = -1
    return replace(kernel, forms=forms, form_ids=rows, targets=targets, _facts={}, _rows=None)


def candidates(kernel: Kernel, launch: Launch) -> list[int]:
    """Live instructions that run on some shape, and that a change can be made to."""
    reached = np.logical_or.reduce([run(kernel, launch.a, shape).reached for shape in launch.shapes])
    blocks: Blocks = kernel.fact("blocks")
    tags = kernel.fact("tags")
    return [
        i.index
        for i in kernel.instructions
        if reached[i.index]
        and blocks.reachable[int(blocks.of[i.index])]
        and not tags.get(i.index)
        and i.target is None
    ]


def written(kernel: Kernel, index: int, launch: Launch, seed: int) -> tuple[list, list]:
    """Outputs on numbers, and what instruction ``index`` leaves in the registers that the original writes."""
    outputs, values = [], []
    for number, shape in enumerate(launch.shapes):
        draws = Draws.of(launch, shape, seed=seed)
        prepared = stage(kernel, launch.a, shape, number % 2 == 0, draws)
        machine = Machine(kernel, prepared, Dag())
        op = machine.op(index)

        def watched(machine, chosen, op=op):
            op.run(machine, chosen)
            for register in sorted(WATCHED):
                if register.file in ("R", "UR"):
                    row = general(register.file, register.index)
                    values.append(machine.state.bits[row].copy())
                elif register.file in ("P", "UP"):
                    values.append(machine.state.holds[predicate(register.file, register.index)].copy())

        machine._ops[index] = replace(op, run=watched)
        machine.run()
        outputs += [machine.global_memory.bits.copy(), machine.global_memory.tracker.stored.copy()]
    return outputs, values


WATCHED: set = set()


def survivor(kernel: Kernel, changed: Kernel, index: int, launch: Launch) -> tuple[str, str]:
    """E0 with its explanation, or a wrong E0."""
    WATCHED.clear()
    WATCHED.update(kernel.instructions[index].defs)
    same = True
    for seed in (1, 2):
        try:
            first, before = written(kernel, index, launch, seed)
            second, after = written(changed, index, launch, seed)
        except (Refused, Fault) as error:
            return "WRONG E0", str(error)
        if any((a != b).any() for a, b in zip(first, second, strict=True)):
            return "WRONG E0", "the outputs differ on numbers"
        same &= len(before) == len(after) and all((a == b).all() for a, b in zip(before, after, strict=True))
    return "E0", "same value" if same and WATCHED else "not needed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--kernel", nargs="*", default=KERNELS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    corpus = sassql.Corpus.open(LOWERING, arch=options.arch)
    kernels = {k.name: k for k in corpus.kernels() if k.name in options.kernel}
    launches = {name: replace(read_launch(LOWERING / "launch.toml", name), partial=True) for name in kernels}
    counts: Counter[str] = Counter()
    by_kind: Counter[tuple[str, str]] = Counter()
    lines = ["kernel\taddress\tkind\toriginal\tmutant\tlevel\treason"]
    started, names = time.time(), sorted(kernels)
    per_kernel = -(-options.count // len(names))
    for name in names:
        kernel = kernels[name]
        done, tries = 0, 0
        places = candidates(kernel, launches[name])
        while done < per_kernel and tries < 20 * per_kernel:
            tries += 1
            index = rng.choice(places)
            original = kernel.instructions[index]
            changes = mutations(original.form.text, rng)
            if not changes:
                continue
            kind, text = rng.choice(changes)
            changed = mutant(kernel, index, text)
            if changed is None:
                continue
            done += 1
            try:
                found = compare(kernel, changed, launches[name], strict=True, quick=True, budget=BUDGET)
                level, reason = found.level, found.reason
                if level == "E0":
                    level, reason = survivor(kernel, changed, index, launches[name])
            except (IndexError, ValueError, KeyError, OverflowError) as error:  # a crash is a finding, too
                level, reason = "crash", f"{type(error).__name__}: {error}"
            counts[level] += 1
            by_kind[kind, level] += 1
            lines.append(
                f"{name}\t{original.address:#x}\t{kind}\t{original.text}\t{text}\t{level}\t{reason[:160]}"
            )
            if level in ("E0", "crash", "WRONG E0"):
                print(lines[-1], flush=True)
    seconds = time.time() - started
    print(
        f"{sum(counts.values())} mutants of {len(names)} kernels ({options.arch}) in {seconds:.0f} s: {dict(counts)}"
    )
    for (kind, level), number in sorted(by_kind.items()):
        if level == "E0":
            print(f"  E0, {kind}: {number}")
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
