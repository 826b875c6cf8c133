"""The proof of the word table: the same cubins read word by word and as whole listings are equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from sassql.corpus.build import build
from sassql.model.kernel import Source
from sassql.reading import cubin, text
from sassql.resources import folder

FIELDS = (
    "address",
    "text",
    "target",
    "opcode",
    "modifiers",
    "guard",
    "operands",
    "defs",
    "uses",
    "control",
    "function",
    "known",
)
ALL_ARCHITECTURES = tuple(f"sm_{n}" for n in (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121))


def assert_equal_both_ways(data: bytes, name: str) -> int:
    by_words, first = cubin.read_module(data, Source(name))
    by_text, second = text.read_module(data, Source(name))
    known = {k.name: k for k in by_words.kernels if len(k.form_ids)}

    assert (first, second) == ([], [])
    assert by_text.arch == by_words.arch
    assert [k.name for k in by_text.kernels] == list(known)
    count = 0
    for other in by_text.kernels:
        kernel = known[other.name]
        for attribute in ("arch", "symbols", "functions", "resources", "indirect_targets", "is_entry"):
            assert getattr(kernel, attribute) == getattr(other, attribute), (kernel.name, attribute)
        for one, two in zip(kernel.instructions, other.instructions, strict=True):
            for field in FIELDS:
                assert getattr(one, field) == getattr(two, field), (kernel.name, one, field)
            count += 1
    return count


def test_on_kernels_with_every_kind_of_operand(everywhere):
    assert assert_equal_both_ways(everywhere.cubin, "operands") == everywhere.module.instructions


@pytest.mark.parametrize("arch", ["sm_75", "sm_100"])
def test_on_code_that_is_not_linked_yet(compiled, arch):
    assert assert_equal_both_ways(compiled(arch, "relocations.cu", "-rdc=true").cubin, "relocations") > 50


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100f"])
def test_on_variants_of_an_architecture(compiled, arch):
    data = compiled(arch, "small.cu").cubin

    assert cubin.read_module(data, Source("variant"))[0].arch == arch
    assert assert_equal_both_ways(data, "variant") > 20


@pytest.mark.slow
@pytest.mark.parametrize("arch", ALL_ARCHITECTURES)
def test_on_the_corpus(arch):
    built = build(folder("corpora") / "lowering", [arch])

    assert built.problems == ()
    counts = [assert_equal_both_ways(Path(c.path).read_bytes(), str(c.path)) for c in built.cubins]
    assert len(counts) > 20
    assert sum(counts) > 10_000
