"""Keeps the papers of agents' markers: mints when the core orders it, and brings anchor and seed up to date after it.

What is wrong with a paper is told as trouble of that agent, and the paper is made anew: from what the core knows, from
what stands of the session, or from the footers of its transcript.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

import anyio
import structlog
from anyio import to_thread

from phoenixd.api.values import MarkerFace, RebuiltMarker
from phoenixd.core.actions import PlantCodes, ReadSeed
from phoenixd.core.agent import Agent
from phoenixd.core.events.resonance import CodesPlanted, PlantingFailed, SeedRead
from phoenixd.core.facts import MarkerNoted, RunEnded
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.ops import Occurrence
from phoenixd.documents.resonance import footer as footers
from phoenixd.documents.resonance.marker import TEMPLATES
from phoenixd.documents.resonance.session_seed import SessionSeed, short_seed
from phoenixd.documents.times import timestamp
from phoenixd.errors import PhoenixdError
from phoenixd.memory.publication import Publication
from phoenixd.memory.resonance.checkpoint import seed_of, without_codes
from phoenixd.memory.resonance.front import crew_sentences, front, project_named
from phoenixd.memory.resonance.store import REBUILT, SESSION, MarkerPapers
from phoenixd.planting import Marker, Planting
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry

FIRST_CODES = 1.5
"""Seconds for which what a session is told waits for its codes; the hook program waits 2 s for that."""
LOOKED_BACK = 400_000
"""Characters of a session's end in which a footer is looked for."""
WITH_A_SESSION = ("start", "restoration")

log = structlog.get_logger("phoenixd.resonance")


class MarkerKeeping:
    """The one writer of these papers. find: an agent as it is now; damaged: told what was wrong with a paper."""

    def __init__(
        self,
        papers: MarkerPapers,
        publication: Publication,
        clock: Clock,
        agents: Callable[[], Iterable[Agent]] = tuple,
        damaged: Callable[[str, str], None] = lambda name, what: None,
        conversation: Callable[[Agent, int], Awaitable[Conversation | None]] | None = None,
    ) -> None:
        self.papers = papers
        self._publication, self._clock, self._agents, self._damaged = publication, clock, agents, damaged
        self._conversation = conversation
        self.catch_up: Callable[[str], Awaitable[None]] = _nothing_lacks
        """Returns when the papers of the agent of this name tell of all that is decided, as far as may be."""
        self._planted: dict[str, tuple[int, Planting | None]] = {}
        """The newest run of each agent that codes were ordered for, and what it was given; None: that failed."""
        self._news = anyio.Event()
        desks = publication.desks
        desks.front_of, desks.crew_of, desks.codes_of = self.told_to, self.crew_of, self.codes_of

    async def plant(self, agent: Agent, action: PlantCodes) -> CodesPlanted | PlantingFailed:
        """Mint, and write ledger, anchor and seed; the event is told when all of them stand."""
        rules, session = agent.spec.resonance, _session_of(agent)
        planting: Planting | None = None
        try:
            seed = await self._seed_now(agent)
            name, now = self._name(agent), self._clock.now().wall
            planting = await to_thread.run_sync(self.papers.plant, name, session, rules.mode, rules.codes, seed, now)
        except (OSError, PhoenixdError, ValueError) as failure:
            why = failure.message if isinstance(failure, PhoenixdError) else str(failure)
            return PlantingFailed(agent.name, action.incarnation, why)
        finally:
            self._planted[agent.name] = (action.incarnation, planting)
            self._news.set()
            self._news = anyio.Event()
        rebuilt = "; ".join(self._told(name))
        project = project_named(agent.spec)
        return CodesPlanted(
            agent.name, action.incarnation, planting, now, persona=agent.spec.role, project=project, rebuilt=rebuilt
        )

    async def read_seed(self, agent: Agent, action: ReadSeed) -> SeedRead:
        """See that the seed of a session is there, or make it of state and brief (R37, F-RE-8).

        A turn that has just ended is in it: its papers are written some moments later.
        """
        await self.catch_up(agent.name)
        name = self._name(agent)
        found = await to_thread.run_sync(self.papers.seed, name)
        if found is not None:
            words = await self._short(name, found)
            return SeedRead(agent.name, action.incarnation, words=words, checkpoint=found.last_checkpoint)
        notes, words, checkpoint = self._told(name), "", None
        try:
            seed, now = await self._seed_now(agent), self._clock.now().wall
            words = await self._short(name, seed)
            await to_thread.run_sync(self.papers.checkpoint, name, seed, now)
            checkpoint = now
        except (OSError, PhoenixdError) as failure:
            notes += [f"it cannot be written: {failure}"]
        why = "; ".join(notes) or "it was gone"
        return SeedRead(agent.name, action.incarnation, f"{why}; it is made of state and brief", words, checkpoint)

    async def _short(self, name: str, seed: SessionSeed) -> str:
        """What a session is told of its seed at a turn's end: no code of an older one stands in it (R39)."""
        try:
            return without_codes(short_seed(seed), await to_thread.run_sync(self.papers.hexes, name))
        except (OSError, PhoenixdError) as failure:
            log.warning("seed_not_told", agent=name, reason=str(failure))
            return ""

    def leave(self, name: str) -> None:
        """Keep nothing of an agent that was removed but its papers."""
        self._planted.pop(name, None)

    async def await_codes(self, agent: Agent) -> None:
        """Wait, not for long, until codes that a run's session is to begin with are given or cannot be."""
        run, known = agent.run, agent.resonance
        if run is None or known is None or known.ordered not in WITH_A_SESSION:
            return
        with anyio.move_on_after(FIRST_CODES):
            while self._planted.get(agent.name, (0, None))[0] < run.incarnation:
                await self._news.wait()

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        """Bring anchor, seed and ops.jsonl up to date with what became of the marker; raises OSError."""
        known = agent.resonance
        if known is None or not self._publication.desks.holds(agent):
            return
        noted = [(one, fact) for one in entries for fact in one.facts if isinstance(fact, MarkerNoted)]
        ends = [(one, fact) for one in entries for fact in one.facts if isinstance(fact, RunEnded)]
        turned = any(one.event == "hook_seen" and one.detail.get("kind") == "stop" for one in entries)
        began = any(one.event in ("agent_started", "run_adopted") for one in entries)
        if not (noted or ends or turned or began):
            return
        seed = await self._seed_now(agent) if ends or turned else None
        desk, name, now = self._publication.desks.desk_of(agent), self._name(agent), self._clock.now().wall
        marker = known.planting.marker if known.planting is not None else None

        def write() -> None:
            if marker is not None:
                self._bring_up(name, marker, _session_of(agent), noted, ended=bool(ends), now=now)
            if seed is not None:
                before = self.papers.seed(name)
                bearing = marker or (before.marker if before is not None else None)
                self.papers.checkpoint(name, replace(seed, marker=bearing), now)
            desk.shelf.ops.record([*_lines(noted), *(_summary(agent, one, known.state) for one, _ in ends)], desk.clean)

        async with desk.lock:
            await to_thread.run_sync(desk.aside.ensure_private_dir, desk.shelf.directory)
            await self._publication.write_safely(desk, write)
        for note in self._told(name):
            self._damaged(name, note)

    def _bring_up(
        self,
        name: str,
        marker: Marker,
        session: str,
        noted: Sequence[tuple[Entry, MarkerNoted]],
        *,
        ended: bool,
        now: float,
    ) -> None:
        kept = before = self.papers.keep(name, marker, session, now)
        for entry, fact in noted:
            if fact.what == "checked" and fact.verdict in ("intact", "missed", "paraphrased", "lost"):
                kept = kept.verified(entry.wall, fact.verdict == "intact", _action(fact))
        if session and kept.others.get(SESSION) != session:
            kept = replace(kept, others={**kept.others, SESSION: session})
        ended_at = now if ended else None
        if ended or kept.ended_at is not None:
            kept = replace(kept, ended_at=ended_at)
        if kept != before:
            self.papers.write(name, kept)

    async def face(self, agent: Agent) -> MarkerFace:
        """What stands on disk now."""
        name = self._name(agent)
        anchor = await to_thread.run_sync(self.papers.anchor, name)
        seed = await to_thread.run_sync(self.papers.seed, name)
        rebuilt = anchor.others.get(REBUILT) if anchor is not None else None
        return MarkerFace(anchor, seed, str(self.papers.directory), rebuilt if isinstance(rebuilt, str) else "")

    async def mint(self, phrase: str | None) -> Marker:
        """A marker of its own for the caller; raises PhraseRefused, PhoenixdError and OSError."""
        return await to_thread.run_sync(self.papers.mint, phrase, self._clock.now().wall)

    async def from_transcript(self, agent: Agent) -> RebuiltMarker | None:
        """Make anchor and seed anew from the newest footer of the session's own words; None where there is none (R23).

        Only what the agent said counts: anyone can write a footer into a file, a result or a prompt.
        """
        talk = await self._conversation(agent, LOOKED_BACK) if self._conversation is not None else None
        said = [
            (one.speaker if not (one.tool or one.failed) else "tool", one.text)
            for one in (talk.utterances if talk is not None else ())
        ]
        found = footers.newest(said, agent.spec.role)
        if found is None:
            return None
        name, now = self._name(agent), self._clock.now().wall
        known = agent.resonance.planting if agent.resonance is not None else None
        before = await to_thread.run_sync(self.papers.anchor, name)
        bearers = [one for one in (known.marker if known else None, before.marker if before else None) if one]
        marker = next((one for one in bearers if one.code == found.code), None)
        rebuilt = marker or Marker(TEMPLATES[0], found.code)
        seed = replace(await self._seed_now(agent), marker=rebuilt)

        def write() -> None:
            self.papers.keep(name, rebuilt, _session_of(agent), now, "transcript")
            self.papers.checkpoint(name, seed, now)

        await to_thread.run_sync(write)
        for note in self._told(name):
            log.warning("marker_rebuilt", agent=name, note=note)
        return RebuiltMarker(rebuilt, found.role, found.state, marker is None)

    def told_to(self, agent: Agent) -> str:
        """What an agent's session is told at its front; blocking, for what a session start prints."""
        if not agent.spec.has_resonance:
            # It may have been switched off since: what the agent bore until then is told no session any more.
            return ""
        known, given = agent.resonance, self._planted.get(agent.name)
        if known is not None and known.planting is None and known.ordered and given and given[0] == agent.incarnation:
            # The core hears of them in a moment; the session that begins cannot wait for that.
            known = replace(known, planting=given[1], project=project_named(agent.spec))
            agent = replace(agent, resonance=known)
        if known is None or known.planting is None:
            return ""
        return front(agent, self.papers.seed(self._name(agent)) if known.is_restoring else None)

    def crew_of(self, agent: Agent, now: float) -> tuple[str, ...]:
        return crew_sentences(agent, self._agents(), now) if project_named(agent.spec) else ()

    def codes_of(self, agent: Agent) -> frozenset[str]:
        """All codes that the agent was ever given; blocking."""
        return self.papers.hexes(self._name(agent)) if agent.resonance is not None else frozenset()

    async def _seed_now(self, agent: Agent) -> SessionSeed:
        """The seed as things stand, without secrets and without codes."""
        desk, now = self._publication.desks.desk_of(agent), self._clock.now().wall

        def read() -> SessionSeed:
            state = desk.consult_clean(now)
            told = desk.brief_record().narrative
            said = [agent.last_prompt or "", desk.shelf.ops.spoken[1] if desk.shelf.ops.spoken is not None else ""]
            decisions = told.decisions if told is not None else ()
            return seed_of(agent, state, decisions, said, desk.clean, self.papers.hexes(self._name(agent)))

        async with desk.lock:
            await to_thread.run_sync(desk.aside.ensure_private_dir, desk.shelf.directory)
            return await self._publication.write_safely(desk, read)

    def _name(self, agent: Agent) -> str:
        """Under which name its papers stand: the seat's; a successor that does not hold it yet has its own."""
        return agent.spec.role if self._publication.desks.holds(agent) else agent.name

    def _told(self, name: str) -> list[str]:
        told = self.papers.take_notes()
        for other, note in told:
            if other != name:
                log.warning("marker_papers", agent=other or None, note=note)
        return [note for other, note in told if other == name]


async def _nothing_lacks(name: str) -> None:
    """Nobody else writes the papers."""


def _session_of(agent: Agent) -> str:
    if agent.session is not None:
        return agent.session.session_id
    return agent.run.session_id if agent.run is not None else ""


def _action(fact: MarkerNoted) -> str:
    """What was done about a failure, in the seed's word for it."""
    if fact.verdict == "intact":
        return ""
    return "restoration_triggered" if fact.verdict == "lost" else "asked_again"


def _lines(noted: Sequence[tuple[Entry, MarkerNoted]]) -> list[Occurrence]:
    """Rows of ops.jsonl of their own: a marker that is lost, and each step of a restoration (R47, R48)."""
    lines = []
    for entry, fact in noted:
        step = fact.step if fact.what == "restoration" else 0
        names = ["marker_lost"] if step == 1 else []
        names += [f"restore_{step}"] if step else []
        told = {"why": fact.why}
        if fact.checkpoint is not None:
            told["checkpoint"] = timestamp(fact.checkpoint)
        lines += [
            Occurrence(entry.wall, name, fact.incarnation, told, entry.state, "")
            for name in names
        ]  # fmt: skip
    return lines


def _summary(agent: Agent, entry: Entry, state: str) -> Occurrence:
    """What stays of a session that is over (R52)."""
    known = agent.resonance
    detail = {
        "session_id": _session_of(agent),
        "marker": state,
        "last_verified": known.last_verified_wall if known is not None else None,
        "degraded": known.degraded if known is not None else 0,
        "task": agent.last_prompt or agent.spec.prompt,
    }
    return Occurrence(entry.wall, "session_summary", entry.incarnation, detail, entry.state, "")
