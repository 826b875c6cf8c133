from __future__ import annotations

import json

GOOD = """motif m(%x -> %r) {
  title "a sum of all lanes"
  r: REDUX  %r, %x
}
test "found" expect 1 sm_80 {{ REDUX UR4, R2 ; }}
test "not found" expect 0 sm_80 {{ FADD R4, R2, R2 ; }}
"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_nothing_to_say(sassql, tmp_path):
    done = sassql("lint", written(tmp_path, "m.sq", GOOD))

    assert (done.code, done.out) == (0, "")
    assert done.messages == ["0 errors, 0 warnings, 0 remarks in 1 files"]


def test_a_finding_has_its_line_and_a_caret(sassql, tmp_path):
    path = written(tmp_path, "m.sq", GOOD.replace("REDUX  %r", "REDXU  %r"))
    done = sassql("lint", path)

    assert done.code == 1
    assert done.out.splitlines() == [
        f"{path}:3:6: error SQ002 unknown opcode `REDXU`; did you mean `REDUX`?",
        "      r: REDXU  %r, %x",
        "         ^",
        "    Correct the spelling; a new opcode becomes known by a row in sassql/isa/data/signatures.tsv."
        " (docs/lint.md#sq002-unknown-opcode)",
    ]


def test_remarks_pass_unless_strict(sassql, tmp_path):
    path = written(tmp_path, "m.sq", GOOD.replace('  title "a sum of all lanes"\n', ""))

    assert sassql("lint", path).code == 0
    assert sassql("lint", path, "--strict").code == 1


def test_records(sassql, tmp_path):
    path = written(tmp_path, "m.sq", GOOD.replace("%r, %x", "%r, %x, %y"))
    record, once = [json.loads(line) for line in sassql("lint", path, "--format", "jsonl").out.splitlines()]

    assert once["id"] == "SQ052"
    assert record == {
        "file": str(path),
        "line": 3,
        "column": 21,
        "severity": "error",
        "id": "SQ009",
        "name": "too-many-operands",
        "message": "3 operands, but REDUX has at most 2",
        "hint": "",
        "recommendation": "Count the operands: such an instruction does not exist, so the line can never match.",
        "docs": "docs/lint.md#sq009-too-many-operands",
    }


def test_a_file_that_does_not_parse_is_two_and_the_others_are_linted(sassql, tmp_path):
    written(tmp_path, "a.sq", "motif m { a: FADD %x }}")
    written(tmp_path, "b.sq", GOOD.replace("REDUX  %r", "REDXU  %r"))
    done = sassql("lint", tmp_path, "--format", "jsonl")

    assert done.code == 2
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["SQ000", "SQ002"]
    shown = sassql("lint", tmp_path / "a.sq").out.splitlines()
    assert shown[0].startswith(
        f"{tmp_path / 'a.sq'}:1:23: error SQ000 unexpected `}}`; expected the next item"
    )
    assert shown[2].endswith("^")


def test_the_list_of_checks(sassql):
    done = sassql("lint", "--list", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]

    assert done.code == 0
    assert len(rows) > 30 and all(row["recommendation"] for row in rows)
    assert sassql("lint").code == 2


def test_rules_over_kernels(sassql, compiled, tmp_path):
    rules = "classify a priority 3 when kernel.has(STG)\nclassify b priority 2 when kernel.has(SHFL)\n"
    path = written(tmp_path, "classes.sq", rules)
    cubin = compiled("sm_90", "small.cu").path

    assert sassql("lint", path).code == 0
    done = sassql("lint", path, "--over", cubin, "--format", "jsonl")
    assert done.code == 1
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["SQ048"]
