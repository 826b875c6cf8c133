"""One kernel as a record of the document: counts, resources, motifs, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops
from sassql.insight.occupancy import occupancy
from sassql.model.kernel import Kernel
from sassql.report.document import KernelRecord, Needs
from sassql.report.findings import findings
from sassql.report.mix import Mixer
from sassql.report.motifs import Records, motifs_of
from sassql.report.weights import Weights


class Summarizer:
    """Makes records; the question that a batch asks every kernel."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._mixer = Mixer()

    def __call__(self, kernel: Kernel) -> dict[str, Any]:
        groups, opcodes, unknown = self._mixer.count(kernel)
        return {"kernel": self.record(kernel, groups, unknown), "opcodes": opcodes}

    def record(self, kernel: Kernel, groups: Counter[str], unknown: set[str]) -> KernelRecord:
        """The record of one kernel, without its ``id``, which the document gives."""
        made: Mapping[str, Any] = self._records(kernel)
        weights = Weights(kernel)
        blocks: Blocks = kernel.fact("blocks")
        loops: Loops = kernel.fact("loops")
        needs = kernel.resources
        return KernelRecord(
            id="",
            file=kernel.source.file,
            entry=kernel.source.entry,
            name=kernel.name,
            demangled=kernel.demangled,
            arch=kernel.arch,
            instructions=len(kernel.form_ids),
            blocks=sum(blocks.reachable),
            loops=len(loops),
            weight=weights.total,
            mix=dict(groups),
            needs=Needs(
                needs.registers, needs.shared, needs.local, needs.barriers, len(needs.parameters) or None
            ),
            occupancy=occupancy(kernel.arch, needs) if kernel.is_entry else None,
            cls=str(made.get("class") or ""),
            status=str(made.get("status") or ""),
            motifs=motifs_of(made),
            findings=findings(kernel, weights),
            unknown=tuple(sorted(unknown)),
        )
