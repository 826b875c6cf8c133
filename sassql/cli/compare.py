"""`sassql compare`: do two kernels compute the same thing, and in which sense?"""

from __future__ import annotations

from pathlib import Path

import click

from sassql.cli.inputs import Reading, matches
from sassql.cli.output import format_option, write_rows
from sassql.errors import EXIT_FOUND, EXIT_INPUT, EXIT_NOTHING, UsageError
from sassql.insight import reference
from sassql.insight.compare import DEFAULT_TOLERANCE, REFUSED, Comparison
from sassql.insight.compare import compare as compare_kernels
from sassql.insight.launch import Shape
from sassql.insight.levels import LEVELS, NOT_SHOWN
from sassql.insight.machine import DEFAULT_BUDGET
from sassql.model.kernel import Kernel

_MEANS = {
    "E0": "the same bits for every input, by construction",
    "E1": "the same sums and products in another order",
    "E2": "the same after multiply-adds are contracted or not",
    "E3": "the same but for approximate instructions and rounding modes",
    "E4": "the same real function, at random points",
    "not_shown": "not shown to be the same",
    REFUSED: "no answer",
}


@click.command()
@click.argument("a", metavar="FILE_A[:KERNEL]")
@click.argument("b", metavar="[FILE_B[:KERNEL]]", required=False)
@click.option("--kernel-a", metavar="NAME", help="Kernel of FILE_A, where the path does not name it.")
@click.option("--kernel-b", metavar="NAME", help="Kernel of FILE_B.")
@click.option("--arch-a", metavar="ARCH", help="Architecture of A; sources are compiled for it (sm_90).")
@click.option("--arch-b", metavar="ARCH", help="Architecture of B; that of A unless given.")
@click.option(
    "--launch", required=True, type=click.Path(path_type=Path), help="How both are run: a TOML file."
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="n=1000,m=8",
    help="A shape in place of the file's; repeatable.",
)
@click.option("--numpy", "function", metavar="FILE.py:FUNCTION", help="A reference in numpy in place of B.")
@click.option(
    "--tolerance",
    default=DEFAULT_TOLERANCE,
    show_default=True,
    help="Largest relative difference that counts as numerically equivalent.",
)
@click.option(
    "--budget", default=DEFAULT_BUDGET, show_default=True, help="Most instructions that a run may issue."
)
@format_option
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    a: str,
    b: str | None,
    kernel_a: str | None,
    kernel_b: str | None,
    arch_a: str | None,
    arch_b: str | None,
    launch: Path,
    shapes: tuple[str, ...],
    function: str | None,
    tolerance: float,
    budget: int,
    format: str,
) -> None:
    """Say the lowest level at which two kernels are equal, by output, with what the answer rests on.

    Both are executed on small shapes with unknown data; integers, addresses and predicates are numbers.
    A level holds for these shapes:
    E0 the same bits for all inputs, E1 other order of sums, E2 contraction, E3
    approximate instructions, E4 the same real function at random points.

    \b
    Examples:
      sassql compare v1.cubin:softmax v2.cubin:softmax --launch softmax.toml
      sassql compare kernels.cu:gemm_naive kernels.cu:gemm_tiled --launch gemm.toml --shape M=16,N=16,K=64
      sassql compare k.cubin:norm --numpy ref.py:layer_norm --launch norm.toml --format jsonl

    Exit codes: 0 E0 to E4, 1 not shown, 2 bad usage or launch file, 3 refused or something could not be read,
    4 a tool is missing.
    """
    if (b is None) == (function is None):
        raise UsageError("give a second kernel, or --numpy in its place")
    wanted = [_shape(text) for text in shapes] or None
    first = _kernel(a, kernel_a, arch_a)
    if function is not None:
        found = reference.compare_with_numpy(
            first,
            reference.load_function(function),
            launch,
            shapes=wanted,
            tolerance=tolerance,
            budget=budget,
        )
    else:
        second = _kernel(b or "", kernel_b, arch_b or arch_a)
        found = compare_kernels(first, second, launch, shapes=wanted, tolerance=tolerance, budget=budget)
    if format == "table":
        _print(found)
    else:
        write_rows([found.as_record()], format)
    codes = {REFUSED: EXIT_INPUT, LEVELS[NOT_SHOWN]: EXIT_NOTHING}
    ctx.exit(codes.get(found.level, EXIT_FOUND))


def _shape(text: str) -> Shape:
    shape: Shape = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals or not value.strip().lstrip("-").isdigit():
            raise UsageError(f"{text!r} is no shape", hint="such as n=1000,m=8")
        shape[name.strip()] = int(value)
    return shape


def _kernel(where: str, name: str | None, arch: str | None) -> Kernel:
    """The one kernel that a path and a name mean."""
    path = Path(where)
    if not path.exists() and ":" in where:
        text, _, named = where.rpartition(":")
        path, name = Path(text), name or named
    reading = Reading([path], arch, name)
    found = [kernel for module in reading.modules() for kernel in reading.kernels(module) if kernel.is_entry]
    exact = [kernel for kernel in found if name is not None and kernel.name == name]
    found = exact or found
    if not found and any(p.exit_code for p in reading.problems):
        serious = next(p for p in reading.problems if p.exit_code)
        raise serious.error()
    if not found:
        raise UsageError(f"{path} has no kernel {name!r}" if name else f"{path} has no kernel")
    if len(found) > 1:
        names = ", ".join(sorted({f"{k.name} ({k.arch})" for k in found})[:4])
        raise UsageError(
            f"{where} means {len(found)} kernels: {names}", hint="name one: FILE:KERNEL, --arch-a, --arch-b"
        )
    assert name is None or matches(found[0], name)
    return found[0]


def _print(found: Comparison) -> None:
    """The answer for people: the level first, then by output, then what it rests on."""
    echo = click.echo
    echo(f"A  {found.kernel_a} {found.arch_a}")
    echo(f"B  {found.kernel_b} {found.arch_b}")
    echo(f"{found.level}  {_MEANS[found.level]}")
    for name, level in found.outputs.items():
        echo(f"  {name}  {level}")
    if found.reason:
        echo(f"  because {found.reason}")
    holds = [name for name, value in found.equivalences.items() if value]
    echo(f"equivalent: {', '.join(holds) or 'in no sense'}")
    for label, error in (("A", found.error_a), ("B", found.error_b)):
        if error is not None:
            echo(f"predicted error of {label}: {error:.1e} of the largest value")
    if found.difference is not None:
        echo(f"predicted difference: {found.difference:.1e}")
    echo("shapes: " + "; ".join(", ".join(f"{k}={v}" for k, v in s.items()) or "-" for s in found.shapes))
    for text in found.assumptions:
        echo(f"assumes: {text}")
    for text in found.notes:
        echo(f"note: {text}")
