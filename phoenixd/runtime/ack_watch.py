"""Has the file in which a successor acknowledges its package read when it is written (E47).

Only the directory of a session whose acknowledgement a handoff waits for is watched. What comes of a file is the core's
to say; here it is read without following links, and told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import AckFileSeen
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.documents.project import ack, layout
from phoenixd.errors import BadProject, FileUnreadable, UnsafeFile
from phoenixd.gathered import Gathered
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Changes
from phoenixd.side_by_side import SideBySide

GATHER = 0.1
"""Seconds between two words of what was written."""

HALF = 2.0
"""Seconds after its last change for which a file that cannot be read yet may be half of one: it is looked at again."""

NOT_PLAIN = f"it is no plain file of this user's with at most {ack.FILE_LIMIT} bytes and one name, in plain directories"


class SessionFiles(Protocol):
    """Files of sessions in workspaces."""

    def read_dated(self, workspace: str, path: str, limit: int) -> tuple[bytes, int]:
        """A plain file's content, and when it was written last (ns). Raises UnsafeFile, BadProject, and OSError."""
        ...


class AckWatch:
    """Follows who is waited for, and tells `AckFileSeen`. changes: nobody else's."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        seat_of: Callable[[str], Seat | None],
        tell: Callable[[AckFileSeen], None],
        clock: Clock,
        changes: Changes,
        files: SessionFiles,
        agents: Callable[[], Iterable[Agent]] = tuple,
    ) -> None:
        self._find, self._seat_of, self._tell = find, seat_of, tell
        self._clock, self._changes, self._files, self._agents = clock, changes, files, agents
        self._watched: dict[str, Path] = {}
        """The directories of the sessions that are waited for, by seat."""
        self._written = Gathered(clock)
        self._looks = SideBySide("a look for its handoff-ack.json", self.look)

    def hear(self, agents: Iterable[Agent]) -> None:
        """These have changed; never waits. A file system that tells of no change is looked at then."""
        for seat in tuple(self._watched):
            if self._awaited(seat) is None:
                self._forget(seat)
        for agent in agents:
            if agent.spec.seat and self._awaited(agent.spec.seat) is not None:
                self._written.note(agent.spec.seat)

    async def run(self) -> None:
        """Watch for ever, first for those that were waited for before this daemon: a file may have come meanwhile."""
        self.hear(self._agents())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                await self._written.look(self._looks, lambda every, due: sorted(every))
        finally:
            self._changes.close()

    async def look(self, name: str) -> None:
        """Read the file of the successor that this seat waits for, and have its directory watched from now on."""
        awaited = self._awaited(name)
        if awaited is None:
            self._forget(name)
            return
        handoff, workspace = awaited
        places = layout.session_paths(handoff.session)
        directory = Path(workspace) / places.root
        if self._watched.get(name) != directory:
            self._forget(name)
        self._watched[name] = directory
        # Before the look, so that no file falls between the two.
        is_watched = await self._looks.aside(partial(self._changes.watch, directory))
        if self._watched.get(name) != directory:
            self._take_back(directory)
            return
        if not is_watched:
            self._written.note(name)
        found = await self._looks.aside(partial(self._read, workspace, places.ack))
        if found is None or self._awaited(name) != awaited:
            return
        content, written = found
        event = _told(name, handoff, content, written)
        age = self._clock.now().wall - written / 1e9
        if event.fault and content is not None and 0 <= age < HALF:
            self._written.note(name)
            return
        self._tell(event)

    def _forget(self, seat: str) -> None:
        if (directory := self._watched.pop(seat, None)) is not None:
            self._take_back(directory)

    def _take_back(self, directory: Path) -> None:
        """Watch it no more, unless another seat waits for a file there."""
        if directory not in self._watched.values():
            self._changes.forget(directory)

    def _read(self, workspace: str, path: str) -> tuple[bytes | None, int] | None:
        """Content and date; no content where it is no plain file, None where there is none or the host is at fault."""
        try:
            return self._files.read_dated(workspace, path, ack.FILE_LIMIT)
        except FileUnreadable:
            return None
        except (UnsafeFile, BadProject, NotADirectoryError):
            return None, 0
        except OSError:
            return None

    def _awaited(self, seat: str) -> tuple[Handoff, str] | None:
        """The handoff that waits for an acknowledgement, and the successor's workspace."""
        found = self._seat_of(seat)
        handoff = found.handoff if found is not None else None
        if handoff is None or handoff.step is not Step.AWAIT_ACK or handoff.acked or not handoff.session:
            return None
        successor = self._find(generation_name(seat, handoff.successor))
        return (handoff, successor.spec.cwd) if successor is not None and successor.run is not None else None

    async def _listen(self) -> None:
        while True:
            changed = await self._changes.next()
            for name, directory in tuple(self._watched.items()):
                # Where events were lost, a directory stands for all that is in it.
                if directory / layout.ACK in changed or directory in changed:
                    # At once, so that no reminder comes in between.
                    self._looks.ask((name,))
            await self._clock.sleep_until(self._clock.at() + GATHER)


def _told(seat: str, handoff: Handoff, content: bytes | None, written: int) -> AckFileSeen:
    if content is None:
        return AckFileSeen(seat, handoff.id, "no plain file", fault=NOT_PLAIN)
    mark = f"{hashlib.sha256(content).hexdigest()[:16]} {written}"
    try:
        said = ack.in_file(content)
    except BadProject as fault:
        return AckFileSeen(seat, handoff.id, mark, fault=fault.message)
    return AckFileSeen(
        seat, handoff.id, mark, said.package, said.word, said.facts, said.run, said.session, said.generation
    )
