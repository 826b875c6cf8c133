"""What of a kernel `sassql show` prints: columns, and which instructions."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

import click

from sassql.errors import UsageError
from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops
from sassql.facts.slices import Slices
from sassql.facts.values import SSA
from sassql.model.kernel import Kernel

_Command = TypeVar("_Command", bound=Callable[..., object])
PIPE_WIDTH = 160
"""Columns where no terminal says how many there are."""


@dataclass(frozen=True, slots=True)
class View:
    """Which columns are printed, in how many characters, and of which instructions.

    ``blocks`` and ``slices`` are addresses in bytes, ``loops`` numbers; without any of them everything
    is printed.
    """

    values: bool = True
    addresses: bool = True
    lines: bool = True
    registers: bool = False
    padding: bool = False
    width: int = PIPE_WIDTH
    blocks: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    slices: tuple[int, ...] = ()

    @property
    def partial(self) -> bool:
        return bool(self.blocks or self.loops or self.slices)


class Address(click.ParamType):  # type: ignore[type-arg]
    """An offset in the kernel's section: ``0x310``, with or without ``0x``."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(str(value), 16)
        except ValueError:
            self.fail(f"{value!r} is no address, as 0x310 is", param, ctx)


def view_options(command: _Command) -> _Command:
    """Adds the options of a `View` to a click command."""
    for option in reversed(
        (
            click.option(
                "--values/--no-values",
                default=True,
                help="Which instructions define what each one reads, and what the value is.",
            ),
            click.option(
                "--addresses/--no-addresses",
                default=True,
                help="What each memory access addresses, in threads, blocks and loop counters.",
            ),
            click.option(
                "--lines/--no-lines",
                default=True,
                help="Source lines, where the binary was built with -lineinfo.",
            ),
            click.option("--registers", is_flag=True, help="Which registers each instruction writes, reads."),
            click.option("--padding", is_flag=True, help="Print padding instead of its length."),
            click.option(
                "--block",
                "--at",
                "blocks",
                multiple=True,
                type=Address(),
                help="Only the block that holds this address; may be given several times.",
            ),
            click.option(
                "--loop", "loops", multiple=True, type=int, help="Only the blocks of this loop, by number."
            ),
            click.option(
                "--slice",
                "slices",
                multiple=True,
                type=Address(),
                help="Only what the instruction at this address rests on: its backward slice.",
            ),
            click.option(
                "--width",
                type=click.IntRange(min=40),
                default=None,
                help="Characters in a line; those of the terminal by default.",
            ),
        )
    ):
        command = option(command)
    return command


def terminal_width() -> int:
    """Columns of the terminal that the listing is read in, also behind a pipe into a pager."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if "COLUMNS" in os.environ:
            break
        try:
            if stream is not None and stream.isatty():
                return os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            continue
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def selected(kernel: Kernel, view: View) -> Collection[int]:
    """Numbers of the instructions that a view prints.

    Raises:
        UsageError: the kernel has no instruction at an address, or no loop of a number.
    """
    if not view.partial:
        return range(len(kernel.form_ids))
    blocks: Blocks = kernel.fact("blocks")
    found: set[int] = set()
    for address in view.blocks:
        block = int(blocks.of[_at(kernel, address)])
        found.update(range(int(blocks.start[block]), int(blocks.end[block])))
    loops: Loops = kernel.fact("loops")
    for number in view.loops:
        if not 0 <= number < len(loops):
            raise UsageError(f"{kernel.demangled} has no loop {number}", hint=_loops_hint(len(loops)))
        for block in loops[number].blocks:
            found.update(range(int(blocks.start[block]), int(blocks.end[block])))
    for address in view.slices:
        found |= _slice(kernel, _at(kernel, address))
    return found


def _loops_hint(count: int) -> str:
    return f"its loops are 0 to {count - 1}" if count else "it has no loop"


def _at(kernel: Kernel, address: int) -> int:
    try:
        return kernel.at(address).index
    except KeyError:
        last = int(kernel.addresses[-1])
        raise UsageError(
            f"{kernel.demangled} has no instruction at {address:#x}",
            hint=f"its instructions are at 0x0 to {last:#x}",
        ) from None


def _slice(kernel: Kernel, index: int) -> set[int]:
    """An instruction and what it reads rests on, back to loads; with guards and deciding branches."""
    ssa: SSA = kernel.fact("ssa")
    slices: Slices = kernel.fact("slices")
    found = {index}
    for value in dict.fromkeys(value for _, _, value in ssa.uses_of(index)):
        made = slices.backward(value)
        if made.incomplete:
            click.echo(f"note: the slice of {kernel.demangled} is not whole: {made.incomplete}", err=True)
        found |= made.instructions
    return found
