"""Processor shares as the installed service has them: systemd/phoenixd.service asks for CPUWeight=1000.

A daemon that a benchmark starts has the share of any other session. The service has ten times the share of the unit in
which tmux and the agents live, and of a person's shell. Which of the two is measured decides how long an order waits.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

DAEMON, OTHERS = 1000, 100
"""CPUWeight of phoenixd.service, and of every unit that asks for none."""


@contextlib.contextmanager
def weighed(name: str, daemon: Iterable[int], agents: Iterable[int]) -> Iterator[Path | None]:
    """Weigh the processes of a daemon and of its agents as the units do, and this process with those of the agents.

    Yields the group that clients with orders are to `join`; None where this host lets no group be made.
    """
    found = _hierarchy()
    if found is None:
        yield None
        return
    root, file, scale = found
    groups = {each: root / f"{name}-{each}" for each in ("daemon", "agents", "operator")}
    try:
        for each, group in groups.items():
            group.mkdir()
            (group / file).write_text(str((DAEMON if each == "daemon" else OTHERS) * scale // 100))
        join(groups["daemon"], daemon)
        join(groups["agents"], [*agents, os.getpid()])
        yield groups["operator"]
    finally:
        for group in groups.values():
            if group.exists():
                join(root, (int(pid) for pid in (group / "cgroup.procs").read_text().split()))
                group.rmdir()


def join(group: Path, pids: Iterable[int]) -> None:
    """Move living processes into a group."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _hierarchy() -> tuple[Path, str, int] | None:
    """Where groups are made, the file of their weight, and what stands there for a weight of 100."""
    top = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError):
        if "cpu" in (top / "cgroup.subtree_control").read_text().split() and os.access(top, os.W_OK):
            return top, "cpu.weight", 100
    if (top / "cpu" / "cpu.shares").exists() and os.access(top / "cpu", os.W_OK):
        return top / "cpu", "cpu.shares", 1024
    return None
