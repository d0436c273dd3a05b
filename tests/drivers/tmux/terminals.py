"""A private tmux server behind the driver, and a program that records exactly what is typed into its pane."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from phoenixd.drivers.tmux.panes import FORMAT, OWN_SESSION, Pane
from phoenixd.drivers.tmux.server import SERVER_OPTIONS, SESSION_OPTIONS, WINDOW_OPTIONS
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from tests.waiting import eventually

RECORDER = r"""
import os, sys, termios, time, tty
path, paste = sys.argv[1:]
tty.setraw(0)
if paste == "bracketed": os.write(1, b"\x1b[?2004h")
out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(1, b"recording")
while data := os.read(0, 65536): os.write(out, data)
"""


@contextlib.asynccontextmanager
async def a_terminal(room: Path, **options: Any) -> AsyncIterator[TmuxTerminal]:
    """The driver with a running server of its own, which is killed by its pid in the end."""
    terminal = TmuxTerminal(room, **options)
    pid = None
    try:
        assert await terminal.revive()
        pid = await terminal.server_pid()
        yield terminal
    finally:
        terminal.close()
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            tmux(room, "kill-server")
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            # The next one in this room is to meet no server that is just going away.
            await eventually(lambda: not terminal.server.listens(), what="the server is gone")


def tmux(room: Path, *arguments: str) -> str:
    """Ask the server by a process of one's own, as an operator would."""
    done = subprocess.run(
        ["tmux", "-N", "-u", "-S", str(room / "tmux.sock"), *arguments], capture_output=True, text=True, timeout=10
    )
    return done.stdout


async def agents(terminal: TmuxTerminal) -> frozenset[str]:
    """Names of the agents that have a pane: all panes of the server but its own and those that are foreign to it."""
    foreign = {pane for pane, _ in await terminal.foreign()}
    listed = tmux(terminal.server.socket.parent, "list-panes", "-a", "-F", FORMAT).splitlines()
    panes = [Pane(id, int(pid), *rest) for id, pid, *rest in (line.split(" ", 4) for line in listed)]
    return frozenset(str(pane.claim) for pane in panes if pane.id not in foreign and pane.session != OWN_SESSION)


def drift(room: Path) -> list[str]:
    """Options that are not as the driver sets them: `name value`."""
    found = []
    for scope, wanted in (("-s", SERVER_OPTIONS), ("-g", SESSION_OPTIONS), ("-wg", WINDOW_OPTIONS)):
        lines = tmux(room, "show-options", scope).splitlines()
        assert lines, "the server answers"
        shown = {name: value for name, _, value in (line.partition(" ") for line in lines)}
        for name in wanted.keys() & shown.keys():
            value = "" if shown[name] == "''" else shown[name].strip('"')
            found += [f"{name} {value}"] if value != wanted[name] else []
    return found


def recorder(path: Path, paste: str = "bracketed") -> list[str]:
    """argv of a program in raw mode that appends all its input to `path`."""
    return [sys.executable, "-I", "-S", "-c", RECORDER, str(path), paste]
