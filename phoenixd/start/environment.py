"""The environment that an agent is given: whose it starts from, what is always taken out, what is always put in."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path

TERM, FALLBACK_TERM = "tmux-256color", "screen-256color"
TERMINFO = ("/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo")

# A unit's own business, an outer terminal's, an outer supervisor's.
REMOVED = frozenset(
    """
    NOTIFY_SOCKET INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID MAINPID MANAGERPID FDSTORE MEMORY_PRESSURE_WATCH
    MEMORY_PRESSURE_WRITE STATE_DIRECTORY RUNTIME_DIRECTORY CONFIGURATION_DIRECTORY CACHE_DIRECTORY LOGS_DIRECTORY
    CREDENTIALS_DIRECTORY STY WINDOW COLUMNS LINES TERMCAP TERM_PROGRAM TERM_PROGRAM_VERSION VTE_VERSION WT_SESSION
    OLDPWD SHLVL _ CLAUDECODE
    """.split()
)
REMOVED_PREFIXES = ("TMUX", "PHOENIX_", "WATCHDOG_", "LISTEN_")

# Claude Code tells its children about itself; the same prefix also carries a user's own settings and logins.
OUTER_SESSION = frozenset(
    """
    CLAUDE_CODE_SESSION_ID CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_SSE_PORT CLAUDE_CODE_EXECPATH
    CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE CLAUDE_EFFORT CLAUDE_PLUGIN_ROOT AI_AGENT
    """.split()
)
LOGINS = frozenset(
    """
    CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_USE_FOUNDRY
    CLAUDE_CODE_SKIP_BEDROCK_AUTH CLAUDE_CODE_SKIP_VERTEX_AUTH CLAUDE_CODE_SKIP_FOUNDRY_AUTH
    CLAUDE_CODE_API_KEY_HELPER_TTL_MS CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY
    CLAUDE_CODE_CLIENT_KEY_PASSPHRASE
    """.split()
)


def cleaned(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without what must not reach an agent."""
    outer = {name for name in base if name.startswith("CLAUDE_CODE_")} - LOGINS if "CLAUDECODE" in base else set()
    removed = REMOVED | OUTER_SESSION | outer
    return {
        name: value for name, value in base.items() if name not in removed and not name.startswith(REMOVED_PREFIXES)
    }


def bare() -> dict[str, str]:
    """The least that programs expect: `env_from = "none"`."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def compose(
    base: Mapping[str, str], own: Mapping[str, str], phoenix: Mapping[str, str], cwd: str, *, agent_answers: bool
) -> dict[str, str]:
    """The whole environment: `base` cleaned, what every program needs, the operator's `own`, and ours, which wins.

    agent_answers: whether the SSH agent of `base` is alive (see `answers`).
    """
    made = cleaned(base)
    if not agent_answers:
        made.pop("SSH_AUTH_SOCK", None)
    for name, value in _user().items():
        made.setdefault(name, value)
    made["TERM"] = TERM if _has_terminfo(TERM) else FALLBACK_TERM
    made["PWD"] = cwd
    # The seed's scripts ask for the agent's name by this one (G42).
    seed = {"GENESIS_AGENT": phoenix["PHOENIX_AGENT"]} if "PHOENIX_AGENT" in phoenix else {}
    return {**made, **seed, **own, **phoenix}


def answers(path: str | None) -> bool:
    """Whether somebody accepts connections on a unix socket."""
    if not path:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError, ValueError):
        probe.settimeout(0.2)
        probe.connect(path)
        return True
    return False


def _user() -> dict[str, str]:
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        return {"HOME": "/", "SHELL": "/bin/sh"}
    return {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name, "SHELL": user.pw_shell or "/bin/sh"}


def _has_terminfo(name: str) -> bool:
    return any(Path(place, letter, name).exists() for place in TERMINFO for letter in (name[0], f"{ord(name[0]):x}"))
