"""`sassql show`: an annotated listing for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from sassql.cli.inputs import Reading, input_options
from sassql.cli.listing import Listing
from sassql.cli.output import format_option, write_rows
from sassql.cli.records import COLUMNS, instruction_records
from sassql.cli.view import View, selected, terminal_width, view_options
from sassql.facts.addresses import Addresses
from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops
from sassql.facts.origins import Origins
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel

if TYPE_CHECKING:
    from sassql.engine.pattern import Pattern


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
@view_options
@input_options
@format_option
@click.pass_context
def show(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    motifs: tuple[Path, ...],
    arch: str | None,
    kernel_glob: str | None,
    format: str,
    width: int | None,
    **view: Any,  # noqa: ANN401  (the options of `View`)
) -> None:
    """Print kernels with their loops, blocks, guards, values, addresses, control codes and source lines.

    Left of an instruction stand its address and its control codes: stall cycles, Y where the scheduler
    may switch warps, W and R with the scoreboard that is set when the result is written or the sources
    are read, and the scoreboards waited for. Behind it stands what it reads: `R4 <- 0x310` was written by the
    instruction at 0x310, `R4 <- φ(0x90, 0x160)` by one of the two, depending on the way, `ψ` by a guarded
    instruction or the one before it; `= tid.x` says what the value is. `k1` counts the rounds of loop 1.

    \b
    Examples:
      sassql show kernel.cubin | less -R
      sassql show libfoo.so --arch sm_90 --kernel '*softmax*' --motif patterns/warp/shuffle_ladder.sq
      sassql show kernel.cu --kernel 'gemm*' --loop 1
      sassql show kernel.cubin --slice 0x310 --format jsonl

    Exit codes: 0 done, 1 nothing to print, 2 bad pattern or address, 3 something could not be read, 4 a tool
    is missing.
    """
    patterns = _patterns(motifs)
    chosen = View(width=width or terminal_width(), **view)
    reading = Reading(paths, arch, kernel_glob)
    kernels = (kernel for module in reading.modules() for kernel in reading.kernels(module))
    if format == "table":
        write, colors = _writer()
        count = 0
        for kernel in kernels:
            count += len(kernel.form_ids)
            for line in Listing(kernel, chosen, _marks(kernel, patterns), colors=colors).lines():
                write(line)
    else:
        records = (record for kernel in kernels for record in _records(kernel, chosen, patterns))
        count = write_rows(records, format, columns=(*COLUMNS, *_MORE) if format == "csv" else None)
    ctx.exit(reading.finish(found=count > 0))


_ASCII = str.maketrans({"│": "|", "╭": "/", "╰": "\\", "φ": "phi", "ψ": "psi"})


def _writer() -> tuple[Callable[[Text], object], bool]:
    """What prints lines, and whether in colours: elsewhere than on a terminal they are plain."""
    console = _Console(highlight=False, soft_wrap=True)
    encoding = sys.stdout.encoding or "ascii"
    if console.is_terminal and encoding.lower().startswith("utf"):
        return console.print, True

    def plain(line: Text) -> None:
        text = line.plain if encoding.lower().startswith("utf") else line.plain.translate(_ASCII)
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    return plain, False


_MORE = ("motifs", "loops", "sources", "addresses", "line")


def _records(kernel: Kernel, view: View, patterns: list[Pattern]) -> Iterator[dict[str, Any]]:
    """Instructions as `inspect` prints them, with what the listing says about each."""
    marks = _marks(kernel, patterns)
    shown = selected(kernel, view)
    blocks: Blocks = kernel.fact("blocks")
    loops: Loops = kernel.fact("loops")
    origins: Origins | None = kernel.fact("origins") if view.values else None
    addresses: Addresses | None = kernel.fact("addresses") if view.addresses else None
    for index, record in enumerate(instruction_records(kernel)):
        if index not in shown:
            continue
        record["motifs"] = marks.get(int(record["address"], 16), [])
        record["loops"] = list(reversed(loops.enclosing(int(blocks.of[index]))))
        if origins is not None:
            record["sources"] = [origin.as_record() for origin in origins.of(index)]
        if addresses is not None:
            record["addresses"] = [str(found) for found in addresses.by_instruction.get(index, ())]
        if view.lines:
            line = Instruction(kernel, index).source_line
            record["line"] = None if line is None else str(line)
        yield record


def _patterns(paths: tuple[Path, ...]) -> list[Pattern]:
    if not paths:
        return []
    from sassql.engine.pattern import Pattern  # noqa: PLC0415  (a listing without motifs needs no engine)

    return [Pattern.load(path) for path in paths]


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
