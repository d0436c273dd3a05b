"""In which agent's pane this terminal is: `attach` there would draw a terminal within one of the same server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from phoenixd.ctl import absence

MOST_ANCESTORS = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A pane of an agent's. agent: by its mark, of a generation its own name."""

    pane: str
    agent: str


def here(server: str) -> Place | None:
    """The pane that this terminal is, or from which this process began; None where it is in none.

    Below a tmux that somebody began in a pane only the environment tells of that.
    """
    asked = f"#{{pane_id}} #{{pane_pid}} #{{pane_tty}} #{{{absence.MARK}}}"
    try:
        listed = subprocess.run(
            ["tmux", "-N", "-S", server, "list-panes", "-a", "-F", asked],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=5, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    terminal, above, named = _terminal(), frozenset(_ancestors()), _of_environment()
    found = None
    for words in (line.split(" ", 3) for line in listed.stdout.splitlines()):
        agent, _, marked = words[3].partition(":") if len(words) == 4 else ("", "", "")
        if not agent or marked != words[1]:
            continue
        if words[2] == terminal or words[1] in above:
            return Place(words[0], agent)
        if agent == named:
            found = Place(words[0], agent)
    return found


def _terminal() -> str | None:
    try:
        return os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):
        return None


def _ancestors() -> Iterator[str]:
    pid = str(os.getppid())
    for _ in range(MOST_ANCESTORS):
        yield pid
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                pid = stat.read().rpartition(")")[2].split()[1]
        except (OSError, IndexError):
            return
        if pid in ("0", "1"):
            return


def _of_environment() -> str | None:
    """The agent below which this process began, as phoenixd named it to that."""
    agent, generation = os.environ.get("PHOENIX_AGENT"), os.environ.get("PHOENIX_GENERATION", "1")
    return f"{agent}-g{generation}" if agent and generation != "1" else agent
