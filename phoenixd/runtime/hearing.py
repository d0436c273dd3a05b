"""What shims say becomes events: their messages, their hellos, and the exit records that they leave."""

from __future__ import annotations

import functools
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.causes import EndCause
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    ArmedUsed,
    HooksRefused,
    LinkLost,
    RunAdopted,
    RunMissing,
    TreeLingers,
)
from phoenixd.documents.numbers import whole
from phoenixd.ports import Clock, HearHook, Later, Tell
from phoenixd.ports.processes import Memory, ProcessIdentity, ProcessTable
from phoenixd.ports.shims import Records, ShimHello, ShimLinks, ShimMessage
from phoenixd.runtime.arming import uses_in
from phoenixd.runtime.deaths import LOOK_AGAIN, Deaths
from phoenixd.runtime.exits import ended_at, exit_event
from phoenixd.runtime.failed_starts import is_leaving, start_failed
from phoenixd.runtime.told_hooks import ToldHooks

ENDS_AND_BEGINNINGS = frozenset({"started", "start_failed", "exited"})
"""A run's last words come before these. Not before what an agent can have its shim say as often as it likes."""

LEAVES: frozenset[EndCause] = frozenset({"terminal_lost", "shim_terminated"})
"""How a run ends whose shim goes with it."""

log = structlog.get_logger()


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
        heard: HearHook = lambda agent, kind, payload: None,
        greeted: Callable[[str], None] = lambda agent: None,
        answered: Callable[[str, int, bool], None] = lambda agent, hold, taken: None,
        memory: Memory | None = None,
        unswept: Callable[[str, object], None] = lambda agent, told: None,
        left_out: HearHook = lambda agent, kind, payload: None,
        looked_into: Callable[[AgentExited], bool] = lambda ended: False,
        explained: Callable[[AgentExited], Awaitable[AgentExited]] | None = None,
    ) -> None:
        """looked_into: takes an end that has to be looked into first, and tells it; False where it is told as it is.

        explained: such an end that was recorded while nobody heard it, with what was found.
        """
        self._shims = shims
        self._records = records
        self._clock = clock
        self._find = find
        self._tell = tell
        self._later = later
        self._greeted = greeted
        self._answered = answered
        self._memory = memory
        self._unswept = unswept
        self._looked_into = looked_into
        self._explained = explained
        self._hooks = ToldHooks(shims, clock, find, tell, later, heard, left_out)
        self._deaths = Deaths(processes, find, tell, later)
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
            self.compare_later(message.agent)

    def _hear(self, message: ShimMessage) -> None:
        agent, body = message.agent, message.body
        if message.event in ENDS_AND_BEGINNINGS:
            self._hooks.flush(agent)
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
                if is_leaving(body):
                    self._deaths.leaves(agent)
                self._tell(start_failed(agent, body, self._find(agent)), None)
            case "exited":
                self._tell_uses(agent, int(body["incarnation"]), body.get("armed"))
                ended = self._with_oom(exit_event(agent, body, None))
                if ended.cause in LEAVES:
                    self._deaths.leaves(agent)
                self._tell_end(ended)
                self._unswept(agent, body.get("unswept"))
            case "lingering":
                pids = tuple(int(pid) for pid in body["pids"][:20])
                self._tell(TreeLingers(agent, int(body["incarnation"]), pids), None)
            case "hook" if body.get("again") is True:
                self._hooks.keep(agent, body)
            case "hook":
                self._hooks.hear(agent, body)
            case "hooks":
                self._hooks.hear_many(agent, body["batch"])
            case "released":
                self._hooks.release(agent, int(body["incarnation"]), int(body["seq"]))
            case "answered":
                self._answered(agent, int(body["seq"]), body["taken"] is True)
            case "hello":
                self._greeted(agent)
            case "armed_used":
                self._tell_uses(agent, int(body["incarnation"]), [body])
            case "link_lost":
                self._link_lost(agent, str(body.get("reason") or "no reason is known")[:300])
            case "refused":
                hooks, strangers, why = whole(body["hooks"]), whole(body["strangers"]), str(body["why"])[:200]
                self._tell(HooksRefused(agent, int(body["incarnation"]), hooks, strangers, why), None)
            case "error" | "ignored":
                log.warning("shim_says", agent=agent, said=message.event, body=str(body)[:300])
            case _:
                log.warning("shim_message_unknown", agent=agent, said=message.event)

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

    def reconcile(self, agent: Agent, hello: ShimHello, *, unwatched: bool = True) -> None:
        """Compare what a shim says with what is known; unwatched: after a daemon start or a lost link."""
        run = agent.run
        self.watch_shim(hello)
        self._hooks.greet(agent.name, hello)
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
            self._hooks.hear_forgotten(agent, hello)
            return
        if hello.exit is not None and hello.exit.get("run_id") == run.run_id:
            self._tell_uses(agent.name, run.incarnation, hello.exit.get("armed"))
            self._tell_end(self._with_oom(exit_event(agent.name, hello.exit, ended_at(hello.exit))))
            return
        self._tell(RunMissing(agent.name, run.incarnation), None)

    def _tell_end(self, ended: AgentExited) -> None:
        if not self._looked_into(ended):
            self._tell(ended, None)

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

    async def explained_end(self, agent: str, incarnation: int, run_id: str) -> AgentExited | None:
        """The same, with what had failed, where only the transcript of its session tells that."""
        ended = self.recorded_end(agent, incarnation, run_id)
        return ended if ended is None or self._explained is None else await self._explained(ended)

    def was_begun(self, agent: str, run_id: str) -> bool:
        """Whether a shim wrote that it had begun this run."""
        record = self._records.run_record(agent)
        return record is not None and record.get("run_id") == run_id

    def compare_later(self, agent: str) -> None:
        """Have a shim asked once more how things are: the host could not look now."""
        self._later(LOOK_AGAIN, lambda: self._greeted(agent))

    def report_missing(self, agent: Agent) -> None:
        """Tell that nothing of an agent's run was found."""
        if agent.run is not None:
            self._tell(RunMissing(agent.name, agent.run.incarnation), None)

    def watch_shim(self, hello: ShimHello) -> None:
        """Take in what its hello says of it, and report the shim's death once, for whatever run the agent has then."""
        if hello.agent not in self._protocols:
            self._protocols = {name: link for name, link in self._protocols.items() if self._find(name) is not None}
        self._protocols[hello.agent] = hello.protocol
        self._unswept(hello.agent, hello.unswept)
        self._deaths.watch_shim(hello)

    def leaving(self, agent: str) -> ProcessIdentity | None:
        """The shim of an agent that has said by the end of its run that it goes, and is not gone yet."""
        return self._deaths.leaving(agent)

    def let_go(self, agent: str) -> ProcessIdentity | None:
        """The shim that is told to leave. Its death then says nothing of a run that begins under another one."""
        return self._deaths.let_go(agent)
