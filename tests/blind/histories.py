"""Plays the corpus of recovery: what befalls a host and its operator, against the real supervisor in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import anyio
from anyio.abc import TaskGroup
from structlog.testing import capture_logs

from phoenixd.core.agent.state import Stopped
from phoenixd.core.behind.plan import BEHIND
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import RecoveryConfirmed
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, RestartRequested, StartRequested, StopRequested
from phoenixd.core.spec import AgentSpec
from phoenixd.runtime import world
from tests.blind.estate import Directories, JournalCopy
from tests.blind.fates import Fates, judge
from tests.blind.lives import FacingDaemon
from tests.blind.stage import Stage
from tests.blind.tables import Outcome, Table, first_of, quantity
from tests.simulate.shim import Shim
from tests.simulate.virtual_loop import VirtualLoop

LOOK_AGAIN = 0.05
BEFORE_NEXT = 0.001
"""Seconds before the next step at which a person who waits for an answer goes on."""


def play(case: Table) -> Outcome:
    """Let one history happen, and say where it came out otherwise than it must."""
    found: list[Outcome] = []

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            history = _History(case, tasks)
            await history.live()
            found.append(judge(case, history.fates))
            tasks.cancel_scope.cancel()
        if history.failures:
            raise history.failures[0]

    with capture_logs(), patch.object(world, "to_thread", _OnTheLoop):
        try:
            anyio.run(main, backend_options={"loop_factory": VirtualLoop})
        except Exception as failure:
            raise AssertionError(first_of(failure)) from failure
    return found[0]


class _OnTheLoop:
    """In virtual time there is no disk to wait for."""

    @staticmethod
    async def run_sync(call: Callable[..., Any], *arguments: Any) -> Any:
        return call(*arguments)


class _History:
    """The host, its operator, and one daemon after the other."""

    def __init__(self, case: Table, tasks: TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.failures: list[BaseException] = []
        self._tasks = tasks
        loop.set_exception_handler(self._callback_failed)
        self._steps = [(quantity(step["at"]), step) for step in case.get("steps", ())]
        self._last = quantity(case["expect"]["until"])
        self._host = Stage(loop, case["id"], leaf=case.get("leaf", True))
        self._specs = {name: _spec(name) for name in case["agents"]}
        self._copies: dict[str, tuple[JournalCopy, Directories]] = {}
        self._limit = 0.0
        names = {*self._specs, *(step["agent"] for _, step in self._steps if "agent" in step)}
        self.fates = Fates(self._host, sorted(names), lambda: self._daemon.supervisor.fleet)
        self._daemon = self._start()

    async def live(self) -> None:
        began = self._host.now
        starts = [number for number, (_, step) in enumerate(self._steps) if step["do"] == "daemon-starts"]
        decisive = starts[-1] if starts else len(self._steps) - 1
        for number, (at, step) in enumerate(self._steps):
            is_last = number + 1 == len(self._steps)
            following = at + self._last if is_last else self._steps[number + 1][0]
            _require(following > at, "its steps are out of order")
            await anyio.sleep(began + at - self._host.now)
            self._limit = began + following - BEFORE_NEXT
            if number == decisive:
                self.fates.remember(is_start=bool(starts))
            await self._do(step["do"], step)
        last = self._steps[-1][0] if self._steps else 0.0
        await anyio.sleep(began + last + self._last - self._host.now)

    async def _do(self, what: str, step: Table) -> None:
        host, name = self._host, step.get("agent", "")
        match what:
            case "order":
                await self._order(step["verb"], name)
            case "declare":
                spec = self._specs[name] = _spec(name)
                if self._daemon.is_alive:
                    await self._ask(AgentDeclared(spec))
            case "undeclare":
                self._specs.pop(name, None)
                if self._daemon.is_alive:
                    await self._ask(AgentWithdrawn(name))
            case "dies":
                run = host.living_run(name)
                assert run is not None, f"{name} has no run that could die"
                code = step.get("code", None if "signal" in step else 1)
                host.shims[name].end(run, code, step.get("signal"), "exit")
            case "shim-dies":
                self._lose_shim(name, escapes=step["escapes"])
            case "orphan-dies" | "hides":
                orphan = host.orphans.get(name)
                assert orphan is not None and orphan.is_alive, f"nothing of {name} has escaped and lives"  # noqa: PT018
                if what == "orphan-dies":
                    host.kill(orphan)
                else:
                    hidden = {"environment": host.unmarked, "unreadable": host.unreadable}[step["how"]]
                    hidden.add(orphan.identity.pid)
            case "stranger":
                stranger = host.spawn("")
                if not step["readable"]:
                    host.unreadable.add(stranger.identity.pid)
            case "confirm":
                await self._confirm()
            case _:
                await self._do_to_all(what, step)

    async def _do_to_all(self, what: str, step: Table) -> None:
        host = self._host
        match what:
            case "backup":
                self._copies[step["name"]] = host.journal.copy(), host.files.copy()
            case "daemon-dies":
                await self._kill()
            case "daemon-starts":
                self._require_down()
                self.fates.daemon_starts()
                self._daemon = self._start()
            case "reboot" | "container-restarts":
                if self._daemon.is_alive:
                    await self._kill()
                (host.reboot if what == "reboot" else host.restart_container)()
            case "restore" | "restore-all":
                self._require_down()
                journal, files = self._copies[step["name"]]
                host.journal.put_back(journal)
                if what == "restore-all":
                    host.files.put_back(files)
            case "cut":
                self._require_down()
                host.journal.cut(quantity(step["since"]))
            case "delete":
                self._require_down()
                host.journal.lose()
            case "delete-wishes":
                self._require_down()
                host.files.delete(step["agent"])
            case _:
                raise AssertionError(f"the corpus has a step that nobody plays: {what}")

    # The daemon.

    def _start(self) -> FacingDaemon:
        daemon = FacingDaemon(self._host, dict(self._specs))
        self._tasks.start_soon(daemon.run)
        return daemon

    async def _kill(self) -> None:
        _require(self._daemon.is_alive, "the daemon is down already")
        self._daemon.kill()
        await anyio.sleep(BEFORE_NEXT / 10)

    def _require_down(self) -> None:
        _require(not self._daemon.is_alive, "the daemon is not down")

    def _lose_shim(self, name: str, *, escapes: bool) -> None:
        host = self._host
        shim: Shim | None = host.shims.get(name)
        assert shim is not None, f"{name} has no shim"
        if escapes:
            run = host.living_run(name)
            assert run is not None, f"{name} has no run that could escape"
            host.orphans[name] = host.spawn(name, run.run_id)
        self.fates.shim_lost(name)
        shim.die()

    # The operator.

    async def _order(self, verb: str, name: str) -> None:
        match verb:
            case "stop":
                await self._ask(StopRequested(name))
                await self._until(lambda: self._is_down(name))
            case "start":
                await self._ask(StartRequested(name))
            case "restart":
                await self._ask(RestartRequested(name))
            case "remove":
                self._specs.pop(name, None)
                await self._ask(AgentWithdrawn(name))
            case _:
                raise AssertionError(f"the corpus has an order that nobody gives: {verb}")

    async def _confirm(self) -> None:
        await self._ready()
        fleet = self._daemon.supervisor.fleet
        if any(one.kind == BEHIND for one in fleet.alerts) or any(one.found for one in fleet.agents.values()):
            await self._ask(RecoveryConfirmed())

    async def _ask(self, event: Event) -> None:
        """Ask, and wait for the answer. Where none comes before the next step is due, the daemon is deaf."""
        await self._ready()
        answers = []
        with anyio.move_on_at(self._limit):
            answers.append(await self._daemon.supervisor.ask(event))
        _require(bool(answers), f"{type(event).__name__} was not answered in time")
        refusal = answers[0]
        _require(refusal is None, f"{type(event).__name__} was refused: {refusal.message if refusal else ''}")

    async def _ready(self) -> None:
        _require(self._daemon.is_alive, "no daemon lives that could be asked")
        _require(await self._until(lambda: self._daemon.is_ready), "the daemon does not begin in time")

    async def _until(self, holds: Callable[[], bool]) -> bool:
        while not holds():
            if self._host.now + LOOK_AGAIN >= self._limit:
                return False
            await anyio.sleep(LOOK_AGAIN)
        return True

    def _is_down(self, name: str) -> bool:
        agent = self._daemon.supervisor.fleet.agents.get(name)
        return agent is None or isinstance(agent.state, Stopped)

    def _callback_failed(self, loop: Any, context: dict[str, Any]) -> None:
        self.failures.append(context.get("exception") or RuntimeError(str(context.get("message"))))
        self._tasks.cancel_scope.cancel()


def _spec(name: str) -> AgentSpec:
    """A resident without hooks, restarted after failures, that says by a heartbeat file that it works."""
    return AgentSpec(name, ("work",), "/srv", heartbeat_file="heartbeat.json")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
