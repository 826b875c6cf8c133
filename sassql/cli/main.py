"""The `sassql` command: sub-commands are imported when they are called."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from sassql import __version__
from sassql.errors import EXIT_FOUND, EXIT_USAGE, SassqlError

COMMANDS = {
    "classify": "One class per kernel, with the motifs in it.",
    "query": "Rows of motifs over files, folders or a corpus.",
    "inspect": "Every instruction as data, or a summary per file.",
    "show": "Annotated listing for people.",
    "report": "What a library or a corpus is made of, as a page to look at.",
    "graph": "Control flow, data flow, calls or loops for Graphviz, or as GraphML.",
    "compare": "Do two kernels compute the same, and in which sense?",
    "advise": "What could be otherwise: premise, price and evidence.",
    "invariants": "What the mathematics of each kernel forces: dependency, reductions, order, numerics.",
    "test": "Run the tests inside pattern files.",
    "lint": "What is wrong with pattern files, and what would be better.",
    "explain": "Why a pattern has no row in a kernel.",
    "plan": "In which order a pattern is searched, and what each statement leaves.",
    "fmt": "Format pattern files.",
    "accuracy": "Precision and recall on a corpus whose truth is known.",
    "corpus": "Build collections of kernels and see what is built.",
    "doctor": "Which CUDA tools were found and what they can do.",
}


class _Lazy(click.Group):
    """A group whose commands are modules of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"sassql.cli.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the sub-command; a reader that has seen enough (``| head``) is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_FOUND

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="sassql")
def cli() -> None:
    """Ask GPU machine code what your mathematics became.

    \b
    Examples:
      sassql doctor
      sassql query patterns/warp/shuffle_ladder.sq corpora/lowering
      sassql inspect libfoo.so --summary
      sassql show kernel.cubin --kernel 'softmax*'
      sassql query my_motif.sq build/ --format jsonl | jq .columns

    Exit codes: 0 found or done; 1 nothing found, or failures; 2 bad usage or pattern; 3 something could
    not be read or gave up (what could be read is printed all the same); 4 a CUDA tool is missing.
    """


def report(error: SassqlError) -> None:
    """Print an error on stderr: one line, and the source line with a caret where there is one."""
    click.echo(click.style("error: ", fg="red", bold=True) + str(error), err=True)
    if caret := error.caret():
        click.echo(caret, err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = cli.main(args=arguments, prog_name="sassql", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except SassqlError as error:
        report(error)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
