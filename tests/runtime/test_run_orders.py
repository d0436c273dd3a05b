"""What a start waits for: a terminal for its shim, and the end of one that leaves; and what is cleaned up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from phoenixd.core.actions import CleanUp, Fence, Release, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited, StartFailed, TreeGone
from phoenixd.core.hooks import TurnFailed
from phoenixd.errors import ShimGone
from phoenixd.ports.processes import Fenced, Leftover, Leftovers, ProcessIdentity
from phoenixd.ports.shims import ShimCommand, ShimHello
from phoenixd.runtime.run_orders import SHIM_TIMEOUT, RunOrders
from tests.clocks import FastClock
from tests.core.story import Story


class Silent:
    """No shim, and a tmux server that neither answers nor can be started."""

    def __init__(self) -> None:
        self.shims = self.terminal = self.starter = self
        self.asked: list[str] = []

    async def connect(self, agent: str) -> None:
        return None

    def leaving(self, agent: str) -> None:
        return None

    def let_go(self, agent: str) -> ProcessIdentity | None:
        return None

    async def revive(self) -> bool:
        self.asked.append("revive")
        return False


async def test_without_a_terminal_a_start_fails_by_that_name_and_nothing_else_is_tried() -> None:
    story, silent, told = Story(), Silent(), list[Event]()
    story.start()
    orders = RunOrders(cast(Any, silent), story.fleet.agents.get, told.append, cast(Any, silent))
    await orders.spawn(story.of(Spawn)[-1])
    assert silent.asked == ["revive"]
    assert told == [StartFailed("a", 1, 0, "the tmux server does not answer", "terminal gone")]


HELD = ShimHello("a", ProcessIdentity("boot", 5, 50), 2, "1", 1, None, {"cause": "terminal_lost"})
NEXT = replace(HELD, shim=ProcessIdentity("boot", 6, 60))


class Hung(Silent):
    """A shim whose terminal was lost, and that is gone after some looks; its link is read to its end later still."""

    def __init__(self, *, closes: bool = False) -> None:
        super().__init__()
        self.processes = self
        self.clock = Clock()
        self.alive, self.linked, self.closes = 3, 5, closes
        self.ordered: list[str] = []

    def leaving(self, agent: str) -> ProcessIdentity | None:
        self.alive -= 1
        return HELD.shim if self.alive > 0 else None

    async def connect(self, agent: str) -> ShimHello | None:
        assert self.alive <= 0, "a shim that goes is asked for nothing"
        self.linked -= 1
        return HELD if self.linked > 0 else NEXT if self.asked else None

    async def revive(self) -> bool:
        self.asked.append("revive")
        return True

    async def shim_command(self, agent: str) -> ShimCommand:
        return ShimCommand(("shim", agent))

    async def open_pane(self, agent: str, argv: tuple[str, ...]) -> int:
        self.asked.append("open_pane")
        return 6

    def identity_of(self, pid: int) -> ProcessIdentity:
        return NEXT.shim

    def is_alive(self, identity: ProcessIdentity) -> bool:
        return not self.closes

    def watch_shim(self, hello: ShimHello) -> None:
        self.ordered.append(f"watch {hello.shim.pid}")

    async def write_order(self, agent: Agent, action: Spawn, hello: ShimHello) -> str:
        self.ordered.append(f"order of {hello.shim.pid}")
        return "/order"

    def start(self, *order: object) -> None:
        self.ordered.append("start")

    def tidy(self, *order: object) -> None: ...


async def test_f_tmux_2_a_shim_that_goes_with_its_terminal_is_waited_for_and_never_given_an_order() -> None:
    """The first start after the server's end went into shims that died with it."""
    story, hung, told = Story(), Hung(), list[Event]()
    story.start()
    orders = RunOrders(cast(Any, hung), story.fleet.agents.get, told.append, cast(Any, hung))
    await orders.spawn(story.of(Spawn)[-1])
    assert told == []
    assert hung.asked == ["revive", "open_pane"]
    assert hung.ordered == ["watch 6", "order of 6", "start"]


async def test_f_tmux_2_a_shim_that_goes_while_it_is_told_its_order_has_gone_with_its_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story, hung, told = Story(), Hung(), list[Event]()
    story.start()

    def breaks(*order: object) -> None:
        raise ShimGone("the link to a's shim broke: Broken pipe")

    monkeypatch.setattr(hung, "start", breaks)
    orders = RunOrders(cast(Any, hung), story.fleet.agents.get, told.append, cast(Any, hung))
    await orders.spawn(story.of(Spawn)[-1])
    assert told == [StartFailed("a", 1, 0, "the link to a's shim broke: Broken pipe", "terminal gone")]


class Ending(Hung):
    """A shim that has closed its link, and is gone after some looks. says: it closes the link while it is greeted."""

    def __init__(self, *, says: bool) -> None:
        super().__init__()
        self.says = says
        self.looks = 5

    def leaving(self, agent: str) -> None:
        return None

    def let_go(self, agent: str) -> ProcessIdentity | None:
        known = HELD.shim if "let go" not in self.asked else None
        self.asked.append("let go")
        return known

    async def connect(self, agent: str) -> ShimHello | None:
        if "open_pane" in self.asked:
            return NEXT
        if self.says:
            raise ShimGone("a's shim was not accepted: the shim closed it")
        return None

    def is_alive(self, identity: ProcessIdentity) -> bool:
        if identity != HELD.shim:
            return True
        self.looks -= 1
        return self.looks > 0

    async def close_pane(self, agent: str) -> None:
        self.asked.append("close_pane")

    async def open_pane(self, agent: str, argv: tuple[str, ...]) -> int:
        assert self.looks == 0, "it holds the directory of its agent, and the next one would end at once"
        return await super().open_pane(agent, argv)


@pytest.mark.parametrize("says", [True, False])
async def test_f_tmux_2_a_shim_that_has_closed_its_link_is_gone_before_the_next_one_begins(says: bool) -> None:
    """The death of the one before was told as the loss of the run that was just begun."""
    story, ending, told = Story(), Ending(says=says), list[Event]()
    story.start()
    orders = RunOrders(cast(Any, ending), story.fleet.agents.get, told.append, cast(Any, ending))
    await orders.spawn(story.of(Spawn)[-1])
    assert told == []
    assert ending.asked == ["revive", "let go", "let go", "close_pane", "open_pane"]
    assert ending.ordered == ["watch 6", "order of 6", "start"]


async def test_a_pane_that_is_closed_before_its_shim_listens_fails_the_start_at_once() -> None:
    """It was waited for as long as a shim may take, ten seconds, while the server that it was in was long gone."""
    story, hung, told = Story(), Hung(closes=True), list[Event]()
    story.start()
    orders = RunOrders(cast(Any, hung), story.fleet.agents.get, told.append, cast(Any, hung))
    began = hung.clock.now().at
    await orders.spawn(story.of(Spawn)[-1])
    (failed,) = told
    assert isinstance(failed, StartFailed)
    assert (failed.code, failed.obstacle) == (0, "terminal gone")
    assert hung.clock.now().at - began < SHIM_TIMEOUT


class Clock(FastClock):
    """Each sleep also lets others have their turn."""

    async def sleep_until(self, at: float) -> None:
        await super().sleep_until(at)
        await asyncio.sleep(0)


class Leaving:
    """A shim that is gone as soon as it is told to leave; that its link has ended is read in a later turn."""

    def __init__(self) -> None:
        self.shims = self.terminal = self.evidence = self.processes = self
        self.clock = Clock()
        self.said: list[str] = []
        self.hello: Any = SimpleNamespace(shim="its process")

    async def connect(self, agent: str) -> Any:
        return self.hello

    def forget(self, agent: str) -> None:
        self.said.append("forget")

    def let_go(self, agent: str) -> None:
        self.said.append("let go")

    def quit(self, agent: str) -> None:
        self.said.append("quit")
        asyncio.get_running_loop().call_soon(self.closed)

    def closed(self) -> None:
        self.hello = None

    async def close_pane(self, agent: str) -> None:
        self.said.append("close pane")

    def is_alive(self, shim: object) -> bool:
        return False


async def test_what_begins_after_a_release_meets_no_link_to_the_shim_that_left() -> None:
    """An agent of the same name may begin right after, and its first order would go to nobody."""
    leaving, told = Leaving(), list[Event]()
    orders = RunOrders(cast(Any, leaving), Story().fleet.agents.get, told.append, cast(Any, leaving))
    await orders.release(Release("a"))

    assert await leaving.connect("a") is None
    assert leaving.said == ["forget", "quit", "let go", "close pane"]
    assert told == []


async def test_nothing_is_cleaned_up_for_an_agent_that_was_removed_meanwhile() -> None:
    story, told, cleaned = Story(), list[Event](), list[Agent]()

    async def clean(agent: Agent) -> Leftovers:
        cleaned.append(agent)
        return Leftovers((Leftover(7, "server", "left over (run 1)"),))

    outside = cast(Any, SimpleNamespace(cleaner=SimpleNamespace(clean=clean)))
    for agents in ({}, story.fleet.agents):
        orders = RunOrders(outside, agents.get, told.append, cast(Any, None))
        await orders.clean(CleanUp("a", 1), "after run 1")
        assert (cleaned, len(told)) == (list(agents.values()), len(agents))


@pytest.mark.parametrize("unproven", [False, True])
async def test_f_proc_26_a_fence_tells_the_end_that_was_recorded_with_what_had_failed(unproven: bool) -> None:
    ended = AgentExited("a", 1, "run-1", 1, None, failed=TurnFailed("a", 1, failure="limit"))

    async def fence(*run: object) -> Fenced:
        return Fenced(unproven=unproven)

    async def explained_end(*run: object) -> AgentExited:
        return ended

    outside: Any = SimpleNamespace(processes=SimpleNamespace(fence=fence, boot_id=lambda: "boot"))
    hearing: Any = SimpleNamespace(explained_end=explained_end, was_begun=lambda *run: True)
    told = list[Event]()
    await RunOrders(outside, lambda name: None, told.append, hearing).fence(Fence("a", 1, "run-1", 100, 1000))
    assert told == [TreeGone("a", 1, unproven=True, ended=ended) if unproven else ended]
