"""ops.jsonl of one agent: what happened to it, a line each, and what a brief tells again. Blocking."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phoenixd.documents.ops import (
    Happening,
    Occurrence,
    happenings,
    read_happenings,
    read_spoken,
    render_occurrence,
    untold,
)
from phoenixd.documents.redact import Clean
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import rotate, size_of, tail

OPS_LIMIT, OPS_KEPT = 10 << 20, 4
OPS_TAIL = 64 * 1024
OPS_UNWRITTEN = 1000

FILE = "ops.jsonl"


def last_spoken(directory: Path) -> tuple[float, str] | None:
    """When the newest turn in an agent's log ended (wall), and the agent's last words in it."""
    return read_spoken(tail(directory / FILE, OPS_TAIL))


@dataclass(slots=True)
class OpsLog:
    """The log, which is rotated."""

    path: Path
    files: Files
    happenings: deque[Happening]
    last_end: tuple[int, bool] | None = None
    """The newest incarnation whose end was told, and whether as an error."""
    spoken: tuple[float, str] | None = None
    """When the newest turn ended that a hook told of (wall), and the agent's last words in it."""
    _unwritten: deque[bytes] = field(default_factory=lambda: deque(maxlen=OPS_UNWRITTEN))
    """Lines of ops.jsonl that a full disk did not take, to be written before any other."""

    def open(self) -> None:
        """Read what an earlier daemon left."""
        lines = tail(self.path, OPS_TAIL) if not self.happenings or self.spoken is None else b""
        if not self.happenings:
            self.happenings.extend(read_happenings(lines))
        self.spoken = self.spoken or read_spoken(lines)

    @property
    def owes(self) -> bool:
        """Whether lines wait for a disk with room."""
        return bool(self._unwritten)

    def inherit(self, occurrences: Sequence[Occurrence], clean: Clean) -> None:
        """Note what an earlier daemon decided last and did not write before it was killed; `record` writes it."""
        if not occurrences:
            return
        newest = tail(self.path, OPS_TAIL)
        before = tail(Path(f"{self.path}.1"), OPS_TAIL - len(newest))
        self._note(untold(occurrences, [*before.split(b"\n"), *newest.split(b"\n")], clean), clean)

    def record(self, occurrences: Iterable[Occurrence], clean: Clean) -> None:
        """Append to ops.jsonl, which is rotated, and keep what a brief tells again."""
        self._note(list(occurrences), clean)
        if size_of(self.path) > OPS_LIMIT:
            rotate(self.path, OPS_KEPT)
        while self._unwritten:
            self.files.append(self.path, self._unwritten[0], durable=False)
            self._unwritten.popleft()

    def _note(self, seen: Sequence[Occurrence], clean: Clean) -> None:
        for occurrence in seen:
            if occurrence.event == "agent_exited":
                self.last_end = (occurrence.incarnation, occurrence.verdict == "error")
            if occurrence.key == "hook stop" and not occurrence.detail.get("sub") and occurrence.detail.get("text"):
                self.spoken = (occurrence.wall, str(occurrence.detail["text"]))
        self.happenings.extend(happenings(seen, clean))
        self._unwritten.extend(render_occurrence(occurrence, clean) for occurrence in seen)
