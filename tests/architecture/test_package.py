"""What `pip install phoenixd` puts on a machine, built as a wheel and looked into."""

from __future__ import annotations

import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from phoenixd import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    directory = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return zipfile.ZipFile(next(directory.glob("*.whl")))


def test_the_wheel_holds_what_runs_outside_python(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())

    assert {
        "phoenixd/shim/__main__.py",
        "phoenixd/shim/phoenix-hook",
        "phoenixd/data/config/phoenixd.toml",
        "phoenixd/data/systemd/phoenixd.service",
        "phoenixd/data/systemd/phoenixd-tmux.service",
        "phoenixd/data/systemd/user/phoenixd.service",
        "phoenixd/data/systemd/user/phoenixd-tmux.service",
    } <= names


def test_the_hook_program_stays_executable(wheel: zipfile.ZipFile) -> None:
    mode = wheel.getinfo("phoenixd/shim/phoenix-hook").external_attr >> 16

    assert mode & stat.S_IXUSR


def test_phoenixctl_is_the_launcher_that_starts_fast(wheel: zipfile.ZipFile) -> None:
    launcher = next(entry for entry in wheel.infolist() if entry.filename.endswith(".data/scripts/phoenixctl"))

    assert wheel.read(launcher).startswith(b"#!/bin/sh\n")
    assert (launcher.external_attr >> 16) & stat.S_IXUSR


def test_an_installed_package_finds_its_units(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)

    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import phoenixd.service_units as u; print(u.__file__); print(u.template_directory())",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    assert found == [str(tmp_path / "phoenixd/service_units.py"), str(tmp_path / "phoenixd/data/systemd")]


def test_no_test_or_tool_is_installed(wheel: zipfile.ZipFile) -> None:
    roots = {name.partition("/")[0] for name in wheel.namelist()}

    assert roots == {"phoenixd", f"phoenixd-{__version__}.dist-info", f"phoenixd-{__version__}.data"}
