"""`sassql show`: an annotated listing for people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sassql.cli.inputs import Reading, input_options
from sassql.cli.output import format_option, write_rows
from sassql.cli.records import COLUMNS, instruction_records
from sassql.engine.pattern import Pattern
from sassql.facts.addresses import Addresses
from sassql.isa.flow import FlowKind, flow_of
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel, SourceLine

_STYLES = {
    FlowKind.BRANCH: "bold magenta",
    FlowKind.INDIRECT: "bold magenta",
    FlowKind.CALL: "bold magenta",
    FlowKind.RETURN: "bold magenta",
    FlowKind.EXIT: "bold red",
}
_TAGGED = "dim"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the command line: rich would end the process with 1."""
        raise BrokenPipeError


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--motif",
    "motifs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.sq",
    help="Mark the instructions that a pattern matches; may be given several times.",
)
@click.option("--registers", is_flag=True, help="Show which registers each instruction writes and reads.")
@click.option(
    "--addresses",
    is_flag=True,
    help="Show what each memory access addresses, in threads, blocks and loop counters.",
)
@click.option("--lines", is_flag=True, help="Show source lines, where the binary was built with -lineinfo.")
@input_options
@format_option
@click.pass_context
def show(
    ctx: click.Context,
    paths: tuple[Path, ...],
    motifs: tuple[Path, ...],
    registers: bool,
    addresses: bool,
    lines: bool,
    arch: str | None,
    kernel_glob: str | None,
    format: str,
) -> None:
    """Print kernels with their blocks, branch targets, control bits and matched motifs.

    Left of an instruction stand its address and its control bits: stall cycles, Y where the scheduler may
    switch warps, W and R with the scoreboard that is set when the result is written or the sources are
    read, and the scoreboards waited for.

    \b
    Examples:
      sassql show kernel.cubin
      sassql show libfoo.so --arch sm_90 --kernel '*softmax*' --motif patterns/warp/shuffle_ladder.sq
      sassql show kernel.cu --registers | less -R

    Exit codes: 0 done, 1 nothing to print, 2 bad pattern, 3 something could not be read, 4 a tool is missing.
    """
    patterns = [Pattern.load(path) for path in motifs]
    reading = Reading(paths, arch, kernel_glob)
    kernels = (kernel for module in reading.modules() for kernel in reading.kernels(module))
    if format == "table":
        console = _Console(highlight=False, soft_wrap=True)
        count = 0
        for kernel in kernels:
            count += len(kernel.form_ids)
            for line in listing(kernel, patterns, registers=registers, addresses=addresses, lines=lines):
                console.print(line)
    else:
        records = (
            _marked(r, marks)
            for k in kernels
            for marks in [_marks(k, patterns)]
            for r in instruction_records(k)
        )
        count = write_rows(records, format, columns=(*COLUMNS, "motifs") if format == "csv" else None)
    ctx.exit(reading.finish(found=count > 0))


def listing(
    kernel: Kernel, patterns: list[Pattern], *, registers: bool, addresses: bool, lines: bool
) -> Iterator[Text]:
    """The lines of one kernel's annotated listing."""
    yield from _heading(kernel)
    marks = _marks(kernel, patterns)
    graph = kernel.cfg
    tags = kernel.fact("tags")
    known: Addresses | None = kernel.fact("addresses") if addresses else None
    before: SourceLine | None = None
    for ins in kernel.instructions:
        if ins.address in graph:
            yield from _block(kernel, ins.address)
        if lines and (origin := ins.source_line) != before:
            before = origin
            yield Text(f"  {origin}" if origin else "  (no source line)", style="italic dim")
        line = Text()
        line.append(f"  {ins.address:#06x}  ", style="cyan")
        line.append(f"{_control(ins):<24}", style="dim")
        names = tags.get(ins.index, ())
        line.append(f"{ins.text:<52}", style=_TAGGED if names else _STYLES.get(flow_of(ins.form).kind, ""))
        if registers:
            line.append(f"  {_names(ins.defs)} <- {_names(ins.uses)}", style="blue")
        if known is not None and (found := known.of(ins.index)) is not None:
            line.append(f"  {found}", style="cyan")
        for name in names:
            line.append(f"  {name}", style="yellow")
        for mark in marks.get(ins.address, ()):
            line.append(f"  {mark}", style="bold green")
        line.rstrip()
        yield line
    yield Text()


def _heading(kernel: Kernel) -> Iterator[Text]:
    line = Text(kernel.demangled, style="bold")
    line.append(f"   {kernel.arch}, {len(kernel.form_ids)} instructions", style="default")
    yield line
    found = kernel.resources
    facts = {
        "registers": found.registers,
        "shared bytes": found.shared,
        "local bytes": found.local,
        "barriers": found.barriers,
        "parameters": len(found.parameters) or None,
    }
    known = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
    yield Text(f"{kernel.source}{'   ' + known if known else ''}", style="dim")


def _block(kernel: Kernel, address: int) -> Iterator[Text]:
    graph = kernel.cfg
    name = next((f.name for f in kernel.functions if f.start == address), "")
    if name and name != kernel.name:
        yield Text(f"{name}:", style="bold")
    from_ = ", ".join(f"{p:#x}" for p in sorted(graph.predecessors(address)))
    to = ", ".join(f"{s:#x}" for s in sorted(graph.successors(address)))
    yield Text(
        f"block {address:#x}" + (f"  from {from_}" if from_ else "") + (f"  to {to}" if to else ""),
        style="green",
    )


def _control(ins: Instruction) -> str:
    control = ins.control
    if control is None:
        return ""
    waits = "".join(str(i) for i in range(6) if control.wait_mask >> i & 1)
    parts = [f"{control.stall:2}", "Y" if control.may_yield else "-"]
    parts.append("-" if control.write_barrier is None else f"W{control.write_barrier}")
    parts.append("-" if control.read_barrier is None else f"R{control.read_barrier}")
    return " ".join([*parts, f"wait {waits}" if waits else ""])


def _names(registers: frozenset[Any]) -> str:
    return " ".join(map(str, sorted(registers))) or "-"


def _marks(kernel: Kernel, patterns: list[Pattern]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for pattern in patterns:
        if not pattern.covers(kernel.arch):
            continue
        for number, row in enumerate(pattern.match(kernel), 1):
            for label, instructions in row.instructions.items():
                for ins in instructions:
                    found.setdefault(ins.address, []).append(f"{row.motif}#{number}.{label}")
    return found


def _marked(record: dict[str, Any], marks: dict[int, list[str]]) -> dict[str, Any]:
    return {**record, "motifs": marks.get(int(record["address"], 16), [])}
