"""Pictures show what flows where."""

from __future__ import annotations

from dataclasses import replace

from sassql.report.document import Motif
from sassql.report.drawing import draw
from sassql.report.pictures import flow_picture, motif_picture


def labels(picture, kind: str) -> set[tuple[str, str]]:
    return {(picture.nodes[a].label, picture.nodes[b].label) for a, b, edge in picture.edges if edge == kind}


def test_data_flows_from_loads_through_reductions_to_stores(reported):
    record = reported.record("row_softmax")
    picture = motif_picture(reported.kernel(record), record)
    largest = record.motifs[0].text
    total = record.motifs[1].text

    assert labels(picture, "data") >= {
        ("load global param1", largest),
        (largest, total),
        (total, "store global param0"),
        ("load global param1", "store global param0"),
    }
    assert ("store global param0", total) not in labels(picture, "data")


def test_spilled_values_flow_through_local_memory(reported):
    record = reported.record("crowded")
    picture = motif_picture(reported.kernel(record), record)

    assert ("store local frame", "load local frame") in labels(picture, "memory") | labels(picture, "data")


def test_motifs_of_single_accesses_do_not_hide_loads(reported):
    record = reported.record("side_by_side")
    kernel = reported.kernel(record)
    loads = tuple(i.address for i in kernel.instructions if i.opcode == "LDG")
    marked = replace(record, motifs=(Motif("vec", {"load": 4}, loads),))

    assert labels(motif_picture(kernel, marked), "data") == {("load global param1", "store global param0")}


def test_every_back_edge_closes_a_loop(reported):
    record = reported.record("row_softmax")
    kernel = reported.kernel(record)
    picture = flow_picture(kernel)
    loops = kernel.fact("loops")
    backs = [edge for edge in picture.edges if edge[2] == "back"]

    assert len(backs) == sum(len(loop.latches) for loop in loops.loops)
    assert {node.at for node in picture.nodes} <= set(kernel.addresses.tolist())


def test_a_drawing_escapes_its_text(reported):
    record = reported.record("side_by_side")
    kernel = reported.kernel(record)
    hostile = replace(record, motifs=(Motif("<script>x</script>", {}, (int(kernel.addresses[0]),)),))
    text = draw(motif_picture(kernel, hostile), title='"><script>', anchor="k1")

    assert "<script>" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
