"""Why a statement does not hold, in words: for `sassql explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from sassql.engine.bindings import Bindings
from sassql.engine.expressions import Scope as ExpressionScope
from sassql.engine.expressions import evaluate, truth
from sassql.engine.lines import Candidate
from sassql.engine.match_line import align
from sassql.engine.named import MOST_SEEN, Named, written
from sassql.engine.plan import (
    Again,
    Atom,
    BorderAtom,
    CarryAtom,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    LineAtom,
    LoopAtom,
    OrderAtom,
    PathAtom,
    RepeatAtom,
    Scope,
    ScopeAtom,
    SliceAtom,
    Slot,
    SlotKind,
    UseAtom,
    WhereAtom,
)
from sassql.engine.watch import WatchedSolver
from sassql.facts.addresses import Address
from sassql.lang.ast import Attribute, Call, Expression, For, Name
from sassql.lang.walk import parts
from sassql.lang.wording import condition_text
from sassql.model.form import Form


class Reasons(Named):
    """Tells why atoms fail in one kernel."""

    def __init__(self, solver: WatchedSolver) -> None:
        super().__init__(solver.view)
        self.solver = solver

    def why(self, atom: Atom, bindings: Bindings) -> str:
        """Why ``bindings`` cannot be extended by an atom."""
        match atom:
            case LineAtom():
                return self.line(atom, bindings)
            case Again(atom=again):
                return self.why(again, bindings)
            case WhereAtom():
                return self.where(atom, bindings)
            case OrderAtom(left=left, relation=relation, right=right):
                word = {"before": "comes before", "dom": "dominates", "pdom": "post-dominates"}
                verb = word.get(relation, "is in the block of")
                return f"it is not so that {self.place(left, bindings)} {verb} {self.place(right, bindings)}"
            case FlowAtom():
                return self.flow(atom, bindings)
            case PathAtom():
                return self.path(atom, bindings)
            case SliceAtom():
                return self.slice(atom, bindings)
            case UseAtom():
                return self.use(atom)
            case LoopAtom(loop=loop):
                count = len(self.view.loops)
                return (
                    f"none of the {count} loops of the kernel can be {loop}" if count else "there is no loop"
                )
            case CarryAtom(plain=plain, primed=primed):
                told = self.value(bindings.value(primed) or bindings.value(plain))
                return f"{told} is not what comes back to the head of the loop as `{written(plain)}`"
            case BorderAtom() | FirstAtom():
                return "no value is seen outside of the loop under this name"
            case RepeatAtom():
                return self.repeat(atom, bindings)
            case ScopeAtom(body=body):
                found = next(iter(self.solver.solve(body, replace(bindings, lenient=True, doubts=()))), None)
                return f"it is there: {self.labels(found, bindings)}" if found else "it may be there"
            case EveryAtom():
                return self.every(atom, bindings)
        return "it does not hold"

    # --- lines

    def line(self, atom: LineAtom, bindings: Bindings) -> str:
        """Why a line lies nowhere."""
        candidates = self.view.candidates(atom)
        if not candidates:
            return self._no_candidate(atom)
        nearest = max(candidates, key=lambda c: self._nearness(atom, c, bindings))
        count = len({candidate.index for candidate in candidates})
        agreeing = self._nearness(atom, nearest, bindings)[1]
        if not agreeing and count > 1 and (stranger := self._stranger(atom, bindings)):
            return stranger
        told = self._disagreement(atom, nearest, bindings)
        where = self.instruction(nearest.index)
        others = f" (nearest of {count} instructions that it could be)" if count > 1 else ""
        return f"{where}: {told}{others}"

    def _no_candidate(self, atom: LineAtom) -> str:
        """What there is instead of the line's opcodes, or the first thing about them that does not fit."""
        opcodes = frozenset().union(*(a.opcodes for a in atom.matcher.alternatives))
        same = [ins for ins in self.view.kernel.instructions if ins.opcode in opcodes]
        if not same:
            return "the kernel has no such opcode"
        headed = [ins for ins in same if atom.matcher.heads(ins.form.opcode, ins.form.modifiers)]
        if not headed:
            seen = Counter(".".join((ins.opcode, *ins.modifiers)) for ins in same)
            shown = ", ".join(f"{name} ({n})" for name, n in seen.most_common(MOST_SEEN))
            return f"no instruction has these modifiers; there are {shown}"
        guarded = [ins for ins in headed if atom.matcher.guard_fits(ins.form)]
        if not guarded:
            return f"the guard does not fit: {self.instruction(headed[0].index)}"
        return f"{self._operand_that_fails(atom, guarded[0].form)}: {self.instruction(guarded[0].index)}"

    def _operand_that_fails(self, atom: LineAtom, form: Form) -> str:
        """The first operand of the line that no alignment has room for."""
        wanted, operands = atom.written.operands, form.operands
        roles = [operand.role for operand in operands]
        for count in range(1, len(wanted) + 1):
            if not align(wanted[:count], operands, roles):
                return f"operand {count} of the line does not fit"
        return "the operands do not fit"

    def _stranger(self, atom: LineAtom, bindings: Bindings) -> str:
        """For a line of which no candidate has a bound value: who has that value instead."""
        key = next((s.key for s in atom.slots if s.kind is SlotKind.VALUE and bindings.value(s.key)), "")
        if not key:
            return ""
        occurrences = bindings.value(key)
        candidates = {candidate.index for candidate in self.view.candidates(atom)}
        here = sorted({index for unit in occurrences[-1] for index in self.readers(unit)} - candidates)
        told = "; ".join(self.instruction(index) for index in here[:MOST_SEEN])
        more = f" and {len(here) - MOST_SEEN} more" if len(here) > MOST_SEEN else ""
        reads = f"it is read by {told}{more}" if told else "nothing else reads it"
        fits = f"none of the {len(candidates)} instructions that could be this line has `{written(key)}`"
        return f"{fits}, {self.value(occurrences)}; {reads}"

    def _nearness(
        self, atom: LineAtom, candidate: Candidate, bindings: Bindings
    ) -> tuple[bool, int, int, int]:
        agreeing = new = 0
        laid: Bindings = bindings
        for slot in atom.slots:
            known = bindings.has(slot.key)
            extended = self.view.compare(slot, candidate, laid)
            if extended is not None:
                agreeing += known
                new += 1
                laid = extended
        free = not bindings.uses_instruction(candidate.index)
        return free, agreeing, new, -candidate.index

    def _disagreement(self, atom: LineAtom, candidate: Candidate, bindings: Bindings) -> str:
        laid: Bindings = bindings
        for slot in atom.slots:
            extended = self.view.compare(slot, candidate, laid)
            if extended is None:
                return self._slot(slot, candidate, laid)
            laid = extended
        taken = [name for name, m in bindings.labels.items() if any(x.index == candidate.index for x in m)]
        return f"this instruction is `{written(taken[0])}` already" if taken else "it fits"

    def _slot(self, slot: Slot, candidate: Candidate, bindings: Bindings) -> str:
        """What stands in a slot instead of what should."""
        name = written(slot.key) if slot.key else str(slot.number)
        here = self._operand(slot, candidate)
        match slot.kind:
            case SlotKind.INTEGER:
                number = self.view.integer(slot, candidate)
                known = bindings.names.get(slot.key)
                if number is None:
                    return f"`{here}` is no number that is known, `{name}` is one"
                return f"`{name}` is {known}, here stands {number}"
            case SlotKind.NUMBER:
                return f"here stands `{here}` instead of {name}"
            case SlotKind.ADDRESS:
                known, found = bindings.names.get(slot.key), self.view.address(slot, candidate)
                if found is None:
                    return f"`{here}` is no address that is known"
                told = f" ({known})" if isinstance(known, Address) else ""
                return f"the address is not certainly `{name}`{told}, it is {found}"
        units = self.view.units(slot, candidate)
        wanted = self.value(bindings.value(slot.key))
        if units is None:
            return f"`{name}` is {wanted}, here stands `{here}`" if wanted else f"`{here}` is no value"
        return f"`{name}` is {wanted}, but `{here}` is {self.value((units,))}"

    def _operand(self, slot: Slot, candidate: Candidate) -> str:
        form = self.view.form(candidate.index)
        if slot.kind is SlotKind.GUARD:
            return str(form.guard)
        if candidate.parts or slot.position >= len(candidate.fit.places):
            return form.text
        return form.operand_texts[candidate.fit.places[slot.position]]

    # --- relations

    def where(self, atom: WhereAtom, bindings: Bindings) -> str:
        """What the parts of a condition are."""
        scope = ExpressionScope(bindings, self.view, atom.names)
        told: dict[str, str] = {}
        for part in _named_parts(atom.condition):
            found = evaluate(part, scope)
            if isinstance(part, Name) and bindings.value(part.key):
                continue
            told[condition_text(part)] = "unknown" if found is None else str(found)
        known = ", ".join(f"{text} is {value}" for text, value in told.items())
        holds = truth(atom.condition, scope)
        word = "unknown" if holds is None else "not so"
        return f"`{condition_text(atom.condition)}` is {word}" + (f": {known}" if known else "")

    def flow(self, atom: FlowAtom, bindings: Bindings) -> str:
        source, target = bindings.value(atom.source), bindings.value(atom.target)
        through = atom.through
        via = "any operation" if through.anything else " | ".join(a.name for a in through.alternatives)
        way = f"through {via or 'copies'} (at most {through.most})"
        ends = [self.value(source) if source else "any value", self.value(target) if target else "any value"]
        return f"{ends[0]} does not reach {ends[1]} {way}"

    def path(self, atom: PathAtom, bindings: Bindings) -> str:
        """The first claim about the way that does not hold."""
        from sassql.engine.relations import claimed_by, on_path, positions  # noqa: PLC0415

        for a in positions(atom.source, self.solver, bindings):
            for b in positions(atom.target, self.solver, bindings):
                for claim in atom.claims:
                    if on_path(claim, a, b, self.solver, bindings) is not False:
                        continue
                    wanted = claimed_by(claim, self.solver, bindings)
                    ways = self.view.ways
                    if not ways.between(a, b, ())[0]:
                        return "there is no way from the one to the other"
                    met = [i for i in sorted(wanted) if ways.between(a, b, {i})[1]]
                    if claim.quantifier == "no" and met:
                        return f"{self.instruction(met[0])} lies on the way"
                    what = claim.label or "such an instruction"
                    if claim.quantifier == "some":
                        return f"`{what}` lies on none of the ways"
                    return f"there is a way that does not go through {what}"
        return "an end of the way is not bound"

    def slice(self, atom: SliceAtom, bindings: Bindings) -> str:
        """The first claim about a slice that does not hold."""
        from sassql.engine.relations import claimed_by, in_slice  # noqa: PLC0415

        units = [u for u in (bindings.value(atom.value) or ((),))[-1] if isinstance(u, int)]
        made = [self.view.slices.backward(unit, address=atom.addresses) for unit in units]
        inside = frozenset[int]().union(*(found.instructions for found in made))
        certain = all(found.certain for found in made)
        for claim in atom.claims:
            if in_slice(claim, inside, certain, self.solver, bindings) is not False:
                continue
            wanted = claimed_by(claim, self.solver, bindings)
            if claim.quantifier == "no":
                return f"it depends on {self.instruction(min(wanted & inside))}"
            if claim.quantifier == "some":
                return f"none of the {len(inside)} instructions that it depends on is one"
            other = min(i for i in inside if i not in wanted and self.view.is_operation(i))
            return f"it depends on {self.instruction(other)}, too"
        return f"`{written(atom.value)}` is bound to nothing"

    def use(self, atom: UseAtom) -> str:
        from sassql.engine.matching import used_rows  # noqa: PLC0415  (a motif in a motif)

        count = len(list(used_rows(atom.motif, self.solver)))
        name = atom.motif.motif.name
        if not count:
            return f"`{name}` is not in this kernel"
        rows = "the one row" if count == 1 else f"none of the {count} rows"
        return f"{rows} of `{name}` {'does not agree' if count == 1 else 'agrees'} with what is bound"

    def repeat(self, atom: RepeatAtom, bindings: Bindings) -> str:
        """How many steps there are, and why they make no run."""
        steps = sum(p.ways[-1] for v in atom.body.variants if (p := self.solver.progress(v)))
        if not steps:
            return "no instructions make one step of the block"
        told = f"{steps} step{'s' if steps > 1 else ''} fit, but "
        if isinstance(atom.block, For):
            return told + "no run of them goes from the first value of the header to the last one"
        return told + "no chain of them is long enough, and agrees with what is bound outside"

    def every(self, atom: EveryAtom, bindings: Bindings) -> str:
        """The first instruction of the line for which the body does not hold."""
        laid = list(self.solver.lay(atom.subject, replace(bindings, doubts=())))
        if not laid:
            return f"there is none: {self.line(atom.subject, bindings)}"
        for found in laid:
            if next(iter(self.solver.solve(atom.body, found)), None) is None:
                index = found.labels[atom.subject.label][0].index
                return f"it does not hold for {self.instruction(index)}{self._body(atom.body, found)}"
        return "it does not hold"

    def _body(self, scope: Scope, bindings: Bindings) -> str:
        """What stops a scope that these bindings do not satisfy."""
        solver = WatchedSolver(self.view, self.solver.strategy, self.solver.budget)
        if next(iter(solver.solve(scope, bindings)), None) is not None:
            return ""
        found = [p for variant in scope.variants if (p := solver.progress(variant))]
        best = max(found, key=lambda p: p.share, default=None)
        if best is None or best.failing is None:
            return ""
        return f"; line {best.failing.line}: {Reasons(solver).why(best.failing, best.deepest)}"


def _named_parts(condition: Expression) -> Iterator[Expression]:
    """What a condition compares: attributes, calls and names, not what is inside of them."""
    if isinstance(condition, Attribute | Call | Name):
        yield condition
        return
    for part in list(parts(condition))[1:]:
        if isinstance(part, Attribute | Call | Name) and not _is_inside(part, condition):
            yield part


def _is_inside(part: Expression, condition: Expression) -> bool:
    """True where a part stands in another one that is named itself."""
    others = [p for p in parts(condition) if isinstance(p, Attribute | Call) and p is not part]
    return any(part is inner for other in others for inner in list(parts(other))[1:])
