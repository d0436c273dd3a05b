"""The addendum of a package: the workspace is looked at at the snapshot and at the fence, and what differs is written.

Blocking work runs in a thread. The transcripts of the agents that work there say which of them wrote a file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import AddendumWritten
from phoenixd.core.handoff.state import Handoff, OwedAddendum
from phoenixd.core.seat.names import generation_name
from phoenixd.documents.plain_text import plain
from phoenixd.documents.project import layout
from phoenixd.documents.project.addendum import (
    MOST_CHANGES,
    HandoffAddendum,
    Listing,
    Submitted,
    Writer,
    differences,
    read_listing,
    render_listing,
    within,
)
from phoenixd.documents.project.reading import JSON_LIMIT, read_document, render_document
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.times import timestamp
from phoenixd.errors import PhoenixdError
from phoenixd.memory.listings import ListingFiles

HEARING_LIMIT = 20.0
"""Seconds that all transcripts may take; whose was not heard by then wrote nothing that is known."""

log = structlog.get_logger("phoenixd.handoffs")


class WorkspaceFiles(Protocol):
    """All may raise PhoenixdError and OSError."""

    def read_file(self, workspace: str, path: str, limit: int) -> bytes: ...

    def list_files(self, workspace: str, at: float) -> Listing: ...

    def put_files(self, workspace: str, writes: Mapping[str, bytes]) -> None: ...


@dataclass(frozen=True, slots=True)
class Addenda:
    """Makes them. heard: what an agent's session has done, as far as its transcript stands now.

    beside: the generations of a seat, and all others that work in a workspace.
    """

    files: WorkspaceFiles
    listings: ListingFiles
    heard: Callable[[Agent], Awaitable[SessionLedger | None]]
    beside: Callable[[str, str], tuple[Agent, ...]]
    wall: Callable[[], float]
    clean: CleanOf

    def keep_listing(self, handoff: Handoff, workspace: str) -> None:
        """Note how the workspace is at the snapshot. Where the package is written again, the first look counts."""
        key = _key(handoff.id, handoff.rounds)
        if handoff.package and read_listing(self.listings.kept(handoff.seat) or b"", key) is not None:
            return
        try:
            self.listings.keep(handoff.seat, render_listing(key, self.files.list_files(workspace, self.wall())))
        except (PhoenixdError, OSError) as failure:
            # A handoff without it is better than none; the addendum says that nothing is known.
            log.warning("workspace_unlisted", seat=handoff.seat, reason=said(failure))

    async def write(self, seat: str, owed: OwedAddendum, workspace: str) -> AddendumWritten:
        """Write what came too late into both sessions' directories, if anything did."""
        told: dict[str, SessionLedger | None] = {}
        with anyio.move_on_after(HEARING_LIMIT):
            for one in self.beside(seat, workspace):
                told[one.name] = await self.heard(one)
        return await to_thread.run_sync(self._write, seat, owed, workspace, told)

    def _write(
        self, seat: str, owed: OwedAddendum, workspace: str, told: Mapping[str, SessionLedger | None]
    ) -> AddendumWritten:
        own = generation_name(seat, owed.predecessor + 1)
        places = [layout.session_paths(one).addendum for one in (owed.previous_session, owed.session)]
        try:
            now = self.files.list_files(workspace, self.wall())
            before = read_listing(self.listings.kept(seat) or b"", _key(owed.id, owed.rounds))
            writers = [_writer(name, ledger, workspace) for name, ledger in told.items() if ledger is not None]
            changes = differences(before, now, writers, own) if before is not None else ()
            unknown = "nothing is known of the workspace at the snapshot" if before is None else before.gap or now.gap
            submitted = tuple(
                Submitted(at=timestamp(one.at_wall), text=plain(self.clean(seat, one.text))) for one in owed.late
            )
            if before is not None and not (changes or submitted):
                return AddendumWritten(seat, owed.id)
            if before is None and (made := self._made(workspace, places[1], owed, submitted)) is not None:
                # The look at the snapshot gave way to that of the next package: no other tells as much.
                return _written(seat, owed, places[1], made)
            made = HandoffAddendum(
                previous_session_id=owed.previous_session, new_session_id=owed.session,
                project_name=owed.project, created_at=timestamp(self.wall()), package=owed.package,
                changes=changes[:MOST_CHANGES], more_changes=max(0, len(changes) - MOST_CHANGES), submitted=submitted,
                more_submitted=owed.later, not_compared=unknown,
            )  # fmt: skip
            self.files.put_files(workspace, dict.fromkeys(places, render_document(made)))
        except (PhoenixdError, OSError) as failure:
            return AddendumWritten(seat, owed.id, why=f"the addendum was not written: {said(failure)}")
        return _written(seat, owed, places[1], made)

    def _made(
        self, workspace: str, path: str, owed: OwedAddendum, submitted: tuple[Submitted, ...]
    ) -> HandoffAddendum | None:
        """The addendum that a daemon wrote that died before it could save that; None where none stands there."""
        try:
            found = read_document(HandoffAddendum, self.files.read_file(workspace, path, JSON_LIMIT), path)
        except (FileNotFoundError, PhoenixdError):
            return None
        same = (owed.previous_session, owed.session, owed.project, owed.package, submitted)
        told = (found.previous_session_id, found.new_session_id, found.project_name, found.package, found.submitted)
        return found if told == same else None


def _written(seat: str, owed: OwedAddendum, path: str, made: HandoffAddendum) -> AddendumWritten:
    files, prompts = len(made.changes) + made.more_changes, len(made.submitted) + made.more_submitted
    return AddendumWritten(seat, owed.id, path, files, prompts)


def _key(handoff: str, rounds: int) -> str:
    return f"{handoff}-{rounds}"


def _writer(name: str, ledger: SessionLedger, workspace: str) -> Writer:
    return Writer(name, {within(workspace, one.path): one.at or 0.0 for one in ledger.files.values()})


def said(failure: PhoenixdError | OSError) -> str:
    """What went wrong, with its remedy."""
    if isinstance(failure, OSError):
        return failure.strerror or str(failure)
    return f"{failure.message}; {failure.remedy}" if failure.remedy else failure.message
