"""`attach`: a tmux client of an agent's session. Needs no daemon: the agents outlive it, and so does this."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.ctl import absence, calls, lent, own_pane
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse

CLEARS_NOTHING = ("dumb", "unknown")
"""Terminals that are known, and that tmux refuses only once it has begun."""
WIDEST = 10_000
"""Columns or lines. No screen has as many, tmux itself makes no wider window, and its server would draw on such a
terminal for minutes, while the terminals of all agents wait."""
MOST_SAID = 4096
"""Bytes of an error that a tmux client tells."""
ENDING = 2.0
"""Seconds that a server may take to end after it has sent its clients away."""


def attach(command: Command) -> int:
    """Sit down at an agent's terminal; the exit code. Needs no daemon."""
    return sit_down(command, str(command.given["name"]), read_only=bool(command.given.get("read_only")))


def hindrance(command: Command, name: str) -> tuple[str, str] | None:
    """Why attach refuses at this terminal, and what is to be done; None where it opens."""
    inside = os.environ.get("TMUX", "").partition(",")[0]
    sockets = absence.tmux_sockets(calls.places(command))
    if inside and any(_same(inside, socket) for socket in sockets):
        return None
    server = next((socket for socket in sockets if os.path.exists(socket)), None)
    here = own_pane.here(server) if server is not None else None
    if here is not None:
        return f"this one is that of {here.agent}", f"Leave it first (prefix d), and type phoenixctl attach {name}"
    if inside:
        what = f"Detach first (prefix d), and type phoenixctl attach {name}; or nest on purpose: {nested(name)}"
        return "this one is inside another tmux", what
    return None


def nested(name: str, *, read_only: bool = False) -> str:
    """The command that attaches inside another tmux on purpose, and how it is left."""
    return f"TMUX= phoenixctl attach {name}{' --read-only' if read_only else ''}"


def sit_down(command: Command, name: str, *, read_only: bool = False) -> int:
    """The terminal of one agent. Inside our own tmux the client is switched over; inside another one it refuses."""
    if not re.fullmatch(NAME_PATTERN, name):
        return refuse(exits.NOT_FOUND, f"there can be no agent {name[:40]!r}", "phoenixctl status")
    sockets = absence.tmux_sockets(calls.places(command))
    server = next((socket for socket in sockets if os.path.exists(socket)), None)
    pane = absence.pane_of(server, name) if server is not None else None
    if server is None or pane is None:
        return _no_terminal(command, name, server)
    inside = os.environ.get("TMUX", "").partition(",")[0]
    here = own_pane.here(server)
    if here is not None and here.pane == pane:
        return refuse(
            exits.CONFLICT,
            f"this terminal is that of {here.agent} already, and would be drawn within itself without end",
            f"type here what is meant for it; or leave it (prefix d), and type: phoenixctl attach {name}",
        )
    if inside and _same(inside, server):
        return _become(["tmux", "-N", "-S", server, "switch-client", *(["-r"] if read_only else []), "-t", pane])
    if here is not None:
        return refuse(
            exits.CONFLICT,
            f"this terminal is that of {here.agent}: {name}'s would be drawn within it, and keys would go through both",
            f"leave it first (prefix d), and type: phoenixctl attach {name}{' --read-only' if read_only else ''}",
        )
    if inside:
        return refuse(
            exits.CONFLICT,
            "this terminal is inside another tmux, whose prefix key would hide the inner one's",
            f"detach first (prefix d), or nest on purpose: {nested(name, read_only=read_only)}",
        )
    if not sys.stdin.isatty():
        return refuse(exits.CONFLICT, "standard input is no terminal", f"phoenixctl logs {name} -f")
    if (why := _oversized()) is not None:
        again = f"stty cols 80 rows 24 && phoenixctl attach {name}{' --read-only' if read_only else ''}"
        return refuse(exits.CONFLICT, f"tmux cannot draw on this terminal: {why}", again)
    if (why := _unsuitable(server)) is not None:
        again = f"TERM=xterm-256color phoenixctl attach {name}{' --read-only' if read_only else ''}"
        return refuse(exits.CONFLICT, f"tmux cannot draw on this terminal: {why}", again)
    # Whether the agent runs is not known here, where no daemon is needed.
    print(f"{leaving()} leaves it, and stops nothing", file=sys.stderr)
    words = ["-r"] if read_only else []
    status = _sit(server, ["tmux", "-N", "-S", server, "attach-session", *words, "-t", pane], name, read_only=read_only)
    # A removal of the agent meanwhile took its terminal with it.
    return _no_terminal(command, name, server) if status is None else status


def leaving() -> str:
    """The keys that leave an agent's terminal. TMUX is empty where somebody nests: the outer tmux takes one prefix."""
    is_nested = os.environ.get("TMUX") == ""
    return "Ctrl-b Ctrl-b d (one prefix is the outer tmux's)" if is_nested else "prefix d (Ctrl-b d)"


def _oversized() -> str | None:
    """What this terminal says of its size where that cannot be; None where it can."""
    try:
        columns, lines = os.get_terminal_size(sys.stdin.fileno())
    except OSError:
        return None
    return f"it says that it has {columns} columns and {lines} lines" if max(columns, lines) > WIDEST else None


def _unsuitable(server: str) -> str | None:
    """Why tmux cannot draw on this terminal; None where it can, or where only its end will tell."""
    name = os.environ.get("TERM", "")
    if name in ("", *CLEARS_NOTHING):
        return f"TERM is {name}, which clears no screen" if name else "TERM is not set"
    try:
        # With a terminal for its input tmux looks first what it knows of that.
        asked = subprocess.run(
            ["tmux", "-N", "-S", server, "display-message", "-p", ""],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", timeout=5, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return f"TERM is {name}, {asked.stderr.strip()}" if asked.returncode != 0 else None


def _no_terminal(command: Command, name: str, server: str | None) -> int:
    """Why there is nothing to sit down at: a daemon that answers knows whether there is such an agent.

    server: the socket of the terminal server; None where there is none.
    """
    answer = calls.ask(command, calls.operation("show_agent"), {"name": name})
    if answer is not None and answer.status >= 400:
        return calls.tell(command, answer)
    if answer is None:
        found = absence.absence(calls.places(command), f"phoenixctl start {name}")
        code = exits.NOT_FOUND if server is not None else found.code
        return refuse(code, f"{name} has no terminal now. {found.why}", found.remedy)
    return refuse(exits.NOT_FOUND, f"{name} has no terminal now", f"phoenixctl start {name}")


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _sit(server: str, argv: list[str], name: str, *, read_only: bool) -> int | None:
    """Lend this terminal to a client of that server until it is left; None where its pane is gone then.

    What the client says of an error is shown where we know nothing better. A server that has ended is told.
    """
    pane = argv[-1]
    with contextlib.ExitStack() as stack:
        watched = absence.server(server)
        if watched is not None:
            stack.callback(os.close, watched)
        errors = os.memfd_create("tmux", os.MFD_CLOEXEC)
        stack.callback(os.close, errors)
        try:
            status = lent.lend(argv, errors)
        except FileNotFoundError:
            return _not_installed()
        if absence.is_pane_gone(server, pane):
            return None
        # A server that is told to end says so to its clients first.
        if status == 0 or watched is None or not select.select([watched], [], [], ENDING)[0]:
            sys.stderr.write(os.pread(errors, MOST_SAID, 0).decode(errors="replace"))
            return status
    why = f"the tmux server has ended, and {name} with it; a phoenixd that runs starts both again"
    return refuse(exits.FAILED, why, f"phoenixctl attach {name}{' --read-only' if read_only else ''}")


def _not_installed() -> int:
    return refuse(exits.FAILED, "tmux is not installed", "apt-get install tmux")


def _become(argv: list[str]) -> int:
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - to become tmux is the point, and no shell is wanted
    except FileNotFoundError:
        return _not_installed()
