"""ops.jsonl of one agent: what happened to it, a line each, and what a brief tells again. Blocking."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from phoenixd.documents.ops import Happening, Occurrence, happenings, read_happenings, read_spoken, render_occurrence
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import rotate, size_of, tail

OPS_LIMIT, OPS_KEPT = 10 << 20, 4
OPS_TAIL = 64 * 1024
OPS_UNWRITTEN = 1000

FILE = "ops.jsonl"

Clean = Callable[[str], str]


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

    def inherit(self, occurrences: Iterable[Occurrence], clean: Clean) -> None:
        """Append those of an earlier daemon's last occurrences that it did not write before it was killed."""
        newest = tail(self.path, OPS_TAIL)
        written = Counter([*tail(Path(f"{self.path}.1"), OPS_TAIL - len(newest)).split(b"\n"), *newest.split(b"\n")])
        lost = []
        for occurrence in occurrences:
            line = render_occurrence(occurrence, clean)
            if written[line]:
                written[line] -= 1
            else:
                lost.append(occurrence)
        self.record(lost, clean)

    def record(self, occurrences: Iterable[Occurrence], clean: Clean) -> None:
        """Append to ops.jsonl, which is rotated, and keep what a brief tells again."""
        seen = list(occurrences)
        for occurrence in seen:
            if occurrence.event == "agent_exited":
                self.last_end = (occurrence.incarnation, occurrence.verdict == "error")
            if occurrence.key == "hook stop" and not occurrence.detail.get("sub") and occurrence.detail.get("text"):
                self.spoken = (occurrence.wall, str(occurrence.detail["text"]))
        self.happenings.extend(happenings(seen, clean))
        self._unwritten.extend(render_occurrence(occurrence, clean) for occurrence in seen)
        if size_of(self.path) > OPS_LIMIT:
            rotate(self.path, OPS_KEPT)
        while self._unwritten:
            self.files.append(self.path, self._unwritten[0], durable=False)
            self._unwritten.popleft()
