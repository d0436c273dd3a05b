"""What an agent's hooks become: a heartbeat, and an event for the daemon, spooled where it must not be lost."""

from __future__ import annotations

import disks
import payload
import procfs
import records
from doorstep import PACKET_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from heartbeat import Heartbeat
    from link import Link
    from run import Run
    from spool import Spool


# Bytes for the number of older events that this one may come to stand for.
ROOM_FOR_COUNT = 32


class HookReports:
    def __init__(self, heartbeat: Heartbeat, spool: Spool, link: Link) -> None:
        self._heartbeat = heartbeat
        self._spool = spool
        self._link = link
        self._asked: dict[int, bytes] = {}

    def report(
        self,
        run: Run,
        kind: str,
        hook_input: dict[str, Any],
        can_hold: bool = False,
        late: float = 0.0,
        blocked: bool = False,
    ) -> int:
        """Tell one event of the living run; returns its number if the answer to it is to be held, else 0.

        late: seconds since it was made. blocked: an armed answer forbade what it is about.
        """
        at = records.timestamp()
        kept = payload.trim(hook_input)
        asked = payload.asked(hook_input) if can_hold and kind == "permission-request" and run.order.holds else None
        held: dict[str, Any] = {} if asked is None else {"held": True, "asked": asked}
        said = held | ({"blocked": True} if blocked else {})
        if kind == "stop-failure" and (full := disks.full(run.order)):
            said["full_disks"] = full
        self._heartbeat.beat(
            {
                "agent": run.order.agent,
                "timestamp": at,
                "tool": kept.get("tool_name", kind),
                "pid": run.pid,
                "event": kind,
                "session_id": kept.get("session_id"),
                "agent_id": kept.get("agent_id"),
                "run_id": run.order.run_id,
            }
        )
        event: dict[str, Any] = {
            "event": "hook",
            "seq": 0,
            **run.identity,
            "kind": kind,
            "at": at,
            "payload": kept | said,
        }
        if kind == "tool-start":
            # What the call starts begins at this tick or later: the CLI waits for its hook.
            event["ticks"] = procfs.ticks_now(late)
        if kind in payload.EVIDENCE_KINDS:
            self._link.send_evidence(_fitting(event, hook_input, said), is_call=kind == "tool-start")
            return 0
        if kind in payload.TURN_KINDS:
            self._link.forget_call()
        event["seq"] = number = self._spool.next_seq()
        self._spool.add(number, _fitting(event, hook_input, said), (event["incarnation"], kind))
        if held:
            self._asked[number] = _fitting({**event, "again": True}, hook_input, said)
        self._link.send_spooled()
        return number if held else 0

    def forget_but(self, held: list[int]) -> None:
        """Keep of the questions only those that are held still."""
        for number in self._asked.keys() - set(held):
            del self._asked[number]

    def acknowledged(self, held: list[int]) -> list[bytes]:
        """Of these questions those that a daemon has heard of, and may have forgotten, as where its journal was lost.

        Those that the spool had no room for count as such; the others are told from it.
        """
        self.forget_but(held)
        return [packet for number, packet in sorted(self._asked.items()) if number not in self._spool]


def _fitting(event: dict[str, Any], hook_input: dict[str, Any], held: dict[str, Any]) -> bytes:
    """The packet; texts that JSON makes six times as long are cut until it fits."""
    packet = records.encode(event)
    divisor = 1
    while len(packet) > PACKET_LIMIT - ROOM_FOR_COUNT:
        divisor *= 2
        packet = records.encode({**event, "payload": payload.trim(hook_input, divisor) | held})
    return packet
