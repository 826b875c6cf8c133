from __future__ import annotations

import networkx as nx
from dot_text import read_dot


def test_the_control_flow_graph_as_dot(sassql, compiled):
    done = sassql("graph", compiled("sm_90", "small.cu").path, "--kernel", "total")
    kernel = next(k for k in compiled("sm_90", "small.cu").module.kernels if k.name == "total")
    shown = {int(name, 16): data["label"] for name, data in read_dot(done.out).nodes.items()}

    assert done.code == 0
    assert set(shown) == set(kernel.cfg.nodes)
    assert all(f"{ins.address:#06x}  {ins.text}\n" in "".join(shown.values()) for ins in kernel.instructions)


def test_a_slice_of_the_data_flow(sassql, compiled):
    path = compiled("sm_90", "small.cu").path
    kernel = next(k for k in compiled("sm_90", "small.cu").module.kernels if k.name == "total")
    store = next(i for i in kernel.instructions if i.opcode == "STG")
    done = sassql(
        "graph",
        path,
        "--kernel",
        "total",
        "--what",
        "dataflow",
        "--slice",
        hex(store.address),
        "--format",
        "graphml",
    )
    back = nx.parse_graphml(done.out, node_type=int, force_multigraph=True)

    assert store.address in back and len(back) < len(kernel.instructions)
    assert {kernel.at(n).text for n in back} == {d["text"] for _, d in back.nodes(data=True)}
    assert all(kernel.dataflow.has_edge(a, b) for a, b in back.edges())
    assert list(back.nodes) == sorted(back.nodes)


def test_loops_and_calls_into_a_file(sassql, compiled, tmp_path):
    out = tmp_path / "g.graphml"
    path = compiled("sm_90").path
    done = sassql("graph", path, "--kernel", "calls", "--what", "calls", "--format", "graphml", "-o", out)

    assert (done.code, done.out) == (0, "")
    assert "calls" in nx.read_graphml(out).nodes
    done = sassql("graph", compiled("sm_90", "small.cu").path, "--kernel", "total", "--what", "loops")
    assert "loop 0  0x" in done.out


def test_one_kernel_only(sassql, compiled):
    done = sassql("graph", compiled("sm_90").path)

    assert (done.code, done.out) == (2, "")
    assert done.messages[0].startswith(
        "error: 8 kernels, and a graph is of one; choose one by --kernel and --arch: "
    )
    assert sassql("graph", compiled("sm_90").path, "--kernel", "none").code == 1


def test_a_place_that_cannot_be_written(sassql, compiled, tmp_path):
    done = sassql("graph", compiled("sm_90").path, "--kernel", "warp", "-o", tmp_path / "no" / "x.dot")

    assert done.code == 2
    assert done.messages[0].endswith("No such file or directory")
