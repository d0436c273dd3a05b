"""Whether the kernel killed a run because memory ran out, by its own counters (F-PROC-24).

memory.events of a run's cgroup names the run: `oom_kill` counts its processes that any OOM killer ended, `oom` how
often a limit of its own was the reason. Without a memory controller there, only the host's sum in /proc/vmstat is
left: it is compared with what it was when a run began or ended last.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

VMSTAT = Path("/proc/vmstat")
EVENTS_LIMIT = 4096
VMSTAT_LIMIT = 65536


class OomCounters:
    """Implements ports.Memory. leaf_of: the cgroup of a run, None where runs have none."""

    def __init__(self, leaf_of: Callable[[str, int], Path | None], vmstat: Path = VMSTAT) -> None:
        self._leaf_of = leaf_of
        self._vmstat = vmstat
        self._known = self._host_kills()

    def note(self) -> None:
        """Remember how many the host has killed by now: a run begins, or one ended for another reason."""
        self._known = self._host_kills()

    def killer_of(self, agent: str, incarnation: int) -> Literal["", "agent", "host"]:
        """Whose want of memory explains a SIGKILL that nobody asked for: the run's, the host's, or none ("")."""
        before, now = self._known, self._host_kills()
        self._known = now
        leaf = self._leaf_of(agent, incarnation)
        events = _counters(leaf / "memory.events", EVENTS_LIMIT) if leaf is not None else {}
        if "oom_kill" in events:
            if not events["oom_kill"]:
                return ""
            return "agent" if events.get("oom") else "host"
        return "host" if before is not None and now is not None and now > before else ""

    def _host_kills(self) -> int | None:
        return _counters(self._vmstat, VMSTAT_LIMIT).get("oom_kill")


def _counters(path: Path, limit: int) -> dict[str, int]:
    """What the lines "name number" of a kernel file say of the OOM killer; empty where there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        content = os.read(descriptor, limit)
    except OSError:
        return {}
    finally:
        os.close(descriptor)
    # Each death and start reads the host's some 150 lines.
    pairs = (
        line.decode("ascii", "replace").split()
        for line in content.splitlines()
        if line.startswith((b"oom ", b"oom_kill "))
    )
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
