"""Agents of a state directory whose shims live below another runtime directory than the one it is to have.

There they would be missing, and missing runs are fenced by their ids, also where they are another daemon's by now. No
record of owners has to tell: each run.json names its shim, and the shim says where it lives.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from phoenixd.drivers.files.owner import same
from phoenixd.drivers.files.plain import read_plain
from phoenixd.errors import FileUnreadable, UnsafeFile
from phoenixd.runs import is_locked, shim

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
RECORD_LIMIT = 256 * 1024


def left_behind(state: Path, runtime: Path) -> dict[str, str]:
    """By agent, the other runtime directory below which the shim of its newest run lives.

    Raises OSError, and FileUnreadable where the host could not look.
    """
    found: dict[str, str] = {}
    try:
        names = os.listdir(state / "agents")
    except (FileNotFoundError, NotADirectoryError):
        return found
    for name in sorted(filter(NAME.fullmatch, names)):
        place = _place_of(state / "agents" / name / "run.json", name)
        # A name that leads nowhere is that of a directory which was moved, and may be this one.
        if place is not None and not same(runtime, place) and is_locked(os.path.join(place, "agents", name)):
            found[name] = place
    return found


def _place_of(path: Path, agent: str) -> str | None:
    """The runtime directory of the shim that a run.json names, as far as that very process lives."""
    try:
        named = json.loads(read_plain(path, RECORD_LIMIT))["shim"]
        pid, began = named["pid"], named["start_time"]
        is_it = type(pid) is int and 0 < pid < 2**31 and _started(pid) == began
    except FileUnreadable:
        raise
    except (FileNotFoundError, UnsafeFile, ValueError, RecursionError, KeyError, TypeError):
        return None
    run = shim(pid) if is_it else None
    return run.runtime if run is not None and run.agent == agent else None


def _started(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19])
