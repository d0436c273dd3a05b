"""One agent's state.json, and what the daemon remembers of it between two writes. Blocking: for threads.

Nothing here is shared between agents. One caller at a time, except `glance`, which only reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.page import recover_state
from phoenixd.documents.loop_ids import meant
from phoenixd.documents.redact import Clean
from phoenixd.documents.resolved import ARCHIVE, LOG, Resolution, Resolved, apply_resolutions, read_resolutions
from phoenixd.documents.session import SIZE_LIMIT as SESSION_LIMIT
from phoenixd.documents.session import Bookkeeping, read_bookkeeping, render_session
from phoenixd.documents.state import (
    StateDocument,
    Status,
    drop_old_resolved,
    flag_stale,
    render_state,
    resolve_loop,
    without_secrets,
)
from phoenixd.documents.state_merge import later, merge_states
from phoenixd.documents.state_reading import SIZE_LIMIT as STATE_LIMIT
from phoenixd.documents.state_reading import StateReading, read_state
from phoenixd.errors import FileUnreadable
from phoenixd.memory.agent_files import AgentFiles, Known
from phoenixd.memory.brief.switch import finish_switch, interrupted_switch
from phoenixd.memory.damaged import keep_copy
from phoenixd.memory.log_files import signature
from phoenixd.memory.ops_log import OpsLog
from phoenixd.memory.resolved_log import LIMIT as RESOLVED_LIMIT
from phoenixd.memory.resolved_log import ResolvedLog

BRIEF_LIMIT = 4 << 20
STATE = "state.json"


@dataclass(slots=True, kw_only=True)
class Shelf(AgentFiles):
    """state.json, session.json and the resolved loops of one agent, among the rest of its files."""

    stale_days: int
    resolved_days: int
    ops: OpsLog
    state: StateDocument | None = None
    """What stands in state.json, as written or read last."""
    found: Status | None = None
    """The status that state.json held before this daemon wrote it."""
    _kept: Bookkeeping | None = None
    _closed: tuple[tuple[object, ...], tuple[Resolution, ...]] | None = None
    """The signatures of the resolved loops' files, and what was read of them."""
    _on_disk: StateDocument | None = None
    _read_only: bool = False
    _seen: tuple[int, ...] = ()
    is_edited: bool = False
    """Another hand wrote or removed state.json, which was read since and is not told yet."""
    _known: Known | None = None
    """state.json as it was at that look; None where nobody looked."""
    _is_switched: bool = False
    """A brief run that a crash interrupted was looked for, and finished."""

    def open(self) -> None:
        """Read what an earlier daemon left, once; the directory is made again whenever somebody removed it."""
        self.files.ensure_private_dir(self.directory)
        if self.own is not None:
            self.files.ensure_private_dir(self.own)
        if self._kept is not None:
            return
        self.tidy()
        self._resolved.finish()
        self._kept = read_bookkeeping(self.content("session.json", SESSION_LIMIT) or b"") or Bookkeeping()
        self.ops.open()

    def look(self, today: date) -> str | None:
        """Read state.json; returns why it is broken, which may be a write of another hand in progress."""
        broken = self._look(today)
        if broken is None and not self._is_switched:
            if (switch := interrupted_switch(self)) is not None:
                finish_switch(self, switch)
            self._is_switched = True
        return broken

    def _look(self, today: date) -> str | None:
        found = signature(self.place(STATE))
        if found and found == self._seen and self.state is not None:
            return None
        content = self.content("state.json", STATE_LIMIT)
        if content is None:
            self._adopt(StateReading(self._rebuilt()), found, Known(None))
            return None
        reading = read_state(content, self.name, today)
        if reading.document is None:
            return reading.broken
        if reading.lossy:
            self._set_aside(content, f"state.json: {'; '.join(reading.notes[:5])}; the original was kept")
        elif reading.notes:
            self.notes.append(f"state.json: {'; '.join(reading.notes[:5])}")
        if reading.read_only and not self._read_only:
            self.alarms.append("state.json is of a newer version: it is read, and not written")
        self._adopt(reading, found, Known(content))
        return None

    def glance(self, today: date) -> StateDocument | None:
        """The state as it was read last, else what stands in the file; for callers that do not hold the shelf.

        Nothing is taken over from the file: somebody may be writing it just now, and would find their words undone.
        """
        if self.state is not None:
            return self.state
        content = self.content("state.json", STATE_LIMIT)
        return read_state(content, self.name, today).document if content is not None else None

    @property
    def owes(self) -> bool:
        """Whether files wait for the next `settle`: a loop that another hand resolved, lines of ops.jsonl."""
        kept = self._kept
        return self.ops.owes or (kept is not None and self._resolved.size > kept.resolved_bytes)

    def touch(self, last_active: str) -> None:
        """Write a newer sign of life into state.json, and nothing else anew: `was_touched` said no a moment before."""
        assert self.state is not None
        newer = self.state.model_copy(update={"last_active": last_active})
        if not self._read_only:
            content = render_state(newer)
            self.files.refresh(self.directory / "state.json", content)
            self._wrote(newer, content)
        self.state = newer

    def was_touched(self) -> bool:
        """Whether another hand wrote or removed state.json since it was last written or read here."""
        return signature(self.place(STATE)) != self._seen

    def repair(self, why: str) -> None:
        """Give up on a broken state.json: keep a copy, and rebuild it from memory or from the brief (P78)."""
        content = self.content("state.json", STATE_LIMIT) or b""
        self._set_aside(content, f"state.json was broken and was rebuilt: {why}")
        self.state = self._rebuilt()
        self._seen = ()
        self._write_state(self.state)

    def settle(
        self, status: Status, task: str | None, last_active: str | None, today: date, clean: Clean
    ) -> StateDocument:
        """Bring state.json up to date with what the daemon knows; `look` and `catch_up` came before, so that an
        operator's edit is in."""
        settled = self.foresee(status, task, last_active, today, clean)
        assert self._kept is not None
        self._kept = Bookkeeping(task if task is not None else self._kept.task, self._kept.resolved_bytes)
        self._write_state(settled, self._known)
        return settled

    def foresee(
        self, status: Status, task: str | None, last_active: str | None, today: date, clean: Clean
    ) -> StateDocument:
        """What `settle` would write now; nothing is written. `look` and `catch_up` came before."""
        base, kept = self.state, self._kept
        assert base is not None
        assert kept is not None
        settled = base.model_copy(
            update={
                "status": status,
                "last_active": later(base.last_active, last_active),
                # As long as the daemon knows of no new task, an operator's edit of it stands.
                "current_task": task if task is not None and task != kept.task else base.current_task,
            }
        )
        return without_secrets(self._dated(settled, today), clean)

    def catch_up(self, today: date) -> None:
        """Close the loops that were resolved while no daemon ran (F-ST-10); `look` came before.

        How far the log was taken over stands in session.json, which is written after state.json is durable: a crash in
        between has lines applied again, which changes nothing.
        """
        base, kept = self.state, self._kept
        assert base is not None
        assert kept is not None
        lines, end = self._resolved.after(kept.resolved_bytes)
        self.state = apply_resolutions(base, lines, today)
        if not self._read_only:
            self._kept = Bookkeeping(kept.task, end)

    def resolve(self, made: Resolution, today: date) -> Resolved:
        """Close an open loop: first in the log, which nothing takes back, then in memory. `settle` is to follow."""
        self.catch_up(today)
        state, kept = self.state, self._kept
        assert state is not None
        assert kept is not None
        known = [*(loop.id for loop in state.open_loops), *(item.id for item in state.resolved)]
        made = replace(made, id=meant(made.id, known))
        closed = resolve_loop(state, made.id, made.reason, today)
        if closed is None:
            was = any(item.id == made.id for item in state.resolved) or self._resolved.names(made.id)
            return "already" if was else "unknown"
        if self._read_only:
            return "frozen"
        self._resolved.append(made)
        self.state = closed
        self._kept = Bookkeeping(kept.task, self._resolved.size)
        return "resolved"

    def write_session(self, agent: Agent) -> None:
        self.write("session.json", render_session(agent, self._kept or Bookkeeping()))

    def put_state(self, document: StateDocument) -> None:
        """Make a state durable that holds what the last `look` found, unless another hand was faster."""
        self._write_state(document, self._known)

    def resolutions(self, size: int) -> tuple[tuple[Resolution, ...], int]:
        """The newest of all that was ever closed, as much as `size` bytes hold, oldest first; and how far the log was
        taken over into the state."""
        assert self._kept is not None
        seen = (size, signature(self.directory / LOG), signature(self.directory / ARCHIVE))
        if self._closed is None or self._closed[0] != seen:
            self._closed = (seen, tuple(read_resolutions(self._resolved.newest(size))))
        return self._closed[1], self._kept.resolved_bytes

    def archive_resolutions(self, place: int) -> None:
        """Archive the log, unless something was added to it behind that place; raises OSError."""
        if not self._read_only:
            self._resolved.archive(place)

    def _dated(self, document: StateDocument, today: date) -> StateDocument:
        return flag_stale(drop_old_resolved(document, today, self.resolved_days), today, self.stale_days)

    def _adopt(self, reading: StateReading, seen: tuple[int, ...], known: Known) -> None:
        theirs = reading.document
        assert theirs is not None
        if self.state is None and seen:
            self.found = theirs.status
        self.is_edited = self.is_edited or (self._on_disk is not None and self._known not in (None, known))
        # What we hold can be ahead of the file when a write failed; an edit of the file is merged with that.
        if self.state is not None and self._on_disk is not None:
            self.state = merge_states(self._on_disk, theirs, self.state)
        else:
            self.state = theirs
        self._on_disk, self._read_only, self._seen, self._known = theirs, reading.read_only, seen, known

    def _rebuilt(self) -> StateDocument:
        if self.state is not None:
            return self.state
        brief = self.content("brief.md", BRIEF_LIMIT)
        if brief is None:
            return StateDocument(agent=self.name)
        return recover_state(brief.decode("utf-8", "replace"), self.name)

    def _write_state(self, document: StateDocument, known: Known | None = None) -> None:
        """Write state.json; what another hand did to what was `known` is merged at the next look with what we hold."""
        self.state = document
        if self._read_only:
            return
        content = render_state(document)
        if known == Known(content) and self._seen and not self.was_touched():
            # That stood there at the last look, and nobody was at it since.
            self._on_disk = document
            return
        if self.write("state.json", content, durable=True, known=known) or self._holds(content):
            self._wrote(document, content)

    def _holds(self, content: bytes) -> bool:
        return self.content("state.json", STATE_LIMIT) == content

    def _wrote(self, document: StateDocument, content: bytes) -> None:
        self._on_disk, self._seen, self._known = document, self._signature_of(content), Known(content)

    def _signature_of(self, written: bytes) -> tuple[int, ...]:
        """How state.json looks as long as it holds what was written; nothing, where another hand was at it since.

        Its look is taken before its content: an edit of the moment in between must not pass for ours.
        """
        seen = signature(self.place(STATE))
        try:
            return seen if self._holds(written) else ()
        except FileUnreadable:
            return ()

    def _set_aside(self, content: bytes, note: str) -> None:
        self.alarms.append(note)
        keep_copy(self.directory, content, self.files)

    @property
    def _resolved(self) -> ResolvedLog:
        return ResolvedLog(self.directory, self.files, lambda name: self.content(name, RESOLVED_LIMIT))
