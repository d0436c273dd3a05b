from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import Daemon, Pane

SOURCE = Path(__file__).parents[2] / "phoenixd" / "shim"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy out of the package, as the daemon makes it: lib/<hash>/{shim/*.py, phoenix-hook}."""
    directory = tmp_path_factory.mktemp("lib")
    shutil.copytree(SOURCE, directory / "shim", ignore=shutil.ignore_patterns("__pycache__", "phoenix-hook"))
    shutil.copy(SOURCE / "phoenix-hook", directory / "phoenix-hook")
    return directory


@pytest.fixture
def open_pane(library: Path, short_tmp: Path) -> Iterator[Callable[..., Pane]]:
    """Opens panes; each one's shim is ended after the test."""
    panes: list[Pane] = []

    def open_one(agent: str = "a", room: Path | None = None) -> Pane:
        directory = room or short_tmp / agent
        directory.mkdir(exist_ok=True)
        panes.append(Pane(library, directory, agent))
        return panes[-1]

    yield open_one
    for pane in panes:
        pane.end()


@pytest.fixture
def pane(open_pane: Callable[..., Pane]) -> Pane:
    return open_pane()


@pytest.fixture
def daemon(pane: Pane) -> Daemon:
    return pane.daemon()


@pytest.fixture
def decoy() -> Iterator[subprocess.Popen[bytes]]:
    """A stranger that looks like the agent's: the same program under the same name, outside of its tree."""
    stranger = subprocess.Popen(["sleep", "271828"])
    yield stranger
    stranger.kill()
    stranger.wait()


@pytest.fixture
def spool_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The shim's modules know each other by bare names."""
    monkeypatch.syspath_prepend(str(SOURCE))
    import spool  # type: ignore[import-not-found]

    monkeypatch.setattr(spool, "RETRY_SECONDS", 0.0)
    yield spool
    for name in ("spool", "records"):
        sys.modules.pop(name, None)
