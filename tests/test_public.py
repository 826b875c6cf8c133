"""The public names: exactly the list, all there, and nothing heavy behind `import sassql`."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sassql
from sassql import errors

HEAVY = (
    "numpy",
    "pandas",
    "networkx",
    "lark",
    "elftools",
    "click",
    "rich",
    "cuda",
    "sassql.model",
    "sassql.reading",
)


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_list_is_sorted_and_has_no_name_twice():
    assert sassql.__all__ == sorted(set(sassql.__all__))


@pytest.mark.parametrize("name", sassql.__all__)
def test_every_name_is_there_and_documented(name):
    found = getattr(sassql, name)

    assert inspect.isclass(found) or inspect.isfunction(found)
    assert inspect.getdoc(found)
    assert found.__name__ == name
    assert found.__module__.startswith("sassql.")


def test_dir_shows_the_list():
    assert sorted(dir(sassql)) == sorted([*sassql.__all__, "__version__"])


def test_what_the_type_checker_sees_is_what_is_there():
    tree = ast.parse(Path(sassql.__file__).read_text("utf-8"))
    seen = {
        alias.name: node.module
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert sorted(seen) == sassql.__all__
    assert {name: getattr(importlib.import_module(home), name) for name, home in seen.items()} == {
        name: getattr(sassql, name) for name in sassql.__all__
    }


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'sassql' has no attribute 'frobnicate'"):
        sassql.frobnicate  # noqa: B018


def test_every_error_is_public_and_drawn_in_the_tree():
    tree = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.SassqlError)
    }

    assert set(tree) <= set(sassql.__all__)
    for name, kind in tree.items():
        assert f"{name} " in errors.__doc__
        assert kind.exit_code in (2, 3, 4)
        line = next(line for line in errors.__doc__.splitlines() if f"{name} " in line)
        assert f"exit {kind.exit_code} " in line


@pytest.mark.parametrize("name", [n for n in sassql.__all__ if n.endswith("Error") and n != "SassqlError"])
def test_a_problem_is_the_error_that_it_was(name):
    kind = getattr(sassql, name)
    error = kind("broken", place=sassql.Place("a.cubin", entry="e"), hint="mend it")
    problem = sassql.Problem.of(error)

    assert (type(problem.error()), str(problem.error())) == (kind, str(error))
    assert str(problem) == str(error) == "a.cubin[e]: broken; mend it"
    assert problem.exit_code == error.exit_code


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (sassql.Place(), ""),
        (sassql.Place("a"), "a"),
        (sassql.Place("a", 3), "a:3"),
        (sassql.Place("a", 3, 7), "a:3:7"),
        (sassql.Place("a", entry="1.sm_90.cubin"), "a[1.sm_90.cubin]"),
        (sassql.Place(line=3), "3"),
    ],
)
def test_a_place_as_text(place, text):
    assert str(place) == text


def test_a_caret_stands_under_the_column_also_behind_tabs():
    error = sassql.PatternError("bad", place=sassql.Place("a", 1, 4), source_line="\ta: }")

    assert error.caret() == "    \ta: }\n    \t  ^"
    assert sassql.PatternError("bad").caret() == ""


def test_importing_is_light():
    loaded = fresh(f"import sassql, sys; print([m for m in {HEAVY} if m in sys.modules])")

    assert loaded == "[]"


def test_a_pattern_needs_no_pandas_and_no_reader():
    heavy = ("pandas", "elftools", "cuda")
    code = f"import sassql, sys; sassql.Pattern; print([m for m in {heavy} if m in sys.modules])"

    assert fresh(code) == "[]"


def test_the_package_is_typed():
    assert (Path(sassql.__file__).parent / "py.typed").exists()
