"""What shims say becomes events: their messages, their hellos, and the exit records that they leave."""

from __future__ import annotations

import functools
import os
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.causes import Obstacle
from phoenixd.core.events import Event
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    ArmedUsed,
    HoldReleased,
    HooksRefused,
    LinkLost,
    RunAdopted,
    RunMissing,
    StartFailed,
    TreeLingers,
)
from phoenixd.core.hooks import Hook, PermissionAsked, PromptSubmitted, SessionStarted, ToolStarted
from phoenixd.documents import entering
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.times import read_time
from phoenixd.harness import HARNESSES
from phoenixd.ports import Clock
from phoenixd.ports.processes import Memory, ProcessTable
from phoenixd.ports.shims import Records, ShimHello, ShimLinks, ShimMessage
from phoenixd.runtime.arming import uses_in
from phoenixd.runtime.batches import condensed
from phoenixd.runtime.deaths import EXIT_WORD_GRACE, LOOK_AGAIN, Deaths, Later, Tell
from phoenixd.runtime.exits import ended_at, exit_event
from phoenixd.runtime.open_questions import OpenQuestions
from phoenixd.runtime.throttle import HookThrottle

HANG_UP_GRACE = 2 * EXIT_WORD_GRACE
"""Seconds between a hang-up on a held request and the report of it: an agent that dies hangs up too, and its death
says more."""

NO_ROOM = frozenset({"ENOSPC", "EDQUOT"})
HOST_ERRORS = frozenset({"busy", "EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "EINTR"}) | NO_ROOM
"""Reasons for a failed start that lie with the host, not with the order."""

DIRECTORIES = ("no directory", "directory closed")
"""What stands in the way of a start where its working directory does."""

ENDS_AND_BEGINNINGS = frozenset({"started", "start_failed", "exited"})
"""A run's last words come before these. Not before what an agent can have its shim say as often as it likes."""

HOLDS_REMEMBERED = 64
"""Requests of an agent that were let go of, while their hooks may still wait to be told."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Numbers:
    """The newest spooled hook of an agent's newest run that was heard, and the newest that was acknowledged."""

    incarnation: int
    heard: int = 0
    acknowledged: int = 0


class Hearing:
    """Translates, and has the processes watched that were named; it holds no state of any agent."""

    def __init__(
        self,
        shims: ShimLinks,
        processes: ProcessTable,
        records: Records,
        clock: Clock,
        find: Callable[[str], Agent | None],
        tell: Tell,
        later: Later,
        heard: Callable[[str, str, dict[str, Any]], None] = lambda agent, kind, payload: None,
        greeted: Callable[[str], None] = lambda agent: None,
        answered: Callable[[str, int, bool], None] = lambda agent, hold, taken: None,
        memory: Memory | None = None,
        unswept: Callable[[str, object], None] = lambda agent, told: None,
        left_out: Callable[[str, str, dict[str, Any]], None] = lambda agent, kind, payload: None,
    ) -> None:
        self._shims = shims
        self._records = records
        self._clock = clock
        self._began = clock.now().wall
        self._find = find
        self._tell = tell
        self._later = later
        self._heard = heard
        self._greeted = greeted
        self._answered = answered
        self._memory = memory
        self._left_out = left_out
        self._unswept = unswept
        self._throttle = HookThrottle(clock, later, self._tell_hook)
        self._deaths = Deaths(processes, find, tell, later)
        self._greeted_with: dict[str, ShimHello] = {}
        self._let_go: dict[str, deque[int]] = {}
        self._numbers: dict[str, _Numbers] = {}
        self._questions = OpenQuestions()
        self._protocols: dict[str, int] = {}

    def hear(self, message: ShimMessage) -> None:
        """Translate one message; a malformed one is logged and dropped, for a shim lives beside a hostile agent."""
        try:
            self._hear(message)
        except (KeyError, TypeError, ValueError) as fault:
            log.warning("shim_message_malformed", agent=message.agent, said=message.event, fault=repr(fault))
        except OSError as fault:
            # The host could not look, which says nothing about the shim: it is asked once more how things are.
            log.warning("shim_message_not_checked", agent=message.agent, said=message.event, reason=str(fault))
            self._later(LOOK_AGAIN, lambda: self._greeted(message.agent))

    def _hear(self, message: ShimMessage) -> None:
        agent, body = message.agent, message.body
        if message.event in ENDS_AND_BEGINNINGS:
            self._throttle.flush(agent)
        match message.event:
            case "started":
                run_id, pid, start_time = str(body["run_id"]), int(body["pid"]), int(body["start_time"])
                incarnation = int(body["incarnation"])
                if not self._deaths.owns(agent, pid, start_time):
                    return
                self._deaths.watch_child(agent, incarnation, pid, start_time)
                if self._memory is not None:
                    self._memory.note()
                link = self._protocols.get(agent, 0)
                self._tell(AgentStarted(agent, incarnation, run_id, pid, start_time, link), None)
            case "start_failed":
                code = int(body.get("code") or 0)
                code = code if code in (126, 127) else 0 if body.get("errno") in HOST_ERRORS else 1
                obstacle, told = _obstacle(body), str(body["message"])[:500]
                known = self._find(agent)
                if obstacle in DIRECTORIES and known is not None:
                    cwd, failed = known.spec.cwd, str(body["errno"])
                    told = f"{told} (do: {entering.remedy(cwd, failed, _way(body, cwd), os.geteuid())})"
                self._tell(StartFailed(agent, int(body["incarnation"]), code, told, obstacle), None)
            case "exited":
                self._tell_uses(agent, int(body["incarnation"]), body.get("armed"))
                self._tell(self._with_oom(exit_event(agent, body, None)), None)
                self._unswept(agent, body.get("unswept"))
            case "lingering":
                pids = tuple(int(pid) for pid in body["pids"][:20])
                self._tell(TreeLingers(agent, int(body["incarnation"]), pids), None)
            case "hook" if body.get("again") is True:
                self._questions.keep(agent, body)
            case "hook":
                self._hear_hook(agent, body)
            case "hooks":
                self._hear_many(agent, body["batch"])
            case "released":
                hold = int(body["seq"])
                self._let_go.setdefault(agent, deque(maxlen=HOLDS_REMEMBERED)).append(hold)
                released = HoldReleased(agent, int(body["incarnation"]), hold)
                self._later(HANG_UP_GRACE, lambda: self._tell(released, None))
            case "answered":
                self._answered(agent, int(body["seq"]), body["taken"] is True)
            case "hello":
                self._greeted(agent)
            case "armed_used":
                self._tell_uses(agent, int(body["incarnation"]), [body])
            case "link_lost":
                self._link_lost(agent, str(body.get("reason") or "no reason is known")[:300])
            case "refused":
                hooks, strangers, why = _count(body["hooks"]), _count(body["strangers"]), str(body["why"])[:200]
                self._tell(HooksRefused(agent, int(body["incarnation"]), hooks, strangers, why), None)
            case "error" | "ignored":
                log.warning("shim_says", agent=agent, said=message.event, body=str(body)[:300])
            case _:
                log.warning("shim_message_unknown", agent=agent, said=message.event)

    def _hear_many(self, agent: str, batch: list[Any]) -> None:
        """Hear a batch; of what is left out of it is seen what no transcript tells, such as a code in a call."""
        kept = condensed(batch)
        if len(kept) < len(batch):
            heard = {id(one) for one in kept}
            for one in batch:
                if id(one) not in heard:
                    self._left_out(agent, one["kind"], one["payload"])
        for one in kept:
            self._hear_one_of_many(agent, one)

    def _hear_one_of_many(self, agent: str, body: dict[str, Any]) -> None:
        """Evidence of a batch: a malformed one costs the others nothing."""
        try:
            self._hear_hook(agent, body)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            log.warning("shim_message_malformed", agent=agent, said="hooks", fault=repr(fault))

    def _tell_uses(self, agent: str, incarnation: int, told: object) -> None:
        """Tell how often armed answers were given; the shim says it again until it is noted."""
        for id, uses in uses_in(told):
            noted = functools.partial(self._shims.note_use, agent, id, uses)
            self._tell(ArmedUsed(agent, incarnation, id, uses, self._clock.now().wall), noted)

    def _link_lost(self, agent: str, reason: str) -> None:
        log.warning("shim_link_lost", agent=agent, reason=reason)
        known = self._find(agent)
        if known is not None and known.run is not None:
            self._tell(LinkLost(agent, known.run.incarnation, reason), None)

    def _hear_hook(self, agent: str, body: dict[str, Any]) -> None:
        seq, kind, payload = int(body["seq"]), str(body["kind"]), body["payload"]
        if not isinstance(payload, dict):
            raise TypeError("payload is no object")
        incarnation = int(body["incarnation"])
        is_told_anew = body.get("again") is True
        if not is_told_anew and self._is_told_again(agent, incarnation, seq):
            return
        self._heard(agent, kind, payload)
        if payload.get("held") is True:
            self._questions.note(agent, seq)
        acknowledge = (lambda: self._acknowledge(agent, incarnation, seq)) if seq > 0 and not is_told_anew else None
        event = hook_event(agent, incarnation, kind, payload, self._clock.now().wall)
        event = replace(event, seq=seq, more=_count(body.get("more")))
        if isinstance(event, ToolStarted):
            event = replace(event, ticks=_ticks(body), limit=self._limit(agent, event.tool or ""))
        if isinstance(event, PromptSubmitted) and (known := self._find(agent)) and armed.are_ours(known, event.text):
            event = replace(event, source="machine")
        if isinstance(event, SessionStarted) and (at := read_time(body.get("at"))) is not None:
            event = replace(event, unheard=at < self._began)
        if isinstance(event, SessionStarted) and event.model is not None:
            event = replace(event, window=self._window(agent, event.model))
        self._throttle.offer(event, acknowledge)

    def _is_told_again(self, agent: str, incarnation: int, seq: int) -> bool:
        """Whether a shim that was linked to anew repeats what this daemon has heard: that was counted already."""
        numbers = self._numbers.get(agent)
        if seq <= 0 or (numbers is not None and incarnation < numbers.incarnation):
            return False
        if numbers is None or incarnation > numbers.incarnation:
            # A shim that follows another may count anew, and has no run of its predecessor's.
            numbers = self._numbers[agent] = _Numbers(incarnation)
        if seq > numbers.heard:
            numbers.heard = seq
            return False
        if seq <= numbers.acknowledged:
            self._shims.acknowledge(agent, seq)
        return True

    def _acknowledge(self, agent: str, incarnation: int, seq: int) -> None:
        numbers = self._numbers.get(agent)
        if numbers is not None and numbers.incarnation == incarnation:
            numbers.acknowledged = max(seq, numbers.acknowledged)
        self._shims.acknowledge(agent, seq)

    def _window(self, agent: str, model: str) -> int | None:
        known = self._find(agent)
        harness = HARNESSES.get(known.spec.harness) if known is not None else None
        return harness.window_of(model) if harness is not None else None

    def _limit(self, agent: str, tool: str) -> float | None:
        known = self._find(agent)
        harness = HARNESSES.get(known.spec.harness) if known is not None else None
        return harness.call_limit(known.spec, tool) if known is not None and harness is not None else None

    def _tell_hook(self, event: Event, saved: Callable[[], None] | None) -> None:
        self._tell(event, saved)
        if isinstance(event, PermissionAsked) and event.held and self._is_over(event):
            self._tell(HoldReleased(event.agent, event.incarnation, event.seq), None)

    def _is_over(self, event: Hook) -> bool:
        """Whether its question was answered before it could be told: while nobody listened, or it had to wait."""
        hello = self._greeted_with.get(event.agent)
        if hello is not None and event.seq <= hello.last_seq and event.seq not in hello.held:
            return True
        return event.seq in self._let_go.get(event.agent, ())

    def reconcile(self, agent: Agent, hello: ShimHello, *, unwatched: bool = True) -> None:
        """Compare what a shim says with what is known; unwatched: after a daemon start or a lost link."""
        run = agent.run
        self.watch_shim(hello)
        self._greeted_with[agent.name] = hello
        if hello.run is not None and (run is None or hello.run.run_id != run.run_id):
            log.warning("stray_run", agent=agent.name, incarnation=hello.run.incarnation)
            self._shims.kill(agent.name, hello.run.incarnation)
        if run is None:
            return
        is_said = hello.run is not None and hello.run.run_id == run.run_id
        if hello.run is not None and is_said and self._deaths.owns(agent.name, hello.run.pid, hello.run.start_time):
            self._deaths.watch_child(agent.name, run.incarnation, hello.run.pid, hello.run.start_time)
            # A link that stayed open knows what was held when it was opened, and heard of each change since.
            held, uses, answered = (hello.held, hello.armed, hello.answered) if unwatched else (None, None, None)
            for hold, taken in answered or ():
                # Of this daemon's own one the word may have been lost with the link.
                self._answered(agent.name, hold, taken)
            adopted = RunAdopted(
                agent.name, run.incarnation, hello.run.pid, hello.run.start_time, unwatched, held, hello.last_seq,
                hello.protocol, uses, answered,
            )  # fmt: skip
            self._tell(adopted, None)
            for hook in self._questions.forgotten(agent, hello):
                log.info("question_told_again", agent=agent.name, incarnation=run.incarnation)
                self._hear_hook(agent.name, hook)
            return
        if hello.exit is not None and hello.exit.get("run_id") == run.run_id:
            self._tell_uses(agent.name, run.incarnation, hello.exit.get("armed"))
            self._tell(self._with_oom(exit_event(agent.name, hello.exit, ended_at(hello.exit))), None)
            return
        self._tell(RunMissing(agent.name, run.incarnation), None)

    def _with_oom(self, ended: AgentExited) -> AgentExited:
        """The end, and whether the kernel killed the run for want of memory."""
        if self._memory is None:
            return ended
        if ended.signal != signal.SIGKILL or ended.cause != "exit":
            self._memory.note()
            return ended
        return replace(ended, oom=self._memory.killer_of(ended.agent, ended.incarnation))

    def recorded_end(self, agent: str, incarnation: int, run_id: str) -> AgentExited | None:
        """The end of a run from its exit.json; None when that is not there, malformed, or of another run.

        Agents can write it: ask only once nothing of the run is known to live.
        """
        record = self._records.exit_record(agent)
        if record is None or record.get("run_id") != run_id:
            return None
        try:
            return exit_event(agent, {**record, "incarnation": incarnation}, ended_at(record))
        except (TypeError, ValueError, OverflowError) as fault:
            log.warning("exit_record_malformed", agent=agent, fault=repr(fault)[:200])
            return None

    def was_begun(self, agent: str, run_id: str) -> bool:
        """Whether a shim wrote that it had begun this run."""
        record = self._records.run_record(agent)
        return record is not None and record.get("run_id") == run_id

    def report_missing(self, agent: Agent) -> None:
        """Tell that nothing of an agent's run was found."""
        if agent.run is not None:
            self._tell(RunMissing(agent.name, agent.run.incarnation), None)

    def watch_shim(self, hello: ShimHello) -> None:
        """Take in what its hello says of it, and report the shim's death once, for whatever run the agent has then."""
        self._protocols[hello.agent] = hello.protocol
        self._unswept(hello.agent, hello.unswept)
        self._deaths.watch_shim(hello)

    def let_go(self, agent: str) -> None:
        """Its shim is told to leave: that it dies is no news about a run that begins meanwhile under another one."""
        self._deaths.let_go(agent)


def _obstacle(body: dict[str, Any]) -> Obstacle:
    """What stood in the way of a start, by the number of the error and by what the shim's child was at."""
    failed = body.get("errno")
    if failed in NO_ROOM:
        return "disk full"
    if body.get("stage") != "cwd" or failed in HOST_ERRORS:
        return "other"
    return "no directory" if failed == "ENOENT" else "directory closed"


def _way(body: dict[str, Any], cwd: str) -> str:
    """What stands in the way of the directory, as an older shim does not say; nothing else than a part of its path."""
    way = body.get("way")
    is_part = isinstance(way, str) and way.startswith("/") and Path(way) in (Path(cwd), *Path(cwd).parents)
    return way if isinstance(way, str) and is_part else ""


def _ticks(body: dict[str, Any]) -> int | None:
    """When a call began, as its shim says; an older shim does not say it."""
    ticks = body.get("ticks")
    return ticks if isinstance(ticks, int) and not isinstance(ticks, bool) and ticks >= 0 else None


def _count(value: object) -> int:
    """How many a hook stands for, within sane bounds; an older shim does not say it."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53 else 0
