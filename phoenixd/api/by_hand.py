"""What people did within a stretch of the journal: the orders that changed an agent, and the questions. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from phoenixd.core.facts import AnswerJudged, Asked, AskingOver, Ordered, RunEnded, Verb
from phoenixd.core.question.call import ASKS
from phoenixd.core.seat.names import seat_name
from phoenixd.ports.journal import Entry

NAMED: tuple[Verb, ...] = ("stop", "start", "restart", "remove")
"""Orders that are told by name."""
Verdict = Literal["allow", "approve", "deny"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MOST = 1000
"""How many of each kind are kept: the newest."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order to one agent, or to the holder of a seat, at a wall time."""

    agent: str
    verb: Verb
    by: str
    at: float


@dataclass(slots=True)
class Question:
    """What an agent asked. Wall times; begins: None where it was asked before the stretch.

    kind: empty until it is known. by: who answered it; verdict: None for any other words. with_run: the run that asked
    ended before anybody had answered.
    """

    id: int
    agent: str
    kind: str
    begins: float | None = None
    until: float | None = None
    by: str = ""
    verdict: Verdict | None = None
    with_run: bool = False


@dataclass(slots=True)
class ByHand:
    """Rows are fed in order by the digest."""

    orders: list[Order] = field(default_factory=list)
    questions: dict[int, Question] = field(default_factory=dict)

    @property
    def asked(self) -> list[Question]:
        """What was asked, in the order of the numbers."""
        return [one for _, one in sorted(self.questions.items()) if one.kind]

    def hear(self, agent: str, entry: Entry) -> None:
        """Take in a row of an agent."""
        ended = any(isinstance(fact, RunEnded) for fact in entry.facts)
        for fact in entry.facts:
            match fact:
                case Ordered("answer", by, taken=True):
                    self._answer(agent, by, entry.detail)
                case Ordered(verb, by, taken=True) if verb in NAMED and (fact.moved or verb not in ("stop", "start")):
                    self.orders.append(Order(seat_name(agent), verb, by, entry.wall))
                    del self.orders[:-MOST]
                case Asked(item, kind) if kind in ASKS:
                    # Of one that is asked again the end is taken back.
                    begins = self.questions[item].begins if item in self.questions else entry.wall
                    self._keep(Question(item, seat_name(agent), kind, begins))
                case AnswerJudged(item, taken=False) if item in self.questions:
                    self.questions[item].by = ""
                case AskingOver(item, kind) if kind in ASKS:
                    known = self.questions.get(item) or self._keep(Question(item, seat_name(agent), kind))
                    known.kind, known.until, known.with_run = kind, entry.wall, ended and not known.by
                case _:
                    pass  # Nothing that people did, and no question.

    def _answer(self, agent: str, by: str, detail: dict[str, Any]) -> None:
        item = detail.get("item")
        if not isinstance(item, int):
            return
        known = self.questions.get(item) or self._keep(Question(item, seat_name(agent), ""))
        known.by, known.verdict = by, _verdict(detail)

    def _keep(self, question: Question) -> Question:
        self.questions[question.id] = question
        for id in list(self.questions)[:-MOST]:
            del self.questions[id]
        return question


def _verdict(detail: dict[str, Any]) -> Verdict | None:
    words = detail.get("words")
    if isinstance(words, list | tuple) and words:
        return next((one for one in VERDICTS if one == str(words[0]).strip().lower()), None)
    return "allow" if detail.get("allow") else "deny"
