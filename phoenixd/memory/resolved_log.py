"""resolved.jsonl of one agent on disk: what is behind the part that state.json holds, and what was ever closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from phoenixd.documents.resolved import Resolution, read_resolutions, render_resolution
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import size_of

LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class ResolvedLog:
    """The file, which only grows. `read` returns its content, None where there is none that may be read. Blocking."""

    path: Path
    files: Files
    read: Callable[[], bytes | None]

    @property
    def size(self) -> int:
        return size_of(self.path)

    def after(self, consumed: int) -> tuple[bytes, int]:
        """The whole lines behind the first `consumed` bytes, and where they end."""
        size = size_of(self.path)
        if size <= consumed:
            return b"", size
        lines = (self.read() or b"")[consumed:]
        whole = lines[: lines.rfind(b"\n") + 1]
        return whole, consumed + len(whole)

    def append(self, made: Resolution) -> None:
        """Put a resolution on record; it survives a power cut once this returns."""
        self.files.append(self.path, render_resolution(made))

    def names(self, loop_id: str) -> bool:
        """Whether a loop of this id was ever closed."""
        return any(made.id == loop_id for made in read_resolutions(self.read() or b""))
