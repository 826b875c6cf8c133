"""The scorer on answers whose score is known by counting."""

from __future__ import annotations

from pathlib import Path

import pytest

from sassql.errors import UsageError
from sassql.testing.accuracy import score
from sassql.testing.truth import read_truth

CORPUS = Path(__file__).parents[2] / "corpora" / "lowering"
TRUTH = """\
file\tkernel\tminarch\tmotif\targs
a.cu\tsum\t\twarp_reduce\top=sum width=32 dir=xor
a.cu\tsum\t\troundtrip\tspace=shared survives=no
a.cu\tnetwork\t\tnot\tmotif=warp_reduce_max reason=sort
a.cu\tnetwork\t\tsort\tvia=bitonic
a.cu\trelu\t\telementwise\tvec=1
"""
NAMES = """\
kernel\twhat\tclass\talso
sum\tA sum.\treduction\t
network\tA network.\tsort\tother
relu\tA map.\telementwise\t
"""


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "truth.tsv").write_text(TRUTH)
    (tmp_path / "names.tsv").write_text(NAMES)
    return tmp_path


def report(kernel, *motifs, cls="unknown", arch="sm_90"):
    return {"kernel": kernel, "arch": arch, "class": cls, "status": "match", "motifs": list(motifs)}


def warp(op, **columns):
    return {"motif": "warp_reduce", "op": op, **columns}


def test_everything_right(corpus):
    found = score(
        read_truth(corpus),
        [
            report("sum", warp("sum", width=32, dir="xor"), cls="reduction"),
            report("network", {"motif": "sort", "via": "bitonic"}, cls="other"),
            report("relu", {"motif": "elementwise", "vec": 1}, cls="elementwise"),
            report("stranger", warp("max")),
        ],
    )

    assert (found.total.right, found.total.wrong, found.total.missed) == (3, 0, 0)
    assert (found.total.columns_right, found.total.columns) == (4, 4)
    assert found.classes == {"right": 3}
    assert found.decoys == {"left alone": 1}
    assert (found.same_everywhere, found.kernels, found.mistakes) == (3, 3, [])


def test_what_is_wrong_and_what_is_missed(corpus):
    found = score(
        read_truth(corpus),
        [
            report("sum", warp("max", width=16), {"motif": "roundtrip", "space": "shared"}, cls="sort"),
            report("sum", warp("sum", width=16), {"motif": "sync", "kind": "barrier"}, arch="sm_80"),
            report("network", warp("max"), cls="sort"),
            report("relu", {"motif": "elementwise", "vec": 1, "status": "maybe"}),
        ],
    )

    assert found.motifs["warp_reduce"].right == 2
    assert found.motifs["warp_reduce"].wrong == 1  # network
    assert found.motifs["roundtrip"].wrong == 1  # the compiler removes it
    assert found.motifs["sync"].extra == 1  # the truth does not list every barrier
    assert (found.motifs["sort"].missed, found.motifs["elementwise"].missed) == (1, 1)
    assert found.kinds["warp_reduce op=max"].wrong == 2
    assert found.kinds["warp_reduce op=sum"].missed == found.kinds["warp_reduce op=sum"].right == 1
    assert found.total.precision == 2 / 4
    assert found.total.recall == 2 / 4
    assert found.decoys == {"reported": 1}
    assert found.classes == {"wrong": 1, "unknown": 2, "right": 1}
    columns = [(m.arch, m.detail) for m in found.mistakes if m.what == "column"]
    assert columns == [("sm_80", "width: 16 in place of 32")]
    assert [m.detail for m in found.mistakes if m.what == "differs"] == ["sm_90: roundtrip; sm_80: sync"]


def test_a_row_that_is_none(corpus):
    (corpus / "truth.tsv").write_text(TRUTH + "a.cu\tx\t\tsort\tbitonic\n")
    with pytest.raises(UsageError, match=r"truth\.tsv:7: not a row of a truth table"):
        read_truth(corpus)
    (corpus / "truth.tsv").unlink()
    with pytest.raises(UsageError, match=r"no truth\.tsv"):
        read_truth(corpus)


def test_the_truth_of_the_corpus_that_ships():
    truth = read_truth(CORPUS)

    assert len(truth) == 150
    assert all(kernel.cls for kernel in truth.values())
    assert sum(len(kernel.decoys) for kernel in truth.values()) == 13
    assert 35 <= sum(kernel.held_out for kernel in truth.values()) <= 65
