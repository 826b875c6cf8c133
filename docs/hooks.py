"""Pages that are made when the site is built: the catalogue of motifs, and the notebooks as text."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path

from mkdocs.structure.files import File

from sassql.corpus.corpus import Corpus
from sassql.engine.pattern import Pattern
from sassql.errors import SassqlError
from sassql.report.drawing import draw
from sassql.report.pictures import row_picture
from sassql.testing.blocks import run_test
from sassql.testing.truth import read_truth

ROOT = Path(__file__).resolve().parent.parent
WORTH_DRAWING = 3
CSS = """
.picture{max-width:100%;height:auto;font-family:monospace;font-size:11px}
.picture text{fill:var(--md-typeset-color);text-anchor:middle}
.picture .box{fill:var(--md-code-bg-color);stroke:var(--md-default-fg-color--light)}
.picture .edge{fill:none;stroke:var(--md-default-fg-color--light)}
.picture .back{stroke:#d55e00}
.picture .head{fill:var(--md-default-fg-color--light)}
.scroll{overflow-x:auto}
"""


def on_files(files, config):
    """Adds the pages that lie in no file."""
    for name, text in {**_catalogue(), **_notebooks(), "pictures.css": CSS}.items():
        files.append(File.generated(config, name, content=text))
    return files


def _catalogue() -> dict[str, str]:
    pages: dict[str, str] = {}
    rows = []
    for path in sorted((ROOT / "patterns").rglob("*.sq")):
        try:
            pattern = Pattern.load(path)
        except SassqlError as error:  # a file under work must not stop the other pages
            print(f"motif catalogue: {error}")
            continue
        for motif in pattern.motifs:
            name = f"motifs/{motif.name}.md"
            pages[name] = _page(pattern, motif, path)
            subject = path.parent.name
            rows.append(f"| {subject} | [{motif.name}]({motif.name}.md) | {_text(motif.header('title'))} |")
    head = "# Motif catalogue\n\nThe motifs that come with sassql, made from `patterns/`.\n\n"
    table = "| subject | motif | what it finds |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    pages["motifs/index.md"] = head + table
    return pages


def _page(pattern: Pattern, motif, path: Path) -> str:
    lines = [f"# {motif.name}", "", _text(motif.header("title")) + "."]
    if about := motif.header("about"):
        lines += ["", _text(about)]
    lines += ["", f"`{path.relative_to(ROOT)}`"]
    lines += ["", "## Pattern", "", "````sq", _source(pattern, motif), "````"]
    tests = [test for test in pattern.file.tests if test.motif == motif.name]
    if found := _match(pattern, motif, tests):
        title, row = found
        anchor = "m-" + motif.name.replace("_", "-")
        picture = draw(row_picture(row), title=f"A match of {motif.name}", anchor=anchor)
        lines += [
            "",
            "## A match",
            "",
            f"From {title}, {row.kernel.arch}. An arrow is a value.",
        ]
        lines += ["", f'<div class="scroll">{picture}</div>', ""]
        if row.columns:
            lines += ["| column | value |", "| --- | --- |"]
            lines += [f"| {_text(k)} | {_text('?' if v is None else v)} |" for k, v in row.columns.items()]
    for word, some in (
        ("Must be found", [t for t in tests if t.expected and not t.todo]),
        ("Must not be found", [t for t in tests if not t.expected and not t.todo]),
        ("Not done yet", [t for t in tests if t.todo]),
    ):
        if some:
            lines += ["", f"## {word}", "", *(f"* {_text(t.title)}" for t in some)]
    return "\n".join(lines) + "\n"


def _match(pattern: Pattern, motif, tests):
    """Where the first match is from: the first test that has a match, and the match: listings before kernels that are compiled."""
    some = [test for test in tests if test.expected and not test.todo]
    for test in sorted(some, key=lambda test: (not test.listing, test.arch != "sm_90")):
        rows = [row for row in run_test(pattern, test).rows if row.status == "match"]
        if rows:
            return f"the test “{_text(test.title)}”", max(rows, key=lambda row: len(row.instructions))
    return _in_corpus(pattern, motif)


def _in_corpus(pattern: Pattern, motif):
    """A match in a short kernel of `corpora/lowering`, those first whose truth names the motif."""
    truth = {name for name, kernel in _truth().items() if any(c.motif == motif.name for c in kernel.claims)}
    kernels = sorted(_corpus(), key=lambda kernel: (kernel.name not in truth, len(kernel.form_ids)))
    first = None
    for kernel in kernels:
        for row in pattern.match(kernel):
            named = sum(map(len, row.instructions.values()))
            if row.motif != motif.name or row.status != "match" or not named:
                continue
            first = first or (f"the kernel `{kernel.name}` of `corpora/lowering`", row)
            if named >= WORTH_DRAWING:
                return f"the kernel `{kernel.name}` of `corpora/lowering`", row
    return first


@cache
def _corpus():
    return tuple(Corpus.open(ROOT / "corpora" / "lowering", arch="sm_90").kernels())


@cache
def _truth():
    return read_truth(ROOT / "corpora" / "lowering")


def _source(pattern: Pattern, motif) -> str:
    """The motif as its file has it: from its first line to the brace that closes it."""
    lines = pattern.file.text.splitlines()[motif.at.line - 1 :]
    depth = 0
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0 and number:
            return "\n".join(lines[: number + 1])
    return "\n".join(lines)


def _notebooks() -> dict[str, str]:
    """Notebooks as pages: their text, their programs, and what those printed when they were last run."""
    pages = {}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        pages[f"notebooks/{path.stem}.md"] = "\n\n".join(map(_cell, cells)) + "\n"
    return pages


def _cell(cell) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    parts = [f"```python\n{source}\n```"]
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if "text/markdown" in data:
            parts.append(re.sub(r"^#", "###", "".join(data["text/markdown"]), flags=re.MULTILINE))
        elif "text/html" in data:
            parts.append(f'<div class="scroll">{"".join(data["text/html"])}</div>')
        else:
            text = "".join(output.get("text", data.get("text/plain", "")))
            parts.append(f"<pre><code>{html.escape(text)}</code></pre>")
    return "\n\n".join(parts)


def _text(value: object) -> str:
    """A text that Markdown takes for nothing but text, also inside of a table."""
    text = " ".join(str(value).split())
    for special in "\\`*_{}[]<>|":
        text = text.replace(special, "\\" + special) if special != "<" else text.replace("<", "&lt;")
    return text
