"""Runs that are over, and for whose strays the daemon still has to sweep: told until it has.

Their trees were proven empty. What somebody outside of them started for them (a tmux server, a service manager) is
found by their marks alone, and to look for those is to read every process's environment.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST = 16
LONGEST_RUN_ID = 64


class Unswept:
    """Bounded: where there is no room, a run is swept for before its end is told."""

    def __init__(self, last_exit: dict[str, Any] | None) -> None:
        """last_exit: the record of the last run, be it another shim's; nothing in it is believed."""
        told = (last_exit or {}).get("unswept")
        self.runs: list[dict[str, Any]] = [
            {"incarnation": one["incarnation"], "run_id": one["run_id"]}
            for one in (told if isinstance(told, list) else [])
            if _is_run(one)
        ][-MOST:]

    @property
    def has_room(self) -> bool:
        return len(self.runs) < MOST

    def add(self, identity: dict[str, Any]) -> None:
        self.runs = [*self.runs, identity]

    def forget(self, run_ids: Iterable[str]) -> None:
        """The daemon has swept for these runs, and told what it found."""
        swept = set(run_ids)
        self.runs = [one for one in self.runs if one["run_id"] not in swept]


def _is_run(told: object) -> bool:
    if not isinstance(told, dict):
        return False
    incarnation, run_id = told.get("incarnation"), told.get("run_id")
    return isinstance(incarnation, int) and isinstance(run_id, str) and len(run_id) <= LONGEST_RUN_ID
