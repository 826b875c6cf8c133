"""Kernels with one PTX instruction each, from `ptx_forms.txt`, in every form that an architecture takes.

    python benchmarks/ptx_forms.py --out /tmp/forms          # 26 architectures, a cubin or several each

No library uses more than a part of the instruction set. `ptx_forms.txt` lists PTX instructions with
holes for their operands; each becomes small kernels that load its inputs, execute it and store what
it wrote. Inputs come from memory (general registers), from parameters (uniform registers and
constants), both in turn, or memory and immediates in turn, so that one PTX instruction gives several
operand shapes. What ptxas refuses for an architecture is left out for it. No GPU and no toolkit:
nvJitLink assembles.

Holes: `$i32` input and `$o32` output of that many bits (8, 16, 32, 64, 128), `$x32` both, `$ip $op`
predicates, `$i32*4` a list of four, `$s` an address in shared memory, `$g` in global memory, `$c` in
constant memory, `$a` in whichever of them the instruction names, `$t` a tensor map or handle.
`<a|b>` makes a form for each of `a` and `b`, `<1:a|b> <1:c|d>` one for `a c` and one for `b d`.
Words that begin with & are directives of the kernel, = for a blank: `&.reqntid=128,1,1`. A word that
begins with ? says which architectures have the form, by the beginning of their name: `?sm_12`.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from cuda.bindings import nvjitlink

from sassql.reading.compile import supported_architectures

FORMS = Path(__file__).with_name("ptx_forms.txt")
VARIANTS = ("memory", "parameters", "mixed", "constants")
"""Where inputs come from: memory, parameters, both in turn, or memory and constants in turn."""
CONSTANTS = {"8": "0x15", "16": "0x3d14", "32": "0x3fb504f3", "64": "0x3ff6a09e667f3bcd"}
KERNELS_PER_MODULE = 400
PTX_VERSION = "9.4"

_CHOICE = re.compile(r"<(?:(\d):)?([^<>]*)>")
_HOLE = re.compile(r"\$(?:([iox])(8|16|32|64|128|p)|([sgcta]))(?:\*(\d+))?")
_ERROR = re.compile(r"line (\d+); (?:error|fatal)")
_HEAD = """.version {version}
.target {arch}
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.const .align 16 .b8 table[4096];
"""
_KERNEL = """.visible .entry {name}(.param .u64 out, .param .u64 in, .param .align 16 .b8 args[1024])
{directives}{{
.reg .b32 %k_tid;
.reg .b64 %k_base, %k_to, %k_step;
ld.param.u64 %k_base, [in];
ld.param.u64 %k_to, [out];
cvta.to.global.u64 %k_base, %k_base;
cvta.to.global.u64 %k_to, %k_to;
mov.u32 %k_tid, %tid.x;
mul.wide.u32 %k_step, %k_tid, 256;
add.s64 %k_base, %k_base, %k_step;
add.s64 %k_to, %k_to, %k_step;
{body}
ret;
}}
"""


def forms(text: str) -> list[str]:
    """The instructions of `ptx_forms.txt`, choices expanded."""
    lines = (line.partition("//")[0].strip() for line in text.splitlines())
    return list(dict.fromkeys(form for line in lines if line for form in _expanded(line)))


def _expanded(line: str) -> Iterator[str]:
    """Every combination of the choices; those with one number are made together."""
    pieces = _CHOICE.split(line)
    numbers, options = pieces[1::3], [piece.split("|") for piece in pieces[2::3]]
    keys = [number or f"own {i}" for i, number in enumerate(numbers)]
    sizes = {key: range(len(choice)) for key, choice in zip(keys, options, strict=True)}
    for chosen in itertools.product(*sizes.values()):
        picked = dict(zip(sizes, chosen, strict=True))
        words = [choice[picked[key]] for key, choice in zip(keys, options, strict=True)]
        yield "".join(fixed + word for fixed, word in zip(pieces[::3], [*words, ""], strict=True))


class Builder:
    """The body of one kernel: loads before the instruction, stores behind it."""

    def __init__(self, variant: str, form: str) -> None:
        self.variant = variant
        self.space = "s" if ".shared" in form else "c" if ".const" in form else "g"
        self.before: list[str] = []
        self.after: list[str] = []
        self.count = self.inputs = self.offset = self.stored = 0

    def hole(self, match: re.Match[str]) -> str:
        access, size, place, many = match.groups()
        if place:
            return self._address(self.space if place == "a" else place)
        names = [self._register(access, size) for _ in range(int(many or 1))]
        return f"{{{', '.join(names)}}}" if many else names[0]

    def _new(self, kind: str) -> str:
        self.count += 1
        self.before.append(f".reg .{kind} %v{self.count};")
        return f"%v{self.count}"

    def _uniform(self) -> bool:
        self.inputs += 1
        return self.variant == "parameters" or (self.variant == "mixed" and self.inputs % 2 == 1)

    def _register(self, access: str, size: str) -> str:
        name = self._new("pred" if size == "p" else f"b{max(16, int(size))}")
        if access in "ix":
            self._load(name, size)
        if access in "ox":
            self._store(name, size)
        return name

    def _load(self, name: str, size: str) -> None:
        if size == "p":
            value = self._new("b32")
            self._load(value, "32")
            self.before.append(f"setp.gt.s32 {name}, {value}, 7;")
        elif size == "128":
            halves = [self._new("b64"), self._new("b64")]
            for half in halves:
                self._load(half, "64")
            self.before.append(f"mov.b128 {name}, {{{halves[0]}, {halves[1]}}};")
        elif self.variant == "constants" and self.inputs % 2:
            self.inputs += 1
            self.before.append(f"mov.b{max(16, int(size))} {name}, {CONSTANTS[size]};")
        else:
            width = int(size) // 8
            self.offset = -(-self.offset // width) * width
            source = f"param.b{size} {name}, [args" if self._uniform() else f"global.b{size} {name}, [%k_base"
            self.before.append(f"ld.{source}+{self.offset}];")
            self.offset += width

    def _store(self, name: str, size: str) -> None:
        if size == "p":
            value = self._new("b32")
            self.after.append(f"selp.b32 {value}, 1, 0, {name};")
            self._store(value, "32")
        elif size == "128":
            halves = [self._new("b64"), self._new("b64")]
            self.after.append(f"mov.b128 {{{halves[0]}, {halves[1]}}}, {name};")
            for half in halves:
                self._store(half, "64")
        else:
            width = int(size) // 8
            self.stored = -(-self.stored // width) * width
            self.after.append(f"st.global.b{size} [%k_to+{self.stored}], {name};")
            self.stored += width

    def _address(self, place: str) -> str:
        if place in "gt":
            name = self._new("b64")
            self._load(name, "64")
            return name
        offset, name = self._new("b32"), self._new("b32" if place == "s" else "b64")
        self._load(offset, "32")
        if place == "s":
            self.before += [f"mov.u32 {name}, smem;", f"add.u32 {name}, {name}, {offset};"]
        else:
            wide = self._new("b64")
            self.before += [
                f"mov.u64 {name}, table;",
                f"cvt.u64.u32 {wide}, {offset};",
                f"add.u64 {name}, {name}, {wide};",
            ]
        return name


def kernel(form: str, name: str, variant: str) -> str:
    """PTX of a kernel around one form."""
    words = [word for word in form.split() if not word.startswith("?")]
    directives = [word[1:].replace(",", ", ").replace("=", " ") for word in words if word.startswith("&")]
    builder = Builder(variant, form)
    text = _HOLE.sub(builder.hole, " ".join(word for word in words if not word.startswith("&")))
    body = "\n".join([*builder.before, text, *builder.after])
    return _KERNEL.format(name=name, body=body, directives="".join(f"{d}\n" for d in directives))


def assemble(kernels: Sequence[tuple[str, str]], arch: str) -> tuple[list[bytes], dict[str, str]]:
    """Cubins of the kernels that ptxas takes, and the reason for each of the others.

    A complaint without a line is about some kernel: both halves are then tried apart.
    """
    refused: dict[str, str] = {}
    while True:
        text = [_HEAD.format(version=PTX_VERSION, arch=arch)]
        taken = [(name, code) for name, code in kernels if name not in refused]
        lines, owner = text[0].count("\n"), {}
        for name, code in taken:
            owner |= dict.fromkeys(range(lines + 1, lines + code.count("\n") + 1), name)
            lines += code.count("\n")
            text.append(code)
        cubin, log = linked("".join(text), arch) if taken else (b"", "")
        if cubin or not taken:
            return [cubin] * bool(cubin), refused
        wrong = {
            owner[int(m[1])]: line
            for line in log.splitlines()
            if (m := _ERROR.search(line)) and int(m[1]) in owner
        }
        refused |= wrong
        if not wrong and len(taken) == 1:
            return [], refused | {taken[0][0]: log}
        if not wrong:
            half = len(taken) // 2
            (left, no), (right, neither) = assemble(taken[:half], arch), assemble(taken[half:], arch)
            return left + right, refused | no | neither


def linked(ptx: str, arch: str) -> tuple[bytes, str]:
    """The cubin of a PTX text, or nothing and what ptxas said; it runs apart, because some forms crash it."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as child:
        try:
            return child.submit(linked_here, ptx, arch).result()
        except BrokenProcessPool:
            return b"", "crashed"


def linked_here(ptx: str, arch: str) -> tuple[bytes, str]:
    handle = nvjitlink.create(1, [f"-arch={arch}"])
    content = ptx.encode()
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, content, len(content), "forms")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return bytes(cubin), ""
    except nvjitlink.nvJitLinkError:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        return b"", log.decode("utf-8", "replace")
    finally:
        nvjitlink.destroy(handle)


def modules(arch: str, selected: Sequence[str]) -> Iterator[tuple[list[bytes], dict[int, str]]]:
    """Cubins with the forms that an architecture takes; by number, what it refused and why."""
    other = {n: f"not for {arch}" for n, form in enumerate(selected) if not _meant_for(arch, form)}
    yield [], other
    named = [
        (f"k{number}_{variant}", form, variant)
        for number, form in enumerate(selected)
        if number not in other
        for variant in VARIANTS
        if variant in ("memory", "parameters") or len(_HOLE.findall(form)) > 2
    ]
    for start in range(0, len(named), KERNELS_PER_MODULE):
        chunk = named[start : start + KERNELS_PER_MODULE]
        made = [(name, kernel(form, name, variant)) for name, form, variant in chunk]
        cubins, refused = assemble(made, arch)
        yield cubins, {int(name[1:].partition("_")[0]): line for name, line in refused.items()}


def _meant_for(arch: str, form: str) -> bool:
    """Some forms crash the ptxas of architectures that do without them, and one crash costs many runs."""
    return all(arch.startswith(word[1:]) for word in form.split() if word.startswith("?"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for ARCH.N.cubin")
    parser.add_argument("--arch", action="append", help="only these (default: all that NVRTC knows)")
    parser.add_argument("--forms", type=Path, default=FORMS)
    arguments = parser.parse_args()
    selected = forms(arguments.forms.read_text("utf-8"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    nowhere = dict(enumerate(selected))
    reasons: dict[int, str] = {}
    for arch in arguments.arch or supported_architectures():
        refused: dict[int, str] = {}
        made = 0
        for cubins, reason in modules(arch, selected):
            refused |= reason
            for cubin in cubins:
                (arguments.out / f"{arch}.{made}.cubin").write_bytes(cubin)
                made += 1
        print(f"{arch}: {len(selected) - len(refused)} of {len(selected)} forms", flush=True)
        nowhere = {number: form for number, form in nowhere.items() if number in refused}
        reasons |= refused
    for number, form in nowhere.items():
        print(f"refused everywhere: {form}   {reasons[number].strip()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
