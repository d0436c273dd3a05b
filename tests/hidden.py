"""A world in which other users' processes cannot be seen: pid and mount namespaces with a procfs of their own.

hidepid belongs to a procfs and not to a mount of it, so the machine's own is never remounted.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence

import pytest

# No control groups, so that processes have to be found. The shell is the first process, and reaps; the one below it is
# root's as well, as sshd would be.
_WORLD = """
[ ! -d /sys/fs/cgroup ] || mount -t tmpfs phoenixd-tests /sys/fs/cgroup || exit
mount -t proc -o "$0" phoenixd-tests /proc || exit
sh -c '"$@"; exit $?' sh "$@"
exit $?
"""
NOBODYS = 54321
"""A group that nobody is in: without one in its options a procfs shows all to the group 0."""


def world(*argv: str, hidepid: str = "2") -> list[str]:
    """The command that runs `argv` as root in such a world; all that it started ends with it."""
    namespaces = ["unshare", "--pid", "--mount", "--fork", "--kill-child"]
    return [*namespaces, "sh", "-c", _WORLD, f"hidepid={hidepid},gid={NOBODYS}", *argv]


def without_rights(*argv: str, hidepid: str = "2") -> list[str]:
    """The same, as root without any of root's rights: what else root runs is hidden from it as from anybody."""
    return world("setpriv", "--bounding-set=-all", "--inh-caps=-all", *argv, hidepid=hidepid)


def require_world() -> None:
    """The calling test is reported as not run where no such world can be made."""
    if reason := _missing():
        pytest.skip(f"not run: {reason}")


@functools.cache
def _missing() -> str:
    if os.geteuid() != 0:
        return "only root makes a pid namespace with a procfs of its own"
    for program in ("unshare", "setpriv", "mount"):
        if shutil.which(program) is None:
            return f"{program} (util-linux) is absent"
    look: Sequence[str] = without_rights("test", "-e", "/proc/1/stat")
    tried = subprocess.run(look, capture_output=True, text=True, check=False, timeout=60)
    if tried.returncode == 1 and not tried.stderr:
        return ""
    return f"no procfs with hidepid can be mounted here: {tried.stderr.strip()[:120] or 'it hides nothing'}"
