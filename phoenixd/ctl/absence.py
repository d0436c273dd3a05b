"""What is said when no daemon answers: that the agents run on, and how one is started."""

from __future__ import annotations

import os
import subprocess

from phoenixd.api import exits
from phoenixd.ctl import wire
from phoenixd.ctl.refusal import refuse

UNITS = (
    ("/run/systemd/system", ".config/systemd/user/phoenixd.service", "systemctl --user start phoenixd"),
    ("/run/systemd/system", "/etc/systemd/system/phoenixd.service", "systemctl start phoenixd"),
)


def explain(places: list[bytes]) -> int:
    """Say it on standard error; returns the exit code."""
    try:
        connection = wire.connect(places, 5.0)
    except PermissionError:
        why = f"{_names(places)} does not let you in: it belongs to another user"
        return refuse(exits.DENIED, why, "ask as that user, as root, or be put into the daemon's group")
    except OSError as error:
        why = f"phoenixd cannot be asked (socket {_names(places)}): {error.strerror}"
        return refuse(exits.UNREACHABLE, why, "phoenixctl doctor")
    if connection is not None:
        connection.close()
        why = f"phoenixd is there (socket {_names(places)}), and did not answer in time or to the end"
        return refuse(exits.UNREACHABLE, why, "try again; if that does not help: phoenixctl doctor")
    why = f"phoenixd does not answer (socket {_names(places)}). {_living(places)}"
    return refuse(exits.UNREACHABLE, why, start_command())


def start_command() -> str:
    """The command that starts a daemon here: the service where one is installed."""
    for running, unit, command in UNITS:
        if os.path.isdir(running) and os.path.exists(os.path.join(os.path.expanduser("~"), unit)):
            return command
    return "phoenixctl up"


def tmux_sockets(places: list[bytes]) -> list[str]:
    """Where the terminal server of each of these daemons listens."""
    return [os.fsdecode(os.path.join(os.path.dirname(place), b"tmux.sock")) for place in places]


def sessions(tmux_socket: str) -> list[str]:
    """Names of the agents that have a session on that server; none when it does not answer."""
    if not os.path.exists(tmux_socket):
        return []
    try:
        listed = subprocess.run(
            ["tmux", "-N", "-S", tmux_socket, "list-sessions", "-F", "#{session_name}"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.removeprefix("phx-") for line in listed.stdout.splitlines() if line.startswith("phx-")]


def _living(places: list[bytes]) -> str:
    alive = sum(len(sessions(socket)) for socket in tmux_sockets(places))
    if alive == 1:
        return "1 shim is alive in its tmux session: your agent runs on."
    return f"{alive} shims are alive in their tmux sessions: your agents run on." if alive else "No shim is alive."


def _names(places: list[bytes]) -> str:
    return ", ".join(os.fsdecode(place) for place in places)
