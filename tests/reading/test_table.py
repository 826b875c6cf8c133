from __future__ import annotations

import numpy as np
import pytest

from sassql.model.register import register
from sassql.reading import table as module
from sassql.reading.segments import MANY, Store, merge
from sassql.reading.table import NO_TARGET, Decoded, WordTable, control_bits, opcode_of, table


class Recorder:
    """Decodes a word to a statement that shows it, and remembers which words it was asked for."""

    def __init__(
        self, distances: dict[int, int] | None = None, problems: dict[int, str] | None = None
    ) -> None:
        self.asked: list[tuple[int, int]] = []
        self.distances, self.problems = distances or {}, problems or {}

    def __call__(self, low, high) -> Decoded:
        pairs = list(zip(low.tolist(), high.tolist(), strict=True))
        self.asked += pairs
        return Decoded(
            [f"IADD3 R0, R1, {lo:#x}, RZ" for lo, _ in pairs],
            {i: self.distances[lo] for i, (lo, _) in enumerate(pairs) if lo in self.distances},
            {i: self.problems[lo] for i, (lo, _) in enumerate(pairs) if lo in self.problems},
        )


def words(*pairs: tuple[int, int]):
    low, high = zip(*pairs, strict=True)
    return np.array(low, np.uint64), np.array(high, np.uint64)


def with_control(bits: int) -> int:
    """The high half of a word with control bits 105-125."""
    return bits << 41


def texts(found: WordTable, rows) -> list[str]:
    return [found[row].text for row in rows.tolist()]


def test_each_distinct_word_is_decoded_once():
    words_table, decode = WordTable("sm_90"), Recorder()
    rows, distinct, new = words_table.rows_of_words(*words((5, 0), (6, 0), (5, 0), (7, 1), (6, 0)), decode)

    assert (distinct, new) == (3, 3)
    assert sorted(decode.asked) == [(5, 0), (6, 0), (7, 1)]
    assert texts(words_table, rows) == [f"IADD3 R0, R1, {n:#x}, RZ" for n in (5, 6, 5, 7, 6)]
    assert rows[0] == rows[2] and rows[1] == rows[4]


def test_words_of_an_earlier_call_are_known():
    words_table, decode = WordTable("sm_90"), Recorder()
    first, _, _ = words_table.rows_of_words(*words((5, 0), (6, 0)), decode)
    second, distinct, new = words_table.rows_of_words(*words((6, 0), (8, 0), (5, 0)), decode)

    assert (distinct, new) == (3, 1)
    assert decode.asked[2:] == [(8, 0)]
    assert (second[2], second[0]) == (first[0], first[1])
    assert len(words_table) == 3


def test_scheduling_bits_do_not_distinguish_words_and_reuse_bits_do():
    words_table, decode = WordTable("sm_90"), Recorder()
    scheduling = [with_control(bits) for bits in (0, 15, 1 << 4, 7 << 5, 7 << 8, 63 << 11, (1 << 17) - 1)]
    reuse = [with_control(1 << bit) for bit in (17, 18, 19, 20)]
    pairs = [(9, high) for high in (*scheduling, *reuse)]
    rows, distinct, _ = words_table.rows_of_words(*words(*pairs), decode)

    assert distinct == 1 + len(reuse)
    assert len(set(rows[: len(scheduling)].tolist())) == 1
    assert len(set(rows.tolist())) == distinct
    assert decode.asked[0] in pairs


def test_the_decoder_sees_scheduling_bits_that_a_word_really_had():
    words_table, decode = WordTable("sm_90"), Recorder()
    high = with_control(0b101010)
    words_table.rows_of_words(*words((9, high), (9, high)), decode)

    assert decode.asked == [(9, high)]


def test_the_control_bits_of_a_word():
    _, high = words((0, with_control(0x1FFFFF) | 0x123), (0, with_control(0b1_000001_111_010_1_0101)))

    assert control_bits(high).tolist() == [0x1FFFFF, 0b1_000001_111_010_1_0101]


@pytest.mark.parametrize("count", [2, 5, 40])
def test_words_with_one_hash_stay_apart(monkeypatch, count):
    monkeypatch.setattr(module, "_hash", lambda low, high: np.full(len(low), 7, np.uint64))
    words_table, decode = WordTable("sm_90"), Recorder()
    pairs = [(n, n % 3) for n in range(count)]
    rows, distinct, new = words_table.rows_of_words(*words(*pairs, *reversed(pairs)), decode)
    again, _, learned = words_table.rows_of_words(*words(*pairs), decode)

    assert (distinct, new, learned) == (count, count, 0)
    assert texts(words_table, rows[:count]) == [f"IADD3 R0, R1, {n:#x}, RZ" for n in range(count)]
    assert rows.tolist() == rows[::-1].tolist()
    assert again.tolist() == rows[:count].tolist()
    assert len(decode.asked) == count


def test_halves_are_not_confused():
    words_table, decode = WordTable("sm_90"), Recorder()
    rows, _, _ = words_table.rows_of_words(*words((1, 2), (2, 1), (1, 1), (2, 2)), decode)

    assert len(set(rows.tolist())) == 4


def test_no_words_at_all():
    empty = np.empty(0, np.uint64)
    rows, distinct, new = WordTable("sm_90").rows_of_words(empty, empty, Recorder())

    assert (rows.tolist(), distinct, new) == ([], 0, 0)


def test_distances_and_problems_belong_to_their_words():
    words_table = WordTable("sm_90")
    decode = Recorder(distances={6: -0x40, 8: 0x20}, problems={7: "no instruction"})
    rows, _, _ = words_table.rows_of_words(*words((8, 0), (5, 0), (6, 0), (7, 0), (6, 0)), decode)

    assert words_table.distances(rows).tolist() == [0x20, NO_TARGET, -0x40, NO_TARGET, -0x40]
    assert words_table.problems(rows) == {int(rows[3]): "no instruction"}
    assert words_table.problems(rows[:3]) == {}


def test_text_and_words_have_rows_of_their_own():
    words_table, decode = WordTable("sm_90"), Recorder()
    text = words_table.row_of_text("FADD R0, R1, R2")
    rows, _, _ = words_table.rows_of_words(*words((5, 0)), decode)
    hidden = (register("UR", 4),)
    other = words_table.row_of_text("FADD R0, R1, R2", hidden)
    all_rows = np.array([text, int(rows[0]), other], np.int32)

    assert words_table.row_of_text("FADD R0, R1, R2") == text
    assert len({text, other, int(rows[0])}) == 3
    assert words_table[other].hidden == hidden
    assert words_table.count_opcodes(all_rows) == {"FADD": 2, "IADD3": 1}
    assert words_table.distances(all_rows).tolist() == [NO_TARGET] * 3
    assert words_table.problems(all_rows) == {}


def test_text_that_the_grammar_refuses_has_a_problem():
    words_table = WordTable("sm_90")
    row = words_table.row_of_text("FADD R0, R1 R2")

    assert words_table.problems(np.array([row], np.int32)) == {row: "unexpected 'R#'"}


def test_equal_words_share_one_form():
    words_table, decode = WordTable("sm_90"), Recorder()
    rows, _, _ = words_table.rows_of_words(*words((5, 0), (5, with_control(3))), decode)

    assert words_table[int(rows[0])] is words_table[int(rows[1])]


def test_registers_that_only_the_word_holds():
    words_table = WordTable("sm_80")
    low = 10 << 32
    rows, _, _ = words_table.rows_of_words(
        *words((low, 0)), lambda low, high: Decoded(["LDG.E R12, [R4.64]"])
    )
    plain = words_table.row_of_text("LDG.E R12, [R4.64]")
    completed = words_table.row_with_word(plain, (low, 0))

    assert [str(r) for r in words_table[int(rows[0])].hidden] == ["UR10", "UR11"]
    assert words_table[plain].hidden == ()
    assert words_table[completed].uses == words_table[int(rows[0])].uses
    assert words_table.row_with_word(words_table.row_of_text("EXIT"), (low, 0)) == words_table.row_of_text(
        "EXIT"
    )


def test_another_process_finds_the_words_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    first = Recorder(distances={6: 0x40}, problems={7: "no instruction"})
    known, _, _ = WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0), (6, 0), (7, 0)), first)
    second = Recorder()
    later = WordTable("sm_90", Store("sm_90"))
    rows, distinct, new = later.rows_of_words(*words((7, 0), (6, 0), (9, 0)), second)

    assert (distinct, new, second.asked) == (3, 1, [(9, 0)])
    assert texts(later, rows) == [f"IADD3 R0, R1, {n:#x}, RZ" for n in (7, 6, 9)]
    assert later.distances(rows).tolist() == [NO_TARGET, 0x40, NO_TARGET]
    assert later.problems(rows) == {int(rows[0]): "no instruction"}
    assert known.shape == (3,)


def test_words_that_another_process_decodes_meanwhile_are_not_decoded_again(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    one, other = WordTable("sm_90", Store("sm_90")), WordTable("sm_90", Store("sm_90"))
    one.rows_of_words(*words((5, 0)), Recorder())
    other.rows_of_words(*words((5, 0), (6, 0)), Recorder())
    decode = Recorder()
    rows, distinct, new = one.rows_of_words(*words((6, 0), (5, 0), (7, 0)), decode)

    assert (distinct, new, decode.asked) == (3, 1, [(7, 0)])
    assert texts(one, rows) == [f"IADD3 R0, R1, {n:#x}, RZ" for n in (6, 5, 7)]


def test_many_segments_become_few_and_lose_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    count = 2 * MANY + 1
    for n in range(count):  # as many processes, each with a word of its own
        distances, problems = ({n: 16 * n} if n % 3 == 1 else {}), ({n: f"problem {n}"} if n % 3 == 2 else {})
        WordTable("sm_90", Store("sm_90")).rows_of_words(*words((n, n)), Recorder(distances, problems))
    later, decode = WordTable("sm_90", Store("sm_90")), Recorder()
    rows, distinct, new = later.rows_of_words(*words(*((n, n) for n in range(count))), decode)

    assert (distinct, new, decode.asked) == (count, 0, [])
    assert texts(later, rows) == [f"IADD3 R0, R1, {n:#x}, RZ" for n in range(count)]
    assert later.distances(rows).tolist() == [16 * n if n % 3 == 1 else NO_TARGET for n in range(count)]
    assert later.problems(rows) == {int(rows[n]): f"problem {n}" for n in range(count) if n % 3 == 2}
    assert len(list(tmp_path.rglob("meta.json"))) < MANY


def test_merges_keep_no_text_of_words_met_twice(monkeypatch, tmp_path):
    """Processes that merge the same segments at the same time leave two copies of everything."""
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0), (6, 0)), Recorder())
    (segment,) = Store("sm_90").load()
    for _ in range(8):
        segment = merge([segment, segment])

    assert len(segment) == 2
    assert bytes(segment.texts) == b"IADD3 R0, R1, 0x5, RZ" + b"IADD3 R0, R1, 0x6, RZ"
    assert segment.starts.tolist() == [0, 21] and segment.lengths.tolist() == [21, 21]


def test_another_architecture_finds_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0)), Recorder())
    decode = Recorder()
    WordTable("sm_80", Store("sm_80")).rows_of_words(*words((5, 0)), decode)

    assert decode.asked == [(5, 0)]


def test_a_damaged_segment_is_decoded_again(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))
    WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0), (6, 0)), Recorder())
    (texts_file,) = tmp_path.rglob("texts.npy")
    content = bytearray(texts_file.read_bytes())
    content[-1] ^= 1
    texts_file.write_bytes(content)
    decode = Recorder()
    rows, _, new = WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0), (6, 0)), decode)

    assert (new, sorted(decode.asked)) == (2, [(5, 0), (6, 0)])
    assert len(rows) == 2


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path / "file"))
    decode = Recorder()
    rows, _, new = WordTable("sm_90", Store("sm_90")).rows_of_words(*words((5, 0)), decode)

    assert (len(rows), new) == (1, 1)


def test_there_is_one_table_for_an_architecture(monkeypatch, tmp_path):
    monkeypatch.setenv("SASSQL_CACHE", str(tmp_path))

    assert table("sm_90") is table("sm_90")
    assert table("sm_90") is not table("sm_90a")


@pytest.mark.parametrize(
    ("text", "opcode"),
    [
        ("EXIT", "EXIT"),
        ("@!P0 LDG.E.64 R2, [R4.64]", "LDG"),
        ("@UP0 BRA `(@)", "BRA"),
        ("FADD.FTZ R#, R#, R#", "FADD"),
    ],
)
def test_the_opcode_of_a_text(text, opcode):
    assert opcode_of(text) == opcode
