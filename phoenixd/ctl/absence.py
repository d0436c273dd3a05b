"""What is said when no daemon answers: that the agents run on, and how one is started."""

from __future__ import annotations

import os

from phoenixd import remedies
from phoenixd.api import exits
from phoenixd.ctl import wire
from phoenixd.ctl.refusal import refuse
from phoenixd.runs import advice, living_shims

MARK = "@phoenixd"
"""The option of a pane by which the daemon says whose it is; see phoenixd/drivers/tmux/panes.py."""
FORMAT = f"#{{pane_id}} #{{pane_pid}} #{{{MARK}}} #{{session_name}}"
VARIABLES = (b"PHOENIX_SOCKET", b"PHOENIX_RUNTIME_DIR")
"""Those that name one place alone; see wire.sockets."""
UNITS = (
    ("/run/systemd/system", ".config/systemd/user/phoenixd.service", "systemctl --user start phoenixd"),
    ("/run/systemd/system", "/etc/systemd/system/phoenixd.service", "systemctl start phoenixd"),
)


def explain(places: list[bytes], then: str = "") -> int:
    """Say it on standard error; returns the exit code. then: what is to be typed once a daemon runs."""
    try:
        connection = wire.connect(places, 5.0)
    except PermissionError:
        why = f"{_names(places)} does not let you in: it belongs to another user"
        return refuse(exits.DENIED, why, "ask as that user, as root, or be put into the daemon's group")
    except OSError as error:
        why = f"phoenixd cannot be asked (socket {_names(places)}): {error.strerror or error}"
        return refuse(exits.UNREACHABLE, why, "phoenixctl doctor")
    if connection is not None:
        connection.close()
        why = f"phoenixd is there (socket {_names(places)}), and did not answer in time or to the end"
        return refuse(exits.UNREACHABLE, why, "try again; if that does not help: phoenixctl doctor")
    living = _living(places)
    if not living and (name := _named_by(places)) is not None:
        return _nothing_there(places, name)
    said = f"phoenixd does not answer. {living}" if living else "No agent runs, and phoenixd does not answer."
    why = f"{said}\nasked at {_names(places)}"
    return refuse(exits.UNREACHABLE, why, remedies.then(start_command(), then) if then else start_command())


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


def _nothing_there(places: list[bytes], name: str) -> int:
    """Agents may run under a daemon that is elsewhere: of that place alone it is known that none does, and only where a
    daemon's directory was named."""
    is_a_daemons = os.path.basename(places[0]) == b"api.sock"
    known = "no agent of that one runs" if is_a_daemons else "whether agents run is not known"
    why = f"nothing answers at {_names(places[:1])}, where {name} says that phoenixd is; {known}"
    if name == "--socket" or (name == "PHOENIX_SOCKET" and not is_a_daemons):
        # No daemon that `up` starts would listen there.
        without = f"leave {name} out" if name == "--socket" else f"leave it out: unset {name}"
        return refuse(exits.UNREACHABLE, why, f"correct {name}, or {without}")
    why = f"{why}; for another one, unset {name}"
    return refuse(exits.UNREACHABLE, why, advice("phoenixctl up"))


def listens(places: list[bytes]) -> bool:
    """Whether anybody is there, be it one that does not let us in."""
    try:
        connection = wire.connect(places, 5.0)
    except OSError:
        return True
    if connection is not None:
        connection.close()
    return connection is not None


def start_command() -> str:
    """What starts a daemon here: the service where one is installed; the operator, where an agent asks."""
    for running, unit, command in UNITS:
        if os.path.isdir(running) and os.path.exists(os.path.join(os.path.expanduser("~"), unit)):
            return advice(command)
    return advice("phoenixctl up")


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
