"""An agent's hooks, by whatever way they come: what becomes of each, and who is answered."""

from __future__ import annotations

import disks
import payload
import procfs
import records
from arming import HOOKS, Arming
from doorstep import PACKET_LIMIT
from hookfiles import HookFiles
from hooks import HookEndpoint
from refusals import Refusals
from replies import Answers, Replies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from heartbeat import Heartbeat
    from link import Link
    from place import Place
    from reactor import Reactor
    from run import Run
    from spool import Spool

# Bytes for the number of older events that this one may come to stand for.
ROOM_FOR_COUNT = 32
# Questions at a time; the others are left to the terminal.
MAX_HELD = 8


class AgentHooks:
    """Takes hooks that are posted and hooks that are dropped as files, and answers those that wait.

    run: the living one. tell_use: told of each use of an armed answer.
    """

    def __init__(
        self,
        place: Place,
        reactor: Reactor,
        heartbeat: Heartbeat,
        spool: Spool,
        run: Callable[[], Run | None],
        tell_use: Callable[[str, int], None],
    ) -> None:
        self._heartbeat = heartbeat
        self._spool = spool
        self._run = run
        self._link: Link
        self._reports: HookReports
        self.refusals = Refusals(reactor, self._run_identity, lambda event: self._link.send_if_room(event))
        self._endpoint = HookEndpoint(
            place, reactor, self._token, self._on_posted, self._complain, self._on_released, self.answered,
            self.refusals,
        )  # fmt: skip
        self.arming = Arming(place, reactor, tell_use, self._complain)
        self.answers = Answers()
        self._replies = Replies(reactor, self._on_released, self.answered)
        self._files = HookFiles(
            place, reactor, self._incarnation, self._on_dropped, self._refuse_file, self._replies.hold
        )

    def tell_by(self, link: Link) -> None:
        """To be called before the reactor turns first."""
        self._link = link
        self._reports = HookReports(self._heartbeat, self._spool, link)

    @property
    def port(self) -> int:
        return self._endpoint.port

    @property
    def held(self) -> list[int]:
        """The numbers of the questions that wait for an answer, the oldest first."""
        return sorted((*self._endpoint.held, *self._replies.held))

    @property
    def identity(self) -> dict[str, Any]:
        """The living run's, also where there is none."""
        return self._run_identity() or {"incarnation": 0, "run_id": ""}

    def told_again(self) -> list[bytes]:
        """The questions that are held and that a daemon has heard of, and may have forgotten."""
        return self._reports.acknowledged(self.held)

    def begin(self, incarnation: int) -> None:
        """A run is to begin: what was left of the one before is forgotten."""
        self._files.forget_all()
        self.arming.begin(incarnation)
        self.refusals.begin()

    def end(self) -> None:
        """Take in the last words of a run that is over, and let everybody go who waits for an answer."""
        self._endpoint.drain()
        self._files.drain()
        self.refusals.report()
        self._endpoint.release_all()
        self._replies.release_all()

    def close(self) -> None:
        self._endpoint.close()
        self._files.close()

    @property
    def ways(self) -> tuple[HookFiles, HookEndpoint]:
        """The ways by which hooks come. Somebody may have taken any of them away."""
        return self._files, self._endpoint

    def answer(self, number: int, words: dict[str, Any]) -> None:
        """Answer a held question; `answered` is told what came of it. Without words it is let go of: no answer."""
        if words:
            self.answers.begin(number)
        body = records.encode(words)
        if number in self._replies.held:
            self._replies.answer(number, body)
        else:
            self._endpoint.answer(number, body)

    def answered(self, number: int, taken: bool) -> None:
        self.answers.settle(number, taken)
        self._link.send({"event": "answered", **self.identity, "seq": number, "taken": taken})

    def _on_posted(self, kind: str, hook_input: dict[str, Any]) -> int | bytes:
        return self._on_dropped(kind, hook_input, waits=True, late=0.0)

    def _on_dropped(self, kind: str, hook_input: dict[str, Any], waits: bool, late: float) -> int | bytes:
        run = self._run()
        if run is None:
            return 0
        body = self.arming.answer(kind, hook_input, waits)
        if body is not None:
            self._reports.report(run, HOOKS[kind], hook_input, late=late, blocked=True)
            return body
        can_hold = waits and kind == "permission-request"
        if can_hold or self._reports.has_asked:
            held = self.held
            self._reports.forget_but(held)
            can_hold = can_hold and len(held) < MAX_HELD
        return self._reports.report(run, kind, hook_input, can_hold, late)

    def _on_released(self, number: int) -> None:
        self._link.send_if_room({"event": "released", **self.identity, "seq": number})

    def _run_identity(self) -> dict[str, Any] | None:
        run = self._run()
        return run.identity if run is not None else None

    def _token(self) -> str | None:
        run = self._run()
        return run.order.token if run is not None else None

    def _incarnation(self) -> int | None:
        run = self._run()
        return run.order.incarnation if run is not None else None

    def _refuse_file(self, message: str) -> None:
        """What a hook program announced cannot be read."""
        self.refusals.add_hook(message)
        self._complain(message)

    def _complain(self, message: str) -> None:
        self._link.complain_of_agent(message)


class HookReports:
    """A hook becomes a heartbeat, and an event for the daemon, spooled where it must not be lost."""

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
        asked = payload.asked(hook_input) if can_hold and run.order.holds else None
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

    @property
    def has_asked(self) -> bool:
        """Whether any question is remembered."""
        return bool(self._asked)

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
