from __future__ import annotations

import re

import pytest

from sassql.errors import InputError, ListingError, Place, UnsupportedArchError
from sassql.model.instruction import Control
from sassql.reading.listing import looks_like_listing, read_listing

TARGET = "\t.target\tsm_90\n"


def read(text: str, **options):
    modules, problems = read_listing(text, **options)
    assert problems == []
    (module,) = modules
    return module


def texts(kernel) -> list[str]:
    return [i.text for i in kernel.instructions]


def without_names(text: str) -> str:
    """A statement with everything that cuobjdump leaves to the linker taken out."""
    return re.sub(r"\b(RET|CALL)\.\S+.*|(?:32@\w+\(.*\)|0x0|0)$", r"\1", text)


def test_nvdisasm_text_gives_the_kernels_of_the_cubin(everywhere):
    module = read(everywhere.listing())
    expected = everywhere.module

    assert (module.arch, module.layout) == (everywhere.arch, "listing")
    assert (module.distinct_words, module.new_words) == (None, None)
    assert [k.name for k in module.kernels] == [k.name for k in expected.kernels]
    for found, known in zip(module.kernels, expected.kernels, strict=True):
        assert found.functions == known.functions
        assert found.is_entry == known.is_entry
        assert found.control is None
        assert texts(found) == texts(known)
        assert [i.target for i in found.instructions] == [i.target for i in known.instructions]


def test_branch_targets_come_from_the_annotations(everywhere):
    module = read(everywhere.listing())
    found = {k.name: k.indirect_targets for k in module.kernels if k.indirect_targets}

    assert set(found) == {"choice"}
    assert found["choice"] == {k.name: k.indirect_targets for k in everywhere.module.kernels}["choice"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_cuobjdump_text_gives_the_same_instructions(compiled, arch):
    module = read(compiled(arch).cuobjdump)
    expected = compiled(arch).module

    assert module.arch == arch
    assert [k.name for k in module.kernels] == [k.name for k in expected.kernels]
    for found, known in zip(module.kernels, expected.kernels, strict=True):
        assert list(map(without_names, texts(found))) == list(map(without_names, texts(known)))
        for one, other in zip(found.instructions, known.instructions, strict=True):
            assert (one.address, one.opcode, one.control) == (other.address, other.opcode, other.control)
            assert (one.defs, one.uses) == (other.defs, other.uses)
            if one.opcode in ("BRA", "BSSY"):
                assert one.target == other.target


def test_encodings_give_control_bits_and_hidden_registers(compiled):
    plain = read(compiled("sm_80").listing())
    encoded = read(compiled("sm_80").listing("-hex"))
    load = next(i for i in encoded.kernels[0].instructions if i.text.startswith("LDGSTS"))
    bare = plain.kernels[0].instructions[load.index]

    assert plain.kernels[0].control is None and bare.control is None
    assert isinstance(load.control, Control)
    assert {str(r) for r in load.uses - bare.uses} == {"UR4", "UR5"}


@pytest.mark.parametrize(
    "lines",
    [
        "/*0000*/ NOP ; LOW\nHIGH\n/*0010*/ EXIT ;\n",
        "/*0000*/ NOP ; LOW\n/*0010*/ EXIT ; LOW\nHIGH\n",
        "HIGH\n/*0000*/ NOP ; LOW\nHIGH\n/*0010*/ EXIT ; LOW\n",
        "/*0000*/ NOP ;\nHIGH\n/*0010*/ EXIT ; LOW\nHIGH\n",
    ],
)
def test_a_listing_with_a_missing_encoding_has_no_control_bits(lines):
    low, high = "/* 0x0000000000007918 */", "                 /* 0x000fc00000000000 */"
    rule = "//--------------------- .text.k   -----\n"
    module = read(TARGET + rule + lines.replace("LOW", low).replace("HIGH", high))

    assert module.kernels[0].control is None
    assert [i.control for i in module.kernels[0].instructions] == [None, None]


def test_a_place_that_cuobjdump_prints_as_a_number():
    module = read(f"{TARGET}\tFunction : k\n/*0000*/ @P0 BRA 0x20 ;\n/*0010*/ BRA 0x680 ;\n/*0020*/ EXIT ;\n")
    first, second, _ = module.kernels[0].instructions

    assert (first.text, first.target) == ("@P0 BRA `(0x20)", 0x20)
    assert (second.text, second.target) == ("BRA `(0x680)", None)
    assert second.operands[0].symbol == "0x680"


def test_labels_name_the_instruction_that_follows():
    module = read(f"{TARGET}.text.k:\n.L_x_0:\n.L_x_1:\n/*0000*/ NOP;\n/*0010*/ BRA `(.L_x_1) ;\n.L_x_9:\n")
    kernel = module.kernels[0]

    assert kernel.instructions[1].target == 0
    assert texts(kernel) == ["NOP", "BRA `(0x0)"]


def test_a_label_that_is_not_there_is_a_symbol():
    (kernel,) = read(f"{TARGET}/*0000*/ CALL.ABS.NOINC `(vprintf) ;\n").kernels

    assert (kernel.instructions[0].target, kernel.symbols) == (None, {0: "vprintf"})
    assert texts(kernel) == ["CALL.ABS.NOINC `(vprintf)"]


def test_offsets_of_labels_in_relocated_operands():
    text = f"{TARGET}/*0000*/ MOV R20, 32@lo((k + .L_x_0@srel)) ;\n.L_x_0:\n/*0010*/ EXIT ;\n"

    assert texts(read(text).kernels[0])[0] == "MOV R20, 32@lo((k + 0x10))"


@pytest.mark.parametrize(
    "text",
    [
        "FADD R0, R1, R2 ;\nEXIT ;\n",
        "/*0000*/ FADD R0, R1, R2 ;\n/*0010*/ EXIT ;\n",
        "  @P0 FADD R0, R1, R2\n\n\tEXIT;\n",
    ],
)
def test_a_pasted_piece_needs_the_architecture(text):
    with pytest.raises(ListingError) as caught:
        read_listing(text, file="loop.sass")

    assert str(caught.value) == (
        "loop.sass:1: the listing does not say its architecture; name it with --arch, such as sm_90"
    )
    module = read(text, arch="sm_80")
    assert module.arch == "sm_80"
    assert [i.opcode for i in module.kernels[0].instructions] == ["FADD", "EXIT"]
    assert [i.address for i in module.kernels[0].instructions] == [0, 16]
    assert (module.kernels[0].name, module.kernels[0].is_entry) == ("kernel", True)


def test_what_the_text_says_is_stronger_than_the_architecture_asked_for():
    flags = '\t.headerflags\t@"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"\n'

    assert read(f"{flags}/*0000*/ EXIT ;\n", arch="sm_90").arch == "sm_80"
    assert read(f"{TARGET}/*0000*/ EXIT ;\n", arch="sm_80").arch == "sm_90"


@pytest.mark.parametrize(
    ("header", "arch"),
    [
        ('\t.headerflags\t@"EF_CUDA_SM75 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM75)"', "sm_75"),
        ('\t.headerflags\t@"EF_CUDA_ACCELERATORS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"', "sm_90a"),
        ("\t.target\tsm_100a", "sm_100a"),
        ("\tcode for sm_120", "sm_120"),
        (
            '\tcode for sm_90a\n\t\tFunction : k\n\t.headerflags\t@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"',
            "sm_90a",
        ),
        ('\t\tFunction : k\n\t.headerflags\t@"EF_CUDA_SM90"', "sm_90"),
    ],
)
def test_lines_that_say_the_architecture(header, arch):
    module = read(f"{header}\n        /*0000*/                   EXIT ;\n")

    assert module.arch == module.kernels[0].arch == arch


def test_modules_of_one_text(compiled):
    flags = '\t.headerflags\t@"EF_CUDA_SM89 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM89)"\n'
    old = f"{flags}//--------------------- .text.old   ---\n        /*0000*/        EXIT ;\n"
    text = old + compiled("sm_90").cuobjdump + compiled("sm_75").listing() + old
    modules, problems = read_listing(text, file="all.sass")

    assert problems == []
    assert [m.arch for m in modules] == ["sm_89", "sm_90", "sm_75"]
    assert [k.name for k in modules[0].kernels] == ["old", "old"]
    assert [len(m.kernels) for m in modules[1:]] == [
        len(compiled(a).module.kernels) for a in ("sm_90", "sm_75")
    ]
    assert {k.arch for k in modules[2].kernels} == {"sm_75"}


def test_equal_text_of_two_architectures_is_kept_apart():
    line = "/*0000*/ LDG.E R2, [R4.64] ; /* 0x0000000a04027981 */\n /* 0x000000000c1e1900 */\n"
    modules, _ = read_listing(
        f"\tcode for sm_75\n\tFunction : a\n{line}\tcode for sm_80\n\tFunction : b\n{line}"
    )

    assert [[str(r) for r in sorted(m.kernels[0].instructions[0].uses)] for m in modules] == [
        ["R4", "R5"],
        ["R4", "R5", "UR10", "UR11"],
    ]


def test_sections_without_code_are_left_out():
    text = (
        f"{TARGET}//--------------------- .nv.info    ---\n"
        '\t.section\t.nv.info,"",@"SHT_CUDA_INFO"\n'
        "        /*0000*/ \t.byte\t0x04, 0x2f\n.L_x_7:\n"
        "//--------------------- .text.k     ---\n"
        '\t.section\t.text.k,"ax",@progbits\n'
        "        /*0000*/                   EXIT ;\n"
        "//--------------------- .nv.constant0.k ---\n"
        "        /*0000*/ \t.dword\t0x10\n"
    )

    assert [(k.name, texts(k)) for k in read(text).kernels] == [("k", ["EXIT"])]


def test_resources_that_the_text_has():
    text = (
        f"{TARGET}//--------------------- .text.k     ---\n"
        '\t.sectionflags\t@"SHF_BARRIERS=2"\n\t.sectioninfo\t@"SHI_REGISTERS=40"\n'
        "        /*0000*/                   EXIT ;\n"
    )
    resources = read(text).kernels[0].resources

    assert (resources.registers, resources.barriers, resources.shared) == (40, 2, None)


def test_a_refused_statement_is_a_located_problem_and_stays_in_the_kernel():
    text = (
        f"{TARGET}        /*0000*/                   FADD R0, c[0x0][0x160], R4 R5 ;\n"
        "        /*0010*/                   EXIT ;\n"
    )
    (module,), (problem,) = read_listing(text, file="x.sass", entry="e")

    assert str(problem) == (
        "x.sass[e]:2:63: unexpected 'R5' in 'FADD R0, c[0x0][0x160], R4 R5'; the other lines are read"
    )
    assert text.splitlines()[1][62:].startswith("R5")
    assert (problem.kind, problem.exit_code) == ("listing", 3)
    assert texts(module.kernels[0]) == ["FADD R0, c[0x0][0x160], R4 R5", "EXIT"]
    assert [i.known for i in module.kernels[0].instructions] == [False, True]


def test_every_bad_line_is_a_problem_also_when_it_stands_there_twice():
    bad = "        /*{:04x}*/                   FADD R0 R1 R2 ;\n"
    _, problems = read_listing(TARGET + bad.format(0) + bad.format(16) + "/*0020*/ EXIT ;\n")

    assert [p.place.line for p in problems] == [2, 3]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("   what is this?", 4, "unexpected 'what': this is no line of a listing"),
        ("/*0010*/", 9, "unexpected the end of the line: this is no line of a listing"),
        ("        /*0010*/       EXIT ; /* 0x12 */", 31, "an encoding has 16 hexadecimal digits"),
    ],
)
def test_an_odd_line_is_a_located_problem_while_the_rest_is_read(line, column, reason):
    (module,), (problem,) = read_listing(f"{TARGET}/*0000*/ NOP ;\n{line}\n/*0020*/ EXIT ;\n", file="x")

    assert problem.place == Place("x", 3, column)
    assert problem.message == reason
    assert texts(module.kernels[0])[0] == "NOP" and texts(module.kernels[0])[-1] == "EXIT"


@pytest.mark.parametrize(
    "line",
    [
        "",
        '\t.elftype\t@"ET_EXEC"',
        "Fatbin elf code:",
        "================",
        "arch = sm_90",
        "code version = [1,8]",
        "host = linux",
        "compile_size = 64bit",
        "compressed",
        "\t\t..........",
        "producer = <unknown>",
        '//## File "/tmp/a.cu", line 31',
        "        .size           k,(.L_x_3 - k)",
        '        .other          k,@"STO_CUDA_ENTRY STV_DEFAULT"',
    ],
)
def test_lines_of_the_tools_are_no_problem(line):
    _, problems = read_listing(f"{TARGET}{line}\n/*0000*/ EXIT ;\n")

    assert problems == []


def test_the_scheduling_text_of_an_older_nvdisasm_is_left_out():
    text = "\t.target\tsm_120\n        /*0010*/   S2R R9, SR_TID.X        &wr=0x1        ?trans7;\n"

    assert texts(read(text).kernels[0]) == ["S2R R9, SR_TID.X"]


def test_the_table_of_life_ranges_is_left_out(compiled):
    source = compiled("sm_90", "small.cu")
    marked = read(source.listing("-plr", "-hex"))

    for found, known in zip(marked.kernels, source.module.kernels, strict=True):
        count = len(found.instructions)
        assert texts(found) == texts(known)[:count]
        assert [i.control for i in found.instructions] == [i.control for i in known.instructions[:count]]
        assert {i.opcode for i in known.instructions[count:]} <= {"NOP"}  # which nvdisasm then leaves out


def test_code_of_an_architecture_that_is_too_old_is_refused_with_its_reason():
    flags = '\t.headerflags\t@"EF_CUDA_SM60"\n'
    old = f"{flags}//---- .text.k ---\n /*0008*/ {{  SHL R6, R0, 0x2 ;\n /*0010*/ S2R R9, SR_CTAID.X  }}\n"

    with pytest.raises(UnsupportedArchError) as caught:
        read_listing(old, file="old.sass")
    assert str(caught.value) == "old.sass:1: sm_60 code is not supported; sassql reads sm_75 and newer"

    (module,), problems = read_listing(f"{old}{TARGET}//---- .text.n ---\n/*0000*/ EXIT ;\n{old}")
    assert [(k.name, texts(k)) for k in module.kernels] == [("n", ["EXIT"])]
    assert [(p.kind, p.place.line) for p in problems] == [("unsupportedarch", 1), ("unsupportedarch", 8)]


@pytest.mark.parametrize("text", ["", "\n\n", "hello world\n", TARGET, f"{TARGET}//--- .text.k ---\n"])
def test_a_text_without_instructions_is_an_error(text):
    with pytest.raises(InputError, match="no SASS instruction found"):
        read_listing(text, file="x")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("        /*0000*/                   EXIT ;", True),
        ("//--------------------- .text.k --------", True),
        ("\t.target\tsm_90", True),
        ("\tcode for sm_90", True),
        ("\t\tFunction : k", True),
        ("__global__ void k() { /*0000*/ }", False),
        ("hello\nworld\n", False),
        (".version 8.0\n.target sm_90\n", True),
    ],
)
def test_what_looks_like_a_listing(head, expected):
    assert looks_like_listing(head) is expected


def test_line_ends_of_another_system():
    module = read(f"{TARGET}/*0000*/ NOP ;\n/*0010*/ EXIT ;\n".replace("\n", "\r\n"))

    assert texts(module.kernels[0]) == ["NOP", "EXIT"]
