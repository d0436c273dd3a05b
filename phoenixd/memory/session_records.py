"""The records of the two sessions that a handoff is between: what became of each, and which older ones go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.names import generation_name
from phoenixd.documents.project import layout
from phoenixd.documents.project.keeping import SessionFound, left_open, superfluous
from phoenixd.documents.project.models import SessionRecord, SessionStatus
from phoenixd.documents.project.reading import read_document, render_document
from phoenixd.documents.times import timestamp
from phoenixd.errors import PhoenixdError


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
    """Writes them. Blocking, for threads; safe to repeat."""

    files: RecordFiles
    find: Callable[[str], Agent | None]
    wall: Callable[[], float]

    def tell(self, handoff: Handoff, agent: Agent) -> None:
        """Write what became of the handoff into both records, and remove those that are not kept any more."""
        done = handoff.step is Step.DONE
        statuses: tuple[SessionStatus, SessionStatus] = ("shutdown", "running") if done else ("running", "shutdown")
        paths = [layout.session_paths(one).record for one in (handoff.previous_session, handoff.session)]
        known = [self._known_record(agent.spec.cwd, path) for path in paths]
        if tuple(record and record.status for record in known) == statuses:
            return
        records = self.of(handoff, agent, handoff.previous_session, handoff.session, *statuses)
        self.files.put_files(agent.spec.cwd, records)
        spared = frozenset((handoff.previous_session, handoff.session))
        sessions = self._told_over(handoff, agent, spared)
        # There is one session more than there are handoffs.
        gone = superfluous(sessions, agent.spec.handoff.keep + 1, spared)
        if gone:
            self.files.remove_files(agent.spec.cwd, gone)

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

    def _told_over(self, handoff: Handoff, agent: Agent, spared: frozenset[str]) -> tuple[SessionFound, ...]:
        """The project's sessions, once the records of those that are over say so."""
        workspace = agent.spec.cwd
        known = self.files.sessions_of(workspace, handoff.project)
        changes = {"status": "shutdown", "shutdown_at": timestamp(self.wall())}
        paths = [layout.session_paths(one).record for one in left_open(known, handoff.seat, spared)]
        found = {path: record for path in paths if (record := self._known_record(workspace, path)) is not None}
        if not found:
            return known
        writes = {path: render_document(record.model_copy(update=changes)) for path, record in found.items()}
        self.files.put_files(workspace, writes)
        return self.files.sessions_of(workspace, handoff.project)

    def _known_record(self, workspace: str, path: str) -> SessionRecord | None:
        try:
            return read_document(SessionRecord, self.files.read_file(workspace, path, 1 << 20), path)
        except (PhoenixdError, OSError):
            return None
