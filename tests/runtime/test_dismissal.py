"""The end of everything, `down --agents`: nothing of ours is left, whatever goes by itself meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from phoenixd.core.events.orders import StartRequested
from phoenixd.core.moment import Moment
from phoenixd.daemon import _end
from phoenixd.errors import ShimFailed
from phoenixd.wiring.closing import dismiss
from tests.core.story import Story, spec


class Shims:
    """Two living shims; the first goes as it is told to."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def living(self) -> tuple[str, ...]:
        return ("removed", "other")

    def quit(self, agent: str) -> None:
        if agent == "removed":
            raise ShimFailed("the link to removed's shim broke: Broken pipe")
        self.told.append(agent)


class Terminal:
    def __init__(self, foreign: tuple[tuple[str, int], ...] = ()) -> None:
        self.is_ended = False
        self._foreign = foreign

    async def foreign(self) -> tuple[tuple[str, int], ...]:
        return self._foreign

    async def end(self) -> None:
        self.is_ended = True


async def test_a_shim_that_goes_by_itself_keeps_neither_the_others_nor_the_terminal_alive() -> None:
    """It ended the daemon with a traceback, and tmux lived on."""
    shims, terminal = Shims(), Terminal()
    await dismiss(cast(Any, shims), cast(Any, terminal), None, "all")

    assert shims.told == ["other"]
    assert terminal.is_ended


@pytest.mark.parametrize("foreign", [(), (("%7", 4711),)])
async def test_a_server_in_which_no_agent_runs_ends_unless_somebody_works_in_it(
    foreign: tuple[tuple[str, int], ...],
) -> None:
    """After `down` without --agents; with it nothing is left."""
    for what, ends in (("idle", not foreign), ("all", True)):
        shims, terminal = Shims(), Terminal(foreign)
        await dismiss(cast(Any, shims), cast(Any, terminal), None, cast(Any, what))

        assert shims.told == ["other"]
        assert terminal.is_ended is ends


@pytest.mark.parametrize("what", ["idle", "all"])
@pytest.mark.parametrize("starts", [False, True])
async def test_what_is_started_while_the_daemon_ends_lives_on(
    starts: bool, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`down` had found that no agent runs, with --agents as well: the shim of the run that was begun then was told to
    go."""
    shims, terminal, story = Shims(), Terminal(), Story(spec(autostart=False))
    assert story.fleet.is_at_rest
    supervisor = SimpleNamespace(fleet=story.fleet)

    async def finish(ended: Any) -> None:
        if starts:
            assert story.tell(StartRequested("a")) is None
            ended.fleet = story.fleet

    remembered = list[str]()

    async def remember_end(journal: Any, wall: float, why: str) -> None:
        remembered.append(why)

    monkeypatch.setattr("phoenixd.daemon.finish", finish)
    monkeypatch.setattr("phoenixd.daemon.remember_end", remember_end)
    manager = SimpleNamespace(stopping=lambda why: None, extend_timeout=lambda seconds: None)
    world = SimpleNamespace(shims=shims, terminal=terminal, cgroups=None)
    clock = SimpleNamespace(now=lambda: Moment(0.0, 0.0))
    ground = SimpleNamespace(manager=manager, supervisor=supervisor, journal=None, clock=clock)
    ending = SimpleNamespace(dismiss=what, why="phoenixctl down")
    await _end(cast(Any, SimpleNamespace(ground=ground, world=world, ending=ending)))

    assert remembered == ["phoenixctl down"]
    assert terminal.is_ended is not starts
    assert bool(shims.told) is not starts
