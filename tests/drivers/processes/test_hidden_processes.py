"""Under hidepid what cannot be seen is not gone, and a kill still takes the whole tree: promises 2 and 5."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd import hidden
from tests.hidden import require_world, without_rights

PROGRAM = Path(__file__).with_name("hidden_processes.py")
PROC = "22 27 0:5 / /proc rw,relatime shared:12 - proc proc rw"


@pytest.mark.parametrize("hidepid", ["2", "1"])
def test_hidepid_what_is_hidden_is_not_gone_and_is_ended_with_its_run(hidepid: str) -> None:
    require_world()

    command = without_rights(sys.executable, str(PROGRAM), hidepid=hidepid)
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told == {
        "hidden": [True, True],
        "alive": [True, True],
        "watched": True,
        "below its shim": True,
        "below a stranger": False,
        "left over": True,
        "fenced": [2, [], [False, False]],
        "without its shim": True,
        "once it is gone": [[], True, True],
        "once all is gone": [],
    }, ran.stdout


@pytest.mark.parametrize(
    ("mounts", "option"),
    [
        (PROC, None),
        (f"{PROC},hidepid=0", None),
        (f"{PROC},hidepid=off", None),
        (f"{PROC},hidepid=2", "hidepid=invisible"),
        (f"{PROC},hidepid=invisible,gid=30", "hidepid=invisible"),
        (f"{PROC},hidepid=1", "hidepid=noaccess"),
        (f"{PROC},hidepid=4", "hidepid=ptraceable"),
        (f"{PROC}\n30 22 0:6 / /proc rw shared:1 - proc proc rw,hidepid=2", "hidepid=invisible"),
        (f"{PROC},hidepid=2\n30 22 0:6 / /proc rw shared:1 - proc proc rw", None),
        (f"{PROC}\n30 22 0:6 / /proc/sys rw shared:1 - proc proc rw,hidepid=2", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_hidepid_is_read_from_the_procfs_that_is_seen(mounts: str, option: str | None) -> None:
    assert hidden.option_of(mounts) == option
