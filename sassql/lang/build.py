"""Parse tree of `sq.lark` to syntax tree. One method per grammar rule, no checks of meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lark import Token, v_args
from lark.tree import Meta

from sassql.lang import ast
from sassql.lang.ast import Position
from sassql.lang.build_operands import Children, OperandBuilder, position, some, texts, unquote


def _present(children: Children, kind: str) -> bool:
    return any(isinstance(child, Token) and child.type == kind for child in children)


@dataclass(frozen=True, slots=True)
class _RawTest:
    title: str
    expected: int
    todo: bool
    conditions: tuple[ast.Expression, ...]
    arch: str
    listing: str
    listing_line: int
    source: str
    at: Position

    def under(self, motif: str) -> ast.Test:
        """The test with the motif that it belongs to: the one above it."""
        return ast.Test(
            self.title,
            motif,
            self.expected,
            self.todo,
            self.conditions,
            self.arch,
            self.listing,
            self.listing_line,
            self.source,
            self.at,
        )


def _statements(children: Children) -> tuple[ast.Statement, ...]:
    return tuple(child for child in children if child is not None)


def _claims(children: Children) -> tuple[ast.Claim, ...]:
    """Claims; an operand behind a comma belongs to the claim before it."""
    found: list[ast.Claim] = []
    for child in children:
        if isinstance(child, ast.Claim):
            found.append(child)
        else:
            last = found[-1]
            found[-1] = replace(last, operands=(*last.operands, child))
    return tuple(found)


@v_args(meta=True)
class Builder(OperandBuilder):
    """Makes `sassql.lang.ast` classes; ``file`` and ``text`` go into the result and into errors."""

    def start(self, meta: Meta, children: Children) -> ast.PatternFile:
        tests: list[ast.Test] = []
        motif = ""
        for child in children:
            if isinstance(child, ast.Motif):
                motif = child.name
            elif isinstance(child, _RawTest):
                tests.append(child.under(motif))
        return ast.PatternFile(
            self._file,
            self._text,
            some(children, ast.ClassDefinition),
            some(children, ast.Motif),
            some(children, ast.Classify),
            tuple(tests),
        )

    # --- items

    def class_(self, meta: Meta, children: Children) -> ast.ClassDefinition:
        return ast.ClassDefinition(children[0][1:-1], children[1], position(meta))

    def classify(self, meta: Meta, children: Children) -> ast.Classify:
        name, priority, condition = children
        return ast.Classify(str(name), int(priority or 0), condition, position(meta))

    def motif(self, meta: Meta, children: Children) -> ast.Motif:
        name, interface, *body = children
        inputs, outputs = interface or ((), ())
        return ast.Motif(str(name), inputs, outputs, _statements(body), position(name))

    def interface(self, meta: Meta, children: Children) -> tuple[tuple[ast.Name, ...], tuple[ast.Name, ...]]:
        inputs, outputs = children
        return inputs or (), outputs or ()

    def params(self, meta: Meta, children: Children) -> tuple[ast.Name, ...]:
        return tuple(children)

    outputs = params

    def test(self, meta: Meta, children: Children) -> _RawTest:
        title, todo, expected, conditions, (arch, listing, line, source) = children
        return _RawTest(
            unquote(title),
            int(expected),
            todo is not None,
            conditions or (),
            arch,
            listing,
            line,
            source,
            position(meta),
        )

    def conditions(self, meta: Meta, children: Children) -> tuple[ast.Expression, ...]:
        return tuple(child for child in children if child is not None)

    def listing(self, meta: Meta, children: Children) -> tuple[str, str, int, str]:
        arch, listing = children
        return str(arch), listing[2:-2], listing.line, ""

    def source(self, meta: Meta, children: Children) -> tuple[str, str, int, str]:
        source, arch = children
        return str(arch or ""), "", meta.line, unquote(source)

    # --- statements

    def body(self, meta: Meta, children: Children) -> tuple[ast.Statement, ...]:
        return _statements(children)

    def header(self, meta: Meta, children: Children) -> ast.Header:
        word, *values = children
        texts = tuple(unquote(v) if v.type == "STRING" else str(v) for v in values)
        return ast.Header(str(word), texts, position(meta))

    def line(self, meta: Meta, children: Children) -> ast.Line:
        label, guard, opset, *operands = children
        return ast.Line(str(label or ""), guard, opset, some(operands, ast.OperandPattern), position(meta))

    def guard(self, meta: Meta, children: Children) -> ast.GuardPattern:
        predicate = children[-1]
        if isinstance(predicate, ast.OperandPattern):
            predicate = predicate.core
        return ast.GuardPattern(_present(children, "NOT"), predicate, position(meta))

    def for_(self, meta: Meta, children: Children) -> ast.For:
        counter, init, _, condition, _, updated, step, by, body = children
        return ast.For(counter, init, condition, updated, step[0], by, body, position(meta))

    def loop(self, meta: Meta, children: Children) -> ast.Loop:
        return ast.Loop(str(children[0]), children[1], position(meta))

    def chain(self, meta: Meta, children: Children) -> ast.Chain:
        least, more, body = children
        most = int(least) if more is None else None if more.type == "PLUS" else int(more)
        return ast.Chain(int(least), most, body, position(meta))

    def either(self, meta: Meta, children: Children) -> ast.Either:
        return ast.Either(tuple(children), position(meta))

    def opt(self, meta: Meta, children: Children) -> ast.Opt:
        return ast.Opt(children[0], position(meta))

    def no(self, meta: Meta, children: Children) -> ast.No:
        inner = children[0]
        return ast.No((inner,) if isinstance(inner, ast.Line) else inner, position(meta))

    def every(self, meta: Meta, children: Children) -> ast.Every:
        return ast.Every(children[0], children[1], position(meta))

    def flow(self, meta: Meta, children: Children) -> ast.Flow:
        source, target, through, limit = children
        anything = isinstance(through, Token)
        return ast.Flow(
            source,
            target,
            () if anything else through or (),
            anything,
            None if limit is None else int(limit),
            position(meta),
        )

    def slice(self, meta: Meta, children: Children) -> ast.Slice:
        value, addresses, *claims = children
        return ast.Slice(value, addresses is not None, _claims(claims), position(meta))

    def path(self, meta: Meta, children: Children) -> ast.Path:
        source, target, *claims = children
        return ast.Path(str(source), str(target), _claims(claims), position(meta))

    def claim(self, meta: Meta, children: Children) -> ast.Claim:
        quantifier, subject, *operands = children
        label, opset = (str(subject), ()) if isinstance(subject, Token) else ("", subject)
        return ast.Claim(str(quantifier), label, opset, some(operands, ast.OperandPattern), position(meta))

    def order(self, meta: Meta, children: Children) -> ast.Order:
        left, relation, anywhere, right = children
        return ast.Order(str(left), str(relation), str(right), anywhere is not None, position(meta))

    def equal(self, meta: Meta, children: Children) -> ast.Equal:
        return ast.Equal(children[0], children[1], position(meta))

    def use(self, meta: Meta, children: Children) -> ast.Use:
        motif, inputs, outputs, alias = children
        return ast.Use(str(motif), inputs or (), outputs or (), str(alias or ""), position(meta))

    def where(self, meta: Meta, children: Children) -> ast.Where:
        return ast.Where(children[0], position(meta))

    def column(self, meta: Meta, children: Children) -> ast.Column:
        return ast.Column(str(children[0]), children[1], position(meta))

    def emit(self, meta: Meta, children: Children) -> ast.Emit:
        *columns, per = children
        return ast.Emit(tuple(columns), str(per or ""), position(meta))

    def key(self, meta: Meta, children: Children) -> ast.Key:
        return ast.Key(texts(children), position(meta))
