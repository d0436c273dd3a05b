"""phoenixctl by its name, in every agent's environment (P27)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

from phoenixd.drivers.files import plain as files
from phoenixd.start.programs import offer, with_phoenixctl


def test_p27_it_runs_by_its_name_and_says_its_version(tmp_path: Path) -> None:
    directory = offer(tmp_path / "bin", files)
    variables = with_phoenixctl({"PATH": "/usr/bin:/bin"}, directory)

    assert shutil.which("phoenixctl", path=variables["PATH"]) == str(directory / "phoenixctl")
    said = subprocess.run(["phoenixctl", "--version"], env=variables, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("phoenixctl ")
    assert stat.S_IMODE((directory / "phoenixctl").stat().st_mode) == 0o500
    assert offer(tmp_path / "bin", files) == directory, "and again at the next start"


def test_one_that_is_on_the_path_already_is_left_the_first(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "phoenixctl").touch(mode=0o700)

    assert with_phoenixctl({"PATH": str(own)}, tmp_path) == {"PATH": str(own)}
    assert with_phoenixctl({}, tmp_path)["PATH"] == f"{os.defpath}:{tmp_path}"
