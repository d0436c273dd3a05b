"""What an agent's papers and its start need of the file driver, so that tests may put another one in its place."""

from __future__ import annotations

import os
from typing import Protocol

Location = str | os.PathLike[str]


class Files(Protocol):
    """Plain files in reach of agents; see phoenixd.drivers.files.plain, which is one."""

    def read_plain(self, path: Location, limit: int) -> bytes: ...

    def replace(self, path: Location, data: bytes, mode: int = 0o600, durable: bool = True) -> None: ...

    def refresh(self, path: Location, data: bytes, mode: int = 0o600) -> None: ...

    def replace_unchanged(self, path: Location, data: bytes, expected: bytes | None, mode: int = 0o600) -> bool: ...

    def append(self, path: Location, line: bytes, mode: int = 0o600, durable: bool = True) -> None: ...

    def ensure_private_dir(self, path: Location) -> None: ...
