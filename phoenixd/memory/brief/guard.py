"""What a writer's answer may change, and what of it is refused. Nothing that a model says is believed as it stands.

A known loop keeps its id, its text and its day whatever the writer makes of them. One that the writer drops stays, and
is marked. One that was resolved does not come back. A number, a loop or a sentence that the material does not bear out
is refused, and so is what reads as an order. The goal, the task and the status are not the writer's to change at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from phoenixd.documents.brief.answer import BriefAnswer, LoopClaim, ResolutionClaim
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import UNCONFIRMED, OpenLoop, StateDocument, resolve_loop
from phoenixd.documents.state_reading import LOOP_ID, MOST_NUMBERS
from phoenixd.documents.times import utc_date
from phoenixd.memory.brief.bearing import Bearing
from phoenixd.memory.brief.words import similarity, stems

LINE_LIMIT, SUMMARY_LIMIT, NAME_LIMIT = 300, 600, 48
MOST_LINES, MOST_NEW_LOOPS, MOST_LOOPS = 8, 20, 100
SAME_LOOP, SAME_AS_RESOLVED = 0.6, 0.75
"""How alike two texts must be to be the same loop; a resolved one must be closer, lest news be taken for it."""

BORNE_RESOLUTION = 0.3
SOURCE = "source"
"""The key that tells a loop of a brief run, whose value is then SESSION, from an operator's."""
SESSION = "session"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The outcome. refused: for the operator, what was not taken over and why. grave: worth asking the writer again."""

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


def accept(
    answer: BriefAnswer, material: BriefMaterial, held: Mapping[str, float] | None = None, limit: int = LINE_LIMIT
) -> Accepted:
    """Judge an answer.

    held: numbers that an operator wrote, with the wall time since which they stand: only what was said later than that
    may change them.
    """
    return _Judgement(answer, material, held or {}, limit).accepted()


class _Judgement:
    def __init__(self, answer: BriefAnswer, material: BriefMaterial, held: Mapping[str, float], limit: int) -> None:
        self._answer, self._material, self._held, self._limit = answer, material, held, limit
        self._bearing = Bearing(material)
        self._today = utc_date(material.now)
        self._refused: list[str] = []

    def accepted(self) -> Accepted:
        answer, before = self._answer, self._material.state
        state, resolved = self._resolve(before)
        state, dropped = self._loops(state, {loop_id for loop_id, _ in resolved})
        taken = dict(self._numbers(before))
        return Accepted(
            state=state.model_copy(update={"numbers": {**before.numbers, **taken}}),
            resolved=tuple(resolved),
            summary=next(iter(self._lines("summary", [answer.summary], SUMMARY_LIMIT)), ""),
            changed=self._lines("changed", answer.changed),
            decisions=self._lines("decisions", answer.decisions),
            next=self._lines("next", answer.next),
            risks=self._lines("risks", answer.risks),
            dropped=tuple(dropped),
            grave=_grave(before, dropped, len(self._refused), answer),
            refused=tuple(self._refused),
            numbers=taken,
        )

    def _resolve(self, state: StateDocument) -> tuple[StateDocument, list[tuple[str, str]]]:
        closed: list[tuple[str, str]] = []
        for claim in self._answer.resolved:
            loop = state.loop(claim.id)
            if loop is None:
                continue
            if not self._is_borne_resolution(claim, loop):
                self._refuse("resolved", claim.id, "the session does not bear it out")
                continue
            reason = one_line(claim.reason or claim.quote, self._limit)
            if self._bearing.problem(reason, claim.quote) is not None:
                reason = f"the session says: {one_line(claim.quote, self._limit)}"
            state = resolve_loop(state, loop.id, reason, self._today) or state
            closed.append((loop.id, reason))
        return state, closed

    def _is_borne_resolution(self, claim: ResolutionClaim, loop: OpenLoop) -> bool:
        return self._bearing.bears_quote(claim.quote, stems(f"{loop.id} {loop.text}"), BORNE_RESOLUTION)

    def _loops(self, state: StateDocument, closed: set[str]) -> tuple[StateDocument, list[str]]:
        known = list(state.open_loops)
        named: set[str] = set()
        new: list[OpenLoop] = []
        for claim in self._answer.open_loops:
            if claim.id in closed:
                continue
            match = _known(claim, [loop for loop in known if loop.id not in named])
            if match is not None:
                named.add(match.id)
            elif _known(claim, [*known, *new]) is None and (loop := self._new_loop(claim, [*known, *new])) is not None:
                # What was said once is found again at every reading of the session, and is no second loop.
                new.append(loop)
        dropped = [loop.id for loop in known if loop.id not in named]
        kept = [_marked(loop, self._today) if loop.id in dropped else _unmarked(loop) for loop in known]
        return state.model_copy(update={"open_loops": (*kept, *new)}), dropped

    def _new_loop(self, claim: LoopClaim, others: list[OpenLoop]) -> OpenLoop | None:
        text = one_line(claim.text, self._limit)
        gone = self._resolved_before(claim.id, text)
        problem = f"{gone} was resolved" if gone else self._bearing.problem(text, claim.quote)
        fresh = len(others) - len(self._material.state.open_loops)
        if problem is None and (fresh >= MOST_NEW_LOOPS or len(others) >= MOST_LOOPS):
            problem = "there are too many"
        if problem is not None:
            self._refuse("open_loops", text, problem)
            return None
        taken = {loop.id for loop in others} | {made.id for made in self._material.resolutions}
        loop_id = _free(_id_of(claim, text), taken | {item.id for item in self._material.state.resolved})
        return OpenLoop.model_validate({"id": loop_id, "text": text, "added": self._today.isoformat(), SOURCE: SESSION})

    def _resolved_before(self, loop_id: str, text: str) -> str | None:
        """The resolved loop that this one is again, by id or as good as the same words (P67, F-ST-8)."""
        for item in self._material.state.resolved:
            words = self._material.closed_texts.get(item.id) or item.id.replace("-", " ")
            if item.id == loop_id or similarity(words, text) >= SAME_AS_RESOLVED:
                return item.id
        return next((made.id for made in self._material.resolutions if made.id == loop_id), None)

    def _numbers(self, before: StateDocument) -> Iterator[tuple[str, str]]:
        room = MOST_NUMBERS - len(before.numbers)
        for claim in self._answer.numbers:
            name, value = one_line(claim.name, NAME_LIMIT), one_line(claim.value, NAME_LIMIT)
            if before.numbers.get(name) == value:
                continue
            if problem := self._bearing.number_problem(name, value, self._held.get(name)):
                self._refuse("numbers", f"{name} = {value}", problem)
            elif name in before.numbers or room > 0:
                room -= name not in before.numbers
                yield name, value

    def _lines(self, field_name: str, lines: Iterable[str], limit: int | None = None) -> tuple[str, ...]:
        kept: list[str] = []
        for line in lines:
            text = one_line(line, limit or self._limit)
            if not text or text in kept:
                continue
            if problem := self._bearing.problem(text):
                self._refuse(field_name, text, problem)
            elif len(kept) < MOST_LINES:
                kept.append(text)
        return tuple(kept)

    def _refuse(self, where: str, what: str, why: str) -> None:
        self._refused.append(f"{where}: {one_line(what, 80)!r}: {why}")


def _known(claim: LoopClaim, candidates: list[OpenLoop]) -> OpenLoop | None:
    """The known loop that a claim means: of the same id, else of as good as the same words."""
    for loop in candidates:
        if loop.id == claim.id:
            return loop
    best = max(candidates, key=lambda loop: similarity(loop.text, claim.text), default=None)
    return best if best is not None and similarity(best.text, claim.text) >= SAME_LOOP else None


def _marked(loop: OpenLoop, today: date) -> OpenLoop:
    if UNCONFIRMED in (loop.model_extra or {}):
        return loop
    return OpenLoop.model_validate({**loop.model_dump(), UNCONFIRMED: today.isoformat()})


def _unmarked(loop: OpenLoop) -> OpenLoop:
    if UNCONFIRMED not in (loop.model_extra or {}):
        return loop
    return OpenLoop.model_validate({key: value for key, value in loop.model_dump().items() if key != UNCONFIRMED})


def _id_of(claim: LoopClaim, text: str) -> str:
    """The writer's id where it says no more than the text does; else one of the text's own words."""
    words = stems(f"{text} {claim.quote}")
    if LOOP_ID.fullmatch(claim.id) and len(claim.id) <= 48 and stems(claim.id.replace("-", " ")) <= words:
        return claim.id
    return slug(text)


def slug(text: str) -> str:
    """A loop's id from its text: its first words that mean something."""
    words = [word for word in "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower()).split()]
    telling = [word for word in words if stems(word)] or words
    return "-".join(telling[:5])[:48].strip("-") or "loop"


def _free(wanted: str, taken: set[str]) -> str:
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free


def _grave(before: StateDocument, dropped: list[str], refused: int, answer: BriefAnswer) -> str | None:
    """What the writer is told when it is asked once more (F-BR-3), or None."""
    if len(dropped) > 1 and 2 * len(dropped) > len(before.open_loops):
        names = ", ".join(dropped[:10])
        return f"open loops were left out without a resolution that the session bears out: {names}"
    claims = len(answer.open_loops) + len(answer.numbers) + len(answer.next) + len(answer.changed)
    if refused > 2 and 2 * refused > claims:
        return f"{refused} of the answer's claims are not borne out by the session; say only what it says"
    return None
