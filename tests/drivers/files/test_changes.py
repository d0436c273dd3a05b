"""Changes in a directory are heard of when they are made, and a quiet directory wakes nobody."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from phoenixd.drivers.files.changes import DirectoryChanges


async def heard(changes: DirectoryChanges) -> set[str]:
    with anyio.fail_after(60):
        return {path.name for path in await changes.next()}


async def test_a_write_a_rename_and_a_removal_are_heard_of(tmp_path: Path) -> None:
    changes = DirectoryChanges()
    changes.watch(tmp_path)
    changes.watch(tmp_path)
    path = tmp_path / "state.json"
    path.write_text("{}")
    assert await heard(changes) == {"state.json"}
    (tmp_path / "new").touch()
    os.rename(tmp_path / "new", path)
    assert "state.json" in await heard(changes)
    path.unlink()
    assert await heard(changes) == {"state.json"}
    changes.close()


async def test_of_a_directory_only_the_names_are_told_that_somebody_follows(tmp_path: Path) -> None:
    changes = DirectoryChanges("state.json")
    changes.watch(tmp_path)
    (tmp_path / "heartbeat.json").write_text("{}")
    (tmp_path / "state.json").write_text("{}")
    assert await heard(changes) == {"state.json"}
    changes.close()


async def test_what_nobody_follows_wakes_once_and_not_for_each_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred agents beat beside the one document that is followed."""
    changes, wakes = DirectoryChanges("state.json"), 0
    changes.watch(tmp_path)
    wait, nap = anyio.wait_readable, anyio.sleep

    async def counted(descriptor: int) -> None:
        nonlocal wakes
        await wait(descriptor)
        wakes += 1

    async def beaten(seconds: float) -> None:
        if wakes == 1:
            for beat in range(100):
                (tmp_path / "heartbeat.json").write_text(str(beat))
            (tmp_path / "state.json").write_text("{}")
        await nap(seconds)

    monkeypatch.setattr("anyio.wait_readable", counted)
    monkeypatch.setattr("anyio.sleep", beaten)
    (tmp_path / "heartbeat.json").write_text("{}")
    assert await heard(changes) == {"state.json"}
    assert wakes == 2
    changes.close()


async def test_a_directory_that_is_made_anew_is_watched_again(tmp_path: Path) -> None:
    changes = DirectoryChanges()
    directory = tmp_path / "agents" / "a"
    for _ in range(2):
        directory.mkdir(parents=True)
        changes.watch(directory)
        (directory / "state.json").write_text("{}")
        assert await heard(changes) == {"state.json"}
        (directory / "state.json").unlink()
        directory.rmdir()
    changes.close()


async def test_a_quiet_directory_wakes_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tick: until something changes, the loop sleeps on the kernel's word alone."""
    changes, wakes = DirectoryChanges(), 0
    changes.watch(tmp_path)
    wait = anyio.wait_readable

    async def counted(descriptor: int) -> None:
        nonlocal wakes
        await wait(descriptor)
        wakes += 1

    monkeypatch.setattr("anyio.wait_readable", counted)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(changes.next)
        await anyio.wait_all_tasks_blocked()
        assert wakes == 0
        (tmp_path / "state.json").write_text("{}")
    assert wakes == 1
    changes.close()


async def test_what_cannot_be_watched_is_no_fault(tmp_path: Path) -> None:
    changes = DirectoryChanges()
    changes.watch(tmp_path / "missing")
    changes.watch(tmp_path)
    (tmp_path / "x").touch()
    assert await heard(changes) == {"x"}
    changes.close()
