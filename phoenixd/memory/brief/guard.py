"""What a writer's answer may change, and what of it is refused. A writer selects what is told, and never words it.

A claim stands on an exact quote of what a person or the agent said (quotes.py). What is kept and shown is the session's
own sentence: whatever a model was talked into, the next session reads what was said in this one, or nothing. A known
loop keeps its id, its text and its day. The goal, the task and the status are not the writer's to change at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from phoenixd.documents.brief.answer import BriefAnswer, LoopClaim
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.loop_origin import KIND, SAID, SOURCE, source_for
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop, StateDocument, resolve_loop
from phoenixd.documents.state_reading import MOST_NUMBERS
from phoenixd.documents.times import utc_date
from phoenixd.memory.brief.grounds import Grounds
from phoenixd.memory.brief.known_loops import (
    Told,
    is_operators,
    is_said,
    known_loop,
    marked,
    unmarked,
)
from phoenixd.memory.brief.names import free_id, id_of
from phoenixd.memory.brief.quotes import Quotation
from phoenixd.memory.brief.stated import NAME_LIMIT, Numbers
from phoenixd.memory.brief.words import grams, likeness

MOST_LINES, MOST_NEW_LOOPS, MOST_LOOPS = 8, 20, 100
SUMMARY_LIMIT = 600
SAME_AS_RESOLVED = 0.75
"""How alike a text must be to what was resolved: closer than to what is open, lest news be taken for it."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The outcome. refused: for the operator, what was not taken over and why. grave: worth asking the writer again.

    summary, changed, decisions, next, risks: sentences of the session's own, to be shown in quotation marks.
    """

    state: StateDocument
    resolved: tuple[tuple[str, str], ...] = ()
    """Loops that the session closed, with the reason."""
    summary: str = ""
    changed: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    grave: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Numbers that were taken over."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """For each of them, whose word it is: "the agent", "printed by Bash"."""


def accept(
    answer: BriefAnswer,
    material: BriefMaterial,
    held: Mapping[str, float] | None = None,
) -> Accepted:
    """Judge an answer.

    held: numbers that an operator wrote, with the wall time since which they stand: only what was said later than that
    may change them.
    """
    return _Judgement(answer, material, held or {}).accepted()


class _Judgement:
    def __init__(self, answer: BriefAnswer, material: BriefMaterial, held: Mapping[str, float]) -> None:
        self._answer, self._material, self._held = answer, material, held
        self._grounds = Grounds(material)
        self._today = utc_date(material.now)
        self._refused: list[str] = []
        self._origins: dict[str, str] = {}
        self._quotes: Mapping[str, str] = answer.line_quotes
        closed = material.closed_texts
        self._closed = {
            item.id: grams(closed.get(item.id) or item.id.replace("-", " ")) for item in material.state.resolved
        }

    def accepted(self) -> Accepted:
        answer, before = self._answer, self._material.state
        state, resolved = self._resolve(before)
        state, dropped = self._loops(state, {loop_id for loop_id, _ in resolved})
        taken = dict(self._numbers(before))
        return Accepted(
            state=state.model_copy(update={"numbers": {**before.numbers, **taken}}),
            resolved=tuple(resolved),
            summary=" ".join(self._lines("summary", [answer.summary], SUMMARY_LIMIT)),
            changed=self._lines("changed", answer.changed),
            decisions=self._lines("decisions", answer.decisions),
            next=self._lines("next", answer.next),
            risks=self._lines("risks", answer.risks),
            dropped=tuple(dropped),
            grave=_grave(before, dropped, len(self._refused), answer),
            refused=tuple(self._refused),
            numbers=taken,
            origins=self._origins,
        )

    def _resolve(self, state: StateDocument) -> tuple[StateDocument, list[tuple[str, str]]]:
        closed: list[tuple[str, str]] = []
        listed = {claim.id for claim in self._answer.open_loops}
        for claim in self._answer.resolved:
            loop = state.loop(claim.id)
            if loop is None:
                continue
            found = self._closing(claim.quote or claim.reason, loop, listed)
            if isinstance(found, str):
                self._refuse("resolved", claim.id, found)
                continue
            reason = f'{"the person" if found.is_person else "the agent"} said: "{found.shown}"'
            state = resolve_loop(state, loop.id, reason, self._today) or state
            closed.append((loop.id, reason))
        return state, closed

    def _closing(self, quote: str, loop: OpenLoop, listed: set[str]) -> Quotation | str:
        if is_operators(loop):
            return f'an operator wrote it; a person closes it, or `phoenixctl resolve {loop.id} "why"`'
        if loop.id in self._material.proven:
            return "it is open by the session's own records"
        if loop.id in listed:
            return "the answer lists it among the open loops, too"
        return self._grounds.closing(quote, loop)

    def _loops(self, state: StateDocument, closed: set[str]) -> tuple[StateDocument, list[str]]:
        known = list(state.open_loops)
        by_id = {loop.id: loop for loop in known}
        named = {claim.id for claim in self._answer.open_loops if claim.id in by_id}
        new: list[OpenLoop] = []
        told, fresh = [(loop, grams(loop.text)) for loop in known], list[Told]()
        for claim in self._answer.open_loops:
            if claim.id in closed or claim.id in by_id:
                continue
            found = self._grounds.ground(claim.text, claim.quote)
            same = known_loop(claim.text if isinstance(found, str) else found.sentence, told)
            if same is not None:
                named.add(same.id)
            elif isinstance(found, str):
                self._refuse("open_loops", claim.text, found)
            elif known_loop(found.sentence, fresh) is None and (loop := self._new_loop(claim, found, [*known, *new])):
                new.append(loop)
                fresh.append((loop, grams(loop.text)))
        dropped = [loop.id for loop in known if loop.id not in named and is_said(loop)]
        kept = [marked(loop, self._today) if loop.id in dropped else unmarked(loop, named) for loop in known]
        return state.model_copy(update={"open_loops": (*kept, *new)}), dropped

    def _new_loop(self, claim: LoopClaim, found: Quotation, others: list[OpenLoop]) -> OpenLoop | None:
        gone = self._resolved_before(claim.id, found.sentence)
        fresh = len(others) - len(self._material.state.open_loops)
        if gone or fresh >= MOST_NEW_LOOPS or len(others) >= MOST_LOOPS:
            self._refuse("open_loops", found.shown, f"{gone} was resolved" if gone else "there are too many")
            return None
        taken = {loop.id for loop in others} | {made.id for made in self._material.resolutions}
        loop_id = free_id(id_of(claim.id, found.sentence), taken | {item.id for item in self._material.state.resolved})
        extras = {KIND: SAID, SOURCE: source_for(self._material.conversation.session_id or "", SAID)}
        return OpenLoop.model_validate(
            {"id": loop_id, "text": found.shown, "added": self._today.isoformat(), **extras}
        )  # fmt: skip

    def _resolved_before(self, loop_id: str, text: str) -> str | None:
        """The resolved loop that this one is again, by id or as good as the same words (P67, F-ST-8)."""
        told = grams(text)
        for item in self._material.state.resolved:
            if item.id == loop_id or likeness(self._closed[item.id], told) >= SAME_AS_RESOLVED:
                return item.id
        return next((made.id for made in self._material.resolutions if made.id == loop_id), None)

    def _numbers(self, before: StateDocument) -> Iterator[tuple[str, str]]:
        lines = Numbers(self._material, self._grounds.session)
        room = MOST_NUMBERS - len(before.numbers)
        for claim in self._answer.numbers:
            name, value = one_line(claim.name, NAME_LIMIT), one_line(claim.value, NAME_LIMIT)
            if before.numbers.get(name) == value:
                continue
            found = lines.ground(claim, claim.quote, self._held.get(name))
            if not isinstance(found, str) and found.name != name and found.name in self._held:
                found = lines.ground(claim, claim.quote, self._held[found.name])
            if isinstance(found, str):
                self._refuse("numbers", f"{name} = {value}", found)
            elif found.name and (found.name in before.numbers or room > 0):
                room -= found.name not in before.numbers
                self._origins[found.name] = found.origin
                yield found.name, found.value

    def _lines(self, field_name: str, lines: Iterable[str], limit: int | None = None) -> tuple[str, ...]:
        kept: list[str] = []
        for line in lines:
            if not line:
                continue
            found = self._grounds.ground(line, self._quotes.get(line, ""), limit)
            if isinstance(found, str):
                self._refuse(field_name, line, found)
            elif found.shown not in kept and len(kept) < MOST_LINES:
                kept.append(found.shown)
        return tuple(kept)

    def _refuse(self, where: str, what: str, why: str) -> None:
        self._refused.append(f"{where}: {one_line(what, 80)!r}: {why}")


def _grave(before: StateDocument, dropped: list[str], refused: int, answer: BriefAnswer) -> str | None:
    """What the writer is told when it is asked once more (F-BR-3), or None."""
    if len(dropped) > 1 and 2 * len(dropped) > len(before.open_loops):
        names = ", ".join(dropped[:10])
        return f"open loops were left out without a resolution that the session bears out: {names}"
    claims = len(answer.open_loops) + len(answer.numbers) + len(answer.next) + len(answer.changed)
    if refused > 2 and 2 * refused > claims:
        return (
            f"{refused} of the answer's claims have no quote that stands in the session; copy quotes letter by letter"
        )
    return None
