"""The installed package is replaced under living agents."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

import phoenixd
from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.waiting import eventually_sync


@pytest.fixture
def package(short_tmp: Path) -> Path:
    """A copy of the package that the daemon runs from, to be replaced while it has agents."""
    copy = short_tmp / "installed" / "phoenixd"
    shutil.copytree(Path(phoenixd.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_f_sy_1_an_upgrade_under_living_agents_kills_none_and_the_older_shim_goes_on(
    short_tmp: Path, package: Path
) -> None:
    stage = Stage(short_tmp, {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONSAFEPATH": "1"})
    for name in ("a", "b"):
        rules = f'[agent.{name}.stop]\nunproven = "2s"\n'
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n{rules}')
    try:
        stage.up()
        before = {name: stage.until_running(name, 1)["pid"] for name in ("a", "b")}
        shims = {name: _shim(stage, name) for name in ("a", "b")}
        assert len(list((stage.state / "lib").iterdir())) == 1
        stage.kill()
        _upgrade(package)
        stage.up()
        assert {name: stage.until_running(name, 1)["pid"] for name in ("a", "b")} == before
        assert {path.name for path in (stage.state / "lib").iterdir()} >= {_library(shims["a"]).name}
        assert len(list((stage.state / "lib").iterdir())) == 2
        os.kill(before["a"], signal.SIGKILL)
        stage.until_running("a", 2)
        assert _shim(stage, "a") == shims["a"], "the older shim starts the next run, too"
        os.kill(shims["b"], signal.SIGKILL)
        stage.until_running("b", 2)
        assert _library(_shim(stage, "b")) != _library(shims["a"]), "a new shim is of the new version"
        assert all(len(incarnations(stage.root, name)) == 1 for name in ("a", "b"))
    finally:
        stage.down()
        eventually_sync(lambda: not Path(f"/proc/{shims['a']}").exists(), what="the shim leaves")


def _upgrade(package: Path) -> None:
    """Another version in the same place: the old files are gone, as pip makes it."""
    (package / "__init__.py").write_text('"""phoenixd."""\n\n__version__ = "0.1.1"\n')
    shim = package / "shim" / "shim.py"
    text = shim.read_text()
    shim.unlink()
    shim.write_text(text + "\n# of 0.1.1\n")


def _shim(stage: Stage, name: str) -> int:
    record = json.loads((stage.state / "agents" / name / "run.json").read_text())
    pid: int = record["shim"]["pid"]
    return pid


def _library(pid: int) -> Path:
    """The directory from which a shim runs."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return Path(words[words.index(b"-S") + 1].decode()).parent
