"""Whose mark a process bears: what every process of a run has in its environment, unless it took it out.

A shim that is gone is no parent any more, so what it leaves behind would be taken for an operator's. The mark takes
rights away, and gives none but the agent's own: a forged one harms only the process that bears it.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Mapping

from phoenixd.api.known import KNOWN
from phoenixd.api.proc import Stat, read_bytes, stat_of

NAME = re.compile(rb"[a-z0-9][a-z0-9_-]{0,31}")
DEPTH = 256
READ_LIMIT = 1 << 20
MOST_UNMARKED = 256
_UNMARKED: OrderedDict[tuple[int, int, str], None] = OrderedDict()
"""Ancestors of callers that bore no mark, by pid, start and directory. To read an environment costs more than all else
that is read of a process, and above each call of an operator stand the same few. A process with a mark of ours has
borne it since its start: it can take the mark out, but was never read without it before."""


def agent_by_mark(pid: int, agents_dir: str, above: Mapping[int, Stat]) -> str | None:
    """The agent in whose environment a process or one of its ancestors was started; None where none bears its mark.

    agents_dir: STATE_DIR/agents, below which each agent's own directory is, as the variables of its runs name it. Those
    of another daemon's agents are none of ours. above: what `lineage` has read of them.
    """
    if not agents_dir:
        return None
    entry = b"\0PHOENIX_STATE_DIR=" + os.fsencode(agents_dir.rstrip("/")) + b"/"
    for step in range(DEPTH):
        if pid <= 1 or (step and KNOWN.is_outside(pid)):
            return None
        stat = above.get(pid) or stat_of(pid)
        known = (pid, stat.start_time, agents_dir) if stat is not None and step else None
        if known not in _UNMARKED:
            content = b"\0" + read_bytes(pid, "environ", READ_LIMIT) + b"\0"
            at = content.find(entry)
            if at >= 0:
                name = content[at + len(entry) : content.index(b"\0", at + 1)]
                return name.decode("ascii") if NAME.fullmatch(name) else None
            if known is not None and len(content) > len(b"\0\0"):
                _UNMARKED[known] = None
                if len(_UNMARKED) > MOST_UNMARKED:
                    _UNMARKED.popitem(last=False)
        if stat is None:
            return None
        pid = stat.parent
    return None
