"""The daemon's ports over the simulated host. One set for each life of a daemon: a dead one's calls reach nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event, EvidenceSeen
from phoenixd.errors import LaunchFailed, ShimFailed, TerminalFailed
from phoenixd.harness.prompts import Prompt
from phoenixd.ports import (
    Entry,
    Fenced,
    ProcessIdentity,
    ShimCommand,
    ShimHello,
    ShimMessage,
    ShimRun,
)
from tests.simulate.host import Host
from tests.simulate.program import Program
from tests.simulate.shim import Shim


@dataclass(slots=True)
class Life:
    """Whether the daemon that these ports belong to still lives."""

    is_over: bool = False


class SimulatedTerminal:
    """Implements ports.Terminal."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def observe(self) -> bool:
        await self._delay()
        return self._host.terminal_is_alive

    async def revive(self) -> bool:
        await self._delay()
        if self._host.happens(0.2):
            self._host.seen["terminal did not revive"] += 1
            return False
        self._host.terminal_is_alive = True
        return True

    async def open_pane(self, agent: str, argv: Sequence[str]) -> None:
        await self._delay()
        self._require()
        host = self._host
        if (old := host.shims.get(agent)) is not None:
            old.hang_up()
            del host.shims[agent]
        shim = host.shims[agent] = Shim(host, agent)
        slow = host.happens(0.01)
        host.seen["shim slow to listen"] += slow

        def listen() -> None:
            shim.is_listening = host.shims.get(agent) is shim

        host.later(host.dice.uniform(8, 15) if slow else host.dice.uniform(0.02, 0.2), listen)

    async def close_pane(self, agent: str) -> None:
        await self._delay()
        if (shim := self._host.shims.get(agent)) is not None:
            shim.hang_up()

    async def panes(self) -> frozenset[str]:
        await self._delay()
        self._require()
        return frozenset(self._host.shims)

    async def capture(self, agent: str) -> str:
        await self._delay()
        self._require()
        shim = self._host.shims.get(agent)
        return shim.run.program.screen if shim is not None and shim.run is not None else ""

    async def paste(self, agent: str, text: str) -> str:
        await self._delay()
        self._require()
        self._pasted = text
        return text

    async def press_enter(self, agent: str) -> None:
        await self._delay()
        self._require()
        shim = self._host.shims.get(agent)
        if shim is not None and shim.run is not None:
            shim.run.program.prompt(self._pasted)

    async def _delay(self) -> None:
        await anyio.sleep(self._host.dice.uniform(0.0001, 0.002))
        if self._host.happens(0.005):
            self._host.seen["terminal did not answer in time"] += 1
            raise TerminalFailed("tmux did not answer within 5 s")

    def _require(self) -> None:
        if not self._host.terminal_is_alive:
            raise TerminalFailed("no server running")


@dataclass(slots=True)
class _Link:
    shim: Shim
    hello: ShimHello


class SimulatedShims:
    """Implements ports.ShimLinks, with the manners of the real driver: a cut link is reopened, and the sink is told."""

    def __init__(
        self, host: Host, life: Life, sink: Callable[[ShimMessage], None], program: Callable[[str], Program]
    ) -> None:
        self._host = host
        self._life = life
        self._sink = sink
        self._program = program
        self._links: dict[str, _Link] = {}

    async def connect(self, agent: str) -> ShimHello | None:
        await anyio.sleep(self._host.dice.uniform(0.0001, 0.002))
        if (link := self._links.get(agent)) is not None:
            return link.hello
        return self._open(agent)

    def start(self, agent: str, order: str, incarnation: int, run_id: str) -> None:
        shim = self._shim(agent)
        self._host.promises.start_ordered(agent, incarnation)
        shim.start(incarnation, run_id, self._program(order))

    def terminate(self, agent: str, incarnation: int) -> None:
        self._shim(agent).terminate(incarnation)

    def kill(self, agent: str, incarnation: int) -> None:
        self._shim(agent).kill(incarnation)

    def acknowledge(self, agent: str, seq: int) -> None:
        if agent in self._links and not self._life.is_over:
            self._links[agent].shim.acknowledge(seq)

    def notice(self, agent: str, lines: Sequence[str]) -> None:
        self._shim(agent)

    def quit(self, agent: str) -> None:
        self._shim(agent).quit()

    def shim_of(self, agent: str) -> Shim | None:
        link = self._links.get(agent)
        return link.shim if link else None

    def _shim(self, agent: str) -> Shim:
        if self._life.is_over or agent not in self._links:
            raise ShimFailed(f"there is no link to {agent}'s shim")
        return self._links[agent].shim

    def _open(self, agent: str) -> ShimHello | None:
        shim = self._host.shims.get(agent)
        if shim is None or not shim.is_listening or self._life.is_over:
            return None

        def received(message: ShimMessage) -> None:
            link = self._links.get(agent)
            if link is not None and not self._life.is_over:
                link.hello = _updated(link.hello, message)
                self._sink(message)

        def closed() -> None:
            if self._links.pop(agent, None) is None or self._life.is_over:
                return
            hello = self._open(agent)
            event = "link_lost" if hello is None else "hello"
            self._sink(ShimMessage(agent, event, {}))

        hello = shim.accept(received, closed)
        self._links[agent] = _Link(shim, hello)
        return hello


class SimulatedProcesses:
    """Implements ports.ProcessTable."""

    def __init__(self, host: Host, life: Life) -> None:
        self._host = host
        self._life = life
        self._watched: dict[ProcessIdentity, Callable[[], None]] = {}

    def boot_id(self) -> str:
        return self._host.boot_id

    def watch(self, identity: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        process = self._host.find(identity)
        if process is None:
            return False

        def died() -> None:
            if not self._life.is_over:
                self._watched.pop(identity)()

        if identity not in self._watched:
            process.watchers.append(died)
        self._watched[identity] = on_death  # A second watch replaces the first.
        return True

    def is_alive(self, identity: ProcessIdentity) -> bool:
        return self._host.find(identity) is not None

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        killed = []
        for process in self._host.tree(run_id):
            killed.append(f"{process.identity.pid} agent")
            self._host.kill(process)
        await anyio.sleep(self._host.dice.uniform(0.001, 0.3))
        remaining = tuple(process.identity.pid for process in self._host.tree(run_id))
        self._host.seen["fence left processes"] += bool(remaining)
        return Fenced(tuple(killed), remaining)


class SimulatedLauncher:
    """Implements ports.Launcher; an order is a program that has not begun."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._orders: dict[str, Program] = {}

    def order(self, name: str) -> Program:
        return self._orders.pop(name)

    def shim_command(self, agent: str) -> ShimCommand:
        return ShimCommand(("shim", agent))

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        await anyio.sleep(self._host.dice.uniform(0.001, 0.01))
        if self._host.happens(0.01):
            self._host.seen["order could not be written"] += 1
            raise LaunchFailed("the order cannot be written: no space left on device")
        name = f"/run/{spawn.run_id}"
        self._orders[name] = Program(self._host, agent, spawn)
        return name

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await anyio.sleep(0.001)

    def classify(self, agent: Agent, screen: str) -> str:
        return screen or "unknown"

    def input_line(self, agent: Agent, screen: str) -> str | None:
        return None

    def prompt(self, agent: Agent, text: str) -> Prompt:
        return Prompt(text, is_seen=False)


class SimulatedTranscripts:
    """Implements ports.Transcripts: nothing is ever put off."""

    async def end(self, agent: Agent) -> int:
        return 0

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class SimulatedRecords:
    """Implements ports.Records."""

    host: Host

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        return self.host.exit_records.get(agent)


class SimulatedEvidence:
    """Implements ports.Evidence: heartbeats of the agents that are followed reach the sink."""

    def __init__(self, life: Life, sink: Callable[[Event], None]) -> None:
        self._life = life
        self._sink = sink
        self._followed: dict[str, int] = {}

    def follow(self, agent: Agent) -> None:
        self._followed[agent.name] = agent.incarnation

    def forget(self, agent: str) -> None:
        self._followed.pop(agent, None)

    def beat(self, agent: str) -> None:
        if not self._life.is_over and agent in self._followed:
            self._sink(EvidenceSeen(agent, self._followed[agent], "heartbeat file"))


class SimulatedNotifier:
    """Implements ports.Notifier."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def alert(self, agent: str, kind: str, text: str) -> None:
        self._host.seen[f"alert: {kind}"] += 1


def _updated(hello: ShimHello, message: ShimMessage) -> ShimHello:
    if message.event == "started":
        body = message.body
        return replace(hello, run=ShimRun(body["incarnation"], body["run_id"], body["pid"], body["start_time"]))
    if message.event == "exited":
        return replace(hello, run=None, exit=message.body)
    return hello
