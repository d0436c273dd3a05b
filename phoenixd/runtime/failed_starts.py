"""Starts that failed, as shims tell of them: what stood in the way, and what is to be done about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.causes import Obstacle
from phoenixd.core.events.runs import StartFailed
from phoenixd.documents import entering

NO_ROOM = frozenset({"ENOSPC", "EDQUOT"})
HOST_ERRORS = frozenset({"busy", "EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "EINTR"}) | NO_ROOM
"""Reasons for a failed start that lie with the host, not with the order."""

HUNG_UP = frozenset({"ENOTTY", "EIO"})
"""Reasons for which a terminal is handed to nobody: its other end has gone."""

DIRECTORIES = ("no directory", "directory closed")
"""What stands in the way of a start where its working directory does."""


def start_failed(agent: str, body: dict[str, Any], known: Agent | None) -> StartFailed:
    """The event; raises KeyError, TypeError or ValueError where the shim's word is malformed."""
    code = int(body.get("code") or 0)
    obstacle, told = _obstacle(body), str(body["message"])[:500]
    is_the_hosts = obstacle == "terminal gone" or body.get("errno") in HOST_ERRORS
    code = code if code in (126, 127) else 0 if is_the_hosts else 1
    if obstacle in DIRECTORIES and known is not None:
        cwd, failed = known.spec.cwd, str(body["errno"])
        told = f"{told} (do: {entering.remedy(cwd, failed, _way(body, cwd), os.geteuid())})"
    return StartFailed(agent, int(body["incarnation"]), code, told, obstacle)


def is_leaving(body: dict[str, Any]) -> bool:
    """Whether the shim goes that says so, as it does with its terminal. An older one does not say."""
    return body.get("leaving") is True


def _obstacle(body: dict[str, Any]) -> Obstacle:
    """What stood in the way of a start, by the number of the error and by what the shim's child was at."""
    failed = body.get("errno")
    if failed in NO_ROOM:
        return "disk full"
    if failed == "EINTR":
        # The shim was told to end it first: by a stop, which is known here, or because its terminal went.
        return "terminal gone"
    if failed == "busy" and is_leaving(body):
        return "terminal gone"
    if body.get("stage") == "terminal" and failed in HUNG_UP:
        return "terminal gone"
    if body.get("stage") != "cwd" or failed in HOST_ERRORS:
        return "other"
    return "no directory" if failed == "ENOENT" else "directory closed"


def _way(body: dict[str, Any], cwd: str) -> str:
    """What stands in the way of the directory, as an older shim does not say; nothing else than a part of its path."""
    way = body.get("way")
    is_part = isinstance(way, str) and way.startswith("/") and Path(way) in (Path(cwd), *Path(cwd).parents)
    return way if isinstance(way, str) and is_part else ""
