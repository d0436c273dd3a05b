"""How the workspace of each seat was at the snapshot of its handoff: kept until the fence, over the daemon's death."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.directories import Directories
from phoenixd.errors import UnsafeFile
from phoenixd.memory.files import Files

FILE, LIMIT = "handoff-files.json", 32 << 20


@dataclass(frozen=True, slots=True)
class ListingFiles:
    """A file in each seat's directory. Blocking; may raise OSError."""

    directories: Directories
    files: Files

    def keep(self, seat: str, content: bytes) -> None:
        place = self.directories.agent_state(seat)
        self.files.ensure_private_dir(place)
        self.files.replace(place / FILE, content)

    def kept(self, seat: str) -> bytes | None:
        """None where there is none that can be read."""
        try:
            return self.files.read_plain(self.directories.agent_state(seat) / FILE, LIMIT)
        except (FileNotFoundError, UnsafeFile):
            # What is not there, or is none of ours, compares nothing; the addendum says so.
            return None
