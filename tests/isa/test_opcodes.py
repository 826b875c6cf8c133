"""Every opcode is in a class or says why it is in none, and rows that nothing measured are named."""

from __future__ import annotations

from pathlib import Path

from sassql.isa import classes, signatures

HERE = Path(__file__).parent

UNMEASURED = """
    CCTLL CCTLT CGABAR CSET CSETP DMNMX FADD32I FFMA32I FMUL32I GETLMEMBASE HADD2_32I HFMA2_32I HMUL2_32I IABS2
    IADD32I IDP2A IDP4A IMUL ISET JMP JMX JMXU KILL LOP LUT MOV32I NANOTRAP PSETP R2B REDS RTT SETLMEMBASE SHL SHR
    UFMNMX UFSET UIABS UIADD ULEPC ULOP UMOV32I UPSETP USHL USHR UTMAREDG_FLUSH UVIADD
"""
"""Opcodes that no library and no PTX form gave: their rows are not measured. Shorter is better."""


def rows() -> dict[str, tuple[int, str]]:
    lines = [
        line for line in (HERE / "opcodes.tsv").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    return {opcode: (int(count), why) for opcode, count, why in (line.split("\t") for line in lines[1:])}


def observed() -> set[str]:
    lines = (HERE / "observed.tsv").read_text("utf-8").splitlines()[1:]
    texts = [line.split("\t")[1].split(" ") for line in lines]
    return {(words[1] if words[0].startswith("@") else words[0]).split(".")[0] for words in texts}


def test_the_list_has_every_opcode_of_the_signature_table():
    assert set(rows()) == set(signatures.table())


def test_the_tables_have_every_opcode_that_was_observed():
    assert observed() <= set(signatures.table())
    assert sum(count > 0 for count, _ in rows().values()) > 170


def test_every_opcode_is_in_a_class_or_says_why_it_is_not():
    classified = {opcode for name in classes.names() for opcode in classes.opcodes(name)}
    wrong = [opcode for opcode, (_, why) in rows().items() if (opcode in classified) == bool(why)]

    assert wrong == []


def test_rows_that_nothing_measured_are_named():
    unmeasured = {opcode for opcode, (count, _) in rows().items() if not count} - observed()

    assert unmeasured == set(UNMEASURED.split())
