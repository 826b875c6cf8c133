"""The grammar: the fast reader equals parsing every line with it, and typed operands say all that the text says."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from lark import Token, Tree

from sassql.model.operands import (
    AddressTerm,
    ConstantOperand,
    ImmediateOperand,
    KeywordOperand,
    LabelOperand,
    MemoryOperand,
    RegisterOperand,
    RelocatedOperand,
    SetOperand,
)
from sassql.reading.grammar import grammar
from sassql.reading.listing import read_listing
from sassql.reading.shapes import SHAPES

ZEROS = {"R": "RZ", "UR": "URZ", "P": "PT", "UP": "UPT"}
ODD = [
    line
    for line in (Path(__file__).parent / "odd_statements.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
PUNCTUATION = re.compile(r"[\[\]|{}, +]")


# ---- every line through lark ----------------------------------------------------------------------------------


def parsed(line: str) -> Tree[Token]:
    return next(iter(grammar("line").parse(line.strip()).children))


def tokens(tree: Tree[Token] | Token) -> str:
    """The text of a subtree without the punctuation that the tree leaves out."""
    if isinstance(tree, Token):
        return PUNCTUATION.sub("", tree)
    return "".join(map(tokens, tree.children))


def statement_of(line: str) -> tuple[int, str, str, list[str]]:
    """Address, guard, mnemonic and operands of an instruction line, from its parse tree alone."""
    tree = parsed(line)
    assert tree.data == "instruction", line
    offset = str(tree.children[0])
    statement = next(c for c in tree.children if isinstance(c, Tree))
    guard = mnemonic = ""
    operands: list[str] = []
    for child in statement.children:
        if isinstance(child, Token):
            mnemonic = str(child) if child.type == "MNEMONIC" else mnemonic
        elif child.data == "guard":
            guard = str(child.children[0])
        else:
            operands = [tokens(operand) for operand in child.children]
    return int(offset.strip("/*"), 16), guard, mnemonic, operands


@pytest.mark.parametrize(
    ("arch", "listing"), [("sm_90", ("-hex",)), ("sm_120", ()), ("sm_80", ("cuobjdump",))]
)
def test_the_fast_reader_equals_parsing_every_line(compiled, arch, listing):
    source = compiled(arch)
    text = source.cuobjdump if listing == ("cuobjdump",) else source.listing(*listing)
    lines = [line for line in text.splitlines() if line.strip()]
    kinds = {parsed(line).data for line in lines}
    by_grammar = [statement_of(line) for line in lines if re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+\S", line)]
    (module,), problems = read_listing(text)
    by_reader = []
    for kernel in module.kernels:
        for ins, form in ((i, i.form) for i in kernel.instructions):
            mnemonic = ".".join([ins.opcode, *ins.modifiers])
            operands = [
                f"{text}.reuse" if operand.reuse else text
                for text, operand in zip(form.operand_texts, form.operands, strict=True)
            ]
            by_reader.append((ins.address, str(ins.guard or ""), mnemonic, operands))

    assert problems == []
    assert {"instruction", "directive"} <= kinds
    assert len(by_grammar) == len(by_reader) > 900
    for one, other in zip(by_grammar, by_reader, strict=True):
        assert one[:3] == other[:3]
        assert len(one[3]) == len(other[3]), (one, other)
        for by_tree, by_table in zip(one[3], other[3], strict=True):
            if by_table != "`(@)":  # the reader has taken the label out
                # .reuse stands before a selector, and the reader keeps it apart
                assert sorted(by_tree.split(".")) == sorted(PUNCTUATION.sub("", by_table).split("."))


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_parser_tables_that_are_damaged_or_cannot_be_kept_are_made_anew(monkeypatch, tmp_path, damage):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    try:
        grammar.cache_clear()
        grammar("line")
        (kept,) = (tmp_path / "grammars").iterdir()
        if damage is None:
            kept.unlink()
            kept.parent.rmdir()
            kept.parent.write_text("in the way")
        else:
            kept.write_bytes(damage)
        grammar.cache_clear()
        assert statement_of("/*0010*/ @P0 FADD R0, R1, R2 ;") == (16, "@P0", "FADD", ["R0", "R1", "R2"])
    finally:
        grammar.cache_clear()


@pytest.mark.parametrize("statement", ODD)
def test_every_odd_statement_is_known_to_the_grammar(statement):
    assert SHAPES.form(statement).shape.problem == ""
    assert grammar("statement").parse(f"{statement} ;").data == "statement"


@pytest.mark.parametrize(
    "line",
    [
        "FADD R0, R1 R2",
        "FADD R0,, R1",
        "FADD R0, [R2",
        "FADD R0, c[0x0]]",
        "@Q0 FADD R0",
        "FADD R0, R1, R2 ; ;",
        "fadd R0",
    ],
)
def test_what_the_grammar_refuses(line):
    assert SHAPES.form(line).shape.problem != ""


# ---- typed operands and back ----------------------------------------------------------------------------------


def printed_term(term: AddressTerm) -> str:
    name = str(term.register) if term.register is not None else ZEROS[term.file]
    return name + (f".{term.suffix}" if term.suffix else "")


def printed_address(terms, offset: int, symbol: str) -> str:
    parts = [printed_term(term) for term in terms]
    if symbol:
        parts.append(f"`(({symbol} + {offset:#x}))" if offset else f"`({symbol})")
    elif offset or not parts:
        parts.append(f"{offset:#x}")
    return "+".join(parts)


def printed(operand) -> str:
    """The text of an operand, from its typed fields alone; numbers as Python writes them."""
    suffixes = "".join(f".{suffix}" for suffix in operand.suffixes)
    sign = "-" if operand.negated else ""
    match operand:
        case RegisterOperand():
            sign += ("!" if operand.file in ("P", "UP") else "~") if operand.inverted else ""
            core = ZEROS[operand.file] if operand.index is None else f"{operand.file}{operand.index}"
        case ConstantOperand():
            sign += "~" if operand.inverted else ""
            terms = [operand.base] if operand.base else []
            if operand.symbol:
                core = f"c[{printed_address(terms, operand.offset, operand.symbol)}]"
            elif operand.bank is None:
                core = f"cx[{operand.bank_register or 'URZ'}][{printed_address(terms, operand.offset, '')}]"
            else:
                core = f"c[{operand.bank:#x}][{printed_address(terms, operand.offset, '')}]"
        case MemoryOperand():
            held = f"[{printed_term(operand.descriptor)}]" if operand.descriptor else ""
            bare = held and not operand.terms and not operand.offset
            inner = "" if bare else f"[{printed_address(operand.terms, operand.offset, operand.symbol)}]"
            core = f"{operand.prefix}{held}{inner}"
        case ImmediateOperand():
            return repr(operand.value)
        case LabelOperand():
            name = f"{operand.target:#x}" if operand.target is not None else operand.symbol
            return f"`({name})"
        case RelocatedOperand():
            return f"32@{operand.half}({f'({operand.symbol})' if ' ' in operand.symbol else operand.symbol})"
        case SetOperand():
            return f"{{{','.join(map(str, operand.values))}}}"
        case KeywordOperand():
            return operand.name
        case _:
            raise AssertionError(operand)
    return f"{sign}|{core}|{suffixes}" if operand.absolute else f"{sign}{core}{suffixes}"


def number(text: str) -> float:
    named = {"+INF": math.inf, "-INF": -math.inf}
    return named[text] if text in named else int(text, 16) if "0x" in text else float(text)


def assert_round_trip(operand) -> None:
    if isinstance(operand, ImmediateOperand):
        if operand.text[1:] in ("QNAN", "SNAN"):
            assert math.isnan(operand.value)
        else:
            assert operand.value == number(operand.text)
            assert operand.negated == operand.text.startswith("-")
        return
    assert printed(operand) == operand.text.replace("] [", "][")


@pytest.mark.parametrize("statement", ODD)
def test_typed_fields_of_an_odd_statement_say_what_its_text_says(statement):
    form = SHAPES.form(statement)
    for operand in form.operands:
        assert_round_trip(operand)
    head = statement.split(" ")
    mnemonic = head[1] if statement.startswith("@") else head[0]
    rest = statement.partition(mnemonic)[2].replace(".reuse", "")
    assert ".".join([form.opcode, *form.modifiers]) == mnemonic
    assert re.sub(r"[ ,]", "", rest) == re.sub(r"[ ,]", "", "".join(form.operand_texts))
    assert [o.text for o in form.operands] == list(form.operand_texts)


def test_typed_fields_of_every_operand_say_what_its_text_says(everywhere, compiled):
    modules = [everywhere.module]
    if everywhere.arch in ("sm_75", "sm_100"):
        modules.append(compiled(everywhere.arch, "relocations.cu", "-rdc=true").module)
    seen = set()
    for module in modules:
        for kernel in module.kernels:
            for ins in kernel.instructions:
                for operand in ins.operands:
                    if operand.text not in seen:
                        seen.add(operand.text)
                        assert_round_trip(operand)
                if ins.operands and not ins.form.reuse:
                    assert ins.text.endswith(ins.operands[-1].text)
    assert len(seen) > 300
