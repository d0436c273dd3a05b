"""The files of one agent's directory, by name: where each stands, and how it is read and replaced. Blocking."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from phoenixd.documents.heartbeat import SIZE_LIMIT as HEARTBEAT_LIMIT
from phoenixd.documents.heartbeat import read_heartbeat
from phoenixd.documents.incident import DIRECTORY as INCIDENTS
from phoenixd.documents.incident import OLDER as OLDER_INCIDENTS
from phoenixd.errors import FileUnreadable, UnsafeFile
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import signature

LEFT_BEHIND = re.compile(r"\..+\.[0-9]+\.new|session-start\.(?:txt|json)")
"""Names of files that were to take a document's place (see phoenixd.drivers.files.plain.replace), and of what older
versions told whichever run was the newest."""

TOLD_TO = re.compile(r"session-start\.([0-9]{1,15})\.(?:txt|json)")
"""Names of what the session of one run is told."""

RUN_FILES = ("session", "settings.json", ".clean-exit", "heartbeat.json", INCIDENTS)
"""How the names of files begin that are a run's, and so its generation's; all others are papers of the seat."""


@dataclass(frozen=True, slots=True)
class Known:
    """What stood in a file when it was read or written last; None: no such file."""

    content: bytes | None


@dataclass(slots=True)
class AgentFiles:
    """The directory of one agent, and what was odd about it."""

    name: str
    directory: Path
    files: Files
    own: Path | None = None
    """Where the files of the runs stand, if not here: those of a later generation of a seat (see RUN_FILES)."""
    notes: list[str] = field(default_factory=list)
    """What was odd about the documents, and was repaired; for the log."""
    alarms: list[str] = field(default_factory=list)
    """What could not be relied on; the operator is told of it."""
    _beat: tuple[tuple[int, ...], float | None] = ((), None)
    """How heartbeat.json looked when it was read last, and the time that it named."""

    def write(
        self, name: str, content: bytes, durable: bool = False, *, anew: bool = False, known: Known | None = None
    ) -> bool:
        """Replace a document if that changes it, or `anew` also if not; whether it was written.

        known: write, durably, only over that. What another hand wrote or removed since is left alone.
        """
        path = self.place(name)
        try:
            if (
                not anew
                and os.stat(path, follow_symlinks=False).st_size == len(content)
                and self.content(name, len(content)) == content
            ):
                return False
        except OSError:
            pass
        if known is not None:
            return self.files.replace_unchanged(path, content, known.content)
        self.files.replace(path, content, durable=durable)
        return True

    def keep_newest(self, pattern: str, count: int) -> None:
        """Remove all but the newest documents of a name's pattern."""
        found = sorted((self.own or self.directory).glob(pattern), key=lambda path: signature(path) or (0,))
        for path in found[: max(0, len(found) - count)]:
            with contextlib.suppress(OSError):
                path.unlink()

    def make_directory(self, name: str) -> None:
        """Make sure of a directory of ours below the agent's; a link in its place, which could lead anywhere, goes."""
        path = self.place(name)
        if os.path.islink(path):
            os.unlink(path)
            self.notes.append(f"{name} was a link, and was made anew as a directory")
        self.files.ensure_private_dir(path)

    def place(self, name: str) -> str:
        """Where a file of this name stands: the papers of a seat are its own, and a run's files its generation's.

        A string, for each writing asks for twenty places, and a Path takes longer to make than the file to look at.
        """
        return f"{self.own if self.own is not None and name.startswith(RUN_FILES) else self.directory}/{name}"

    def holds(self, name: str) -> bool:
        """Whether anything stands under that name."""
        return os.path.lexists(self.place(name))

    def forget_told_before(self, incarnation: int) -> None:
        """Remove what the sessions of earlier runs were told."""
        for entry in os.scandir(self.own or self.directory):
            found = TOLD_TO.fullmatch(entry.name)
            if found is not None and int(found[1]) < incarnation:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.place(name))

    def heartbeat_time(self, now: float) -> float | None:
        """When the agent gave its last sign of life by its heartbeat file, as wall seconds (X6)."""
        seen = signature(self.place("heartbeat.json"))
        if not seen or seen != self._beat[0]:
            content = self.content("heartbeat.json", HEARTBEAT_LIMIT)
            beat = read_heartbeat(content, now) if content is not None else None
            # A time that is ahead of the clock is believed once the clock is there.
            self._beat = () if beat is None or beat.skewed else seen, beat.claimed if beat is not None else None
        claimed = self._beat[1]
        return min(now, claimed) if claimed is not None else None

    def heartbeat(self) -> bytes | None:
        return self.content("heartbeat.json", HEARTBEAT_LIMIT)

    def content(self, name: str, limit: int) -> bytes | None:
        """A document's content; None when there is none, or something that is not to be read in its place.

        Raises FileUnreadable where nobody knows: what cannot be read now must not be taken for gone, and written over.
        """
        try:
            return self.files.read_plain(self.place(name), limit)
        except FileNotFoundError:
            return None
        except FileUnreadable:
            raise
        except UnsafeFile as error:
            self.notes.append(error.message)
            return None

    def tidy(self) -> None:
        """Remove what daemons that were killed in the middle of a write left beside the documents, and move what an
        older version left there to where incidents stand (requirements 4.3)."""
        names = os.listdir(self.directory)
        for name in filter(LEFT_BEHIND.fullmatch, names):
            with contextlib.suppress(OSError):
                os.unlink(f"{self.directory}/{name}")
        older = sorted(name for name in names if fnmatchcase(name, OLDER_INCIDENTS))
        if not older:
            return
        self.make_directory(INCIDENTS)
        for name in older:
            with contextlib.suppress(OSError):
                os.rename(f"{self.directory}/{name}", self.directory / INCIDENTS / name.removeprefix("incident-"))
