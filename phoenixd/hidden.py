"""Processes that exist and that /proc does not show: other users', and our own that may not be traced, under hidepid.

What cannot be read is not gone: only the kernel's own word (ESRCH) says that. Standard library alone.
"""

from __future__ import annotations

import errno
import os

MOUNTS = "/proc/self/mountinfo"
NAMES = {"1": "noaccess", "2": "invisible", "4": "ptraceable"}
"""hidepid by number, as older kernels spell it, and by name."""


def exists(pid: int) -> bool:
    """Whether any process has that number, seen or not."""
    return pid > 0 and _answer(pid) != errno.ESRCH


def is_foreign(pid: int) -> bool:
    """Whether a process has that number and we may not signal it: it is another user's."""
    return pid > 0 and _answer(pid) == errno.EPERM


def hidepid(mounts: str = MOUNTS) -> str | None:
    """How /proc hides processes from us, as it is written in a mount option; None where it hides none.

    Root sees through it, and so does the group that the mount names: what counts is whether the first process is seen.
    """
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            option = option_of(file.read())
    except OSError:
        return None
    return None if option is None or _sees_the_first() else option


def option_of(mountinfo: str) -> str | None:
    """The hidepid option of the procfs on /proc; None without one. Of several mounts the last one is seen."""
    found = None
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        words, kind = fields.split(" "), rest.split(" ")
        if len(words) < 6 or len(kind) < 3 or words[4] != "/proc" or kind[0] != "proc":
            continue
        options = (*words[5].split(","), *kind[2].split(","))
        values = [option.partition("=")[2] for option in options if option.startswith("hidepid=")]
        shown = [value for value in values if value not in ("0", "off")]
        found = f"hidepid={NAMES.get(shown[-1], shown[-1])}" if shown else None
    return found


def _answer(pid: int) -> int:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno or errno.EPERM
    return 0


def _sees_the_first() -> bool:
    try:
        with open("/proc/1/stat", "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False
