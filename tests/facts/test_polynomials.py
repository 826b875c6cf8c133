"""Polynomials modulo 2^32, functions of them, and the rules of `linear.tsv` against concrete execution."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sassql.facts.addresses  # noqa: F401  (registers the analysis)
from sassql.facts import functions
from sassql.facts.choices import choice, expand
from sassql.facts.polynomials import AtomKind, Polynomial, parameter, special
from sassql.reading.listing import read_listing

MASK = 0xFFFFFFFF
X, Y, N = (Polynomial.of(special(name)) for name in ("tid.x", "ctaid.x", "nctaid.x"))


def number(value: int) -> Polynomial:
    return Polynomial.number(value)


def test_sums_and_products():
    assert str(X.times(4) + number(0x10) + Y.product(N).times(4)) == "4*ctaid.x*nctaid.x + 4*tid.x + 0x10"
    assert str(X - X.times(3) - number(1)) == "-2*tid.x - 0x1"
    assert X - X == number(0) == number(1 << 32)
    assert (X + Y).product(X - Y) == X.product(X) - Y.product(Y)
    assert X.product(Y) == Y.product(X)
    assert X.times(1 << 31).times(2) == number(0), "modulo 2^32"


def test_coefficients():
    address = X.product(Y).times(4) + X.times(8) + Y
    assert address.coefficient(special("tid.x")) == Y.times(4) + number(8)
    assert address.coefficient(special("laneid")) == number(0)
    assert X.product(X).coefficient(special("tid.x")) is None
    inside = functions.quotient(N + X, 32) + X
    assert inside.coefficient(special("tid.x")) is None, "it stands inside of a function, too"


def test_masks_are_remainders():
    assert str(functions.bit_and(X, number(31))) == "(tid.x % 32)"
    assert functions.bit_and(N, number(-16)) == N - functions.remainder(N, 16)
    assert functions.remainder(X + N.times(64), 32) == functions.remainder(X, 32)
    assert functions.remainder(functions.remainder(N, 64), 32) == functions.remainder(N, 32)
    assert functions.remainder(X, 1024) == X, "a block has at most 1,024 threads"
    assert functions.remainder(N, 1024) != N


def test_quotients_of_small_numbers():
    assert functions.quotient(X.times(4), 4) == X
    assert functions.quotient(N.times(4), 4) != N, "4*n may wrap round"
    assert functions.quotient(X, 1024) == number(0)
    assert functions.quotient(X.times(4) + number(3), 4) == X
    row = Polynomial.of(special("tid.y"))
    assert functions.quotient(X.times(32) + row, 32) == X + functions.quotient(row, 32)
    whole = functions.remainder(N, 8) + functions.quotient(N, 8).times(8)
    assert whole != N
    assert expand(whole) == N


@given(st.integers(3, MASK), st.integers(0, 31), st.lists(st.integers(0, MASK), min_size=1))
def test_a_product_that_divides(divisor, shift, words):
    multiplier = -(-(1 << 32 + shift) // divisor)
    if multiplier > MASK:
        return
    by = functions.divisor_of(multiplier, shift)
    exact = multiplier * divisor - (1 << 32 + shift) <= 1 << shift
    assert by == divisor or not exact or divisor & (divisor - 1) == 0
    if by is not None:
        edges = [k * by + e for k in (1, MASK // by) for e in (-1, 0, 1)]
        for x in [*words, 0, MASK, *(e for e in edges if 0 <= e <= MASK)]:
            assert x * multiplier >> 32 + shift == x // by


def test_division_by_a_number_is_seen():
    high = functions.multiply_high(N, number(0xAAAAAAAB), is_signed=False)
    assert str(functions.quotient(high, 2)) == "(nctaid.x / 3)"
    assert str(functions.quotient(high, 4)) == "(nctaid.x / 6)"
    row = functions.multiply_high(X, number(0xCCCCCCCD), is_signed=False)
    assert str(X - functions.quotient(row, 4).times(5)) == "-5*(tid.x / 5) + tid.x"
    assert str(functions.quotient(X.times(21846), 1 << 16)) == "(tid.x / 3)"
    assert all(x * 21846 >> 16 == x // 3 for x in range(1024))
    assert str(functions.quotient(X.times(2000), 1 << 16)) == "(2000*tid.x / 65536)"
    high = functions.multiply_high(N, number(0x24924925), is_signed=False)
    seventh = functions.quotient(functions.quotient(N - high, 2) + high, 4)
    assert str(seventh) == "(nctaid.x / 7)"
    assert functions.most(N - seventh.times(7)) == 6
    assert functions.most(N - seventh.times(6)) is None
    assert "umulhi" in str(functions.quotient(functions.multiply_high(N, Y, is_signed=False), 2))


def test_or_of_disjoint_bits_is_a_sum():
    low = functions.remainder(N, 8)
    assert functions.bit_or(X.times(8), low) == X.times(8) + low
    assert functions.bit_xor(X.times(8), low) == X.times(8) + low
    assert functions.bit_or(X.times(4), low) != X.times(4) + low
    assert functions.bit_or(X.times(8), low + number(1)) != X.times(8) + low + number(1), "8 is not below 8"


@pytest.mark.parametrize("table", range(256))
def test_every_truth_table(table):
    """As polynomials of unknown words, of words and numbers, and of small numbers."""
    sources = [N, Polynomial.of(parameter(0, "a")), Polynomial.of(parameter(4, "b"))]
    words = (0xDEADBEEF, 0x12345678, 0x0F0FF0F5)
    known = {"nctaid.x": words[0], "a": words[1], "b": words[2]}
    for fixed in itertools.product((None, 0, MASK, 31, 0xFFFFFF00), repeat=3):
        mixed = [s if f is None else number(f) for s, f in zip(sources, fixed, strict=True)]
        values = [w if f is None else f for w, f in zip(words, fixed, strict=True)]
        expected = sum(
            1 << bit
            for bit in range(32)
            if table >> sum((v >> bit & 1) << (2 - i) for i, v in enumerate(values)) & 1
        )
        assert evaluate(functions.truth_table(mixed, table), known) == expected, (fixed, table)


def test_choices_leave_out_what_is_common():
    arms = (X.times(4) + N.times(8) + number(12), X.times(4) + number(4))
    assert str(choice("select", arms, 7, -1)) == "8*select#7(nctaid.x, -0x1) + 4*tid.x + 0xc"
    assert choice("select", (X, X), 7, -1) == X


def evaluate(polynomial: Polynomial, known: dict[str, int], predicates: dict[int, bool] | None = None) -> int:
    """The value of a polynomial; selects by ``predicates``."""

    def word(atom) -> int:
        if atom.kind is not AtomKind.FUNCTION:
            return known[atom.name]
        if atom.name == "select":
            return evaluate(atom.args[0 if predicates[atom.number] else 1], known, predicates)
        return functions.word_of_function(atom, [evaluate(arg, known, predicates) for arg in atom.args])

    return polynomial.evaluate(word)


# --- programs


@dataclass(frozen=True)
class Machine:
    """Registers, predicates and constants of one thread: the meaning of each template, written once more."""

    r: dict[int, int]
    p: dict[int, bool]
    c: dict[int, int]


def signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def lut(table: int, a: int, b: int, c: int) -> int:
    return sum(
        1 << i for i in range(32) if table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1
    )


REGISTERS = range(2, 12)
register = st.sampled_from(REGISTERS)
immediate = st.one_of(
    st.integers(0, 64), st.sampled_from([0xFFFFFFFF, 0xFFFFFFF0, 0xFF, 0x7FFFFFFF, 0x80000000])
)
shift = st.integers(1, 31)
place = st.integers(0, 5)
BASE = 0x210


def templates(d, a, b, c, i, s, k, t):
    """Statements that write register ``d``, with what they compute: ``i`` is a number, ``s`` a shift."""
    h = f"{i:#x}"
    at = f"c[0x0][{BASE + 4 * k:#x}]"
    return [
        (f"IADD3 R{d}, R{a}, R{b}, R{c}", lambda m: m.r[a] + m.r[b] + m.r[c]),
        (f"IADD3 R{d}, R{a}, -R{b}, {at}", lambda m: m.r[a] - m.r[b] + m.c[k]),
        (f"VIADD R{d}, R{a}, {h}", lambda m: m.r[a] + i),
        (f"IMAD R{d}, R{a}, R{b}, R{c}", lambda m: m.r[a] * m.r[b] + m.r[c]),
        (f"IMAD R{d}, R{a}, {at}, -R{c}", lambda m: m.r[a] * m.c[k] - m.r[c]),
        (f"IMAD.IADD R{d}, R{a}, 0x1, -R{c}", lambda m: m.r[a] - m.r[c]),
        (f"IMAD.SHL.U32 R{d}, R{a}, {1 << s:#x}, RZ", lambda m: m.r[a] << s),
        (f"IMAD.MOV R{d}, RZ, RZ, -R{a}", lambda m: -m.r[a]),
        (f"MOV R{d}, {at}", lambda m: m.c[k]),
        (f"LEA R{d}, R{a}, R{b}, {s:#x}", lambda m: (m.r[a] << s) + m.r[b]),
        (f"LEA R{d}, P3, R{a}, {at}, {s:#x}", lambda m: (m.r[a] << s) + m.c[k]),
        (f"LEA.HI R{d}, R{a}, R{b}, RZ, {s:#x}", lambda m: (m.r[a] >> (32 - s)) + m.r[b]),
        (f"LEA.HI.SX32 R{d}, R{a}, R{b}, {s:#x}", lambda m: (signed(m.r[a]) >> (32 - s)) + m.r[b]),
        (f"SHF.L.U32 R{d}, R{a}, {s:#x}, RZ", lambda m: m.r[a] << s),
        (f"SHF.R.U32.HI R{d}, RZ, {s:#x}, R{a}", lambda m: m.r[a] >> s),
        (f"SHF.R.S32.HI R{d}, RZ, {s:#x}, R{a}", lambda m: signed(m.r[a]) >> s),
        (f"SHF.R.U32.HI R{d}, RZ, R{b}, R{a}", lambda m: m.r[a] >> min(m.r[b], 32)),
        (f"LOP3.LUT R{d}, R{a}, R{b}, R{c}, {t:#x}, !PT", lambda m: lut(t, m.r[a], m.r[b], m.r[c])),
        (f"LOP3.LUT R{d}, R{a}, {h}, RZ, {t:#x}, !PT", lambda m: lut(t, m.r[a], i, 0)),
        (f"LOP3.LUT R{d}, R{a}, {h}, R{c}, {t:#x}, !PT", lambda m: lut(t, m.r[a], i, m.r[c])),
        (f"IMAD.HI.U32 R{d}, R{a}, R{b}, RZ", lambda m: m.r[a] * m.r[b] >> 32),
        (f"IMAD.HI R{d}, R{a}, R{b}, RZ", lambda m: signed(m.r[a]) * signed(m.r[b]) >> 32),
        (f"VIMNMX R{d}, R{a}, R{b}, PT", lambda m: min(m.r[a], m.r[b], key=signed)),
        (f"VIMNMX R{d}, R{a}, R{b}, !PT", lambda m: max(m.r[a], m.r[b], key=signed)),
        (f"VIMNMX.U32 R{d}, R{a}, R{b}, PT", lambda m: min(m.r[a], m.r[b])),
        (f"SEL R{d}, R{a}, R{b}, P0", lambda m: m.r[a] if m.p[0] else m.r[b]),
        (f"SEL R{d}, R{a}, R{b}, !P1", lambda m: m.r[b] if m.p[1] else m.r[a]),
        (f"@!P0 IADD3 R{d}, R{a}, R{b}, RZ", lambda m: m.r[d] if m.p[0] else m.r[a] + m.r[b]),
        (f"@P1 VIADD R{d}, R{a}, {h}", lambda m: m.r[a] + i if m.p[1] else m.r[d]),
    ]


TEMPLATES = len(templates(2, 2, 2, 2, 0, 1, 0, 0))


@st.composite
def steps(draw):
    """A statement, the register that it writes, and what it computes."""
    d, a, b, c = (draw(register) for _ in range(4))
    made = templates(d, a, b, c, draw(immediate), draw(shift), draw(place), draw(st.integers(0, 255)))
    text, meaning = draw(st.sampled_from(made))
    return text, d, meaning


SPECIAL = {2: "SR_TID.X", 3: "SR_TID.Y", 4: "SR_CTAID.X", 5: "SR_LANEID"}


@settings(max_examples=150, deadline=None)
@given(
    program=st.lists(steps(), min_size=1, max_size=10),
    tid=st.tuples(st.integers(0, 1023), st.integers(0, 1023), st.integers(0, 2**31 - 2), st.integers(0, 31)),
    parameters=st.lists(st.integers(0, MASK), min_size=6, max_size=6),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_a_polynomial_has_the_value_that_execution_has(program, tid, parameters, flags):
    check(program, tid, parameters, flags)


@pytest.mark.parametrize("template", range(TEMPLATES))
def test_every_statement_alone(template):
    chance = random.Random(template)
    for _ in range(24):
        d, a, b, c = chance.choices(REGISTERS[4:], k=4)
        i, s, k = chance.getrandbits(32), chance.randint(1, 31), chance.randint(0, 5)
        text, meaning = templates(d, a, b, c, i, s, k, chance.getrandbits(8))[template]
        words = [chance.getrandbits(32) for _ in range(6)]
        flags = (chance.random() < 0.5, chance.random() < 0.5)
        check([(text, d, meaning)], (3, 4, 5, 6), words, flags)


def check(program, tid, parameters, flags):
    """Compare what execution leaves in each register with its polynomial."""
    prologue = [f"S2R R{r}, {name}" for r, name in SPECIAL.items()]
    prologue += [f"LDC R{r}, c[0x0][{BASE + 4 * (r - 6):#x}]" for r in REGISTERS if r > 5]
    guards = [f"ISETP.NE.AND P{n}, PT, R{2 + n}, {0xABC:#x}, PT" for n in (0, 1)]
    stores = [f"STS [R{r}+0x8], RZ" for r in REGISTERS]
    lines = [*prologue, *guards, *(text for text, _, _ in program), *stores, "EXIT"]
    modules, problems = read_listing("".join(f"        {line} ;\n" for line in lines), arch="sm_90")
    assert problems == []
    kernel = modules[0].kernels[0]
    assert all(ins.known for ins in kernel.instructions)

    machine = Machine(
        {r: tid[r - 2] if r < 6 else parameters[r - 6] for r in REGISTERS},
        dict(enumerate(flags)),
        dict(enumerate(parameters)),
    )
    for _text, result, meaning in program:
        machine.r[result] = meaning(machine) & MASK

    known = dict(zip(("tid.x", "tid.y", "ctaid.x", "laneid"), tid, strict=True))
    known |= {f"param[{4 * i:#x}]": word for i, word in enumerate(parameters)}
    ssa = kernel.fact("ssa")
    first = len(prologue)
    predicates = {
        v: flags[ssa.instruction[v] - first]
        for v in range(len(ssa))
        if first <= ssa.instruction[v] < first + 2 and ssa.kind[v].value == "def"
    }
    for place_, r in enumerate(REGISTERS):
        address = kernel.fact("addresses").of(len(lines) - 1 - len(stores) + place_)
        if address.kind.value == "opaque":
            assert address.reason == "too long an expression"
            continue
        word = evaluate(address.polynomial, known, predicates) + address.offset
        assert word & MASK == machine.r[r] + 8 & MASK, f"R{r}: {address}"
