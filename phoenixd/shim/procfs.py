"""What /proc says about processes, read without believing that a number still means the same process."""

from __future__ import annotations

import os
import time

MAX_ENVIRONMENT = 4 * 1024 * 1024


class Status:
    """Three fields of /proc/PID/stat; `start_time` is in clock ticks since boot."""

    __slots__ = ("parent", "start_time", "state")

    def __init__(self, state: str, parent: int, start_time: int) -> None:
        self.state = state
        self.parent = parent
        self.start_time = start_time


def status(pid: int) -> Status | None:
    """None where there is no such process any more, and where it is hidden (see `is_hidden`)."""
    content = read(f"/proc/{pid}/stat", 4096)
    if not content:
        return None
    # The command stands in brackets and may hold brackets and spaces itself: only what follows the last one is fields.
    fields = content[content.rfind(b")") + 2 :].split()
    return Status(fields[0].decode("ascii"), int(fields[1]), int(fields[19]))


def is_hidden(pid: int) -> bool:
    """Whether a process lives that /proc does not show us (hidepid): another user's, or one that may not be traced."""
    if status(pid) is not None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def ticks_now(ago: float = 0.0) -> int:
    """Clock ticks from boot until `ago` seconds ago: the clock of `start_time`, cut off as the kernel does."""
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) - ago) * os.sysconf("SC_CLK_TCK"))


def boot_id() -> str:
    return read("/proc/sys/kernel/random/boot_id", 64).decode("ascii").strip()


def command(pid: int) -> str:
    """The short name that a process gives itself, safe to show; empty where it is gone."""
    name = read(f"/proc/{pid}/comm", 64).decode("utf-8", "replace").rstrip("\n")
    return "".join(character if character.isprintable() else "?" for character in name)


def children(pid: int) -> list[int]:
    """The direct children of all of a process's threads, hidden ones too; may miss some while they come and go."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found.extend(int(child) for child in read(f"/proc/{pid}/task/{thread}/children", 1 << 20).split())
    return found


def descends_from(pid: int, ancestor: int) -> bool | None:
    """Whether `ancestor` is met on the way up from pid; None where that way breaks off because a process is gone.

    Where it ends at a process that is hidden, those below the ancestor are asked: they list also such a child.
    """
    while pid != ancestor:
        if pid <= 1:
            return False
        current = status(pid)
        if current is None:
            return _is_listed(pid, ancestor) if is_hidden(pid) else None
        pid = current.parent
    return True


def _is_listed(pid: int, ancestor: int) -> bool:
    """Whether a process that cannot be read is a child of one below `ancestor`, or in a session that began there."""
    try:
        session = os.getsid(pid)
    except OSError:
        session = 0
    found = {ancestor}
    waiting = [ancestor]
    while waiting:
        offspring = set(children(waiting.pop())) - found
        found |= offspring
        waiting.extend(offspring)
    # All processes of a session descend from its leader.
    return pid in found or session in found


def ancestors(pid: int) -> set[int]:
    """Pid itself and everything above it."""
    line = set[int]()
    while pid > 0 and pid not in line:
        line.add(pid)
        current = status(pid)
        pid = current.parent if current else 0
    return line


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def forks() -> int:
    """How many processes and threads were begun since boot, in all namespaces; 0 where that cannot be told."""
    for line in read("/proc/stat").splitlines():
        if line.startswith(b"processes "):
            return int(line.split()[1])
    return 0


def last_pid() -> int:
    """The pid that was given last in this namespace; 0 where that cannot be told."""
    fields = read("/proc/loadavg", 256).split()
    return int(fields[4]) if len(fields) == 5 else 0


def pid_limit() -> int:
    return int(read("/proc/sys/kernel/pid_max", 64) or 0)


def environment_has(pid: int, entries: tuple[bytes, ...]) -> bool:
    """Whether all the NAME=VALUE entries stand in the environment that the process was started with."""
    # Padded on both sides, so that only a whole entry matches.
    content = b"\0" + read(f"/proc/{pid}/environ", MAX_ENVIRONMENT) + b"\0"
    return all(b"\0" + entry + b"\0" in content for entry in entries)


def read(path: str, limit: int = 1 << 20) -> bytes:
    """The content of a kernel file; empty where it is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        chunks: list[bytes] = []
        while limit > 0 and (chunk := os.read(fd, min(limit, 65536))):
            chunks.append(chunk)
            limit -= len(chunk)
        return b"".join(chunks)
    except OSError:  # The process went between the two calls, or is not ours to read.
        return b""
    finally:
        os.close(fd)
