"""Runs as they are seen without any daemon: whose shims live, and whether this process is itself inside a run.

Standard library alone, because phoenixctl asks it where no daemon answers. An environment variable alone never decides:
it is inherited by what has long left the run, as by a tmux server that an agent started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from phoenixd.remedies import Sentence

Told = TypeVar("Told", bound=str)

DEPTH = 256
READ_LIMIT = 1 << 16
TERMINAL_SERVER, SHIM = "tmux: server", "phoenix-shim"
LEAF = r":/(?:[^\n]*/)?phoenixd-(?:tmux[^/\n]*|[0-9a-f]{12})/agents/([a-z0-9][a-z0-9_-]{0,31})/[0-9]+(?:/[^\n]*)?$"
"""A run's own control group in /proc/PID/cgroup; see drivers/cgroups/tree.py for the names above it."""
ASK = Sentence("ask the operator")


class Surrounding(NamedTuple):
    """A run that this process is inside of. state and runtime: its daemon's directories, None where nobody tells."""

    agent: str
    state: str | None
    runtime: str | None


def living_shims(runtime: str | os.PathLike[str]) -> set[str]:
    """The agents below a runtime directory whose shim lives: it locks the agent's directory. Raises OSError."""
    directory = os.path.join(runtime, "agents")
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return {name for name in names if is_locked(os.path.join(directory, name))}


def is_locked(directory: str) -> bool:
    """Whether a process holds a lock on that directory; raises OSError."""
    import fcntl  # Needed by few.

    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def seems_to_live(state: str | os.PathLike[str], runtime: str | os.PathLike[str], agent: str, pid: int) -> bool:
    """Whether a shim holds the agent's directory, or runs as this process where that was removed. Raises OSError.

    What an agent started can seem to be one: it is no proof of anything.
    """
    if is_locked(os.path.join(runtime, "agents", agent)):
        return True
    found = shim(pid) if pid > 0 else None
    if found is None or found.agent != agent or found.state is None:
        return False
    return os.path.realpath(found.state) == os.path.realpath(state)


def surroundings() -> list[Surrounding]:
    """The runs that this process is inside of, the innermost first: a living shim above it, or a run's own leaf.

    What the agents' terminal server starts counts as well: an agent can have it start a program.
    """
    found = [run for pid in _ancestors() if (run := shim(pid) or _terminal_of(pid)) is not None]
    return found or _leaf()


def forbids_daemon(state: str | os.PathLike[str], runtime: str | os.PathLike[str], *, named: bool) -> str | None:
    """Why no daemon may be started here; None where one may.

    named: both directories were given explicitly. Then one may be started inside a run, as a demo or a test is, if
    neither of them is a surrounding daemon's.
    """
    runs = surroundings()
    if not runs:
        return None
    why = f"this is inside the run of {runs[0].agent}: a phoenixd started here would end with it"
    if not named:
        return f"{why}, and could take its fleet"
    for run in runs:
        for mine, outer in ((state, run.state), (runtime, run.runtime)):
            if outer is not None and os.path.realpath(mine) == os.path.realpath(outer):
                return f"{why}, and {os.fspath(mine)} is that of the phoenixd which watches over it"
    return None


def advice(command: Told) -> Told | Sentence:
    """The remedy that starts a daemon, or hands its fleet over: inside a run that is not the agent's to do."""
    return ASK if surroundings() else command


def shim(pid: int) -> Surrounding | None:
    """The run of a process that is a shim, by its arguments and by its name or the directory that it holds."""
    words = _read(pid, "cmdline").split(b"\0")
    try:
        agent, state, run = (os.fsdecode(words[words.index(name) + 1]) for name in (b"--agent", b"--state", b"--run"))
        if not (os.path.isabs(state) and os.path.isabs(run)):
            return None
        # The lock alone would not do: the runtime directory may have been removed from under it.
        if not _read(pid, "comm").startswith(SHIM.encode()) and not is_locked(run):
            return None
    except (ValueError, IndexError, OSError):
        return None
    return Surrounding(agent, _two_above(state), _two_above(run))


def begun_elsewhere(pid: int, state: str | os.PathLike[str], runtime: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The directory that a shim was begun with, and that of its daemon, where it was moved in between; else None.

    What the shim and its run write to the old place comes to nobody. A link at that place leads to the new one.
    """
    found = shim(pid)
    if found is None:
        return None
    for then, now in ((found.state, state), (found.runtime, runtime)):
        if then is not None and not _is_same(then, now):
            return then, os.fspath(now)
    return None


def _is_same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    for _ in range(DEPTH):
        # The command's name stands in parentheses and may hold anything, also parentheses.
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        if len(fields) < 2 or int(fields[1]) <= 1:
            return
        pid = int(fields[1])
        yield pid


def _terminal_of(pid: int) -> Surrounding | None:
    """The run of a shim that has this terminal server for its parent."""
    if not _read(pid, "comm").startswith(TERMINAL_SERVER.encode()):
        return None
    children = map(int, _read(pid, f"task/{pid}/children").split())
    return next((run for child in children if (run := shim(child)) is not None), None)


def _leaf() -> list[Surrounding]:
    import re  # Costs more than all the rest.

    found = re.search(LEAF, os.fsdecode(_read(os.getpid(), "cgroup")), re.MULTILINE)
    return [Surrounding(found[1], None, None)] if found else []


def _two_above(path: str) -> str:
    """The daemon's directory of that of an agent, DIRECTORY/agents/NAME."""
    return os.path.dirname(os.path.dirname(path))


def _read(pid: int, name: str) -> bytes:
    """A file of a process; empty where it is gone or hidden."""
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read(READ_LIMIT)
    except OSError:
        return b""
