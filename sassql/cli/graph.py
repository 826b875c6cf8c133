"""`sassql graph`: a kernel's graphs for Graphviz and for every program that reads GraphML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sassql import graphs
from sassql.cli.inputs import Reading, input_options
from sassql.cli.view import Address, View, selected
from sassql.errors import UsageError
from sassql.model.kernel import Kernel

if TYPE_CHECKING:
    import networkx as nx

    from sassql.facts.blocks import Blocks

WHAT = ("cfg", "dataflow", "calls", "loops")
_MOST_NAMES = 3


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--what", type=click.Choice(WHAT), default="cfg", show_default=True, help="Which graph.")
@click.option(
    "--format",
    "format",
    type=click.Choice(("dot", "graphml")),
    default="dot",
    show_default=True,
    help="Language of Graphviz, or GraphML.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file instead of standard output.")
@click.option(
    "--block",
    "blocks",
    multiple=True,
    type=Address(),
    help="cfg, dataflow: only the block that holds this address; may be given several times.",
)
@click.option("--loop", "loops", multiple=True, type=int, help="cfg, dataflow: only this loop, by number.")
@click.option(
    "--slice",
    "slices",
    multiple=True,
    type=Address(),
    help="cfg, dataflow: only what the instruction at this address rests on.",
)
@input_options
@click.pass_context
def graph(
    ctx: click.Context,
    paths: tuple[Path, ...],
    what: str,
    format: str,
    output: Path | None,
    blocks: tuple[int, ...],
    loops: tuple[int, ...],
    slices: tuple[int, ...],
    arch: str | None,
    kernel_glob: str | None,
) -> None:
    """Print one kernel's control flow, data flow, calls or loops as a graph.

    The attributes of nodes and edges are those of docs/facts.md.

    \b
    Examples:
      sassql graph kernel.cubin --kernel '*softmax*' | dot -Tsvg > softmax.svg
      sassql graph kernel.cubin --kernel gemm --what dataflow --slice 0x310 | dot -Tpdf > slice.pdf
      sassql graph libfoo.so --arch sm_90 --kernel gemm --what loops --format graphml -o loops.graphml

    Exit codes: 0 done, 1 no such kernel, 2 bad usage, or several kernels, 3 something could not be read, 4 a
    tool is missing.
    """
    reading = Reading(paths, arch, kernel_glob)
    kernels = [kernel for module in reading.modules() for kernel in reading.kernels(module)]
    if len(kernels) > 1:
        raise UsageError(f"{len(kernels)} kernels, and a graph is of one", hint=_choose(kernels))
    for kernel in kernels:
        view = View(blocks=blocks, loops=loops, slices=slices)
        text = _text(kernel, what, format, view)
        if output is None:
            click.echo(text, nl=False)
        else:
            _write(output, text)
    ctx.exit(reading.finish(found=bool(kernels)))


def _choose(kernels: list[Kernel]) -> str:
    names = dict.fromkeys(f"{k.demangled} ({k.arch})" for k in kernels)
    shown = ", ".join(list(names)[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    return f"choose one by --kernel and --arch: {shown}"


def _text(kernel: Kernel, what: str, format: str, view: View) -> str:
    found: nx.Graph[Any]
    labels: dict[int, str] | None = None
    match what:
        case "cfg":
            found, labels = _part(kernel, kernel.cfg, view), graphs.block_labels(kernel)
        case "dataflow":
            found, labels = _part(kernel, kernel.dataflow, view), graphs.statement_labels(kernel)
        case "calls":
            found = kernel.callgraph
        case _:
            found, labels = graphs.loop_tree(kernel), graphs.loop_labels(kernel)
    if format == "graphml":
        return graphs.to_graphml(found) + "\n"
    return graphs.to_dot(found, name=kernel.demangled, labels=labels)


def _part(kernel: Kernel, whole: nx.Graph[Any], view: View) -> nx.Graph[Any]:
    """The nodes of a graph that hold one of the selected instructions, in their order."""
    if not view.partial:
        return whole
    blocks: Blocks = kernel.fact("blocks")
    numbers = selected(kernel, view)
    if "start" in next(iter(whole.nodes.values())):
        numbers = {int(blocks.start[int(blocks.of[index])]) for index in numbers}
    kept = {int(kernel.addresses[index]) for index in numbers}
    part = whole.__class__()
    part.graph.update(whole.graph)
    part.add_nodes_from((node, data) for node, data in whole.nodes(data=True) if node in kept)
    edges = whole.edges(data=True)
    part.add_edges_from((one, two, data) for one, two, data in edges if one in kept and two in kept)
    return part


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
