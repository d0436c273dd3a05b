"""The links from a daemon to the simulated shims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from phoenixd.errors import ShimFailed
from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun
from tests.simulate.host import Host, Life
from tests.simulate.program import Program
from tests.simulate.shim import Shim


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

    def linked(self, agent: str) -> ShimHello | None:
        link = self._links.get(agent)
        return None if link is None else link.hello

    def take_up(self, agent: str, reason: str) -> None:
        """A simulated shim that listens is always reached."""

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

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        raise NotImplementedError("no simulated agent is held")

    def arm(self, agent: str, incarnation: int, answer: Mapping[str, object]) -> None:
        self._shim(agent).arm(incarnation, answer)

    def disarm(self, agent: str, incarnation: int, id: str) -> None:
        self._shim(agent).disarm(incarnation, id)

    def note_use(self, agent: str, id: str, uses: int) -> None:
        if agent in self._links and not self._life.is_over:
            self._links[agent].shim.note_use(id, uses)

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
            # Of a shim that is gone its own death tells, and there is no link to take up.
            if hello is not None or shim.process.is_alive:
                self._sink(ShimMessage(agent, "link_lost" if hello is None else "hello", {}))

        hello = shim.accept(received, closed)
        self._links[agent] = _Link(shim, hello)
        return hello


def _updated(hello: ShimHello, message: ShimMessage) -> ShimHello:
    if message.event == "started":
        body = message.body
        return replace(hello, run=ShimRun(body["incarnation"], body["run_id"], body["pid"], body["start_time"]))
    if message.event == "exited":
        return replace(hello, run=None, exit=message.body)
    return hello
