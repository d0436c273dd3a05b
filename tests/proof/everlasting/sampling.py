"""Who holds a seat, looked at from outside ten times a second: the daemon's word beside the processes that live."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from pathlib import Path
from typing import Any, Self

from phoenixd.demo.stage import Stage
from tests.real.agent_stage import _UnixConnection

EVERY = 0.1


def get(stage: Stage, path: str) -> Any:
    """One answer of the control API; phoenixctl would cost an interpreter's start at each look."""
    connection = _UnixConnection(str(stage.runtime / "api.sock"))
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


class Sampler:
    """Use as a context manager round handoffs. problems: what was seen that must never be."""

    def __init__(self, stage: Stage, seat: str) -> None:
        self.stage, self.seat = stage, seat
        self.samples = 0
        self.holders: list[int] = []
        self.problems: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(60)

    def _watch(self) -> None:
        due = time.monotonic()
        while not self._is_over.is_set():
            try:
                self._look()
            except (OSError, http.client.HTTPException, ValueError):
                pass  # No daemon answers: it was killed, and who holds the seat is asked again.
            due = max(due + EVERY, time.monotonic())
            self._is_over.wait(due - time.monotonic())

    def _look(self) -> None:
        before = self._holder()
        living = self.living()
        after = self._holder()
        if before is None or before != after:
            return  # It passed while the processes were looked at.
        generation, is_passing = before
        self.samples += 1
        if self.holders and generation < self.holders[-1]:
            self.problems.append(f"generation {generation} holds the seat after {self.holders[-1]}")
        if generation not in self.holders[-1:]:
            self.holders.append(generation)
        others = living - {generation}
        allowed = {generation - 1, generation + 1} if is_passing else set()
        if others - allowed or len(others) > 1:
            self.problems.append(f"generations {sorted(living)} live, and {generation} holds the seat")

    def _holder(self) -> tuple[int, bool] | None:
        told = get(self.stage, f"/v1/handoff?agent={self.seat}")
        if "generation" not in told:
            return None
        handoff = told["handoff"]
        return int(told["generation"]), handoff is not None and handoff["step"] not in ("done", "rolled_back")

    def living(self) -> set[int]:
        """The generations that have a living run, by their shims' own records."""
        found = set()
        for record in (self.stage.state / "agents").glob(f"{self.seat}*/run.json"):
            name = re.fullmatch(rf"{re.escape(self.seat)}(?:-g(\d+))?", record.parent.name)
            if name is not None and _lives(record):
                found.add(int(name[1] or 1))
        return found


def _lives(record: Path) -> bool:
    try:
        run = json.loads(record.read_text())["child"]
        stat = Path(f"/proc/{run['pid']}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError, KeyError):
        return False
    return stat[0] != "Z" and int(stat[19]) == run["start_time"]
