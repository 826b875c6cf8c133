"""The house rules that a test can hold: sizes, names, docstrings, knowledge in tables."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import sassql

PACKAGE = Path(sassql.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
NO_SUBJECT = {"utils", "util", "helpers", "helper", "common", "misc", "stuff"}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(tree: ast.Module):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_there_are_modules_to_look_at():
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_a_module_is_small_and_says_what_it_is(path):
    text, tree = path.read_text("utf-8"), tree_of(path)

    assert len(text.splitlines()) <= MOST_LINES
    assert ast.get_docstring(tree) or path.name == "__main__.py"
    assert not NO_SUBJECT & set(path.relative_to(PACKAGE).with_suffix("").parts)
    too_long = [
        f"{f.name}: {f.end_lineno - f.lineno + 1} lines"
        for f in functions(tree)
        if f.end_lineno - f.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert too_long == []


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_imports_are_explicit(path):
    tree = tree_of(path)
    stars = [
        n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and any(a.name == "*" for a in n.names)
    ]
    future = any(
        isinstance(n, ast.ImportFrom) and n.module == "__future__" and n.names[0].name == "annotations"
        for n in tree.body
    )
    rest = [n for n in tree.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]

    assert stars == []
    assert future or not rest or path.name == "__main__.py"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_public_functions_and_classes_are_documented(path):
    tree = tree_of(path)
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]

    assert bare == []


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_opcodes_are_known_by_tables_only(path):
    """No `if opcode == "LDG"`: what an opcode is stands in a data file."""
    tree = tree_of(path)
    mentions = [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and "opcode" in ast.unparse(node.left)
        and any(
            isinstance(c, ast.Constant)
            and isinstance(c.value, str)
            and re.fullmatch(r"[A-Z][A-Z0-9]+", c.value)
            for comparator in node.comparators
            for c in ast.walk(comparator)
        )
    ]

    assert mentions == []


def test_every_package_has_its_docstring():
    packages = [p for p in PACKAGE.rglob("*") if p.is_dir() and any(p.glob("*.py"))]

    assert [p for p in packages if not (p / "__init__.py").exists()] == []
