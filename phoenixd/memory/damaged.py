"""Copies of state.json that could not be kept as they were, for an operator who wants to see what was lost."""

from __future__ import annotations

from pathlib import Path

from phoenixd.memory.files import Files
from phoenixd.memory.log_files import signature

KEPT = 5


def keep_copy(directory: Path, content: bytes, files: Files) -> None:
    """Write one more copy; the oldest ones give way."""
    copies = sorted(directory.glob("state.json.damaged-*"), key=lambda path: signature(path) or (0,))
    taken = {int(path.suffix.rpartition("-")[2]) for path in copies if path.suffix.rpartition("-")[2].isdigit()}
    files.replace(directory / f"state.json.damaged-{max(taken, default=0) + 1}", content)
    for path in copies[: max(0, len(copies) + 1 - KEPT)]:
        if not path.is_dir():
            path.unlink(missing_ok=True)
