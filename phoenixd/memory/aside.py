"""Files in reach of an agent, where whatever stands in a document's place and is no plain file is moved aside.

A directory, FIFO, link or giant at state.json or ops.jsonl would otherwise keep its agent from starting, or its
documents from ever being written again. Nothing is deleted: it is renamed to NAME.aside-N, and that is told once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from phoenixd.errors import FileUnreadable, UnsafeFile
from phoenixd.memory.files import Files, Location

T = TypeVar("T")
PLAIN_KEPT = 5
"""Plain files that stay of what was moved aside; a directory may hold anything, and stays."""


class AsideFiles:
    """Implements memory.files.Files over another one. `told`: what was moved aside, until somebody takes it."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.told: list[str] = []

    def read_plain(self, path: Location, limit: int) -> bytes:
        try:
            return self._files.read_plain(path, limit)
        except FileUnreadable:
            raise
        except UnsafeFile as found:
            self._move(Path(path), found.message)
            raise FileNotFoundError(os.fsdecode(path)) from found

    def replace(self, path: Location, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
        self._twice(path, lambda: self._files.replace(path, data, mode, durable))

    def refresh(self, path: Location, data: bytes, mode: int = 0o600) -> None:
        self._twice(path, lambda: self._files.refresh(path, data, mode))

    def replace_unchanged(self, path: Location, data: bytes, expected: bytes | None, mode: int = 0o600) -> bool:
        return self._files.replace_unchanged(path, data, expected, mode)

    def append(self, path: Location, line: bytes, mode: int = 0o600, durable: bool = True) -> None:
        self._twice(path, lambda: self._files.append(path, line, mode, durable))

    def ensure_private_dir(self, path: Location) -> None:
        try:
            self._files.ensure_private_dir(path)
        except (FileExistsError, NotADirectoryError):
            self._move(Path(path), f"{path} is no directory")
            self._files.ensure_private_dir(path)

    def _twice(self, path: Location, write: Callable[[], T]) -> T:
        try:
            return write()
        except FileUnreadable:
            raise
        except (IsADirectoryError, UnsafeFile) as found:
            self._move(Path(path), found.message if isinstance(found, UnsafeFile) else f"{path} is a directory")
            return write()

    def _move(self, path: Path, why: str) -> None:
        """Rename, which follows nothing; raises OSError."""
        beside = {other.name for other in os.scandir(path.parent) if other.name.startswith(f"{path.name}.aside-")}
        numbers = {int(name.rpartition("-")[2]) for name in beside if name.rpartition("-")[2].isdecimal()}
        target = path.with_name(f"{path.name}.aside-{max(numbers, default=0) + 1}")
        os.rename(path, target)
        self.told.append(f"{why}; it was moved aside to {target.name}")
        self._forget_oldest([path.with_name(f"{path.name}.aside-{number}") for number in sorted(numbers)])

    def _forget_oldest(self, older: list[Path]) -> None:
        for path in [path for path in older if not path.is_dir() or path.is_symlink()][: -PLAIN_KEPT + 1]:
            path.unlink(missing_ok=True)
