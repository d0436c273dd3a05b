"""What began and ended within a stretch of the journal: limits, quarantines, alerts of the fleet, handoffs, reboots.

Pure. One cause is one spell, however many agents it concerns. What goes on still has no end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.alert_kinds import OUTAGE_OF
from phoenixd.core.facts import (
    BeganParking,
    EndedParking,
    HandoffEnded,
    Ordered,
    ProgressMade,
    PutInQuarantine,
    RunEnded,
    RunProductive,
    Verb,
)
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.ports.journal import Entry

QUARANTINED = "quarantined"
TOLD_ELSEWHERE = frozenset({"terminal"})
"""Alerts of the fleet that a line of their own counts."""
MOST = 1000
"""How many of each kind are kept that are over: the newest. What goes on is kept."""

Kind = Literal["limit", "overload", "outage", "quarantine", "alert"]


@dataclass(slots=True)
class Spell:
    """kind, of: what it was, and whose: an account, an agent, an alert. Wall times; until: None while it goes on.

    due: when it is expected to end. agents: whom it concerned; waiting: those that it still does. by, verb: who ended
    it, and by which order. productive: since its end its agent was productive; of one that its breaker put there, an
    iteration since has brought progress, by the breaker's own word (breaker).
    """

    kind: Kind
    of: str
    begins: float
    until: float | None = None
    due: float | None = None
    agents: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    by: str = ""
    verb: Verb = "start"
    productive: bool = False
    breaker: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """A handoff that is over (wall). generation: who holds the seat then."""

    seat: str
    begins: float
    until: float
    generation: int
    done: bool


@dataclass(slots=True)
class Reboot:
    """runs: the agents whose runs ended with it; back: those that have had a living run since."""

    at: float
    boot_id: str
    runs: set[str] = field(default_factory=set)
    back: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Finished:
    """An agent that ended as it should, when (wall), and whether a person left it."""

    agent: str
    at: float
    by_person: bool


@dataclass(slots=True)
class Spells:
    """Rows are fed in order by the digest."""

    known: list[Spell] = field(default_factory=list)
    handoffs: dict[str, Passed] = field(default_factory=dict)
    reboots: list[Reboot] = field(default_factory=list)
    finished: list[Finished] = field(default_factory=list)
    _standing: dict[tuple[str, str], Spell] = field(default_factory=dict)
    """What goes on, by its kind and whose it is."""
    _waits: dict[str, list[Spell]] = field(default_factory=dict)
    """What each agent waits for: it is looked for at each row that may end a wait."""
    _given_up: dict[str, Spell] = field(default_factory=dict)
    """The newest quarantine of each agent."""

    def of(self, *kinds: Kind) -> list[Spell]:
        return [one for one in self.known if one.kind in kinds]

    def hear(self, entry: Entry, event: str) -> None:
        """Take in one row. event: its name, without case and punctuation."""
        if event == "rebooted":
            self._reboot(entry)
        for fact in entry.facts:
            self._hear_fact(entry.agent or "", fact, entry)
        if entry.agent is None:
            self._hear_alert(entry, event)
            return
        if event == "agentstarted" and self.reboots and entry.agent in self.reboots[-1].runs:
            self.reboots[-1].back.add(entry.agent)
        quarantine = self._standing.get(("quarantine", entry.agent))
        if quarantine is not None and entry.state not in (None, QUARANTINED):
            self._over(quarantine, entry.wall)
            for order in entry.facts:
                if isinstance(order, Ordered):
                    quarantine.by, quarantine.verb = order.by, order.verb
                    break

    def _hear_alert(self, entry: Entry, event: str) -> None:
        kind = str(entry.detail.get("kind", ""))
        if event not in ("alertraised", "alertover") or kind in TOLD_ELSEWHERE or kind.startswith(OUTAGE_OF):
            return
        known = self._standing.get(("alert", kind))
        if event == "alertraised" and known is None:
            self._add(Spell("alert", kind, entry.wall))
        elif event == "alertover" and known is not None:
            self._over(known, entry.wall)

    def _hear_fact(self, agent: str, fact: object, entry: Entry) -> None:
        match fact:
            case BeganParking(kind=kind, until_wall=until, of=of):
                self._park(kind.value, of or ("" if kind.value == "overload" else agent), agent, until, entry.wall)
            case EndedParking():
                self._goes_on(agent, entry.wall)
            case PutInQuarantine(by_breaker=by_breaker):
                given_up = Spell("quarantine", agent, entry.wall, agents=[agent], breaker=by_breaker)
                self._given_up[agent] = self._add(given_up)
            case RunProductive() | ProgressMade() if agent in self._given_up:
                known = self._given_up[agent]
                if known.breaker is isinstance(fact, ProgressMade):
                    known.productive = known.until is not None
            case HandoffEnded(handoff=handoff):
                self._pass(handoff, entry.wall)
            case RunEnded(meaning="finished", by_person=by_person):
                self.finished.append(Finished(agent, entry.wall, by_person))
                del self.finished[:-MOST]
            case RunEnded(cause="reboot") if self.reboots:
                self.reboots[-1].runs.add(agent)
            case Ordered(verb="remove", taken=True):
                self._goes_on(agent, entry.wall)
                if (quarantine := self._standing.get(("quarantine", agent))) is not None:
                    self._over(quarantine, entry.wall)
            case _:
                pass  # Nothing that begins or ends here.

    def _add(self, spell: Spell) -> Spell:
        self.known.append(spell)
        self._standing[spell.kind, spell.of] = spell
        if len(self.known) > 2 * MOST + len(self._standing):
            self._forget()
        return spell

    def _forget(self) -> None:
        """Keep what goes on, and of each kind the newest that are over."""
        over: dict[Kind, int] = {}
        kept = []
        for one in reversed(self.known):
            if one.until is not None:
                over[one.kind] = over.get(one.kind, 0) + 1
            if one.until is None or over[one.kind] <= MOST:
                kept.append(one)
        self.known[:] = reversed(kept)

    def _over(self, spell: Spell, wall: float) -> None:
        spell.until = wall
        self._standing.pop((spell.kind, spell.of), None)

    def _park(self, kind: Kind, of: str, agent: str, until: float, wall: float) -> None:
        spell = self._standing.get((kind, of)) or self._add(Spell(kind, of, wall))
        spell.due = max(until, spell.due or 0.0)
        if agent not in spell.waiting:
            spell.waiting.add(agent)
            self._waits.setdefault(agent, []).append(spell)
        if agent not in spell.agents:
            spell.agents.append(agent)

    def _goes_on(self, agent: str, wall: float) -> None:
        for one in self._waits.pop(agent, ()):
            one.waiting.discard(agent)
            if not one.waiting:
                self._over(one, wall)

    def _pass(self, handoff: Handoff, wall: float) -> None:
        """More may become known of a handoff that was told: its end stays when it was."""
        known, done = self.handoffs.get(handoff.id), handoff.step is Step.DONE
        until = known.until if known is not None else wall
        generation = handoff.predecessor + done
        self.handoffs[handoff.id] = Passed(handoff.seat, handoff.began_wall, until, generation, done)
        for id in list(self.handoffs)[:-MOST]:
            del self.handoffs[id]

    def _reboot(self, entry: Entry) -> None:
        boot_id = str(entry.detail.get("boot_id", ""))
        if all(one.boot_id != boot_id for one in self.reboots):
            self.reboots.append(Reboot(entry.wall, boot_id))
            del self.reboots[:-MOST]
