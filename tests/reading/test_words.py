from __future__ import annotations

import numpy as np
import pytest

from sassql.errors import ToolFailedError
from sassql.reading import elf, tools, words
from sassql.reading.words import BASE, MOST_REFUSED, decoder

NOTHING = (0, 0)
ALL_ONES = ((1 << 64) - 1, (1 << 64) - 1)


def halves(pairs):
    low, high = zip(*pairs, strict=True)
    return np.array(low, np.uint64), np.array(high, np.uint64)


def kernel_words(cubin: bytes, name: str) -> list[tuple[int, int]]:
    code = next(s.code for s in elf.read_cubin(cubin).sections if s.name == name)
    return [tuple(pair) for pair in np.frombuffer(code, "<u8").reshape(-1, 2).tolist()]


@pytest.fixture
def calls(monkeypatch):
    """How many words each call of nvdisasm got."""
    counts = []
    real = tools.disassemble_words

    def counting(content, arch, *, base=0):
        counts.append(len(content) // 16)
        return real(content, arch, base=base)

    monkeypatch.setattr(tools, "disassemble_words", counting)
    return counts


@pytest.fixture
def fake(monkeypatch):
    """An nvdisasm that prints ``NOP`` and refuses words with the low half 1, the way the real one does."""

    def disassemble(content, arch, *, base=0):
        low = np.frombuffer(content, "<u8")[::2]
        refused = np.flatnonzero(low == 1)
        if len(refused):
            address = base + 16 * int(refused[0])
            raise ToolFailedError(
                f"nvdisasm: Opclass 'isetp', undefined value 0x7f for table 'T' at address {address:#x}"
            )
        lines = (f"        /*{base + 16 * i:04x}*/                   NOP;" for i in range(len(low)))
        return "\n".join(['\t.headerflags\t@"EF_CUDA_SM90"', *lines, ""])

    monkeypatch.setattr(tools, "disassemble_words", disassemble)


def test_words_of_a_kernel_in_one_call(compiled, calls):
    found = kernel_words(compiled("sm_90").cubin, "choice")
    decoded = decoder("sm_90")(*halves(found))

    assert calls == [len(found)]
    assert len(decoded.texts) == len(found)
    assert decoded.problems == {}
    assert decoded.texts[0] == "LDC R1, c[0x0][0x28]"
    assert "EXIT" in decoded.texts


def test_distances_of_branches(compiled):
    found = kernel_words(compiled("sm_90").cubin, "choice")
    decoded = decoder("sm_90")(*halves(found))
    branches = [i for i, text in enumerate(decoded.texts) if "BRA" in text]

    assert branches
    assert all(decoded.texts[i].endswith("`(@)") for i in branches)
    last = branches[-1]  # BRA to itself stands behind every kernel
    assert (decoded.texts[last], decoded.distances[last]) == ("BRA `(@)", 0)
    assert set(branches) <= set(decoded.distances)


def test_a_backward_branch_at_the_very_start_has_a_negative_distance(compiled):
    found = kernel_words(compiled("sm_90").cubin, "floats")
    whole = decoder("sm_90")(*halves(found))
    back = next(i for i, distance in whole.distances.items() if distance < 0)
    alone = decoder("sm_90")(*halves([found[back]]))

    assert (alone.texts, alone.distances) == ([whole.texts[back]], {0: whole.distances[back]})


def test_illegal_words_are_isolated_and_nothing_else_is_lost(compiled, calls):
    good = kernel_words(compiled("sm_90").cubin, "choice")[:24]
    expected = decoder("sm_90")(*halves(good))
    mixed = [NOTHING, *good[:10], ALL_ONES, *good[10:]]
    calls.clear()
    decoded = decoder("sm_90")(*halves(mixed))

    assert [t for i, t in enumerate(decoded.texts) if i not in (0, 11)] == expected.texts
    assert decoded.texts[0] == "ILLEGAL 0x0, 0x0"
    assert decoded.texts[11] == f"ILLEGAL {ALL_ONES[0]:#x}, {ALL_ONES[1]:#x}"
    assert decoded.problems == {
        0: f"{'0' * 32} is no instruction of sm_90",
        11: f"{'f' * 32} is no instruction of sm_90",
    }
    moved = {i + 1 if i < 10 else i + 2: d for i, d in expected.distances.items()}
    assert decoded.distances == moved
    assert calls == [len(mixed)] * 2  # zeros need none of their own


@pytest.mark.usefixtures("fake")
def test_a_few_illegal_words_are_read_around():
    pairs = [(n + 2 if n % 5 else 1, n) for n in range(5 * MOST_REFUSED)]
    decoded = decoder("sm_90")(*halves(pairs))

    assert len(decoded.problems) == MOST_REFUSED
    assert [t.partition(" ")[0] for t in decoded.texts[:6]] == [
        "ILLEGAL",
        "NOP",
        "NOP",
        "NOP",
        "NOP",
        "ILLEGAL",
    ]


@pytest.mark.usefixtures("fake")
def test_zeros_are_no_instructions_however_many_there_are():
    pairs = [(0, n) for n in range(100 * MOST_REFUSED)] + [(5, 5)]
    decoded = decoder("sm_90")(*halves(pairs))

    assert sorted(decoded.problems) == list(range(100 * MOST_REFUSED))
    assert decoded.texts[-1] == "NOP"


@pytest.mark.usefixtures("fake")
def test_code_that_is_no_code_is_given_up_soon(fake, calls):
    decoded = decoder("sm_90")(*halves([(1, n) for n in range(5000)]))

    assert len(decoded.problems) == MOST_REFUSED + 1
    assert len(decoded.untried) == 5000 - MOST_REFUSED - 1
    assert set(decoded.untried.values()) == {
        f"not decoded: nvdisasm refused {MOST_REFUSED + 1} words before it"
    }
    assert len(calls) == MOST_REFUSED + 3  # the last two: what was left is accepted, and once more in order


def test_real_code_around_much_data_is_decoded(compiled):
    """Data that looks like anything: the instructions come first, with their distances."""
    code = kernel_words(compiled("sm_90").cubin, "choice")
    random = np.random.default_rng(7)
    data = [tuple(pair) for pair in random.integers(1 << 62, 1 << 63, (90, 2), np.uint64).tolist()]
    mixed = data[:50] + code * 3 + data[50:]

    decoded = decoder("sm_90")(*halves(mixed))
    alone = decoder("sm_90")(*halves(code))

    assert decoded.texts[50 : 50 + len(code)] == alone.texts
    distances = {n - 50: d for n, d in decoded.distances.items() if 50 <= n < 50 + len(code)}
    assert distances == alone.distances
    assert len(decoded.problems) + len(decoded.untried) > 80
    assert not {n for n in decoded.untried if 50 <= n < 50 + 3 * len(code)}


def test_a_tool_that_fails_for_another_reason_is_not_tried_word_by_word(monkeypatch):
    attempts = []

    def broken(content, arch, *, base=0):
        attempts.append(content)
        raise ToolFailedError("nvdisasm: out of memory")

    monkeypatch.setattr(tools, "disassemble_words", broken)

    with pytest.raises(ToolFailedError, match="out of memory"):
        decoder("sm_90")(*halves([(n, n) for n in range(100)]))
    assert len(attempts) == 1


def test_an_address_outside_of_the_words_is_no_word(monkeypatch):
    def strange(content, arch, *, base=0):
        raise ToolFailedError(f"nvdisasm: cannot read table at address {BASE - 16:#x}")

    monkeypatch.setattr(tools, "disassemble_words", strange)

    with pytest.raises(ToolFailedError, match="cannot read table"):
        decoder("sm_90")(*halves([(1, 1), (2, 2)]))


def test_missing_lines_are_noticed(monkeypatch):
    monkeypatch.setattr(tools, "disassemble_words", lambda *_, base=0: "        /*0000*/      NOP;\n")

    with pytest.raises(ToolFailedError, match="printed 1 of 3 instructions"):
        decoder("sm_90")(*halves([(1, 1), (2, 2), (3, 3)]))


@pytest.mark.usefixtures("fake")
def test_chunks_are_put_together_in_order(monkeypatch):
    monkeypatch.setattr(words, "CHUNK", 10)
    pairs = [(1 if n in (7, 23) else n + 2, n) for n in range(35)]
    decoded = decoder("sm_90", jobs=2)(*halves(pairs))

    assert len(decoded.texts) == 35
    assert sorted(decoded.problems) == [7, 23]
    assert decoded.texts[23] == "ILLEGAL 0x1, 0x17"
