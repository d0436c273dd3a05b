"""Panes that somebody opened by hand in our server are no agent, and are neither typed into nor closed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phoenixd.drivers.tmux.panes import MARK, mark
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.errors import TerminalFailed
from tests.drivers.tmux.terminals import a_terminal, agents, recorder, tmux
from tests.waiting import eventually


def pid_of(room: Path, target: str) -> int:
    return int(tmux(room, "list-panes", "-t", target, "-F", "#{pane_pid}").split()[0])


async def types_into(terminal: TmuxTerminal, agent: str, path: Path) -> None:
    """Paste a word, and wait for it at what records in the agent's pane."""
    await eventually(path.exists, what="it records")
    await terminal.paste(agent, "a word")
    await eventually(lambda: b"a word" in path.read_bytes(), what="the word arrived")


async def test_f_tmux_5_a_session_of_an_agents_name_that_is_not_ours_makes_way_and_lives(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        tmux(short_tmp, "new-session", "-d", "-s", "phx-a", "--", *recorder(short_tmp / "theirs"))
        theirs = pid_of(short_tmp, "=phx-a:")
        assert await agents(terminal) == frozenset()
        for use in (terminal.capture, terminal.press_enter, terminal.last_typed):
            with pytest.raises(TerminalFailed, match="a has no terminal now"):
                await use("a")

        await terminal.open_pane("a", recorder(short_tmp / "ours"))
        await types_into(terminal, "a", short_tmp / "ours")
        assert await agents(terminal) == {"a"}
        assert [pid for _, pid in await terminal.foreign()] == [theirs]

        await terminal.close_pane("a")
        os.kill(theirs, 0)
        assert (short_tmp / "theirs").read_bytes() == b""


async def test_a_pane_in_front_of_an_agents_own_is_not_the_agents(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "ours"))
        tmux(short_tmp, "split-window", "-b", "-t", "=phx-a:", *recorder(short_tmp / "theirs"))
        tmux(short_tmp, "new-window", "-b", "-t", "=phx-a:0", *recorder(short_tmp / "theirs too"))
        await eventually((short_tmp / "theirs").exists, what="the other one records too")

        await types_into(terminal, "a", short_tmp / "ours")
        await terminal.press_enter("a")
        assert len(await terminal.foreign()) == 2
        await terminal.close_pane("a")

        assert await agents(terminal) == frozenset()
        assert len(await terminal.foreign()) == 2
        assert (short_tmp / "theirs").read_bytes() == b""


async def test_an_agents_pane_is_found_wherever_somebody_moved_it(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "a"))
        await terminal.open_pane("b", recorder(short_tmp / "b"))
        tmux(short_tmp, "join-pane", "-d", "-b", "-s", "=phx-a:0.0", "-t", "=phx-b:0.0")

        await types_into(terminal, "a", short_tmp / "a")
        await types_into(terminal, "b", short_tmp / "b")
        assert await agents(terminal) == {"a", "b"}
        assert await terminal.foreign() == ()
        await terminal.close_pane("a")
        assert await agents(terminal) == {"b"}


async def test_a_pane_that_was_given_another_program_is_no_agents_any_more(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "ours"))
        tmux(short_tmp, "respawn-pane", "-k", "-t", "=phx-a:0.0", *recorder(short_tmp / "theirs"))
        assert await agents(terminal) == frozenset()
        assert len(await terminal.foreign()) == 1


async def test_a_shims_pane_needs_no_mark_and_the_mark_no_shim(short_tmp: Path) -> None:
    shims: dict[str, int] = {}
    async with a_terminal(short_tmp, shim_pid=shims.get) as terminal:
        tmux(short_tmp, "new-session", "-d", "-s", "phx-old", "--", *recorder(short_tmp / "old"))
        await terminal.open_pane("new", recorder(short_tmp / "new"))
        assert await agents(terminal) == {"new"}
        shims["old"] = pid_of(short_tmp, "=phx-old:")
        assert await agents(terminal) == {"old", "new"}

        await terminal.capture("old")
        shown = tmux(short_tmp, "list-panes", "-t", "=phx-old:", "-F", f"#{{{MARK}}}").strip()
        assert shown == mark("old", str(shims["old"])), "it is marked for those who do not know its shim"

        after_a_restart = TmuxTerminal(short_tmp, shim_pid=shims.get)
        assert await agents(after_a_restart) == {"old", "new"}
        after_a_restart.close()


async def test_what_strangers_name_their_sessions_makes_no_agent(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        tmux(short_tmp, "new-session", "-d", "-s", "x", "--", "sleep", "1000")
        theirs = pid_of(short_tmp, "=x:")
        session = tmux(short_tmp, "list-panes", "-t", "=x:", "-F", "#{session_id}").strip()
        for name in (f"a:{theirs}", f"y a:{theirs} phx-a", "phx-a", "phx-#{pid}"):
            tmux(short_tmp, "rename-session", "-t", session, name)
            assert await agents(terminal) == frozenset()
        assert [pid for _, pid in await terminal.foreign()] == [theirs]


def sessions(room: Path) -> set[str]:
    return {one for one in tmux(room, "list-sessions", "-F", "#{session_name}").split() if one != "phoenixd"}


async def test_a_seats_holder_takes_its_name_and_the_pane_before_keeps_its_own(short_tmp: Path) -> None:
    """Panes are known by their shims and marks: whatever their sessions are called, none is lost."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("boss", recorder(short_tmp / "first"))
        await terminal.open_pane("boss-g2", recorder(short_tmp / "second"))
        for _ in range(2):
            await terminal.take_session("boss-g2", "boss", 2)
            assert sessions(short_tmp) == {"phx-boss", "phx-boss-g1"}
        assert await agents(terminal) == {"boss", "boss-g2"}
        await types_into(terminal, "boss-g2", short_tmp / "second")
        await types_into(terminal, "boss", short_tmp / "first")

        await terminal.open_pane("boss-g3", recorder(short_tmp / "third"))
        await terminal.take_session("boss-g3", "boss", 3)
        assert sessions(short_tmp) == {"phx-boss", "phx-boss-g1", "phx-boss-g2"}
        for name in ("boss", "boss-g2"):
            await terminal.close_pane(name)
        assert sessions(short_tmp) == {"phx-boss"}
        assert await agents(terminal) == {"boss-g3"}


async def test_a_strangers_session_of_a_seats_name_makes_way(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("boss-g2", recorder(short_tmp / "second"))
        tmux(short_tmp, "new-session", "-d", "-s", "phx-boss", "--", *recorder(short_tmp / "theirs"))
        theirs = pid_of(short_tmp, "=phx-boss:")
        await terminal.take_session("boss-g2", "boss", 2)

        assert pid_of(short_tmp, "=phx-boss:") != theirs
        assert [pid for _, pid in await terminal.foreign()] == [theirs]


async def test_a_pane_that_somebody_moved_takes_no_name_from_where_it_is(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("other", recorder(short_tmp / "other"))
        await terminal.open_pane("boss-g2", recorder(short_tmp / "second"))
        tmux(short_tmp, "join-pane", "-s", "=phx-boss-g2:", "-t", "=phx-other:")
        await terminal.take_session("boss-g2", "boss", 2)

        assert sessions(short_tmp) == {"phx-other"}
        for seat in ("boss#(touch x)", "", "Boss"):
            with pytest.raises(TerminalFailed, match="no agent's name"):
                await terminal.take_session("boss-g2", seat, 2)
