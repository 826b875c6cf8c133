"""The text path for cubins: `nvdisasm -c` through the listing grammar, to prove the word path.

Slower than words and equal in result; control bits, resources and registers that the text does
not print come from the ELF, as on the word path.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from sassql.errors import Problem
from sassql.model.kernel import Kernel, Source
from sassql.model.program import Module
from sassql.reading import elf, tools
from sassql.reading.listing import read_listing
from sassql.reading.table import control_bits, table


def read_module(data: bytes, source: Source) -> tuple[Module, list[Problem]]:
    """Read one cubin through its listing; the same result as :func:`cubin.read_module`.

    Raises:
        InputError: the bytes are no cubin, or a damaged one.
        UnsupportedArchError: an architecture that nvdisasm does not read.
        ToolFailedError: nvdisasm refuses the file.
        ToolMissingError: there is no nvdisasm.
    """
    cubin = elf.read_cubin(data, file=source.file, entry=source.entry)
    if not any(section.code for section in cubin.sections):
        return Module(source, cubin.arch, (), cubin.layout, cubin.producer), []
    with tempfile.NamedTemporaryFile(prefix="sassql-", suffix=".cubin") as file:
        file.write(data)
        file.flush()
        text = tools.disassemble_elf(Path(file.name))
    modules, problems = read_listing(text, file=source.file, entry=source.entry, arch=cubin.arch)
    sections = {section.name: section for section in cubin.sections}
    kernels = [
        _completed(kernel, sections[kernel.name], cubin)
        for module in modules
        for kernel in module.kernels
        if kernel.name in sections
    ]
    return Module(source, cubin.arch, tuple(kernels), cubin.layout, cubin.producer), problems


def _completed(kernel: Kernel, section: elf.CodeSection, cubin: elf.Cubin) -> Kernel:
    """The kernel with what its words and its ELF say beyond the text."""
    words = np.frombuffer(section.code[: len(section.code) // 16 * 16], "<u8").reshape(-1, 2)
    chosen = words[kernel.addresses // 16]
    rows = table(cubin.arch)
    form_ids = [
        rows.row_with_word(rows.row_of_text(kernel.forms[row].text), (low, high))
        for row, (low, high) in zip(kernel.form_ids.tolist(), chosen.tolist(), strict=True)
    ]
    return replace(
        kernel,
        arch=cubin.arch,
        forms=rows,
        form_ids=np.asarray(form_ids, np.int32),
        control=control_bits(np.ascontiguousarray(chosen[:, 1])),
        resources=section.resources,
        indirect_targets=section.indirect_targets,
        lines=cubin.lines,
    )
