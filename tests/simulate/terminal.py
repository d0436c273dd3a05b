"""The terminal server of the simulated host, as the daemon's port sees it."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from phoenixd.errors import TerminalFailed
from tests.simulate.host import Host
from tests.simulate.shim import Shim


class SimulatedTerminal:
    """Implements ports.Terminal."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._pasted: dict[str, str] = {}
        """What stands in each input line."""

    async def observe(self) -> bool:
        await self._delay()
        return self._host.terminal_is_alive

    async def revive(self) -> bool:
        if await self.observe():
            return True
        await self._delay()
        if self._host.happens(0.2):
            self._host.seen["terminal did not revive"] += 1
            return False
        self._host.terminal_is_alive = True
        return True

    async def open_pane(self, agent: str, argv: Sequence[str]) -> int | None:
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
        return shim.process.identity.pid

    async def close_pane(self, agent: str) -> None:
        await self._delay()
        if (shim := self._host.shims.get(agent)) is not None:
            shim.hang_up()

    async def take_session(self, agent: str, seat: str, generation: int) -> None:
        await self._delay()
        self._require()

    async def capture(self, agent: str, history: int = 0) -> str:
        await self._delay()
        self._require()
        shim = self._host.shims.get(agent)
        return shim.run.program.screen if shim is not None and shim.run is not None else ""

    async def paste(self, agent: str, text: str) -> str:
        await self._delay()
        self._require()
        self._pasted[agent] = text
        return text

    async def press_enter(self, agent: str) -> None:
        await self._delay()
        self._require()
        shim = self._host.shims.get(agent)
        # An Enter on an empty line asks nothing.
        text = self._pasted.pop(agent, None)
        if shim is not None and shim.run is not None and text is not None:
            shim.run.program.prompt(text)

    async def press_escape(self, agent: str) -> None:
        await self._delay()
        self._require()
        shim = self._host.shims.get(agent)
        if shim is not None and shim.run is not None:
            shim.run.program.escape()

    async def tell_attached(self, agent: str, words: str) -> None:
        await self._delay()

    async def clear_line(self, agent: str) -> None:
        await self._delay()

    async def last_typed(self, agent: str) -> float | None:
        return None

    async def make_room(self, agent: str) -> str | None:
        return None

    async def unread(self, agent: str) -> int | None:
        return 0

    async def discard_unread(self, agent: str) -> None:
        await self._delay()

    async def _delay(self) -> None:
        await anyio.sleep(self._host.dice.uniform(0.0001, 0.002))
        if self._host.happens(0.005):
            self._host.seen["terminal did not answer in time"] += 1
            raise TerminalFailed("tmux did not answer within 5 s")

    def _require(self) -> None:
        if not self._host.terminal_is_alive:
            raise TerminalFailed("no server running")
