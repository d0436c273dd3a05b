"""The copies of the shim: made once, checked, and kept while anything lives on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd import hidden
from phoenixd.installed import MOST, SOURCE, Installed, collect_garbage, install
from tests.start.places import Room
from tests.waiting import eventually_sync


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "__main__.py").write_text("print('one')\n")
    (directory / "phoenix-hook").write_text("#!/bin/sh\n")
    (directory / "__pycache__").mkdir()
    (directory / "notes.txt").write_text("not a program")
    return directory


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "lib"


def test_the_copy_holds_the_programs_and_is_private(source: Path, library: Path) -> None:
    copy = install(library, source)

    assert sorted(path.name for path in copy.shim.glob("*.*")) == ["__main__.py"]
    assert os.access(copy.hook, os.X_OK)
    assert copy.directory.stat().st_mode & 0o077 == 0
    assert len(copy.directory.name) == 64
    assert [path.name for path in library.iterdir()] == [copy.directory.name]


def test_a_second_start_takes_the_copy_that_is_there(source: Path, library: Path) -> None:
    inode = install(library, source).directory.stat().st_ino

    assert install(library, source).directory.stat().st_ino == inode


def test_an_upgrade_makes_a_second_copy(source: Path, library: Path) -> None:
    old = install(library, source)
    (source / "__main__.py").write_text("print('two')\n")

    new = install(library, source)

    assert new.directory != old.directory
    assert (old.shim / "__main__.py").read_text() == "print('one')\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "damage",
    [
        "changed",
        "missing",
        "a FIFO for a module",
        "a FIFO for the hook",
        "not executable",
        "a huge module",
        "a huge hook",
        "many modules",
    ],
)
def test_a_damaged_copy_is_replaced(source: Path, library: Path, damage: str) -> None:
    copy = install(library, source)
    match damage:
        case "changed":
            (copy.shim / "__main__.py").write_text("print('evil')\n")
        case "missing":
            shutil.rmtree(copy.shim)
        case "a FIFO for a module":
            (copy.shim / "__main__.py").unlink()
            os.mkfifo(copy.shim / "__main__.py")
        case "a FIFO for the hook":
            copy.hook.unlink()
            os.mkfifo(copy.hook)
        case "a huge module":
            os.truncate(copy.shim / "__main__.py", 1 << 40)
        case "a huge hook":
            copy.hook.chmod(0o700)
            os.truncate(copy.hook, 1 << 40)
        case "many modules":
            for number in range(MOST):
                (copy.shim / f"more{number}.py").touch()
        case _:
            copy.hook.chmod(0o600)

    again = install(library, source)

    assert again.directory == copy.directory
    assert (again.shim / "__main__.py").read_text() == "print('one')\n"
    assert os.access(again.hook, os.X_OK)


def test_a_copy_that_somebody_removed_is_made_again_also_where_the_package_is_another_by_now(
    source: Path, library: Path
) -> None:
    """An upgrade under a living daemon: its shims stay those that it knows."""
    copy = install(library, source)
    assert not copy.stand()
    shutil.rmtree(library)
    (source / "__main__.py").write_text("print('two')\n")

    assert copy.stand()

    assert (copy.shim / "__main__.py").read_text() == "print('one')\n"
    assert os.access(copy.hook, os.X_OK)
    assert [path.name for path in library.iterdir()] == [copy.directory.name]
    shutil.rmtree(copy.shim)
    assert copy.stand()
    assert len(list(library.iterdir())) == 2, "what was damaged is set aside: somebody may have it open"


def test_nothing_of_a_copy_is_open_to_others_whatever_the_umask_is(source: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        copy = install(tmp_path / "state" / "lib", source)
    finally:
        os.umask(before)

    made = [tmp_path / "state", *(tmp_path / "state").rglob("*")]
    assert len(made) == 7
    assert [path for path in made if path.stat().st_mode & 0o077] == []
    assert os.access(copy.hook, os.X_OK)


def test_only_copies_that_no_process_knows_are_removed(source: Path, library: Path) -> None:
    copies: list[Installed] = []
    for number in range(4):
        (source / "__main__.py").write_text(f"import time; time.sleep(600)  # {number}\n")
        copies.append(install(library, source))
    unused, by_command_line, by_environment, newest = copies
    shim = subprocess.Popen([sys.executable, "-I", "-S", str(by_command_line.shim)])
    agent = subprocess.Popen(
        ["sleep", "600"], env={"PATH": os.environ["PATH"], "PHOENIX_HOOK": str(by_environment.hook)}
    )
    try:
        # exec returns to its caller a moment before the new program's arguments can be read.
        eventually_sync(lambda: b"PHOENIX_HOOK" in Path(f"/proc/{agent.pid}/environ").read_bytes())
        eventually_sync(lambda: b"shim" in Path(f"/proc/{shim.pid}/cmdline").read_bytes())
        assert collect_garbage(library, newest) == (unused.directory.name,)
        left = {path.name for path in library.iterdir()}
        assert left == {copy.directory.name for copy in (by_command_line, by_environment, newest)}
    finally:
        for process in (shim, agent):
            process.kill()
            process.wait()
    assert len(collect_garbage(library, newest)) == 2


@pytest.mark.parametrize("option", [None, "hidepid=invisible"])
def test_hidepid_copies_are_kept_where_those_who_use_them_may_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str | None
) -> None:
    monkeypatch.setattr(hidden, "hidepid", lambda: option)
    old = tmp_path / "state" / "lib" / "0123"
    old.mkdir(parents=True)

    Room(tmp_path)

    assert old.exists() == (option is not None)


def test_the_real_shim_can_be_installed(library: Path) -> None:
    copy = install(library)

    assert {path.name for path in copy.shim.glob("*.*")} == {path.name for path in SOURCE.glob("*.py")}
