"""What is held of one agent between two writings of its documents."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import anyio

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.agent import Agent
from phoenixd.core.condition import public_status
from phoenixd.documents.banner import Interruption, banner
from phoenixd.documents.brief.page import BriefFacts, render_brief, render_injection
from phoenixd.documents.brief.record import FILE as RECORD_FILE
from phoenixd.documents.brief.record import SIZE_LIMIT as RECORD_LIMIT
from phoenixd.documents.brief.record import BriefRecord, Narrative, read_record, render_record
from phoenixd.documents.ops import Occurrence
from phoenixd.documents.redact import redact
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.state import OpenLoop, StateDocument, flag_stale, without_secrets
from phoenixd.documents.state_merge import later
from phoenixd.documents.times import read_time, utc_date
from phoenixd.documents.workspace import GitSummary
from phoenixd.harness import HARNESSES
from phoenixd.memory.aside import AsideFiles
from phoenixd.memory.brief.composition import compose_brief, current_task, interruption_before
from phoenixd.memory.brief.newest_session import NewestSession
from phoenixd.memory.brief.switch import Switch, begin_switch, finish_switch, merged_state
from phoenixd.memory.brief.task_in_hand import TaskInHand
from phoenixd.memory.files import Files
from phoenixd.memory.known_secrets import KnownSecrets
from phoenixd.memory.last_active import last_active
from phoenixd.memory.log_files import written_at
from phoenixd.memory.ops_log import FILE as OPS_FILE
from phoenixd.memory.ops_log import OpsLog
from phoenixd.memory.resonance.checkpoint import without_codes
from phoenixd.memory.resonance.front import with_front
from phoenixd.memory.shelf import Shelf
from phoenixd.memory.told_runs import ToldRuns, told_to

BEAT_SPACING = 300.0
"""Seconds by which state.json may be behind a heartbeat: each writing waits for the disk, for every agent that beats.
heartbeat.json beside it is always the newest."""

FOUND_AT_WORK = frozenset({"run_adopted", "evidence_seen"})
"""Events that tell of a run that goes on."""

BRIEF_SPACING = 1800.0
"""Seconds for which a brief may name an older sign of life than state.json does."""


class TornState(Exception):
    """state.json cannot be read: perhaps another hand is writing it just now."""


@dataclass(slots=True)
class Desk:
    """The shelf of an agent, the lock around it, and the facts that are not on it. Methods block: for threads."""

    shelf: Shelf
    told: ToldRuns
    session: NewestSession
    aside: AsideFiles
    limit: int
    """Characters of a brief that a session is given."""
    marks: tuple[str, ...] = ()
    """What an operator's own secrets begin with."""
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    agent: Agent | None = None
    known: KnownSecrets = field(default_factory=KnownSecrets)
    """What is secret of the agent; all desks of a seat have the same."""
    left: tuple[Occurrence, ...] = ()
    """What an earlier daemon decided last, and may not have written down."""
    interruption: Interruption | None = None
    """How the run before ended, told to sessions until this run is at work."""
    git: GitSummary | None = None
    git_due: float = 0.0
    """Until when git is not asked again, by the clock that nobody sets."""
    day: str = ""
    brief_due: float = 0.0
    """Wall seconds from which on a newer sign of life is worth another brief."""
    session_of: Callable[[Agent], SessionFacts | None] = lambda agent: None
    """What the agent's transcript tells."""
    front_of: Callable[[Agent], str] = lambda agent: ""
    """What an agent's session is told at its front: its marker."""
    crew_of: Callable[[Agent, float], tuple[str, ...]] = lambda agent, now: ()
    """What an agent is told of others of its project."""
    codes_of: Callable[[Agent], frozenset[str]] = lambda agent: frozenset()
    """The codes that no page may hold."""
    prompts: TaskInHand = field(default_factory=TaskInHand)
    task: str | None = None
    _found_clean: tuple[StateDocument, tuple[str, ...]] | None = None
    """The state that holds none of these secrets, for it was looked through."""
    _flagged: tuple[StateDocument, date, tuple[OpenLoop, ...]] | None = None
    """The loops of a state as of a day, with the stale ones marked."""
    _brief_written: float = 0.0
    _record: BriefRecord | None = None
    _begun: tuple[int, str] = (0, "")
    """The run, by incarnation and id, before which it was taken down how the last one ended."""

    @classmethod
    def of(
        cls, name: str, directory: Path, files: Files, settings: ConfigurationTable, known: KnownSecrets | None = None
    ) -> Desk:
        aside, loops = AsideFiles(files), settings.loops
        ops = OpsLog(directory / OPS_FILE, aside, deque(maxlen=settings.brief.happenings))
        shelf = Shelf(name, directory, aside, stale_days=loops.stale_days, resolved_days=loops.resolved_days, ops=ops)
        known, limit = known if known is not None else KnownSecrets(), settings.brief.max_chars
        told, session = ToldRuns(shelf), NewestSession(shelf, limit)
        return cls(shelf, told, session, aside, limit, settings.redaction.marks, known=known)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no document may hold."""
        return self.known.values

    def clean(self, text: str) -> str:
        """`text` without secrets, also those of this agent's own variables."""
        return redact(text, self.secrets, self.marks)

    def consult(self, now: float) -> StateDocument:
        """Read what stands in the files now, nothing written; raises TornState."""
        self.shelf.open()
        broken = self.shelf.look(utc_date(now))
        if broken is not None:
            raise TornState(broken)
        self.shelf.catch_up(utc_date(now))
        assert self.shelf.state is not None
        return self.shelf.state

    def consult_clean(self, now: float) -> StateDocument:
        """The same without secrets, for whatever is made of it: one that an agent has just written into the file goes
        from the file first, so that no document and no merge finds it there again."""
        state = self.consult(now)
        if self._found_clean and self._found_clean[0] is state and self._found_clean[1] is self.secrets:
            return state
        clean = without_secrets(state, self.clean)
        if clean != state:
            self.shelf.put_state(clean)
            state = clean
        self._found_clean = (state, self.secrets)
        return state

    def glance_at_loops(self, today: date) -> tuple[OpenLoop, ...]:
        """The open loops with the stale ones marked, as the state was read or written last."""
        known = self.known_loops(today)
        if known is not None:
            return known
        state = self.shelf.glance(today)
        if state is None:
            return ()
        self._flagged = state, today, flag_stale(state, today, self.shelf.stale_days).open_loops
        return self._flagged[2]

    def known_loops(self, today: date) -> tuple[OpenLoop, ...] | None:
        """The same where they were looked through already; None where they have to be."""
        is_known = self._flagged is not None and self._flagged[0] is self.shelf.state and self._flagged[1] == today
        return self._flagged[2] if is_known and self._flagged is not None else None

    def settle(self, agent: Agent, now: float, occurrences: Iterable[Occurrence] = ()) -> StateDocument:
        """Record what happened and bring state.json up to date; raises TornState, with nothing done."""
        today, session, happened = utc_date(now), self.session_of(agent), list(occurrences)
        self.consult(now)
        left, self.left = self.left, ()
        self.shelf.ops.inherit(left, self.clean)
        self._begin_run(agent)
        self.shelf.ops.record(happened, self.clean)
        self.agent, self.day = agent, today.isoformat()
        # A daemon that begins finds all agents with newer signs of life.
        is_calm = happened != [] and all(seen.event in FOUND_AT_WORK for seen in happened)
        return self.shelf.settle(
            public_status(agent),
            self._task(agent, session, now),
            None if is_calm and not self._is_behind(now) else last_active(self.shelf, agent, session, now),
            today,
            self.clean,
        )

    def foresee(self, agent: Agent, now: float) -> StateDocument:
        """What `settle` would write now, with nothing written; raises TornState."""
        session = self.session_of(agent)
        self.consult(now)
        self._begin_run(agent)
        return self.shelf.foresee(
            public_status(agent),
            self._task(agent, session, now),
            last_active(self.shelf, agent, session, now),
            utc_date(now),
            self.clean,
        )

    def write_page(self, agent: Agent, state: StateDocument, now: float) -> None:
        """Write brief.md alone: for a program that may read it before anything else is written."""
        facts = self._facts(agent, state, now, self.brief_record().narrative)
        page = without_codes(render_brief(facts), self.codes_of(agent))
        self.shelf.write("brief.md", page.encode("utf-8", "replace"))

    def write_brief(self, agent: Agent, state: StateDocument, now: float, *, anew: bool = False) -> None:
        """Write brief.md, and what the hook program prints of it at a session start.

        anew: also where it would say the same.
        """
        run, self.brief_due = agent.run, now + BRIEF_SPACING
        # A session that began while its brief was late has not been told it.
        if run is not None and (run.evidence or (run.session_seen and not self.told.owes(agent))):
            self.interruption = None
        page, told = self._rendered(agent, state, now, self.brief_record().narrative)
        self.shelf.write("brief.md", page.encode("utf-8", "replace"), anew=anew)
        self._brief_written = written_at(self.shelf.place("brief.md"))
        self.told.write(agent, told)

    def tell_of(self, desk: Desk, agent: Agent, state: StateDocument, now: float) -> None:
        """Write what a successor's session is told of its seat, whose papers lie on another desk; nothing of them."""
        assert desk.agent is not None
        self.told.write(agent, desk._rendered(desk.agent, state, now, desk.brief_record().narrative, agent)[1])

    def _begin_run(self, agent: Agent) -> None:
        """Take down, once for each run, how the one before it ended; `consult` came before."""
        run = agent.run
        if run is None or self._begun == (run.incarnation, run.run_id):
            return
        self._begun = (run.incarnation, run.run_id)
        if self.shelf.holds(told_to(run.incarnation)[-1]):
            # Told by an earlier daemon, which knew.
            self.interruption = None
            return
        ended, last = self.shelf.ops.last_end, agent.last_exit
        judged = ended[1] if ended and last and ended[0] == last.incarnation else None
        self.interruption = interruption_before(agent, run.prompt, self.shelf.found, judged)

    def brief_record(self) -> BriefRecord:
        """What brief.json holds; read once, since it is the daemon's alone."""
        if self._record is None:
            content = self.shelf.content(RECORD_FILE, RECORD_LIMIT)
            found = read_record(content, self.shelf.name) if content is not None else None
            self._record = found or BriefRecord(agent=self.shelf.name)
        return self._record

    @property
    def brief_face(self) -> tuple[float, str | None]:
        """When brief.md was written (wall; 0 while that is unknown), and by which writer; asking waits for no disk."""
        told = self._record.narrative if self._record is not None else None
        return self._brief_written, told.writer if told is not None else None

    @property
    def read_at(self) -> float:
        """When the newest brief run read the session (wall); 0 while that is unknown. Asking waits for no disk."""
        return self._record.ledger.last_run if self._record is not None else 0.0

    @property
    def has_record(self) -> bool:
        """Whether brief.json was read already, so that asking for it waits for no disk."""
        return self._record is not None

    def merged(self, switch: Switch) -> StateDocument:
        """What state.json will hold after a switch; `consult` came before."""
        return merged_state(self.shelf, switch)

    def keep_record(self, record: BriefRecord) -> None:
        """Make a record durable before the run that it counts begins; raises OSError."""
        self.shelf.write(RECORD_FILE, render_record(record), durable=True)
        self._record = record

    def switch_brief(self, agent: Agent, switch: Switch, record: BriefRecord, now: float) -> StateDocument:
        """Let a brief run's outcome take the place of what stood before, in all documents or in none.

        `consult` came before. Raises OSError.
        """
        state = self.merged(switch)
        page, told = self._rendered(agent, state, now, record.narrative)
        documents = {"brief.md": page, RECORD_FILE: render_record(record).decode()}
        switch = switch.model_copy(update={"documents": documents})
        begin_switch(self.shelf, switch)
        state = finish_switch(self.shelf, switch)
        self._record = record
        self._brief_written = written_at(self.shelf.place("brief.md"))
        if not self.told.owes(agent):
            self.told.write(agent, told)
        return state

    def _facts(self, agent: Agent, state: StateDocument, now: float, narrative: Narrative | None) -> BriefFacts:
        happenings, seen = tuple(self.shelf.ops.happenings), self.session.seen(agent, self.prompts.heard_at, self.clean)
        crew = self.crew_of(agent, now)
        return compose_brief(agent, state, happenings, self.git, now, self.clean, narrative, seen, crew)

    def _rendered(
        self,
        agent: Agent,
        state: StateDocument,
        now: float,
        narrative: Narrative | None,
        reader: Agent | None = None,
    ) -> tuple[str, str]:
        """The page, and what a session is told of it.

        reader: whose session is told it, where that is a successor of the agent that it is about.
        """
        facts = self._facts(agent, state, now, narrative)
        path, length = str(self.shelf.directory / "brief.md"), HARNESSES[agent.spec.harness].told_length
        reader = reader if reader is not None else agent
        front, codes = self.front_of(reader), self.codes_of(reader)
        limit = self.limit - (length(front) + 2 if front else 0)
        told = render_injection(facts, path, banner(state, self.interruption), limit, length)
        return without_codes(render_brief(facts), codes), with_front(without_codes(told, codes), front, reader)

    def take_notes(self) -> list[str]:
        """What was odd about the documents since this was last asked."""
        notes, self.shelf.notes = self.shelf.notes, []
        return notes

    def take_alarms(self) -> list[str]:
        """What of the documents could not be relied on, and what was done about it, since this was last asked."""
        alarms, self.shelf.alarms, self.aside.told = [*self.aside.told, *self.shelf.alarms], [], []
        return alarms

    def fold(self, now: float) -> bool:
        """Bring `last_active` up to date in state.json; whether more is due without any event, and all documents with
        it: another hand's edit, a new day, a prompt that no hook told of, a brief whose `Last active` is old."""
        shelf = self.shelf
        if self.agent is None or shelf.state is None:
            return False
        if utc_date(now).isoformat() != self.day or shelf.was_touched():
            return True
        if self.agent.run is None:
            return False
        known, session = self.task, self.session_of(self.agent)
        if self._task(self.agent, session, now) != known:
            return True
        newest = later(shelf.state.last_active, last_active(shelf, self.agent, session, now))
        if newest is None or newest == shelf.state.last_active:
            return False
        if shelf.owes or now >= self.brief_due:
            return True
        # A publication of all documents costs many times that, and every agent with heartbeats would have one.
        if self._is_behind(now):
            shelf.touch(newest)
        return False

    def _is_behind(self, now: float) -> bool:
        """Whether the sign of life in state.json is so old that a newer one is written, though nothing else changed."""
        state = self.shelf.state
        return state is None or now - (read_time(state.last_active) or -math.inf) >= BEAT_SPACING

    def _task(self, agent: Agent, session: SessionFacts | None, now: float) -> str | None:
        self.task = current_task(self.prompts.words(agent, session, now), self.clean)
        return self.task
