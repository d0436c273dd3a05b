"""The files of a workspace before a task: what a change that was put back, or that never was, is known by."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Before:
    """files: SHA-256 by path, from the workspace's root; None for a file that is there and was not read.

    gap: what was not looked at, in words; empty where all was. left_out: names of directories that were not entered.
    """

    files: Mapping[str, str | None] = field(default_factory=dict)
    gap: str = ""
    left_out: frozenset[str] = frozenset()

    def hash_of(self, path: str, root: str) -> str | None:
        """The hash of a path as a report names it; empty where nothing stood there, None where that is not known."""
        plain = posixpath.normpath(path.replace("\0", ""))
        below = plain.removeprefix(f"{root.rstrip('/')}/") if root else plain
        if below in self.files:
            return self.files[below]
        is_seen = not self.gap and not below.startswith(("/", "../")) and not self.left_out & set(below.split("/"))
        return "" if is_seen else None


def render_before(task: str, before: Before) -> bytes:
    """The file that keeps it while the task goes on."""
    told = {"task": task, "gap": before.gap, "left_out": sorted(before.left_out), "files": dict(before.files)}
    return json.dumps(told, separators=(",", ":")).encode("utf-8", "surrogateescape")


def read_before(content: bytes, task: str) -> Before | None:
    """What was kept for that task; None where it is another one's, or damaged."""
    try:
        told = json.loads(content.decode("utf-8", "surrogateescape"))
        if told["task"] != task:
            return None
        files = {str(path): None if digest is None else str(digest) for path, digest in told["files"].items()}
        return Before(files, str(told["gap"]), frozenset(map(str, told["left_out"])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
