"""Whose mark a process bears: what every process of a run has in its environment, unless it took it out.

A shim that is gone is nobody's parent any more, so what it leaves behind would be taken for an operator's. The mark
takes rights away, and gives none but the agent's own: forged, it harms whoever forged it.
"""

from __future__ import annotations

import os
import re

from phoenixd.api.lineage import read_bytes

NAME = re.compile(rb"[a-z0-9][a-z0-9_-]{0,31}")
DEPTH = 256
READ_LIMIT = 1 << 20


def agent_by_mark(pid: int, agents_dir: str) -> str | None:
    """The agent in whose environment a process or one of its ancestors was started; None where none bears its mark.

    agents_dir: STATE_DIR/agents, below which each agent's own directory is, as the variables of its runs name it. Those
    of another daemon's agents are none of ours.
    """
    if not agents_dir:
        return None
    entry = b"\0PHOENIX_STATE_DIR=" + os.fsencode(agents_dir.rstrip("/")) + b"/"
    for _ in range(DEPTH):
        if pid <= 1:
            return None
        content = b"\0" + read_bytes(pid, "environ", READ_LIMIT) + b"\0"
        at = content.find(entry)
        if at >= 0:
            name = content[at + len(entry) : content.index(b"\0", at + 1)]
            return name.decode("ascii") if NAME.fullmatch(name) else None
        fields = read_bytes(pid, "stat").rpartition(b")")[2].split()
        if len(fields) < 2 or not fields[1].isdigit():
            return None
        pid = int(fields[1])
    return None
