"""The records of sessions: the one that holds a seat, the two that a handoff is between, and which older ones go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.documents.project import layout
from phoenixd.documents.project.keeping import SessionFound, left_open, superfluous
from phoenixd.documents.project.models import ContextUsage, SessionRecord, SessionStatus
from phoenixd.documents.project.reading import read_document, render_document
from phoenixd.documents.times import timestamp
from phoenixd.errors import PhoenixdError
from phoenixd.memory.workspace_locks import WorkspaceLocks


class RecordFiles(Protocol):
    """Files of a workspace. All may raise PhoenixdError and OSError."""

    def put_files(self, workspace: str, writes: Mapping[str, bytes]) -> None:
        """Put these in the place of whatever plain files stand there."""
        ...

    def read_file(self, workspace: str, path: str, limit: int) -> bytes: ...

    def sessions_of(self, workspace: str, project: str) -> tuple[SessionFound, ...]: ...

    def remove_files(self, workspace: str, paths: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """Writes them. Blocking, for threads; safe to repeat. locks: held while a record is read and written again."""

    files: RecordFiles
    find: Callable[[str], Agent | None]
    wall: Callable[[], float]
    locks: WorkspaceLocks = field(default_factory=WorkspaceLocks)

    def keep(self, seat: Seat, agent: Agent, session: Session, usage: ContextUsage) -> None:
        """Write the record of the session that holds a seat, with what its context holds; earlier ones are closed."""
        id_, handoff, workspace = holders_session(seat, session), seat.handoff, agent.spec.cwd
        path = layout.session_paths(id_).record
        known = self._known_record(workspace, path)
        began = timestamp(session.created_wall)
        record = known or SessionRecord(session_id=id_, project_name=seat.project, created_at=began)
        changes = {
            "status": "running", "generation": seat.generation, "agent": agent.name, "context_usage": usage,
            "native_session_id": session.session_id, "shutdown_at": None,
        }  # fmt: skip
        self.files.put_files(workspace, {path: render_document(record.model_copy(update=changes))})
        if known is None:
            others = (handoff.previous_session, handoff.session) if handoff is not None else ()
            self._close(workspace, seat.project, seat.name, agent, frozenset((id_, *others)))

    def tell(self, handoff: Handoff, agent: Agent) -> None:
        """Write what became of the handoff into both records, and remove those that are not kept any more."""
        with self.locks.of(agent.spec.cwd):
            self._tell(handoff, agent)

    def _tell(self, handoff: Handoff, agent: Agent) -> None:
        done = handoff.step is Step.DONE
        statuses: tuple[SessionStatus, SessionStatus] = ("shutdown", "running") if done else ("running", "shutdown")
        paths = [layout.session_paths(one).record for one in (handoff.previous_session, handoff.session)]
        known = [self._known_record(agent.spec.cwd, path) for path in paths]
        if tuple(record and record.status for record in known) == statuses:
            return
        records = self.of(handoff, agent, handoff.previous_session, handoff.session, *statuses)
        self.files.put_files(agent.spec.cwd, records)
        spared = frozenset((handoff.previous_session, handoff.session))
        self._close(agent.spec.cwd, handoff.project, handoff.seat, agent, spared)

    def of(
        self, handoff: Handoff, agent: Agent, previous: str, session: str, old: SessionStatus, new: SessionStatus
    ) -> dict[str, bytes]:
        """Both records by path, with these statuses."""
        now = timestamp(self.wall())
        found: dict[str, bytes] = {}
        for id_, generation, status in ((previous, handoff.predecessor, old), (session, handoff.successor, new)):
            path = layout.session_paths(id_).record
            known = self._known_record(agent.spec.cwd, path)
            run = self.find(generation_name(handoff.seat, generation))
            record = known or SessionRecord(session_id=id_, project_name=handoff.project, created_at=now)
            changes = {
                "status": status, "generation": generation, "agent": generation_name(handoff.seat, generation),
                "previous_session_id": previous if generation == handoff.successor else record.previous_session_id,
                "shutdown_at": now if status == "shutdown" else None,
            }  # fmt: skip
            if run is not None and run.session is not None:
                changes["native_session_id"] = run.session.session_id
            found[path] = render_document(record.model_copy(update=changes))
        return found

    def _close(self, workspace: str, project: str, seat: str, agent: Agent, spared: frozenset[str]) -> None:
        """Say in the records of the seat's other sessions that they are over, and remove what is not kept of them."""
        sessions = self._told_over(workspace, project, seat, spared)
        # There is one session more than there are handoffs.
        gone = superfluous(sessions, agent.spec.handoff.keep + 1, spared)
        if gone:
            self.files.remove_files(workspace, gone)

    def _told_over(self, workspace: str, project: str, seat: str, spared: frozenset[str]) -> tuple[SessionFound, ...]:
        """The project's sessions, once the records of those that are over say so."""
        known = self.files.sessions_of(workspace, project)
        changes = {"status": "shutdown", "shutdown_at": timestamp(self.wall())}
        paths = [layout.session_paths(one).record for one in left_open(known, seat, spared)]
        found = {path: record for path in paths if (record := self._known_record(workspace, path)) is not None}
        if not found:
            return known
        writes = {path: render_document(record.model_copy(update=changes)) for path, record in found.items()}
        self.files.put_files(workspace, writes)
        return self.files.sessions_of(workspace, project)

    def _known_record(self, workspace: str, path: str) -> SessionRecord | None:
        try:
            return read_document(SessionRecord, self.files.read_file(workspace, path, 1 << 20), path)
        except (PhoenixdError, OSError):
            return None


def holders_session(seat: Seat, session: Session) -> str:
    """The id by which the project's files know the session that holds a seat."""
    known = seat.handoff.known_session if seat.handoff is not None else ""
    return known or first_session(seat.name, seat.generation, session.session_id, session.created_wall)


def first_session(seat: str, generation: int, native: str, began_wall: float) -> str:
    """The id of a session that no handoff began. It follows from what is known, so the next daemon makes the same."""
    return new_session(began_wall, f"{seat} {generation} {native}")


def new_session(wall: float, of: str) -> str:
    """An id that sorts by its time, and is the same for the same."""
    return layout.new_session_id(int(wall * 1000), hashlib.sha256(of.encode()).digest()[:10])
