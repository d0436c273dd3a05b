"""Looking leaves no mark: a pane has the size of the terminal that shows it, and its own again when that one leaves."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.tmux.terminal import BY_WHO_ASKS
from tests.drivers.tmux.terminals import a_terminal, tmux
from tests.ending import A_WHILE
from tests.waiting import eventually

OWN = "120x40"
SIZED = "#{session_name} #{pane_width}x#{pane_height}"


@contextlib.contextmanager
def shown(room: Path, agent: str, columns: int, lines: int) -> Iterator[subprocess.Popen[bytes]]:
    """A terminal of this size that shows the agent's pane; it ends with SIGKILL, as with a connection that breaks."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(master, (lines, columns))
    command = ["setsid", "--ctty", "tmux", "-N", "-S", str(room / "tmux.sock"), "attach-session", "-t", f"=phx-{agent}"]
    client = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", "TMUX": ""}
    )
    os.close(slave)
    try:
        yield client
    finally:
        client.kill()
        client.wait()
        os.close(master)


def sizes(room: Path) -> dict[str, str]:
    lines = tmux(room, "list-panes", "-a", "-F", SIZED).splitlines()
    return {name.removeprefix("phx-"): size for name, _, size in (line.partition(" ") for line in lines)}


async def until(room: Path, agent: str, size: str) -> None:
    await eventually(lambda: sizes(room).get(agent) == size, what=f"the pane of {agent} is {size}")


@pytest.mark.parametrize("goes", ["detached", "killed"])
async def test_after_the_last_terminal_a_pane_has_its_own_size_again(short_tmp: Path, goes: str) -> None:
    async with a_terminal(short_tmp) as terminal:
        for agent in ("a", "b"):
            await terminal.open_pane(agent, ["sleep", "1000"])
        with shown(short_tmp, "b", 70, 20), shown(short_tmp, "a", 90, 30):
            await until(short_tmp, "a", "90x29")
            with shown(short_tmp, "a", 50, 15) as smaller:
                await until(short_tmp, "a", "50x14")
                if goes == "detached":
                    tmux(short_tmp, "detach-client", "-s", "=phx-a")
                else:
                    smaller.kill()
            if goes == "killed":
                await until(short_tmp, "a", "90x29")
                tmux(short_tmp, "detach-client", "-s", "=phx-a")
            await until(short_tmp, "a", OWN)
            assert sizes(short_tmp)["b"] == "70x19", "a terminal that stays is left alone"
        await until(short_tmp, "b", OWN)
        with shown(short_tmp, "b", 60, 18):
            await until(short_tmp, "b", "60x17")


async def test_a_terminal_that_leaves_while_another_agent_is_looked_at_leaves_no_mark(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        for agent in ("a", "b"):
            await terminal.open_pane(agent, ["sleep", "1000"])
        tmux(short_tmp, "new-session", "-d", "-s", "own", "-x", "33", "-y", "9", "sleep", "1000")
        by_hand = sizes(short_tmp)["own"]
        with shown(short_tmp, "a", 90, 30):
            await until(short_tmp, "a", "90x29")
            with shown(short_tmp, "b", 70, 20):
                await until(short_tmp, "b", "70x19")
                tmux(short_tmp, "detach-client", "-s", "=phx-a")
                await until(short_tmp, "a", OWN)
                assert sizes(short_tmp)["b"] == "70x19", "it is looked at"
                assert sizes(short_tmp)["own"] == by_hand != OWN, "nobody has ever shown it"


async def test_a_terminal_that_is_switched_to_another_agent_leaves_no_mark_either(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        for agent in ("a", "b"):
            await terminal.open_pane(agent, ["sleep", "1000"])
        with shown(short_tmp, "a", 90, 30):
            await until(short_tmp, "a", "90x29")
            tmux(short_tmp, "switch-client", "-t", "=phx-b:")
            await until(short_tmp, "b", "90x29")
            await until(short_tmp, "a", OWN)
            with shown(short_tmp, "b", 50, 15):
                await until(short_tmp, "b", "50x14")
                client = tmux(short_tmp, "list-clients", "-F", "#{client_name} #{client_width}").split()
                wide = client[client.index("90") - 1]
                tmux(short_tmp, "switch-client", "-c", wide, "-t", "=phx-a:")
                await until(short_tmp, "a", "90x29")
                assert sizes(short_tmp)["b"] == "50x14", "somebody still looks at it"
            await until(short_tmp, "b", OWN)
        await until(short_tmp, "a", OWN)


async def test_a_pane_begins_at_the_size_of_the_terminal_that_waits_for_it_and_only_then(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        terminal.size_next("a", 101, 33)
        terminal.size_next("b", 5, 2)
        for agent in ("a", "b"):
            await terminal.open_pane(agent, ["sleep", "1000"])
        assert sizes(short_tmp)["a"] == "101x32"
        assert sizes(short_tmp)["b"] == OWN, "in five columns nothing can be read"
        with shown(short_tmp, "a", 101, 33):
            # Of this session: the terminal's own connection is a client as well, and there from the start.
            await eventually(lambda: tmux(short_tmp, "list-clients", "-t", "=phx-a") != "", what="it is shown")
            assert sizes(short_tmp)["a"] == "101x32"
        await until(short_tmp, "a", OWN)
        await terminal.open_pane("a", ["sleep", "1000"])
        assert sizes(short_tmp)["a"] == OWN


async def test_a_pane_that_begins_while_a_small_terminal_shows_another_agent_has_its_own_size(short_tmp: Path) -> None:
    """tmux gave it the size of that terminal, which it kept: the screen of an agent that nobody showed was unread."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("b", ["sleep", "1000"])
        with shown(short_tmp, "b", 50, 12):
            await until(short_tmp, "b", "50x11")
            terminal.size_next("c", 101, 33)
            for agent in ("a", "c"):
                await terminal.open_pane(agent, ["sleep", "1000"])
            assert sizes(short_tmp) == {"phoenixd": OWN, "a": OWN, "b": "50x11", "c": "101x32"}
            with shown(short_tmp, "a", 70, 20):
                await until(short_tmp, "a", "70x19")
            await until(short_tmp, "a", OWN)


async def test_f_tmux_7_the_release_that_heeds_no_size_but_that_of_who_asks_is_asked_at_that_size(
    short_tmp: Path,
) -> None:
    """tmux 3.2a, which Ubuntu 22.04 and RHEL 9 have: a pane began there at 80x24, whatever it was to be."""
    async with a_terminal(short_tmp) as terminal:
        for version, agent in (("3.3", "a"), (BY_WHO_ASKS[0], "b"), (BY_WHO_ASKS[1], "c")):
            terminal.server.version = version
            terminal.size_next(agent, 101, 33)
            await terminal.open_pane(agent, ["sleep", "1000"])
            assert agent == "a" or sizes(short_tmp)[agent] == "101x32"
            assert ("101" in tmux(short_tmp, "list-clients", "-F", "#{client_width}").split()) == (agent != "a")
            await terminal.open_pane(agent, ["sleep", "1000"])
            assert agent == "a" or sizes(short_tmp)[agent] == OWN


async def test_a_peek_changes_neither_size_nor_mode(short_tmp: Path) -> None:
    """Twenty looks, as twenty faces would have them, at a pane that a person reads in copy mode."""
    async with a_terminal(short_tmp) as terminal:
        told = short_tmp / "winch"
        script = f'trap "echo w >>{told}" WINCH; seq 200; touch {told}; while {A_WHILE}; do sleep 0.05; done'
        await terminal.open_pane("a", ["sh", "-c", script])
        await eventually(told.exists, what="it listens")
        tmux(short_tmp, "copy-mode", "-t", "=phx-a:")
        looked = "#{pane_width}x#{pane_height} #{pane_in_mode} #{pane_mode} #{scroll_position} #{window-size}"
        before = tmux(short_tmp, "display-message", "-p", "-t", "=phx-a:", looked)
        assert before.startswith(f"{OWN} 1 copy-mode")

        for history in range(20):
            assert "200" in await terminal.capture("a", history * 10)
            assert await terminal.size("a") == (120, 40)

        assert tmux(short_tmp, "display-message", "-p", "-t", "=phx-a:", looked) == before
        assert told.read_text() == ""
