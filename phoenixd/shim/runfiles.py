"""run.json, exit.json and .clean-exit: what a run was and how it ended, for a daemon that was not there."""

from __future__ import annotations

import os

import records
from spare import Spare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from run import Run

CLEAN_CODES = (0, 130)  # The end that an agent chose, and a person's Ctrl-C.


class RunFiles:
    """In the agent's state directory; every method that writes raises OSError."""

    def __init__(self, state_dir: str, boot_id: str, shim: dict[str, int]) -> None:
        self.state_dir = state_dir
        self._boot_id = boot_id
        self._shim = shim
        self._spare = Spare(self._path("exit.json"))

    def last_exit(self) -> dict[str, Any] | None:
        """How the last run ended, also one of an earlier shim."""
        try:
            record = records.read_object(self._path("exit.json"))
        except records.Unreadable:
            return None
        return record if {"incarnation", "run_id", "code", "signal"} <= record.keys() else None

    def write_run(self, run: Run) -> None:
        order = run.order
        record = {
            "agent": order.agent,
            "incarnation": order.incarnation,
            "run_id": order.run_id,
            "boot_id": self._boot_id,
            "shim": self._shim,
            "child": {"pid": run.pid, "start_time": run.start_time},
            "started_at": run.started_at,
            "mode": order.mode,
            "session_id": order.session_id,
            "epoch": order.epoch,
            "argv0": order.argv[0].decode("utf-8", "replace"),
        }
        # It names processes of this boot only, so that it need not survive the machine.
        records.write(self._path("run.json"), record, durable=False)

    def expect_exit(self) -> None:
        """Have a file ready for the record of an end, while there is time."""
        self._spare.prepare()

    def forget_spare(self) -> None:
        """Let go of the file that was ready, or of the record that it has replaced."""
        self._spare.clear()

    def write_exit(self, record: dict[str, Any], *, durable: bool) -> None:
        if durable or not self._spare.write(record):
            records.write(self._path("exit.json"), record, durable=durable)

    def sync_exit(self) -> None:
        """Make the exit record durable that was written without it."""
        records.sync(self._path("exit.json"))

    def write_clean_exit(self, run: Run) -> None:
        """The handshake of an agent that meant to stop; an end that was forced on it is none, whatever its code."""
        if not is_clean(run):
            return
        marker = {"run_id": run.order.run_id, "incarnation": run.order.incarnation, "ended_at": run.ended_at}
        records.write(self._path(".clean-exit"), marker, durable=True)

    def _path(self, name: str) -> str:
        return os.path.join(self.state_dir, name)


def is_clean(run: Run) -> bool:
    """Whether the run ended as an agent does that meant to stop."""
    return run.cause == "exit" and run.code in CLEAN_CODES and run.order.zero_is_clean


def exit_record(
    run: Run, unswept: list[dict[str, Any]], armed: list[dict[str, Any]], full_disks: list[str]
) -> dict[str, Any]:
    """unswept: the runs, perhaps this one, for whose strays is still to be swept. armed: uses of armed answers.

    full_disks: places of the run whose disk had no room at its end.
    """
    return {
        "agent": run.order.agent,
        "incarnation": run.order.incarnation,
        "run_id": run.order.run_id,
        "code": run.code,
        "signal": run.signal,
        "cause": run.cause,
        "ended_at": run.ended_at,
        "lived": None if run.lived is None else round(run.lived, 3),
        "killed": run.leftovers(),
        "unswept": unswept,
        **({"armed": armed} if armed else {}),
        **({"full_disks": full_disks} if full_disks else {}),
    }


def told(record: dict[str, Any], unswept: list[dict[str, Any]]) -> dict[str, Any]:
    """What a daemon is told of an end. unswept: as it is now."""
    fields = {name: record.get(name) for name in ("incarnation", "run_id", "code", "signal", "cause", "killed")}
    fields |= {
        "at": record.get("ended_at"),
        "lived": record.get("lived"),
        "unswept": unswept,
        "armed": record.get("armed") or [],
    }
    if record.get("full_disks"):
        fields["full_disks"] = record["full_disks"]
    return fields
