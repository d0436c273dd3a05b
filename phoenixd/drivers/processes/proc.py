"""Reading /proc. What is read about a number can be a stranger's; only a pidfd held meanwhile makes it a fact."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from phoenixd import hidden

RUN_MARKER = b"PHOENIX_RUN_ID="
"""What every process of a run has in its environment, unless it took it out."""
AGENT_MARKER = b"PHOENIX_AGENT="

GONE = (FileNotFoundError, ProcessLookupError)
"""How the kernel says that a process ended: before the file was opened, or while it was read. Under hidepid a living
one that we may not see looks the same (see `is_hidden`)."""

PF_KTHREAD = 0x00200000


@dataclass(frozen=True, slots=True)
class Stat:
    """The fields of /proc/PID/stat that identify a process. start_time: clock ticks since boot (field 22).

    is_kernel: a thread of the kernel, which runs no program and is of no run.
    """

    command: str
    state: str
    parent: int
    start_time: int
    is_kernel: bool


@cache
def boot_id() -> str:
    """The kernel's identifier of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def read_stat(pid: int) -> Stat | None:
    """Read a process's line, or None when there is no such process, or it is hidden."""
    try:
        return parse_stat(read(f"/proc/{pid}/stat"))
    except (*GONE, PermissionError):
        return None


def is_hidden(pid: int) -> bool:
    """Whether a process has that number which /proc does not show us: it is not gone."""
    return read_stat(pid) is None and hidden.exists(pid)


def parse_stat(line: bytes) -> Stat:
    """Take a stat line apart. The command is in parentheses and may itself hold parentheses, spaces and newlines."""
    head, _, tail = line.rpartition(b")")
    fields = tail.split()
    command = head.partition(b"(")[2].decode("utf-8", "replace")
    printable = "".join(character if character.isprintable() else "?" for character in command)
    return Stat(
        printable, fields[0].decode("ascii"), int(fields[1]), int(fields[19]), bool(int(fields[6]) & PF_KTHREAD)
    )


def is_kernel(pid: int) -> bool:
    """Whether a number is a thread of the kernel: since Linux 6.16 its environment reads as if it were gone."""
    stat = read_stat(pid)
    return stat is not None and stat.is_kernel


def process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(pid: int) -> list[int]:
    """Direct children of all threads of a process, also those that are hidden; none where it is hidden itself."""
    if not _has_children_files():
        return [other for other in process_ids() if (stat := read_stat(other)) and stat.parent == pid]
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (*GONE, PermissionError):
        return found
    for thread in threads:
        try:
            found += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
        except (*GONE, PermissionError):
            continue
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    found: list[int] = []
    seen = {pid}
    waiting = [pid]
    while waiting:
        for child in children(waiting.pop()):
            if child not in seen:
                seen.add(child)
                found.append(child)
                waiting.append(child)
    return found


def ancestors(pid: int) -> Iterator[int]:
    """The parent, its parent and so on, up to the first process of the host or container, or to one that is hidden."""
    seen = {pid}
    while (stat := read_stat(pid)) and stat.parent > 0 and stat.parent not in seen:
        pid = stat.parent
        seen.add(pid)
        yield pid


def run_of(pid: int) -> str | None:
    """The run id in a process's environment: None without one, or when the process is gone or another user's."""
    return _entry(_environment(pid) or b"", RUN_MARKER)


def run_marked(pid: int, marks: Iterable[bytes]) -> str | None:
    """The run id in a process's environment, if all of these entries stand there as well."""
    environment = _environment(pid) or b""
    return run_of(pid) if all(b"\0" + mark + b"\0" in environment for mark in marks) else None


def marks_of(pid: int) -> tuple[str, str] | None:
    """Agent and run id in a process's environment; None without both, or when it is gone or another user's."""
    environment = _environment(pid) or b""
    agent, run_id = _entry(environment, AGENT_MARKER), _entry(environment, RUN_MARKER)
    return None if agent is None or run_id is None else (agent, run_id)


def carries(pid: int, run_id: str) -> bool | None:
    """Whether a process of our own user carries a run id in its environment; None when it is gone."""
    environment = _environment(pid)
    return None if environment is None else b"\0" + RUN_MARKER + os.fsencode(run_id) + b"\0" in environment


def has_ended(pidfd: int) -> bool:
    """Whether the process behind a pidfd has ended, reaped or not."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _entry(environment: bytes, marker: bytes) -> str | None:
    at = environment.find(b"\0" + marker)
    if at < 0:
        return None
    start = at + 1 + len(marker)
    return environment[start : environment.index(b"\0", start)].decode("utf-8", "replace")


def _environment(pid: int) -> bytes | None:
    """The environment of one of our own processes, with a NUL before and after each entry; None when it is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except GONE:
        return b"" if is_kernel(pid) else None
    except PermissionError:
        return b""
    try:
        content = _read_all(descriptor)
        # Asked last and only where it matters: root can read everybody's environment.
        if RUN_MARKER in content and os.fstat(descriptor).st_uid != os.geteuid():
            return b""
    except GONE:
        return None
    except PermissionError:
        return b""
    finally:
        os.close(descriptor)
    return b"\0" + content + b"\0"


def read(path: str) -> bytes:
    """The content of a file below /proc; raises OSError, one of GONE where its process ended."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read_all(descriptor)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    content = os.read(descriptor, 1 << 16)
    while chunk := os.read(descriptor, 1 << 16) if content else b"":
        content += chunk
    return content


@cache
def _has_children_files() -> bool:
    """Whether the kernel was built with CONFIG_PROC_CHILDREN."""
    return os.path.exists("/proc/thread-self/children")
