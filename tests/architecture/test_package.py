"""What `pip install phoenixd` puts on a machine, built as a wheel and looked into."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hatch_build
from phoenixd import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return _built(tmp_path_factory.mktemp("wheel"))


def _built(directory: Path, **more: str) -> zipfile.ZipFile:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **more},
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


ADDRESS = "https://forge.example/people/phoenixd"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (ADDRESS, ADDRESS),
        (f"{ADDRESS}.git", ADDRESS),
        ("https://someone:s3cret@forge.example/people/phoenixd.git", ADDRESS),
        ("git@forge.example:people/phoenixd.git", ADDRESS),
        ("ssh://git@forge.example:2222/people/phoenixd", ADDRESS),
        ("https://forge.example:8443/people/phoenixd.git", "https://forge.example:8443/people/phoenixd"),
        ("http://someone:s3cret@forge.example:3000/people/phoenixd", "https://forge.example:3000/people/phoenixd"),
        ("/srv/git/phoenixd.git", None),
        ("../phoenixd", None),
        ("", None),
    ],
)
def test_the_projects_address_is_that_of_its_repository_without_anybodys_login(
    named: str, found: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PHOENIXD_REPOSITORY", raising=False)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "remote.origin.url", named], check=True)

    assert hatch_build.web_address(str(tmp_path)) == found


def test_an_index_shows_a_readme_whose_links_lead_somewhere(tmp_path: Path) -> None:
    built = _built(tmp_path, PHOENIXD_REPOSITORY=ADDRESS)
    metadata = built.read(f"phoenixd-{__version__}.dist-info/METADATA").decode()

    assert f"Project-URL: Repository, {ADDRESS}\n" in metadata
    assert f"({ADDRESS}/blob/HEAD/docs/tutorial/first-agent.md)" in metadata
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []
    assert metadata.count("Classifier: ") > 10


def test_a_wheel_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()

    first, second = _built(tmp_path), _built(tmp_path / "again")

    assert [(one.filename, one.CRC) for one in first.infolist()] == [
        (one.filename, one.CRC) for one in second.infolist()
    ]
