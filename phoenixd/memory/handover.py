"""The work on files that a handoff orders: the project brought up to date, the package and the session records written.

All of it runs in a thread. What is written can be written again; a crash leaves each file old or new.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

import structlog
from anyio import to_thread

from phoenixd.bounded_reads import BoundedReads
from phoenixd.core.actions import CheckPackage, RecordSessions, UpdatePapers, WriteAddendum, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import (
    AddendumWritten,
    PackageChecked,
    PackageFailed,
    PackageWritten,
    PapersFailed,
    PapersUpdated,
)
from phoenixd.core.handoff import late
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.documents.project import ack, beginning, init_prompt, layout, package, writing
from phoenixd.documents.project.jobs import JOBS, Job
from phoenixd.documents.project.models import ContradictedReport, FailedApproach, HandoffPackage
from phoenixd.documents.project.outcomes import Ended, untold
from phoenixd.documents.project.package import NO_DOUBTS, Doubts
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.scratchpad import failed_approaches
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, state_after
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.times import exact_time, timestamp
from phoenixd.errors import NoAnswer, PhoenixdError
from phoenixd.memory.addenda import Addenda, said
from phoenixd.memory.drafting import Drafting
from phoenixd.memory.drafts import Draft, Write, drafted, unless_changed
from phoenixd.memory.session_records import RecordFiles, SessionRecords, first_session, new_session
from phoenixd.memory.sharing import SharedMemory
from phoenixd.memory.workspace_locks import WorkspaceLocks

log = structlog.get_logger("phoenixd.handoffs")

T = TypeVar("T")
Of = tuple[Handoff, Agent, SessionLedger | None]

MOST_NAMED = 20
"""Files that one line of the log names."""
PACKAGE_LIMIT = 4 << 20
PATIENCE = 30.0
"""Seconds that a look at a package is waited for."""
FIRST_PHASE = "phase-01-work"
"""The phase of a project that had no files before its first handoff."""


class ProjectFiles(RecordFiles, Protocol):
    """Projects on disk. All may raise PhoenixdError and OSError."""

    def read_project(self, workspace: str, project: str) -> Tree: ...

    def look_at_project(self, workspace: str, project: str) -> Tree:
        """The same without the hashes of its artifacts."""
        ...

    def edit_project(self, workspace: str, project: str, change: Callable[[Tree], Changes]) -> Tree: ...


async def no_brief(agent: Agent) -> None:
    """For rooms without briefs."""


@dataclass(frozen=True, slots=True)
class Handover:
    """Does that work. word: a fresh one-time word; heard_out: what an agent's session has done, to its end."""

    files: ProjectFiles
    find: Callable[[str], Agent | None]
    seat_of: Callable[[str], Seat | None]
    wall: Callable[[], float]
    word: Callable[[], str]
    heard_out: Callable[[Agent], Awaitable[SessionLedger | None]]
    clean: CleanOf
    addenda: Addenda
    brief: Callable[[Agent], Awaitable[None]] = no_brief
    """Writes the brief of the predecessor, which the successor is told (P20); it never fails."""
    in_hand: Callable[[str, str], frozenset[str]] = lambda project, workspace: frozenset()
    """The tasks of a project's plans that workers are at, by their ids: they go on over a handoff."""
    drafting: Drafting = field(default_factory=Drafting)
    writers: Mapping[str, Write] = field(default_factory=dict)
    """Who words papers, by handoff.writer; "deterministic" needs nobody."""
    shared: SharedMemory | None = None
    """What other projects shared; listed in a package where handoff.shared_memory says so."""
    ended: Callable[[str, str], tuple[Ended, ...]] = lambda project, workspace: ()
    """What workers did of a project's plans."""
    made: Callable[[Sequence[Ended]], tuple[Made, ...]] = lambda ended: ()
    """The files that they left for what they completed; may raise OSError."""
    locks: WorkspaceLocks = field(default_factory=WorkspaceLocks)
    """Held while a project's papers are read and written again."""
    looks: BoundedReads = field(default_factory=BoundedReads)

    async def update(self, action: UpdatePapers) -> PapersUpdated | PapersFailed:
        """The three jobs, one after the other, each under the project's lock (X29)."""
        found = self._of(action.agent, action.handoff)
        if found is None:
            return PapersFailed(action.agent, action.handoff, "the handoff is not known any more", final=True)
        ledger = await self.heard_out(found[1])
        write = self.writers.get(found[1].spec.handoff.writer)
        note, tokens = await self._draft(*found, ledger, write) if write is not None else ("", 0)
        if not self._is_wanted(action):
            return PapersFailed(action.agent, action.handoff, "it was given up meanwhile", final=True, tokens=tokens)
        told = replace(await to_thread.run_sync(self._alone, self._update, *found, ledger), tokens=tokens)
        return replace(told, note=note) if isinstance(told, PapersUpdated) else told

    async def write(self, action: WritePackage) -> PackageWritten | PackageFailed:
        """The package in both sessions' directories, the first prompt, and the records of both sessions."""
        found = self._of(action.agent, action.handoff)
        if found is None:
            return PackageFailed(action.agent, action.handoff, "the handoff is not known any more", final=True)
        ledger = await self.heard_out(found[1])
        await self.brief(found[1])
        return await to_thread.run_sync(self._alone, self._write, *found, ledger)

    async def addendum(self, action: WriteAddendum) -> AddendumWritten:
        """What came too late for the package, in a file beside it in both directories; none where nothing did."""
        seat = self.seat_of(action.agent)
        owed = late.asked_for(seat.handoff, action.handoff) if seat is not None and seat.handoff is not None else None
        holder = self.find(seat.holder) if seat is not None else None
        if owed is None or holder is None or not owed.session:
            return AddendumWritten(action.agent, action.handoff)
        return await self.addenda.write(action.agent, owed, holder.spec.cwd)

    async def record(self, action: RecordSessions) -> None:
        """Say in both session records what became of the handoff (E50); safe to repeat."""
        found = self._of(action.agent, action.handoff)
        if found is not None and found[0].session:
            await to_thread.run_sync(self.session_records.tell, *found)

    async def doubts(self, seat: Seat, quoted: str) -> Doubts:
        """Whether the package on disk is still what was written, and names what is there (E35 to E37, F-HO-7, F-HO-8).

        quoted: the hash that is acknowledged. The project is read for that of the newest package alone. Raises NoAnswer
        where the workspace does not answer.
        """
        handoff = seat.handoff
        if handoff is None or not handoff.package or handoff.step is not Step.AWAIT_ACK:
            return NO_DOUBTS
        agent = self.find(generation_name(seat.name, handoff.predecessor))
        if agent is None:
            return NO_DOUBTS
        return await self._looked(agent, partial(self._doubts, handoff, agent.spec.cwd, quoted))

    async def check(self, action: CheckPackage) -> PackageChecked:
        """The same, asked for by the core of an ack that stands in last words."""
        seat = self.seat_of(action.agent)
        is_known = seat is not None and seat.handoff is not None and seat.handoff.id == action.handoff
        doubts = await self.doubts(seat, action.package) if seat is not None and is_known else NO_DOUBTS
        return PackageChecked(
            action.agent, action.handoff, action.package, doubts.changed, doubts.missing, doubts.missing_artifacts
        )

    async def fault(self, seat: Seat) -> str | None:
        """Why the newest package cannot be read or rested on; None: it can, or there is none (E75, F-HO-7)."""
        handoff = seat.handoff
        if handoff is None or not handoff.package:
            return None
        agent = self.find(generation_name(seat.name, handoff.predecessor)) or self.find(seat.holder)
        if agent is None:
            return None
        try:
            return await self._looked(agent, partial(self._fault, handoff, agent.spec.cwd))
        except NoAnswer as silent:
            return silent.message

    @property
    def session_records(self) -> SessionRecords:
        """How the records of sessions are written."""
        return SessionRecords(self.files, self.find, self.wall, self.locks)

    async def _looked(self, agent: Agent, look: Callable[[], T]) -> T:
        """A look into the workspace, which takes no thread that others of the daemon need; raises NoAnswer.

        All who may ask of a seat ask as often as they like.
        """
        return await self.looks.of(f"the workspace {agent.spec.cwd}", look, PATIENCE)

    def _of(self, name: str, handoff: str) -> tuple[Handoff, Agent] | None:
        seat = self.seat_of(name)
        if seat is None or seat.handoff is None or seat.handoff.id != handoff:
            return None
        agent = self.find(generation_name(name, seat.handoff.predecessor)) or self.find(seat.holder)
        return (seat.handoff, agent) if agent is not None else None

    def _is_wanted(self, action: UpdatePapers) -> bool:
        """Whether the handoff is still at that: an operator's stop, or its deadline, may have given it up."""
        found = self._of(action.agent, action.handoff)
        return found is not None and found[0].step is Step.UPDATE

    async def _draft(self, handoff: Handoff, old: Agent, ledger: SessionLedger | None, write: Write) -> tuple[str, int]:
        """Have the operator's program or model word the papers first: why nothing was taken from it, and its tokens."""
        tokens = 0
        try:
            tree = await to_thread.run_sync(self.files.read_project, old.spec.cwd, handoff.project)
            if tree.is_empty:
                return "", 0
            is_wanted = partial(self._is_wanted, UpdatePapers(handoff.seat, handoff.id))
            draft = Draft(Changes())
            with self.drafting.while_wanted(handoff.id, is_wanted):
                draft = await drafted(old, tree, self._sources(old, tree, ledger), write, is_wanted)
            tokens = draft.tokens
            if draft.changes and is_wanted():
                change = unless_changed(tree, draft.changes)
                await to_thread.run_sync(self.files.edit_project, old.spec.cwd, handoff.project, change)
        except (PhoenixdError, OSError) as failure:
            # The deterministic update meets the same, and says so.
            return f"handoff.{old.spec.handoff.writer} was not asked: {said(failure)}", tokens
        return self.clean(handoff.seat, draft.why), tokens

    def _alone(self, work: Callable[[Handoff, Agent, SessionLedger | None], T], *of: *Of) -> T:
        """While nothing else writes papers of this workspace."""
        with self.locks.of(of[1].spec.cwd):
            return work(*of)

    def _update(self, handoff: Handoff, old: Agent, ledger: SessionLedger | None) -> PapersUpdated | PapersFailed:
        workspace, what = old.spec.cwd, "reading the project"
        if (writer := old.spec.handoff.writer) != "deterministic" and writer not in self.writers:
            why = f'nothing here writes as handoff.writer = "{writer}" says'
            return PapersFailed(handoff.seat, handoff.id, why, final=True)
        try:
            tree = self.files.read_project(workspace, handoff.project)
            sources = self._sources(old, tree, ledger)
            sources = replace(sources, made=self.made(self.ended(tree.project, workspace)))
            if tree.is_empty and handoff.previous_session:
                why = f"the project's directory {layout.paths(handoff.project).root} is gone from {workspace}"
                anew = beginning.command(handoff.project, workspace)
                return PapersFailed(handoff.seat, handoff.id, why, final=True, remedy=anew)
            if tree.is_empty:
                what = "beginning the project"
                summary = self.clean(handoff.seat, old.spec.prompt or "")
                self.files.edit_project(
                    workspace, handoff.project,
                    lambda found: beginning.begin(found, (FIRST_PHASE,), sources.now, summary),
                )  # fmt: skip
            for name, job in JOBS:
                what = name
                after = self.files.edit_project(workspace, handoff.project, partial(_done, job, sources))
                if after.left_out:
                    first = [f"{one.path}: {one.why}" for one in after.left_out[:MOST_NAMED]]
                    log.warning("outputs_left_out", agent=old.name, count=len(after.left_out), first=first)
        except (PhoenixdError, OSError) as failure:
            return PapersFailed(handoff.seat, handoff.id, f"{what}: {said(failure)}")
        return PapersUpdated(handoff.seat, handoff.id)

    def _write(self, handoff: Handoff, old: Agent, ledger: SessionLedger | None) -> PackageWritten | PackageFailed:
        workspace = old.spec.cwd
        try:
            tree = self.files.read_project(workspace, handoff.project)
            sources = self._sources(old, tree, ledger)
            if tree.is_empty and handoff.package:
                why = f"the project's directory {layout.paths(handoff.project).root} is gone from {workspace}"
                return PackageFailed(handoff.seat, handoff.id, why, final=True)
            state = tree.state() or state_after(tree, None, sources)
            previous, session = _sessions(handoff, old)
            jobs = old.run.jobs if old.run is not None else old.lost.jobs if old.lost is not None else ()
            others = self._of_others(old, tree)
            made = package.build(
                tree, state, previous=previous, new=session, created_at=sources.now, generation=handoff.successor,
                summary=writing.summary(tree, state, sources), word=handoff.word or self.word(),
                failures=tuple(self.clean(handoff.seat, one) for one in handoff.degraded), running=jobs,
                contradicted=self._contradicted(handoff, old), shared=others,
                scratchpad=failed_approaches(
                    self.ended(tree.project, workspace), self._known_failures(previous, workspace), tree, sources.clean
                ),
            )  # fmt: skip
            self.addenda.keep_listing(handoff, workspace)
            places = layout.session_paths(session)
            opening = init_prompt.render(made, places.package, ack.how(made, tree, handoff.seat))
            content = package.render(made)
            papers = {
                layout.session_paths(previous).package: content,
                places.package: content,
                places.prompt: opening.encode(),
            }
            records = self.session_records.of(handoff, old, previous, session, "handoff_pending", "running")
            self.files.put_files(workspace, {**papers, **records})
        except (PhoenixdError, OSError) as failure:
            return PackageFailed(handoff.seat, handoff.id, f"the package was not written: {said(failure)}")
        assert made.hash is not None
        assert made.word is not None
        return PackageWritten(
            handoff.seat, handoff.id, made.hash, made.word, ack.facts(made, tree), opening, previous, session
        )

    def _of_others(self, old: Agent, tree: Tree) -> tuple[str, ...]:
        if self.shared is None or not old.spec.handoff.shared_memory:
            return ()
        return self.shared.bring(old.spec.cwd, tree, self.files.put_files, self.files.remove_files)

    def _known_failures(self, session: str, workspace: str) -> tuple[FailedApproach, ...]:
        """Those that the predecessor was told of itself, or that this package had before it is written again."""
        path = layout.session_paths(session).package
        try:
            found = package.read(self.files.read_file(workspace, path, PACKAGE_LIMIT), path)
        except (PhoenixdError, OSError):
            return ()
        return found.scratchpad if session in (found.new_session_id, found.previous_session_id) else ()

    def _contradicted(self, handoff: Handoff, old: Agent) -> tuple[ContradictedReport, ...]:
        def cleaned(text: str) -> str:
            return self.clean(handoff.seat, text)

        return tuple(
            ContradictedReport(of=cleaned(one.of), claims=tuple(map(cleaned, one.claims))) for one in old.disproved
        )

    def _doubts(self, handoff: Handoff, workspace: str, quoted: str) -> Doubts:
        found = self._newest(handoff, workspace)
        if isinstance(found, str) or quoted != handoff.package:
            return Doubts(changed=isinstance(found, str))
        try:
            tree = self.files.look_at_project(workspace, handoff.project)
        except (PhoenixdError, OSError) as failure:
            return Doubts(missing=self.clean(handoff.seat, f"the project cannot be read: {said(failure)}"))
        outdated, lost = package.outdated(found, tree), package.lost_artifacts(found, tree)
        cleaned = partial(self.clean, handoff.seat)
        return Doubts(missing=cleaned(package.first(outdated)), missing_artifacts=cleaned(package.first(lost)))

    def _fault(self, handoff: Handoff, workspace: str) -> str | None:
        found = self._newest(handoff, workspace)
        return found if isinstance(found, str) else None

    def _newest(self, handoff: Handoff, workspace: str) -> HandoffPackage | str:
        """The package that was written; why it cannot be read or rested on."""
        path = layout.session_paths(handoff.session).package
        try:
            found = package.read(self.files.read_file(workspace, path, PACKAGE_LIMIT), path)
        except (PhoenixdError, OSError) as failure:
            return f"{path}: {said(failure)}"
        if found.hash != handoff.package:
            return f"{path} is another one than was written"
        return "; ".join(package.check(found)) or found

    def _sources(self, agent: Agent, tree: Tree, ledger: SessionLedger | None) -> Sources:
        name = agent.spec.seat or agent.name
        in_hand = self.in_hand(tree.project, agent.spec.cwd)
        wall = self.wall()
        return Sources(
            now=timestamp(wall),
            exact=exact_time(wall),
            ledger=ledger,
            outcomes=untold(self.ended(tree.project, agent.spec.cwd), tree, wall),
            running=frozenset((phase, task) for phase in tree.phases for task in in_hand),
            rules=agent.spec.phase,
            clean=lambda text: self.clean(name, text),
        )


def _sessions(handoff: Handoff, old: Agent) -> tuple[str, str]:
    """The ids of both sessions. They follow from what is known: a package that is written again has the same."""
    began = old.session.created_wall if old.session is not None else handoff.began_wall
    native = old.session.session_id if old.session is not None else handoff.seat
    previous = handoff.previous_session or first_session(handoff.seat, handoff.predecessor, native, began)
    return previous, handoff.session or new_session(handoff.began_wall, f"{handoff.seat} {handoff.id}")


def _done(job: Job, sources: Sources, tree: Tree) -> Changes:
    return job(tree, sources)
