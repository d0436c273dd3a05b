"""The names of workers: reserved, so that no declared agent is ever taken for one."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 32
NOTICE = "phoenixd: task "
"""How a line begins that tells an agent of the end of a task."""
_RESERVED = re.compile(r".*-t([0-9]+)")


def worker_name(base: str, number: int) -> str:
    """The worker of the task of that number, named after who asked for it."""
    suffix = f"-t{number}"
    return f"{base[: LONGEST - len(suffix)]}{suffix}"


def is_reserved(name: str) -> bool:
    """Whether only a worker may have this name."""
    return _RESERVED.fullmatch(name) is not None


def beyond(names: Iterable[str], keep: int) -> list[str]:
    """The names of workers whose tasks are not among the newest `keep`, the oldest first."""
    numbered = sorted((int(found[1]), name) for name in names if (found := _RESERVED.fullmatch(name)) is not None)
    return [name for _, name in numbered[: max(0, len(numbered) - keep)]]


def is_notice(prompt: str) -> bool:
    """Whether a prompt is nothing but word of tasks, and so no task of its own."""
    return prompt.startswith(NOTICE)


def is_same_phase(one: str, other: str) -> bool:
    """Whether two phases are one, or one of them a part that the other was split into: the tasks keep their ids."""
    return one == other or one.startswith(f"{other}-part") or other.startswith(f"{one}-part")
