"""What is said when no daemon answers: that the agents run on, and how one is started."""

from __future__ import annotations

import _socket
import os
import shlex
import stat
import struct
from pathlib import Path
from typing import NamedTuple

from phoenixd import log_file
from phoenixd.api import exits
from phoenixd.ctl import holders, listener, wire
from phoenixd.ctl.listener import Listener
from phoenixd.ctl.refusal import refuse
from phoenixd.directories import (
    CONFIGURATION_POINTER,
    STATE_POINTER,
    Directories,
    find_directories,
    find_state_directory,
    start_again,
)
from phoenixd.errors import ConfigurationError
from phoenixd.remedies import Command, Remedy, Sentence
from phoenixd.remedies import then as in_turn
from phoenixd.runs import advice, living_shims

MARK = "@phoenixd"
"""The option of a pane by which the daemon says whose it is; see phoenixd/drivers/tmux/panes.py."""
VARIABLES = (b"PHOENIX_SOCKET", b"PHOENIX_RUNTIME_DIR")
"""Those that name one place alone; see wire.sockets."""
POINTER_LIMIT = 4096
END_IT = "end that process"
UNITS = (
    ("/run/systemd/system", ".config/systemd/user/phoenixd.service", Command("systemctl --user start phoenixd")),
    ("/run/systemd/system", "/etc/systemd/system/phoenixd.service", Command("systemctl start phoenixd")),
)


class Absence(NamedTuple):
    """That no daemon answers: the exit code, what is known, and what helps.

    runs: where no daemon is there, whether agents of it or their terminal may be; None where one is, or nobody knows.
    """

    code: int
    why: str
    remedy: str
    runs: bool | None = None


def explain(places: list[bytes], then: str = "") -> int:
    """Say it on standard error; returns the exit code. then: what is to be typed once a daemon runs."""
    found = absence(places, then)
    return refuse(found.code, found.why, found.remedy)


def absence(places: list[bytes], then: str = "") -> Absence:
    """Why no daemon answered there."""
    place, found = _door(places)
    state = _state_of(place) if place else None
    if isinstance(found, PermissionError):
        why = f"{_names(places)} does not let you in: it belongs to another user"
        return Absence(exits.DENIED, why, "ask as that user, as root, or be put into the daemon's group")
    if isinstance(found, BlockingIOError):  # Nobody has been taken in for so long that no more may wait.
        return _silent(places, listener.of_full_queue(place, state), then)
    if isinstance(found, OSError):
        why = f"phoenixd cannot be asked (socket {_names(places)}): {found.strerror or found}"
        name = _named_by(places)
        return Absence(exits.UNREACHABLE, why, f"correct {name}, or leave it out" if name else "phoenixctl doctor")
    if found is not None:
        met = listener.of_connection(place, found, state)
        found.close()
        if met.is_strange:
            return _strange(places, met, then)
        if wire.is_silent(places):
            return _silent(places, met, then)
        why = f"phoenixd is there, and has not answered in time or to the end\nasked at {_names(places)}"
        return Absence(exits.UNREACHABLE, why, "the same again")
    if pid := holders.without_socket(places):
        return _without_socket(places, pid, then)
    living = _living(places)
    if not living and (name := _named_by(places)) is not None:
        return _nothing_there(places, name)
    said = f"phoenixd does not answer. {living}" if living else "No agent runs, and phoenixd does not answer."
    why = f"{said}\nasked at {_names(places)}"
    return Absence(exits.UNREACHABLE, why, in_turn(start_command(places), then), runs=bool(living))


def _door(places: list[bytes]) -> tuple[bytes, _socket.socket | OSError | None]:
    """The first place that lets us in, with the connection; else the first that does not, with why."""
    refused: tuple[bytes, OSError] | None = None
    for place in places:
        try:
            connection = wire.connect([place], 5.0)
        except OSError as error:
            refused = refused or (place, error)
            continue
        if connection is not None:
            return place, connection
    return refused or (b"", None)


def _silent(places: list[bytes], met: Listener, then: str) -> Absence:
    """A daemon that is there and answers nobody: its agents live on without it."""
    if met.is_strange:
        return _strange(places, met, then)
    pid = met.pid or max(0, met.holder)
    whose = f"phoenixd (pid {pid})" if pid else "phoenixd"
    if wire.is_stopped(pid):
        return _stopped(places, pid, then)
    why = f"{whose} is there, and answers nothing; its agents live on without it\nasked at {_names(places)}"
    if not met.is_daemon:
        return Absence(exits.UNREACHABLE, why, in_turn(in_turn(Sentence(END_IT), start_command(places)), then))
    why += f"\nwhere it waits stands at the end of its log after: kill -USR2 {pid}"
    return Absence(exits.UNREACHABLE, why, in_turn(in_turn(Command(f"kill -9 {pid}"), start_command(places)), then))


def _stopped(places: list[bytes], pid: int, then: str) -> Absence:
    why = f"phoenixd (pid {pid}) was stopped, by SIGSTOP or a debugger; its agents live on without it"
    return Absence(exits.UNREACHABLE, f"{why}\nasked at {_names(places)}", in_turn(Command(f"kill -CONT {pid}"), then))


def _strange(places: list[bytes], met: Listener, then: str) -> Absence:
    """A program that is no daemon listens there; nothing is said of ending it, for nobody knows what it is."""
    if met.holder and wire.is_stopped(met.holder):
        return _stopped(places, met.holder, then)
    runs, place = listener.program(met.pid), os.fsdecode(met.place)
    who = f"pid {met.pid}, {runs}" if runs else f"pid {met.pid}"
    why = f"another program listens at {place} ({who}), and it is not phoenixd"
    if met.holder:
        why += f"; phoenixd (pid {met.holder}) lives, and makes its own socket there anew within 5 s"
        return Absence(exits.UNREACHABLE, why, in_turn(Sentence("the same again"), then))
    living = _living(places)
    why += f". {living}" if living else ""
    name = _named_by(places)
    if os.path.basename(met.place) != b"api.sock":
        # No daemon that `up` starts would listen there.
        return Absence(exits.UNREACHABLE, why, f"correct {name}, or leave it out")
    away = Command(f"mv {shlex.quote(place)} {shlex.quote(f'{place}.strange')}")
    return Absence(exits.UNREACHABLE, why, in_turn(in_turn(away, start_command(places)), then))


def _without_socket(places: list[bytes], pid: int, then: str) -> Absence:
    """A daemon lives there, and nobody can reach it: it begins, or somebody deleted its socket."""
    if wire.is_stopped(pid):
        return _stopped(places, pid, then)
    why = (
        f"phoenixd (pid {pid}) lives, and its socket is not there: it begins, or somebody deleted the socket, which it "
        f"makes anew within 5 s\nasked at {_names(places)}"
    )
    state = next(filter(None, map(_state_of, places)), None)
    log = f"; why it is not there yet: tail {shlex.quote(os.path.join(state, log_file.NAME))}" if state else ""
    return Absence(exits.UNREACHABLE, why, in_turn(Sentence(f"the same again{log}"), then))


def _state_of(place: bytes) -> str | None:
    """The state directory that the daemon of this socket left word of."""
    found = _pointed(os.path.dirname(os.path.abspath(os.fsdecode(place))), STATE_POINTER)
    return os.fspath(found) if found is not None else None


def _named_by(places: list[bytes]) -> str | None:
    """The option or the variable that says where to look; None for the default places, and in a run for its own."""
    environ = wire.environment()
    if places != wire.sockets(environ):
        return "--socket"
    if b"PHOENIX_AGENT" in environ:
        return None
    named = next((name for name in VARIABLES if environ.get(name)), None)
    if named is None and wire.names_state(environ):
        return "PHOENIX_STATE_DIR"
    return os.fsdecode(named) if named is not None else None


def _nothing_there(places: list[bytes], name: str) -> Absence:
    """Agents may run under a daemon that is elsewhere: of that place alone it is known that none does, and only where a
    daemon's directory was named."""
    place = places[0]
    if name == "PHOENIX_STATE_DIR":
        try:
            place = os.fsencode(find_directories(os.environ).runtime / "api.sock")
        except ConfigurationError as error:
            return Absence(exits.USAGE, error.message, error.remedy)
    is_a_daemons = os.path.basename(place) == b"api.sock"
    known = "no agent of that one runs" if is_a_daemons else "whether agents run is not known"
    why = f"nothing answers at {_names([place])}, where {name} says that phoenixd is{_no_socket(place)}; {known}"
    if name == "--socket" or (name == "PHOENIX_SOCKET" and not is_a_daemons):
        # No daemon that `up` starts would listen there.
        without = f"leave {name} out" if name == "--socket" else f"leave it out: unset {name}"
        return Absence(exits.UNREACHABLE, why, f"correct {name}, or {without}")
    return Absence(
        exits.UNREACHABLE,
        f"{why}; for another one, unset {name}",
        start_command(places),
        runs=False if is_a_daemons else None,
    )


def _no_socket(place: bytes) -> str:
    """What stands there that nobody can listen at."""
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISSOCK(mode) else ": that is a directory" if stat.S_ISDIR(mode) else ": that is no socket"


def listens(places: list[bytes]) -> bool:
    """Whether anybody is there, be it one that does not let us in."""
    try:
        connection = wire.connect(places, 5.0)
    except OSError:
        return True
    if connection is not None:
        connection.close()
    return connection is not None


def start_command(places: list[bytes]) -> Remedy:
    """What starts the daemon of that place, or else the service where one is installed; the operator, for an agent."""
    if _named_by(places) is not None:
        return advice(_start_of(os.path.dirname(os.path.abspath(os.fsdecode(places[0])))))
    for running, unit, command in UNITS:
        if os.path.isdir(running) and os.path.exists(os.path.join(os.path.expanduser("~"), unit)):
            return advice(command)
    return advice(Command("phoenixctl up"))


def start_of_named(places: list[bytes]) -> str:
    """What starts the daemon of the place that was named; `phoenixctl up` where none was."""
    return start_command(places) if _named_by(places) is not None else "phoenixctl up"


def other_state(place: str, state: Path) -> Remedy | None:
    """What starts the daemon that listened at this socket, where it kept another state directory than this one."""
    found = left_by(place)
    return _start_of(os.fspath(found.runtime)) if found is not None and found.state != state else None


def left_by(place: str) -> Directories | None:
    """The directories of the daemon that listens at this socket, or did last; None where nothing there tells."""
    runtime = os.path.dirname(os.path.abspath(place))
    state = _pointed(runtime, STATE_POINTER)
    return Directories(_pointed(runtime, CONFIGURATION_POINTER), state, Path(runtime)) if state is not None else None


def _start_of(runtime: str) -> Remedy:
    """What starts the daemon that had this runtime directory, or a new one there."""
    try:
        state = _pointed(runtime, STATE_POINTER) or find_state_directory(os.environ)
        directories = Directories(_pointed(runtime, CONFIGURATION_POINTER), state, Path(runtime))
        return Command(start_again(os.environ, directories))
    except ConfigurationError as error:
        return Sentence(error.remedy)


def _pointed(runtime: str, name: str) -> Path | None:
    """The path that the daemon which last had this runtime directory left there; None where it left none."""
    try:
        with open(os.path.join(runtime, name), "rb") as pointer:
            path = os.fsdecode(pointer.read(POINTER_LIMIT).removesuffix(b"\n"))
    except OSError:
        return None
    return Path(path) if os.path.isabs(path) else None


def server(tmux_socket: str) -> int | None:
    """A pidfd of the terminal server that listens there, by the kernel's word; None where none can be had."""
    probe = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
    try:
        probe.connect(tmux_socket)
        pid, _, _ = struct.unpack("3i", probe.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))
        return os.pidfd_open(pid)
    except (OSError, OverflowError):
        return None
    finally:
        probe.close()


def tmux_sockets(places: list[bytes]) -> list[str]:
    """Where the terminal server of each of these daemons listens."""
    return [os.fsdecode(os.path.join(os.path.dirname(place), b"tmux.sock")) for place in places]


def panes(tmux_socket: str) -> dict[str, tuple[str, int]]:
    """The agents' panes in that server: id and pid of the shim by name; none when it does not answer."""
    return _panes(tmux_socket) or {}


def pane_of(tmux_socket: str, name: str) -> str | None:
    """The id of the pane that is meant by a name: of a seat that of its holder, whose session bears the name."""
    found = _listed(tmux_socket) or {}
    held = {session: pane for agent, (pane, _, session) in found.items() if seat_of(agent) == seat_of(name)}
    if (pane := held.get(f"phx-{name}")) is not None:
        return pane
    return found[name][0] if name in found else None


def is_pane_gone(tmux_socket: str, pane: str) -> bool:
    """Whether the server has other panes and not this one: one that is about to end has none any more."""
    import subprocess

    asks = ["tmux", "-N", "-S", tmux_socket, "list-panes", "-a", "-F", "#{pane_id}"]
    try:
        listed = subprocess.run(
            asks, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    there = listed.stdout.split() if listed.returncode == 0 else []
    return bool(there) and pane not in there


def seat_of(agent: str) -> str:
    """NAME of NAME-gN, which is how the generations of an orchestrator are called; see phoenixd/core/seat/names.py."""
    name, dash, number = agent.rpartition("-g")
    return name if dash and name and number.isdigit() and number.isascii() else agent


def _panes(tmux_socket: str) -> dict[str, tuple[str, int]] | None:
    """The same as `panes`; None where a server may be there that cannot be asked."""
    found = _listed(tmux_socket)
    return {agent: (pane, pid) for agent, (pane, pid, _) in found.items()} if found is not None else None


def _listed(tmux_socket: str) -> dict[str, tuple[str, int, str]] | None:
    """Pane, shim and session of each agent; None where a server may be there that cannot be asked.

    By the mark that the daemon gave them: anybody can open a session of any name in it by hand.
    """
    if not os.path.exists(tmux_socket):
        return {}
    import subprocess  # A tenth of what a call costs, and needed by few.

    try:
        listed = subprocess.run(
            [
                "tmux",
                "-N",
                "-S",
                tmux_socket,
                "list-panes",
                "-a",
                "-F",
                f"#{{pane_id}} #{{pane_pid}} #{{{MARK}}} #{{session_name}}",
            ],
            # On a terminal that it does not know tmux answers nothing.
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = {}
    for words in (line.split(" ", 3) for line in listed.stdout.splitlines()):
        if len(words) != 4:
            continue
        agent, _, pid = words[2].partition(":")
        if words[1] == pid and pid.isdigit():
            found[agent] = (words[0], int(pid), words[3])
    return found


def _living(places: list[bytes]) -> str:
    """Whose shims live, by the locks that they hold and by the panes that they sit in; empty where none does."""
    alive: set[str] = set()
    busy, untold, unseen = 0, 0, ""
    for place in places:
        runtime = os.fsdecode(os.path.dirname(place))
        try:
            locked = living_shims(runtime)
        except OSError as error:
            unseen, locked = f"{runtime}: {error.strerror}", set()
        found = _panes(os.path.join(runtime, "tmux.sock"))
        shown = set(found or ())
        alive |= {f"{runtime}/{name}" for name in locked | shown}
        untold += len(locked - shown)
        busy += sum(_has_children(pid) for _, pid in (found or {}).values())
        if found is None:
            unseen = unseen or f"the terminal server in {runtime} cannot be asked"
    if not alive:
        return f"Whether agents run is not known ({unseen})." if unseen else ""
    counted = (
        "1 shim (phoenixd's program beside an agent) is alive"
        if len(alive) == 1
        else f"{len(alive)} shims (phoenixd's programs beside agents) are alive"
    )
    if untold and not busy:
        return f"{counted}; whether agents run is not known, for no terminal server tells."
    if not busy:
        return f"{counted}, and no agent runs."
    told = f"{'Your agent runs' if busy == 1 else f'{busy} agents run'} on"
    return f"{told}." if busy == len(alive) else f"{told}; {counted}."


def _has_children(pid: int) -> bool:
    """Whether an agent, or what it left, is alive below a shim; an idle one has no children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return bool(children.read().strip())
    except OSError:
        return False


def _names(places: list[bytes]) -> str:
    return ", ".join(os.fsdecode(place) for place in places)
