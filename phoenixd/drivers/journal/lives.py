"""What a batch says about runs and incidents, as rows of their own. Pure: nothing here touches a file.

A row of `lives` is a run from its spawn to its end, written in the very transaction that saves the decision. So what
happened to an agent can be drawn later, without a look at any reason's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import suffix_of
from phoenixd.core.agent.state import Live
from phoenixd.core.facts import Fact, RunBegan, RunEnded, RunProductive
from phoenixd.ports.journal import Batch, Entry, KeptIncident

REASON_LIMIT = 4096
ENDS = frozenset({"hung", "overtime"})
"""Kinds of incidents that are told while the run still lives, before their Case is known."""

START_FAILED = "start_failed"
"""The journal's name of that event, see documents.journal_names."""


class Life(NamedTuple):
    """One row of the table without time and checksum; all times are wall seconds. how: as RunEnded.meaning.

    A tuple, for two of them are made in each commit. reason: why it began.
    """

    agent: str
    incarnation: int
    run_id: str | None = None
    session_id: str | None = None
    mode: str | None = None
    started: float | None = None
    reason: str | None = None
    first_evidence: float | None = None
    productive: float | None = None
    ended: float | None = None
    code: int | None = None
    signal: int | None = None
    cause: str | None = None
    end_reason: str | None = None
    how: str | None = None

    def merged(self, known: Life | None) -> Life:
        """This row, completed by what was known: the session may be another one by now, all else is written once."""
        if known is None or known == self:
            return self
        end = self if known.ended is None else known
        return Life(
            self.agent,
            self.incarnation,
            known.run_id or self.run_id,
            self.session_id or known.session_id,
            known.mode or self.mode,
            self.started if known.started is None else known.started,
            known.reason or self.reason,
            self.first_evidence if known.first_evidence is None else known.first_evidence,
            self.productive if known.productive is None else known.productive,
            end.ended,
            end.code,
            end.signal,
            end.cause,
            end.end_reason,
            known.how or self.how,
        )


class Cure(NamedTuple):
    """What closes the incidents of an agent's runs before `incarnation`: a later run that was productive."""

    agent: str
    incarnation: int
    wall: float


def lives_of(batch: Batch) -> tuple[Life, ...]:
    """What a batch says about runs, one row for each: where agents stand, and what decisions established."""
    found: dict[tuple[str, int], Life] = {}
    for life in _told(batch):
        key = life[:2]
        found[key] = life.merged(found.get(key))
    return tuple(found.values())


def cures_of(batch: Batch) -> tuple[Cure, ...]:
    """Which incidents are over: the agent has worked since, or is no more."""
    cures = [
        Cure(entry.agent, fact.incarnation, entry.wall)
        for entry in batch.entries
        for fact in entry.facts
        if isinstance(fact, RunProductive) and entry.agent is not None
    ]
    return (*cures, *(Cure(name, last + 1, batch.wall) for name, last in batch.removed))


def incident_id(incident: KeptIncident) -> str:
    """What names an incident for ever: an incarnation is never given twice, and its file is called the same.

    A run ends once, and may fail at several things before, and at one of them several times.
    """
    name = f"{incident.agent}-{incident.incarnation}-{incident.kind}"
    return name if incident.kind in ENDS else f"{name}{suffix_of(incident.case_id, incident.number)}"


def _told(batch: Batch) -> Iterator[Life]:
    for agent in batch.changed:
        yield from _unstarted(agent, batch.entries)
        state = agent.state
        if isinstance(state, Live):
            run = state.run
            yield Life(
                agent.name, run.incarnation, storable(run.run_id), storable(run.session_id), run.mode.value,
                float(run.began_wall), None, float(state.activity.evidence_wall) if run.evidence else None,
            )  # fmt: skip
        if agent.last_exit is not None:
            end = agent.last_exit
            yield Life(
                agent.name, end.incarnation, ended=float(end.at_wall), code=integer(end.code),
                signal=integer(end.signal), cause=storable(end.told), end_reason=_reason_of_end(agent, batch.entries),
            )  # fmt: skip
    for entry in batch.entries:
        if entry.agent is not None and entry.facts:
            yield from _established(entry, entry.agent)


def _established(entry: Entry, agent: str) -> Iterator[Life]:
    for fact in entry.facts:
        if isinstance(fact, RunBegan):
            yield Life(agent, fact.incarnation, mode=fact.mode.value, reason=_bounded(entry.reason))
        elif isinstance(fact, RunProductive):
            yield Life(agent, fact.incarnation, productive=float(entry.wall))
        elif isinstance(fact, RunEnded):
            yield Life(
                agent, fact.incarnation, ended=float(entry.wall), code=integer(fact.code), signal=integer(fact.signal),
                cause=storable(fact.cause), end_reason=_bounded(entry.reason), how=fact.meaning,
            )  # fmt: skip


def _unstarted(agent: Agent, entries: Iterable[Entry]) -> Iterator[Life]:
    """The runs whose start failed without an end: what the next one resumes, or waits for, says nothing of them."""
    of_agent = [one for one in entries if one.agent == agent.name]
    told = {fact.incarnation for one in of_agent for fact in one.facts if isinstance(fact, RunEnded)}
    if agent.last_exit is not None:
        told.add(agent.last_exit.incarnation)
    for one in of_agent:
        number = one.detail.get("incarnation") if one.event == START_FAILED else None
        lives = isinstance(agent.state, Live) and agent.state.run.incarnation == number
        if not isinstance(number, int) or number in told or lives:
            continue
        told.add(number)
        yield Life(
            agent.name, number, ended=float(one.wall), cause="not started", end_reason=_bounded(one.reason),
            how="unstarted",
        )  # fmt: skip


def _reason_of_end(agent: Agent, entries: Iterable[Entry]) -> str:
    """Why the newest run ended: what the row says that tells the end. Alerts and Cases of that run have rows too."""
    assert agent.last_exit is not None
    ended = agent.last_exit.incarnation
    of_agent = [one for one in entries if one.agent == agent.name]
    ends = [one.reason for one in of_agent if any(_tells_end(fact, ended) for fact in one.facts)]
    reasons = ends or [one.reason for one in of_agent if one.incarnation == ended and one.reason]
    return _bounded(reasons[-1] if reasons else agent.reason)


def _tells_end(fact: Fact, incarnation: int) -> bool:
    return isinstance(fact, RunEnded) and fact.incarnation == incarnation


def _bounded(reason: str) -> str:
    return storable(reason[:REASON_LIMIT])


def storable(text: str) -> str:
    """Text as SQLite can take it: lone surrogates, which an agent can send, are written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def integer(number: Any) -> int | None:
    """A number as SQLite can take it: an exit record is a file that an agent can reach, and SQLite holds 64 bits."""
    return number if number is None or -(2**63) <= number < 2**63 else None
