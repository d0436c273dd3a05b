"""One brief run with its files: what the writer is told is gathered, and what came of it is switched in."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.briefing import (
    PLAIN,
    BriefLedger,
    Cause,
    Choice,
    Due,
    Seen,
    begin,
    choose_writer,
    finish,
    first_look,
    writer_name,
)
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.traits import traits_of
from phoenixd.documents.brief.material import BriefMaterial, bounded_conversation
from phoenixd.documents.brief.record import BriefRecord, Narrative
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.ops import CLEAN_CODES
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument
from phoenixd.documents.times import timestamp
from phoenixd.errors import PhoenixdError
from phoenixd.memory.brief.cleaned import Cleaners
from phoenixd.memory.brief.composition import cleaned_git
from phoenixd.memory.brief.known_loops import texts_of
from phoenixd.memory.brief.ledgers import LedgerLook, Ledgers
from phoenixd.memory.brief.loops.over import over
from phoenixd.memory.brief.surroundings import around, numbered
from phoenixd.memory.brief.switch import Switch
from phoenixd.memory.brief.writing import Outcome, write_brief
from phoenixd.memory.desk import Desk
from phoenixd.memory.publication import Publication
from phoenixd.ports import Clock
from phoenixd.ports.papers import BriefWriter

MOST_READ = 1_000_000
RESOLVED_TAIL = 256 * 1024

ARCHIVING = frozenset({Cause.SCHEDULE, Cause.END, Cause.HANDOFF, Cause.OPERATOR, Cause.LATER})
"""Runs that archive the resolved loops which they have read: those that the seed calls brief runs, and not the many
between them that bring a page up to date."""

ConversationLook = Callable[[Agent, int], Awaitable[Conversation | None]]

log = structlog.get_logger("phoenixd.briefs")


class BriefRuns:
    """Carries out runs; when they are due is for `Briefing` to say."""

    def __init__(
        self,
        publication: Publication,
        clock: Clock,
        conversation: ConversationLook,
        writers: Mapping[WriterKind, BriefWriter],
        newest: Callable[[Agent], Agent],
        held: Callable[[Agent], str],
        ledger: LedgerLook,
    ) -> None:
        self._publication = publication
        self._clock = clock
        self._conversation = conversation
        self._writers = writers
        self._newest = newest
        self._held = held
        self._ledgers = Ledgers(publication, ledger)
        self._cleaners = Cleaners()

    async def look(self, agent: Agent) -> tuple[StateDocument, BriefRecord]:
        """An agent's state and what is on record of its runs, from memory where it was read before."""
        desk = self._publication.desks.desk_of(agent)
        if desk.shelf.state is not None and desk.has_record and desk.brief_record().ledger.since > 0:
            return desk.shelf.state, desk.brief_record()
        async with desk.lock:
            return await self._publication.write_safely(desk, lambda: self._read(desk, agent))

    def over(self, agent: Agent, state: StateDocument, record: BriefRecord) -> frozenset[str]:
        """Open loops of what the agent asked, and asks no more."""
        return over(state, around(agent, record, self._publication.desks.desk_of(agent).clean))

    async def write(self, agent: Agent, due: Due) -> Outcome | None:
        """One run: gather, ask, judge, switch. Raises PhoenixdError and OSError, with nothing switched.

        None where there is nothing to be read of a session that was left; its agent is the one of before.
        """
        self._publication.require_papers(agent)
        desk, began = self._publication.desks.desk_of(agent), self._now()
        _, record = await self.look(agent)
        held = self._held(self._newest(agent))
        able = agent.spec.brief.writer is not WriterKind.AUTO or traits_of(agent.spec.harness).writes_briefs
        choice = choose_writer(record.ledger, agent.spec.brief, due.cause, began, able=able, held=held)
        conversation = await self._heard(agent)
        if choice.writer is WriterKind.AUTO and (conversation is None or not conversation.utterances):
            choice = Choice(WriterKind.DETERMINISTIC, "nothing was said that its CLI could read")
        ledger = begin(record.ledger, choice, began)
        if due.cause is Cause.LEFT and (conversation is None or not conversation.utterances):
            return None
        stands = await self._ledgers.heard(agent, keep=due.cause is not Cause.LEFT)
        if due.cause is not Cause.DEATH:
            # A start waits for no repository; what it was found to be last has to do.
            await self._publication.repositories.newest(desk, agent)
        async with desk.lock:
            material, counted, read = await self._publication.write_safely(
                desk, lambda: self._gather(desk, agent, record, ledger, conversation, stands)
            )
        draw = secrets.token_hex if agent.spec.reports.seal else None
        outcome = await write_brief(agent, material, choice, self._writers, counted.held, draw)
        async with desk.lock:
            await self._publication.write_safely(
                desk, lambda: self._switch(desk, agent, due, choice, material, counted, outcome)
            )
            if due.cause in ARCHIVING:
                await self._publication.write_safely(desk, lambda: desk.shelf.archive_resolutions(read))
        return outcome

    async def hear_on(self, agent: Agent, *, keep: bool = True) -> SessionLedger | None:
        """Bring the ledger of an agent's session up to date, and the desk with it; keep: as Ledgers.heard has it."""
        return await self._ledgers.heard(agent, keep=keep)

    async def _heard(self, agent: Agent) -> Conversation | None:
        """The session's end, far more of it than is told: machine noise is taken out of it afterwards."""
        try:
            return await self._conversation(agent, min(MOST_READ, 4 * agent.spec.brief.transcript_chars))
        except (PhoenixdError, OSError) as failure:
            log.warning("transcript_unread", agent=agent.name, reason=str(failure))
            return None

    def _read(self, desk: Desk, agent: Agent) -> tuple[StateDocument, BriefRecord]:
        self._publication.require_papers(agent)
        state = desk.consult(self._now())
        record = desk.brief_record()
        ledger = first_look(record.ledger, seen_of(agent, state), self._now())
        if ledger != record.ledger:
            record = record.model_copy(update={"ledger": ledger})
            desk.keep_record(record)
        return state, record

    def _gather(
        self,
        desk: Desk,
        agent: Agent,
        record: BriefRecord,
        ledger: BriefLedger,
        conversation: Conversation | None,
        stands: SessionLedger | None,
    ) -> tuple[BriefMaterial, BriefRecord, int]:
        """The material of a run, the record with the run counted, which is paid for before it begins; and how far
        resolved.jsonl was read for it."""
        self._publication.desks.learn(agent)
        moment = self._clock.now()
        state = desk.consult_clean(moment.wall)
        held = {
            name: record.held.get(name, moment.wall)
            for name, value in state.numbers.items()
            if record.numbers.get(name) != value
        }
        record = numbered(record.model_copy(update={"ledger": ledger, "held": held}), agent)
        desk.keep_record(record)
        resolutions, read = desk.shelf.resolutions(RESOLVED_TAIL)
        material = BriefMaterial(
            agent=agent.name,
            now=moment.wall,
            state=state,
            conversation=bounded_conversation(conversation, agent.spec.brief.transcript_chars, self._cleaners.of(desk)),
            resolutions=resolutions,
            closed_texts={name: text for name, text in record.texts.items() if state.loop(name) is None},
            git=cleaned_git(desk.git, desk.clean) if desk.git is not None else None,
            nonce=moment.nonce,
            goal=desk.clean(agent.spec.prompt) if agent.spec.prompt else None,
            ledger=stands,
            around=around(agent, record, desk.clean, desk.shelf.ops.spoken[0] if desk.shelf.ops.spoken else None),
        )
        return material, record, read

    def _switch(
        self,
        desk: Desk,
        agent: Agent,
        due: Due,
        choice: Choice,
        material: BriefMaterial,
        record: BriefRecord,
        outcome: Outcome,
    ) -> None:
        """Put a run's outcome in the place of what stood before."""
        self._publication.require_papers(agent)
        now, accepted = self._now(), outcome.accepted
        desk.consult_clean(now)
        switch = Switch(
            agent=agent.name, base=material.state, ours=accepted.state, documents={}, resolutions=accepted.resolved,
            wall=now,
        )  # fmt: skip
        # The run knows its own changes; what others changed while the writer thought is news for the next one.
        seen = seen_of(agent, accepted.state)
        ledger = record.ledger
        if due.cause is Cause.DEATH and choice.later:
            ledger = replace(ledger, owed=True)
        if due.cause not in (Cause.LEFT, Cause.DEATH):
            owed = None if due.cause is Cause.TURN else choice.later
            ledger = finish(ledger, seen, now, tokens=outcome.tokens, failed=outcome.failed, owed=owed)
        narrative = record.narrative if _keeps(record, due, agent.spec.brief) else _narrative(outcome, now, desk)
        if outcome.failed and narrative is not None and _is_of_its_writer(record.narrative, agent.spec.brief):
            # What its last good run said stays (F-BR-1), with a note why it is that old.
            assert record.narrative is not None
            narrative = record.narrative.model_copy(update={"note": narrative.note, "tokens": narrative.tokens})
        record = record.model_copy(
            update={
                "ledger": ledger,
                "narrative": narrative,
                "numbers": {**record.numbers, **accepted.numbers},
                "held": {name: at for name, at in record.held.items() if name not in accepted.numbers},
                "texts": texts_of(record.texts, material.state, accepted.state),
            }
        )
        desk.switch_brief(self._newest(agent), switch, record, now)

    def _now(self) -> float:
        return self._clock.now().wall


def seen_of(agent: Agent, state: StateDocument, turned: float = 0.0) -> Seen:
    """An agent as the schedule sees it."""
    last = agent.last_exit
    clean = last is not None and last.ran and last.signal is None and last.code in CLEAN_CODES
    ended = last.incarnation if last is not None and clean else 0
    return Seen(agent.name, agent.spec.kind, _marks(state), ended, turned)


def _keeps(record: BriefRecord, due: Due, rules: BriefRules) -> bool:
    """Whether a run leaves what a better writer said."""
    return due.cause in PLAIN and _is_of_its_writer(record.narrative, rules)


def _is_of_its_writer(told: Narrative | None, rules: BriefRules) -> bool:
    """Whether the command or the model that is configured said this."""
    return (
        told is not None and rules.writer is not WriterKind.DETERMINISTIC and told.writer == writer_name(rules.writer)
    )


def _marks(state: StateDocument) -> str:
    """What counts as a significant change when it differs: the task, and which loops are open (P20)."""
    ids = sorted(loop.id for loop in state.open_loops)
    return hashlib.sha256("\0".join([state.current_task or "", *ids]).encode("utf-8", "replace")).hexdigest()[:16]


def _narrative(outcome: Outcome, now: float, desk: Desk) -> Narrative:
    """What the guard left of the writer's words, without secrets."""

    def cleaned(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(desk.clean(line) for line in lines)

    accepted = outcome.accepted
    return Narrative(
        written=timestamp(now),
        writer=writer_name(outcome.writer),
        tokens=outcome.tokens,
        note=desk.clean(outcome.note)[:500],
        summary=desk.clean(accepted.summary),
        changed=cleaned(accepted.changed),
        decisions=cleaned(accepted.decisions),
        next=cleaned(accepted.next),
        risks=cleaned(accepted.risks),
        refused=cleaned(accepted.refused[:20]),
    )
