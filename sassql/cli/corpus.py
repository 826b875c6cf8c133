"""`sassql corpus`: build a folder of kernel sources, and see what is built."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from sassql.cli.inputs import code_of
from sassql.cli.output import format_option, write_rows
from sassql.corpus import build as building
from sassql.corpus.manifest import Manifest, load_manifest
from sassql.reading.tools import sort_key

_BUILD_COLUMNS = ("source", "arch", "compiled", "seconds", "cubin")
_INFO_COLUMNS = (
    "source",
    "subject",
    "kernels",
    "architectures",
    "current",
    "stale",
    "missing",
    "reasons",
    "compilers",
    "cuda_headers",
    "listed",
    "cache",
)
_INFO_TABLE = ("source", "subject", "kernels", "architectures", "current", "stale", "missing", "reasons")


@click.group()
def corpus() -> None:
    """Build collections of kernels and see what is built.

    A corpus is a folder with a manifest.toml, or just with .cu files. Its cubins go into the cache
    folder, never beside the sources.

    \b
    Examples:
      sassql corpus build corpora/lowering
      sassql corpus info corpora/lowering
    """


@corpus.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--arch", metavar="LIST", help="Architectures with commas between, or all.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Compiler processes; one for each CPU by default."
)
@format_option
def build(folder: Path, arch: str | None, jobs: int | None, format: str) -> None:
    """Compile what changed since the last build; one row for each cubin.

    A source that does not compile is reported, and the rest goes on: the exit code is 3 then.

    \b
    Examples:
      sassql corpus build corpora/lowering
      sassql corpus build corpora/lowering --arch sm_80,sm_90a
      sassql corpus build corpora/lowering --arch all --jobs 8
      sassql corpus build my_kernels --format jsonl | jq -r .cubin
    """
    wanted = [name.strip() for name in arch.split(",") if name.strip()] if arch else None
    started = time.perf_counter()
    with _bar() as progress:
        result = building.build(folder, wanted, jobs=jobs, progress=progress)
    rows = (
        {
            "source": str(cubin.source),
            "arch": cubin.arch,
            "compiled": cubin.fresh,
            "seconds": cubin.provenance.seconds,
            "cubin": str(cubin.path),
        }
        for cubin in result.cubins
    )
    write_rows(rows, format, columns=_BUILD_COLUMNS)
    for problem in result.problems:
        click.echo(str(problem), err=True)
    compiled = sum(cubin.fresh for cubin in result.cubins)
    click.echo(
        f"{len(result.cubins)} cubins in {result.folder}: {compiled} compiled, "
        f"{len(result.cubins) - compiled} as they were, {len(result.problems)} problems, "
        f"{time.perf_counter() - started:.1f} s",
        err=True,
    )
    if result.problems:
        click.get_current_context().exit(code_of(result.problems))


@corpus.command()
@click.argument("folder", type=click.Path(path_type=Path))
@format_option
def info(folder: Path, format: str) -> None:
    """List the sources of a corpus and what is built of each; compiles nothing.

    A cubin is stale when its source, a header, an option, the compiler or the CUDA headers changed;
    the column reasons says which. A file that the manifest does not name has a row too.

    \b
    Examples:
      sassql corpus info corpora/lowering
      sassql corpus info corpora/lowering --format csv > lowering.csv
      sassql corpus info corpora/lowering --format jsonl | jq 'select(.stale > 0).source'
    """
    manifest = load_manifest(folder)
    archs = {*manifest.architectures, *building.built_architectures(manifest)}
    found = building.states(manifest, sorted(archs, key=sort_key))
    if format == "table":
        _print_heading(manifest, found)
    columns = _INFO_TABLE if format == "table" else _INFO_COLUMNS
    write_rows(_info_rows(manifest, found), format, columns=columns)


def _print_heading(manifest: Manifest, found: Sequence[building.CubinState]) -> None:
    """What is the same for all rows, for people."""
    made = [state.provenance.inputs for state in found if state.provenance]
    tools = sorted({inputs.compiler for inputs in made})
    headers = sorted({f"CUDA headers {inputs.cuda_headers}" for inputs in made if inputs.cuda_headers})
    click.echo(f"{manifest.name}: {manifest.title}".removesuffix(": "), err=True)
    click.echo(f"cache: {manifest.built}", err=True)
    click.echo(f"built with: {', '.join([*tools, *headers]) or 'nothing is built'}", err=True)


def _info_rows(manifest: Manifest, found: Sequence[building.CubinState]) -> Iterator[dict[str, object]]:
    """One row for each source, then one for each file that the manifest does not name."""
    for source in manifest.sources:
        mine = [state for state in found if state.source == source]
        count = Counter(state.state for state in mine)
        made = [state.provenance for state in mine if state.provenance]
        yield {
            "source": source.file,
            "subject": source.subject,
            "kernels": source.kernels,
            "architectures": [state.arch for state in mine if state.state == "current"],
            **{state: count[state] for state in ("current", "stale", "missing")},
            "reasons": sorted({state.reason for state in mine if state.reason}),
            "compilers": sorted({provenance.inputs.compiler for provenance in made}),
            "cuda_headers": sorted({provenance.inputs.cuda_headers for provenance in made}),
            "listed": True,
            "cache": str(manifest.built),
        }
    for file in manifest.unlisted:
        yield {
            "source": file,
            "subject": "not in the manifest",
            "listed": False,
            "cache": str(manifest.built),
        }


@contextlib.contextmanager
def _bar() -> Iterator[building.Progress | None]:
    """A progress bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - costs more to import than all the rest
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*parts, console=console, transient=True) as shown:
        task = shown.add_task("compiling", total=None)

        def progress(done: int, total: int, label: str) -> None:
            shown.update(task, completed=done, total=total or None, description=label or "compiling")

        yield progress
