"""The document says what is in the kernels."""

from __future__ import annotations

import json
from pathlib import Path

from sassql.corpus.corpus import load
from sassql.report.build import Job, build
from sassql.report.document import SCHEMA, short_name, to_json
from tests.report.conftest import HOSTILE


def test_every_kernel_is_a_record_with_its_counts(reported, cubins):
    kernels = [kernel for path in cubins for kernel in load(path).kernels]
    document = reported.document

    assert {(k.name, k.arch, k.instructions) for k in document.kernels} == {
        (k.name, k.arch, len(k.form_ids)) for k in kernels
    }
    assert document.instructions == sum(len(k.form_ids) for k in kernels)
    assert document.cubins == 2
    assert document.architectures == ("sm_80", "sm_90")
    assert document.failures == []
    assert all(sum(k.mix.values()) == k.instructions for k in document.kernels)
    assert {a: sum(found.values()) for a, found in document.opcodes.items()} == {
        arch: sum(k.instructions for k in document.kernels if k.arch == arch)
        for arch in document.architectures
    }


def test_motifs_stand_with_columns_and_addresses(reported):
    record = reported.record("row_softmax")
    kernel = reported.kernel(record)

    assert [(m.motif, m.columns["op"], m.columns["width"]) for m in record.motifs] == [
        ("shuffle_ladder", "<max>", 32),
        ("shuffle_ladder", "<add>", 32),
    ]
    opcodes = {kernel.at(address).opcode for address in record.motifs[1].at}
    assert opcodes == {"SHFL", "FADD"}
    assert record.motif_names == ("shuffle_ladder",)


def test_kernels_are_sorted_by_weight_and_loops_weigh_more(reported):
    weights = [kernel.weight for kernel in reported.document.kernels]
    softmax = reported.record("row_softmax")

    assert weights == sorted(weights, reverse=True)
    assert [k.id for k in reported.document.kernels] == [f"k{n + 1}" for n in range(len(weights))]
    assert softmax.loops >= 3
    assert softmax.weight > 3 * softmax.instructions


def test_what_cannot_be_read_is_in_the_document(cubins, ladders, tmp_path):
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(cubins[0].read_bytes()[:700])
    document = build(Job([cubins[0], broken, tmp_path / "absent.cubin"], ladders, jobs=1))

    assert len(document.kernels) == 4
    assert [f.serious for f in document.failures] == [True, True]
    assert str(broken) in document.failures[0].text


def test_json_has_the_schema_and_field_names_of_the_command_line(reported):
    made = json.loads(to_json(reported.document))
    kernel = next(k for k in made["kernels"] if k["name"] == "row_softmax" and k["arch"] == "sm_90")
    motif = kernel["motifs"][0]

    assert made["schema"] == SCHEMA
    assert kernel["class"] is None
    assert motif["motif"] == "shuffle_ladder"
    assert motif["width"] == 32
    assert all(address.startswith("0x") for address in motif["at"])
    assert [k["name"] for k in made["kernels"]].count(HOSTILE) == 2


def test_classes_come_from_the_records_of_classification(reported):
    from sassql.report.summary import Summarizer

    kernel = reported.kernel(reported.record("row_softmax"))
    record = {
        "class": "softmax",
        "status": "match",
        "motifs": [{"motif": "warp_reduce", "op": "sum", "at": ["0x10", "0x20"]}],
    }
    made = Summarizer(lambda _: record)(kernel)["kernel"]

    assert (made.cls, made.status) == ("softmax", "match")
    assert made.motifs[0].at == (0x10, 0x20)
    assert made.motifs[0].columns == {"op": "sum"}


def test_classification_gives_classes_and_motifs_of_the_vocabulary(cubins):
    document = build(Job(cubins, (), jobs=1, classify=True))
    softmax = next(k for k in document.kernels if k.name == "row_softmax" and k.arch == "sm_90")

    assert document.classified
    assert all(k.cls for k in document.kernels)
    assert softmax.cls == "softmax"
    assert {"warp_reduce", "vec"} <= set(softmax.motif_names)


def test_short_names():
    assert short_name("saxpy") == "saxpy"
    assert short_name("(anonymous namespace)::f<1>(int (*)(float))") == "(anonymous)::f<1>"
    assert short_name("void f<g<(h)3> >(int)") == "f<g<(h)3> >"
    assert short_name("<script>alert(1)</script>") == "<script>alert"
    assert short_name("a<b") == "a<b"


def test_a_report_of_nothing(tmp_path):
    empty = tmp_path / "empty"
    Path(empty).mkdir()
    document = build(Job([empty], (), jobs=1))

    assert document.kernels == []
    assert document.instructions == 0
    assert len(document.failures) == 1
