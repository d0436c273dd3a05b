"""Whether this process is inside a run, as far as that needs no daemon; tests/e2e/test_inside_a_run.py has the rest."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd import runs
from phoenixd.runs import LEAF, living_shims, surroundings

DIGITS = "0123456789ab"
ASKS = "from phoenixd.runs import surroundings; print(surroundings())"


@pytest.mark.parametrize(
    ("listing", "agent"),
    [
        (f"0::/phoenixd-{DIGITS}/agents/docs/7\n", "docs"),
        (f"0::/user.slice/app.slice/phoenixd-{DIGITS}/agents/docs/7/below/it\n", "docs"),
        ("0::/system.slice/phoenixd-tmux.service/agents/docs/12\n", "docs"),
        ("0::/user.slice/phoenixd-tmux-0a1b2c3d.scope/agents/my-agent_2/1\n", "my-agent_2"),
        (f"12:pids:/x\n0::/docker/y/phoenixd-{DIGITS}/agents/docs/7\n1:cpu:/z\n", "docs"),
        (f"0::/phoenixd-{DIGITS}/shims\n", None),
        (f"0::/phoenixd-{DIGITS}/agents/docs\n", None),
        ("0::/system.slice/phoenixd.service\n", None),
        ("0::/srv/agents/docs/7\n", None),
        ("0::/\n", None),
    ],
)
def test_a_runs_own_leaf_is_told_from_every_other_control_group(listing: str, agent: str | None) -> None:
    found = re.search(LEAF, listing, re.MULTILINE)
    assert (found[1] if found else None) == agent


def test_a_leaf_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose shim is gone, and which is not dead yet."""
    monkeypatch.setattr(
        runs, "_read", lambda pid, name: f"0::/phoenixd-{DIGITS}/agents/docs/7\n".encode() if name == "cgroup" else b""
    )
    assert [run.agent for run in surroundings()] == ["docs"]
    assert runs.forbids_daemon("/s", "/r", named=False) is not None
    assert runs.advice("phoenixctl up") == "ask the operator"


def ancestor(directory: Path, *, locked: bool) -> str:
    """What is said below a process that bears a shim's arguments; whether it lives as one is a lock."""
    (directory / "s").mkdir(parents=True)
    (directory / "r").mkdir()
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ASKS!r}])"
    with_lock = os.open(directory / "r", os.O_RDONLY)
    try:
        if locked:
            fcntl.flock(with_lock, fcntl.LOCK_EX)
        argv = ["--agent", "docs", "--state", str(directory / "s"), "--run", str(directory / "r")]
        done = subprocess.run([sys.executable, "-c", script, *argv], capture_output=True, text=True, check=True)
    finally:
        os.close(with_lock)
    return done.stdout


def test_a_shim_counts_as_long_as_it_holds_its_agents_directory(tmp_path: Path) -> None:
    assert "agent='docs'" in ancestor(tmp_path / "living", locked=True)
    assert ancestor(tmp_path / "dead", locked=False) == "[]\n"


def test_the_shims_that_live_are_those_whose_directory_is_held(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "agents" / name).mkdir(parents=True)
    (tmp_path / "agents" / "file").touch()
    with_lock = os.open(tmp_path / "agents" / "b", os.O_RDONLY)
    fcntl.flock(with_lock, fcntl.LOCK_EX)
    assert living_shims(tmp_path) == {"b"}
    os.close(with_lock)
    assert living_shims(tmp_path) == set()
    assert living_shims(tmp_path / "missing") == set()
