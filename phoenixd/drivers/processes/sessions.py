"""Which processes name a session on their command line: no agent CLI locks its sessions, and two may write into one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from phoenixd.drivers.processes import proc

MOST_BYTES = 64 * 1024
"""Of a command line; a session id stands before a prompt, which may be long."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A living process, what it was started with, and the run that it belongs to, where its environment tells.

    session_id: the one that the process itself says it is in; None where only its arguments tell.
    """

    pid: int
    parent: int
    argv: tuple[str, ...]
    run_id: str | None
    session_id: str | None = None


def command_lines(session_ids: Iterable[str]) -> Iterator[CommandLine]:
    """All processes that have one of these ids among their arguments, the lowest number first. Blocking."""
    wanted = tuple(os.fsencode(one) for one in session_ids if one)
    for pid in sorted(proc.process_ids()) if wanted else ():
        content = _command_line(pid)
        if not any(one in content for one in wanted):
            continue
        stat = proc.read_stat(pid)
        if stat is None or stat.state == "Z":
            continue
        yield CommandLine(pid, stat.parent, _words(content), proc.run_of(pid))


def command_line(pid: int, start_time: int, session_id: str) -> CommandLine | None:
    """The process that says so of itself; None when it is gone. start_time: clock ticks since boot."""
    content = _command_line(pid)
    stat = proc.read_stat(pid)
    if stat is None or stat.state == "Z" or stat.start_time != start_time:
        return None
    return CommandLine(pid, stat.parent, _words(content), proc.run_of(pid), session_id)


def _words(content: bytes) -> tuple[str, ...]:
    return tuple(part.decode("utf-8", "replace") for part in content.rstrip(b"\0").split(b"\0"))


def _command_line(pid: int) -> bytes:
    try:
        descriptor = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
