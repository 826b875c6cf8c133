"""Control flow against the vendor's: `nvdisasm -bbcfg` on kernels made for it, on every architecture."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from sassql.reading.compile import compile_cuda

ROOT = Path(__file__).parents[2]
CONTROL = Path(__file__).with_name("control.cu")
"""Switches, recursion, calls through pointers, loops that spin, leave early or never end."""

LOWERED = ("grid_reduction.cu", "scan.cu", "softmax.cu", "attention.cu")

ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)


def load_oracle():
    """The script of `benchmarks/`, which is no package."""
    path = ROOT / "benchmarks" / "oracle_bbcfg.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def oracle():
    return load_oracle()


def compare(oracle, folder, source, arch):
    made = compile_cuda(source.read_text("utf-8"), name=str(source), arch=arch)
    path = folder / f"{source.stem}.{arch}.cubin"
    path.write_bytes(made.cubin)
    return oracle.compare_file(path)[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", ARCHITECTURES)
def test_every_edge_is_the_vendors(oracle, tmp_path, number):
    outcome = compare(oracle, tmp_path, CONTROL, f"sm_{number}")
    for name in LOWERED:
        outcome.add(compare(oracle, tmp_path, ROOT / "corpora" / "lowering" / name, f"sm_{number}"))
    assert outcome.missing == []
    assert outcome.extra == []
    assert outcome.absent == []
    assert outcome.kernels > 30
    assert outcome.equal > 700
    assert outcome.left_out < 10, "recursive calls and @!PT branches are rare"


DOT = r"""digraph f {
subgraph "cluster_k" {
node [fontname="Courier",fontsize=10,shape=Mrecord];
"k"
[label="{<entry>k:\l0000:\ \ \ MOV\ R1,\ RZ\ ;\l}"]
"k":entry:s -> ".L_x_3":entry:n [style=solid];
".L_x_3"
[label="{<entry>.L_x_3:\l0010:\ \ \ FADD\ R3,\ \|R0\|,\ R1\ ;\l|<exit0>0020:\ \ \ @P0\ BRA\ `(.L_x_1)\ ;\l}"]
".L_x_3":exit0:e -> ".L_x_1":entry:n [style=solid];
".L_x_3":exit0:s -> "BB0":entry:n [style=solid];
"BB0"
[label="{<entry>0030:\ \ \ MOV\ R2,\ RZ\ ;\l|<exit0>0040:\ \ \ CALL.REL.NOINC\ `($f)\ ;\l}"]
"BB0":exit0:s -> "BB1":entry:n [style=solid];
"BB1"
[label="{<entry>0050:\ \ \ MOV\ R2,\ RZ\ ;\l}"]
"BB1":entry:s -> ".L_x_1":entry:n [style=solid];
".L_x_1"
[label="{<entry>.L_x_1:\l|<exit0>0060:\ \ \ @!PT\ BRA\ `(.L_x_3)\ ;\l}"]
".L_x_1":exit0:e -> ".L_x_3":entry:n [style=solid];
".L_x_1":exit0:s -> "BB2":entry:n [style=solid];
"BB2"
[label="{<entry>\l|<exit0>0070:\ \ \ EXIT\ ;\l}"]
}
}
"""


def test_the_script_reads_the_vendors_graph(oracle):
    """Cuts at labels that nobody names and behind calls are merged; an edge of `@!PT` is left out."""
    (cluster,) = oracle.parse(DOT.splitlines()).values()
    assert cluster.blocks[".L_x_3"] == [(0x10, "FADD R3, |R0|, R1"), (0x20, "@P0 BRA `(.L_x_1)")]
    assert oracle.vendor_edges(cluster) == ({(0x20, 0x60), (0x20, 0x30), (0x50, 0x60)}, 1)


def test_the_script_tells_what_differs(oracle, listing):
    kernel = listing("""
//--------------------- .text.k --------------------------
        MOV R1, RZ ;
        MOV R1, RZ ;
    @P0 BRA `(.L_x_1) ;
        MOV R2, RZ ;
    @P0 BRA `(.L_x_1) ;
        MOV R2, RZ ;
.L_x_1:
        NOP ;
        EXIT ;
    """).kernel
    outcome = oracle.compare(kernel, oracle.parse(DOT.splitlines()))
    assert outcome.equal == 3
    assert outcome.extra == [("k", (0x40, 0x50)), ("k", (0x40, 0x60))]
    assert outcome.missing == []
    assert oracle.compare(kernel, {}).absent == ["k"]
    assert "2 differing" in next(oracle.report("k", outcome))
