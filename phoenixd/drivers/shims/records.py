"""run.json and exit.json as shims write them, read as what they are: files in reach of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.errors import UnsafeFile

MAX_RECORD = 256 * 1024


@dataclass(frozen=True, slots=True)
class ExitRecords:
    """Implements ports.Records. read(path, limit): a plain file's first bytes; raises OSError and UnsafeFile."""

    state: Path
    read: Callable[[Path, int], bytes]

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        return self._read(agent, "exit.json")

    def run_record(self, agent: str) -> dict[str, Any] | None:
        return self._read(agent, "run.json")

    def _read(self, agent: str, name: str) -> dict[str, Any] | None:
        try:
            record = json.loads(self.read(self.state / "agents" / agent / name, MAX_RECORD))
        except (FileNotFoundError, UnsafeFile, ValueError, RecursionError):
            return None
        return record if isinstance(record, dict) else None
