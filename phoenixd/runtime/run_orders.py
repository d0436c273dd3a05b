"""The runs of agents: orders to shims, panes for new ones, the proof of an end, and what is cleaned up around a run."""

from __future__ import annotations

import errno
from collections.abc import Callable

import structlog

from phoenixd.core.actions import Arm, CleanUp, Fence, Release, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting
from phoenixd.core.causes import Obstacle
from phoenixd.core.events.runs import StartFailed, TreeGone, TreeLingers
from phoenixd.core.unproven import weighed
from phoenixd.errors import LaunchFailed, ResumeRefused, SessionInUse, ShimFailed, ShimGone, TerminalFailed
from phoenixd.ports import Outside, Sink
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime import arming
from phoenixd.runtime.failed_starts import NO_ROOM
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.leftovers import cleaned_up

SHIM_TIMEOUT = 10.0
"""Seconds in which a new pane's shim has to listen."""

log = structlog.get_logger()


class RunOrders:
    """Carries out what is ordered of runs; a shim that is gone is reported by its own death."""

    def __init__(self, outside: Outside, find: Callable[[str], Agent | None], tell: Sink, hearing: Hearing) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self._hearing = hearing

    async def spawn(self, action: Spawn) -> None:
        agent = self._find(action.agent)
        if agent is None or agent.run is None or agent.run.incarnation != action.incarnation:
            return
        try:
            hello = await self._ready_shim(action.agent)
            if hello.run is not None:
                self._outside.shims.kill(action.agent, hello.run.incarnation)
                raise ShimFailed(
                    f"incarnation {hello.run.incarnation} is still alive under the shim; it is being ended. "
                    f"If it stays so, the shim is silent: kill -9 {hello.shim.pid}"
                )
            if agent.spec.cleanup.is_set:
                await self.clean(action, f"before run {action.incarnation}")
            order = await self._outside.starter.write_order(agent, action, hello)
            if not self._is_wanted(action):
                return
            self._outside.shims.start(action.agent, order, action.incarnation, action.run_id)
            self._outside.starter.tidy(action.agent, action.incarnation)
        except LaunchFailed as failure:
            obstacle = _obstacle(failure)
            self._tell(StartFailed(action.agent, action.incarnation, failure.code, failure.message, obstacle))
        except (TerminalFailed, ShimGone) as failure:
            self._tell(StartFailed(action.agent, action.incarnation, 0, failure.message, "terminal gone"))
        except ShimFailed as failure:
            self._tell(StartFailed(action.agent, action.incarnation, 0, failure.message))

    async def prepare(self, action: Spawn, epoch: int) -> None:
        """Have an order written while the decision to spawn is being saved. Nothing is ordered."""
        agent, hello = self._find(action.agent), self._outside.shims.linked(action.agent)
        if agent is None or agent.run is None or agent.run.incarnation != action.incarnation:
            return
        if hello is not None and hello.run is None and not agent.spec.cleanup.is_set:
            await self._outside.starter.prepare(agent, action, hello, epoch)

    def _is_wanted(self, action: Spawn) -> bool:
        """Whether the decision still stands; a stop that came meanwhile is answered here."""
        agent = self._find(action.agent)
        if agent is not None and isinstance(agent.state, Starting) and agent.incarnation == action.incarnation:
            return True
        self._tell(StartFailed(action.agent, action.incarnation, 0, "it was no longer wanted"))
        return False

    async def _ready_shim(self, agent: str) -> ShimHello:
        """Return the living shim's hello, in a new pane if there is none.

        One whose directories were moved since it began would start a run that nobody hears: another takes its place.
        """
        left = await self._left_by(agent)
        hello = await self._answering(agent, left)
        if hello is not None and hello.run is None:
            moved = await self._outside.starter.begun_elsewhere(hello.shim)
            if moved is not None:
                log.warning("shim_replaced", agent=agent, reason=f"it was begun with {moved}, which was moved since")
                self._outside.shims.quit(agent)
                await self._part(agent, hello.shim)
                hello = None
        if hello is not None:
            self._hearing.watch_shim(hello)
            return hello
        if not await self._outside.terminal.revive():
            raise TerminalFailed("the tmux server does not answer", "phoenixctl doctor")
        before = self._hearing.let_go(agent)
        if before is not None and self._outside.processes.is_alive(before):
            # It has closed its link and is about to go. Until it has, it keeps another one from the agent's directory.
            await self._part(agent, before)
        command = await self._outside.starter.shim_command(agent)
        pid = await self._outside.terminal.open_pane(agent, command.argv)
        hello = await self._first_word(agent, pid, left)
        self._hearing.watch_shim(hello)
        return hello

    async def _left_by(self, agent: str) -> ProcessIdentity | None:
        """Wait until a shim that goes is gone; which one that is. Its link may stand until its end is read."""
        left = shim = self._hearing.leaving(agent)
        if left is None:
            return None
        clock = self._outside.clock
        give_up, pause = clock.now().at + SHIM_TIMEOUT, 0.002
        while shim is not None:
            if clock.now().at > give_up:
                raise ShimFailed(
                    f"the shim of the run before does not go; if it stays so: kill -9 {shim.pid}",
                    f"kill -9 {shim.pid}",
                )
            await clock.sleep_until(clock.now().at + pause)
            pause = min(0.1, pause * 1.5)
            shim = self._hearing.leaving(agent)
        return left

    async def _answering(self, agent: str, left: ProcessIdentity | None) -> ShimHello | None:
        """The hello of the shim that listens; None where none does, or one that goes. left: one that is gone."""
        try:
            hello = await self._outside.shims.connect(agent)
        except ShimGone:
            return None
        return None if hello is not None and hello.shim == left else hello

    async def _first_word(self, agent: str, pid: int | None, left: ProcessIdentity | None) -> ShimHello:
        """Wait until the shim in a new pane listens. pid: its process, where known; left: the shim before it."""
        clock, processes = self._outside.clock, self._outside.processes
        pane = processes.identity_of(pid) if pid is not None else None
        hello: ShimHello | None = None
        give_up, pause = clock.now().at + SHIM_TIMEOUT, 0.002
        while hello is None:
            if clock.now().at > give_up:
                raise ShimFailed(f"the shim of {agent} does not listen after {SHIM_TIMEOUT:.0f} s")
            if pid is not None and (pane is None or not processes.is_alive(pane)):
                raise TerminalFailed(f"the new terminal of {agent} was closed before its shim listened")
            # A socket that begins to listen announces itself by no event that a connecting side could wait for.
            await clock.sleep_until(clock.now().at + pause)
            pause = min(0.1, pause * 1.5)
            hello = await self._answering(agent, left)
        return hello

    async def order(self, agent: str, give: Callable[[], None]) -> None:
        """Give a shim an order, reconnecting once; a shim that is gone is reported by its own death."""
        try:
            give()
        except ShimFailed:
            if await self._outside.shims.connect(agent) is not None:
                give()

    async def fence(self, action: Fence) -> None:
        child = None
        if action.pid is not None and action.start_time is not None:
            child = ProcessIdentity(self._outside.processes.boot_id(), action.pid, action.start_time)
        fenced = await self._outside.processes.fence(action.agent, action.incarnation, action.run_id, child)
        if fenced.remaining:
            self._tell(TreeLingers(action.agent, action.incarnation, fenced.remaining))
            return
        ended = await self._hearing.explained_end(action.agent, action.incarnation, action.run_id)
        begun = child is not None or self._hearing.was_begun(action.agent, action.run_id)
        gone = TreeGone(action.agent, action.incarnation, fenced.killed, fenced.unproven, fenced.unread)
        self._tell(weighed(gone, ended, begun=begun))

    async def arm(self, action: Arm) -> None:
        """Told when the lane comes to it; what a lost link swallows is armed again when the run is met again."""
        agent = self._find(action.agent)
        if agent is None or agent.incarnation != action.incarnation:
            return
        told = arming.order(agent.spec, action.answer, self._outside.clock.at())
        if told is not None:
            await self.order(action.agent, lambda: self._outside.shims.arm(action.agent, action.incarnation, told))

    async def clean(self, action: CleanUp | Spawn, occasion: str) -> None:
        """Clean up by the agent's rules, and tell what was found; raises ShimFailed where no run may start."""
        agent = self._find(action.agent)
        if agent is None:
            return
        told = cleaned_up(agent, occasion, await self._outside.cleaner.clean(agent))
        if told is None:
            return
        self._tell(told)
        if told.foreign and isinstance(action, Spawn) and agent.spec.cleanup.foreign_port == "refuse":
            raise ShimFailed(f"{'; '.join(told.foreign)}, which is none of ours (cleanup.foreign_port)")

    async def release(self, action: Release) -> None:
        """Let an agent go with its shim and its pane; one of the same name may begin right after."""
        self._outside.evidence.forget(action.agent)
        hello = await self._outside.shims.connect(action.agent)
        if hello is None:
            await self._outside.terminal.close_pane(action.agent)
            return
        self._outside.shims.quit(action.agent)
        await self._part(action.agent, hello.shim)

    async def _part(self, agent: str, shim: ProcessIdentity) -> None:
        """Let a shim that goes go with its pane; returns when it is gone, or after a while."""
        self._hearing.let_go(agent)
        await self._outside.terminal.close_pane(agent)
        clock = self._outside.clock
        give_up, pause = clock.now().at + SHIM_TIMEOUT, 0.002
        # What begins next would be ordered of a shim that is about to leave.
        while self._outside.processes.is_alive(shim) and clock.now().at < give_up:
            await clock.sleep_until(clock.now().at + pause)
            pause = min(0.1, pause * 1.5)
        await clock.sleep_until(clock.now().at + 0.002)  # The end of its link is read meanwhile.


def _obstacle(failure: LaunchFailed) -> Obstacle:
    match failure:
        case ResumeRefused():
            return "resume refused"
        case SessionInUse():
            return "session in use"
        case _:
            cause = failure.__cause__
            is_full = isinstance(cause, OSError) and errno.errorcode.get(cause.errno or 0) in NO_ROOM
            return "disk full" if is_full else "other"
