"""Whose the directories are beyond a process's life: the id that stands in both."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phoenixd.directories import STATE_POINTER
from phoenixd.drivers.files import plain as files
from phoenixd.drivers.files.owner import RECORD, read_owner
from phoenixd.drivers.files.ownership import ending, examine, own, take
from phoenixd.errors import AlreadyRunning, BelongsToAnother, FileUnreadable
from phoenixd.runs import is_locked


@contextmanager
def a_living_shim(runtime: Path, agent: str = "a") -> Iterator[None]:
    """As far as anybody who looks can tell."""
    (runtime / "agents" / agent).mkdir(parents=True, exist_ok=True)
    descriptor = os.open(runtime / "agents" / agent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def a_run_of_it(state: Path, runtime: Path, agent: str = "a") -> Iterator[None]:
    """Below such a shim, which is a process here, as its run.json tells."""
    (state / "agents" / agent).mkdir(parents=True, exist_ok=True)
    words = ["--agent", agent, "--state", str(state / "agents" / agent), "--run", str(runtime / "agents" / agent)]
    waits = "import sys; print(flush=True); sys.stdin.read()"
    with a_living_shim(runtime, agent):
        shim = subprocess.Popen([sys.executable, "-c", waits, *words], stdin=-1, stdout=-1)
        assert shim.stdout is not None
        shim.stdout.readline()
        began = int(Path(f"/proc/{shim.pid}/stat").read_text().rpartition(")")[2].split()[19])
        record = {"shim": {"pid": shim.pid, "start_time": began}}
        (state / "agents" / agent / "run.json").write_text(json.dumps(record))
        try:
            yield
        finally:
            shim.communicate()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A state and a runtime directory that somebody owned once."""
    state, runtime = tmp_path / "state", tmp_path / "run"
    with own(state, runtime):
        (state / "journal.sqlite3").touch()
    return state, runtime


def test_the_id_stays_and_stands_in_both(places: tuple[Path, Path]) -> None:
    first = [read_owner(place) for place in places]
    with own(*places) as owned:
        assert [owned.owner, owned.owner] == first


NO_PATHS = (
    rb'{"id": "x", "state": "/s\u0000", "runtime": "/r"}',
    rb'{"id": "x", "state": "/s", "runtime": "/r\u0000"}',
    rb'{"id": "x", "state": "/s\ud800", "runtime": "/r"}',
)
"""Records that name what no directory can be called."""


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b'{"id": 7}', b'{"id": "x", "state": "s", "runtime": "r"}', *NO_PATHS]
)
def test_a_lost_record_is_taken_from_the_runtime_directory_where_the_journal_is_there(
    places: tuple[Path, Path], content: bytes | None
) -> None:
    state, runtime = places
    known = read_owner(runtime)
    (state / RECORD).unlink()
    if content is not None:
        (state / RECORD).write_bytes(content)
    with a_living_shim(runtime), own(state, runtime) as owned:
        assert owned.owner == known
    # A state directory that was deleted and made again has no journal, and is another one.
    shutil.rmtree(state)
    with a_living_shim(runtime), pytest.raises(BelongsToAnother, match="a"):
        own(state, runtime)
    with own(state, runtime) as owned:
        assert known is not None
        assert owned.owner.id != known.id


@pytest.mark.parametrize("content", [b"{", *NO_PATHS])
@pytest.mark.parametrize("pointer", [None, b"/s\0\n"])
def test_a_runtime_directory_whose_record_names_nobody_is_free_for_its_own_and_for_whom_it_is_handed_to(
    places: tuple[Path, Path], tmp_path: Path, content: bytes, pointer: bytes | None
) -> None:
    state, runtime = places
    known = read_owner(state)
    (runtime / RECORD).write_bytes(content)
    if pointer is not None:
        (runtime / STATE_POINTER).write_bytes(pointer)
    other = tmp_path / "other"
    with a_living_shim(runtime):
        with pytest.raises(BelongsToAnother) as refusal:
            own(other, runtime)
        assert (str(runtime / RECORD) in refusal.value.message, "a" in refusal.value.message) == (True, True)
        assert f"phoenixctl recover --take --state-dir {other} --runtime-dir {runtime}" in refusal.value.remedy
        assert not other.exists()
        with own(state, runtime) as owned:
            assert owned.owner == known
        (runtime / RECORD).write_bytes(content)
        assert take(other, runtime, lambda agent, owner: None) == (["a"], {})
        with own(other, runtime):
            pass


def test_a_record_that_the_host_cannot_read_is_not_taken_for_none(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the limit of descriptors a new id would make strangers of the daemon's own shims."""
    known, real = read_owner(places[0]), os.open

    def open_nothing(path: str | Path, *arguments: int, **more: int) -> int:
        if Path(path).name == RECORD:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(files.os, "open", open_nothing)
    with pytest.raises(FileUnreadable):
        own(*places)
    monkeypatch.undo()
    assert read_owner(places[0]) == known


def test_what_an_older_version_left_belongs_to_the_state_directory_that_it_named(tmp_path: Path) -> None:
    state, runtime, other = tmp_path / "state", tmp_path / "run", tmp_path / "other"
    for place in (state, runtime, other):
        place.mkdir(mode=0o700)
    (runtime / "state-dir").write_text(f"{state}\n")
    with a_living_shim(runtime):
        with pytest.raises(BelongsToAnother, match=str(state)):
            own(other, runtime)
        with own(state, runtime) as owned:
            assert owned.owner.id
        # Moved before the upgrade: the name leads nowhere.
        (runtime / RECORD).unlink()
        (runtime / "state-dir").write_text(f"{tmp_path / 'gone'}\n")
        with own(other, runtime):
            pass


def test_a_runtime_directory_below_the_state_directory_or_the_same_is_owned_too(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for runtime in (state / "run", state):
        with own(state, runtime):
            assert is_locked(str(runtime))
            for place in ((state, runtime), (tmp_path / "new", runtime), (state, tmp_path / "r")):
                with pytest.raises(AlreadyRunning):
                    own(*place)
                with pytest.raises(AlreadyRunning):
                    examine(*place)
        assert not is_locked(str(runtime))
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "r").exists()


def test_a_runtime_directory_that_was_taken_away_is_owned_again(places: tuple[Path, Path], tmp_path: Path) -> None:
    state, runtime = places
    with own(state, runtime) as owned:
        shutil.rmtree(runtime)
        runtime.mkdir(mode=0o700)
        owned.keep()
        assert read_owner(runtime) == owned.owner
        with pytest.raises(AlreadyRunning, match=str(state)):
            own(tmp_path / "other", runtime)
    with own(tmp_path / "other", runtime):
        pass


def test_a_runtime_directory_that_is_taken_away_again_and_again_costs_no_descriptors(
    places: tuple[Path, Path],
) -> None:
    """An agent can remove it every few seconds, and each time it is locked anew."""
    _, runtime = places
    with own(*places) as owned:
        counts = []
        for _ in range(4):
            shutil.rmtree(runtime)
            runtime.mkdir(mode=0o700)
            owned.keep()
            counts.append(len(os.listdir("/proc/self/fd")))
    assert counts == [counts[0]] * 4


def test_a_runtime_directory_is_owned_again_also_where_the_state_directory_cannot_be_locked(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on NFS, where the lock file in it has to do."""
    state, runtime = places
    flock, inode = fcntl.flock, os.stat(state).st_ino

    def refuses(descriptor: int, operation: int) -> None:
        if os.fstat(descriptor).st_ino == inode:
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", refuses)
    with own(state, runtime) as owned:
        shutil.rmtree(runtime)
        runtime.mkdir(mode=0o700)
        owned.keep()
        assert read_owner(runtime) == owned.owner


def test_as_long_as_one_shim_was_not_handed_over_the_directory_stays_whose_it_is(
    places: tuple[Path, Path], tmp_path: Path
) -> None:
    _, runtime = places
    known, heir = read_owner(runtime), tmp_path / "heir"
    with a_living_shim(runtime, "a"), a_living_shim(runtime, "b"):
        told: list[tuple[str, str]] = []

        def hand(agent: str, owner: str) -> str | None:
            told.append((agent, owner))
            return "it does not answer" if agent == "b" else None

        assert take(heir, runtime, hand) == (["a"], {"b": "it does not answer"})
        assert read_owner(runtime) == known
        assert take(heir, runtime, lambda agent, owner: None) == (["a", "b"], {})
        assert [agent for agent, _ in told] == ["a", "b"]
        assert len({owner for _, owner in told}) == 1
        mine = read_owner(heir)
        assert mine is not None
        assert (mine, mine.id) == (read_owner(runtime), told[0][1])
        with own(heir, runtime):
            pass


def test_agents_are_not_left_behind_in_the_runtime_directory_of_before(
    places: tuple[Path, Path], tmp_path: Path
) -> None:
    """An account that begins to linger has another default; its agents would be missing there, and be fenced."""
    state, runtime = places
    with a_living_shim(runtime):
        with pytest.raises(BelongsToAnother, match=str(runtime)):
            own(state, tmp_path / "new")
        assert not (tmp_path / "new").exists()
        with own(state, runtime):
            pass
    with own(state, tmp_path / "new"):
        pass


def test_agents_that_were_handed_over_are_left_alone_by_who_had_them(places: tuple[Path, Path], tmp_path: Path) -> None:
    """On a runtime directory of its own it would find their runs missing, and fence them by their ids."""
    state, runtime = places
    heir, new = tmp_path / "heir", tmp_path / "new"
    with a_run_of_it(state, runtime):
        assert take(heir, runtime, lambda agent, owner: None) == (["a"], {})
        with pytest.raises(BelongsToAnother, match=f"handed over to the state directory {heir}") as refusal:
            own(state, new)
        assert not new.exists()
        assert f"phoenixctl recover --take --state-dir {state} --runtime-dir {runtime}" in refusal.value.remedy
        assert take(state, runtime, lambda agent, owner: None) == (["a"], {})
        with own(state, runtime):
            pass
    with own(state, new):
        pass


def test_nor_are_those_left_behind_that_no_record_of_owners_tells_of(places: tuple[Path, Path], tmp_path: Path) -> None:
    """As where an older version had both directories."""
    state, runtime = places
    for place in places:
        (place / RECORD).unlink()
    with a_run_of_it(state, runtime):
        with pytest.raises(BelongsToAnother, match=f"another runtime directory, {runtime}"):
            own(state, tmp_path / "new")
        # A runtime directory that was moved is the same, whatever its shims were told at their start.
        with own(state, runtime.rename(tmp_path / "moved")):
            pass


@pytest.mark.parametrize("content", ["{", "[]", '{"shim": 7}', '{"shim": {"pid": "1", "start_time": 1}}', "[" * 9999])
def test_a_run_record_that_says_nothing_keeps_nobody_from_starting(
    places: tuple[Path, Path], tmp_path: Path, content: str
) -> None:
    state, runtime = places
    with a_run_of_it(state, runtime):
        (state / "agents" / "a" / "run.json").write_text(content)
        (state / RECORD).unlink()
        with own(state, tmp_path / "new"):
            pass


def test_the_word_of_a_daemon_that_was_killed_while_it_ended_is_not_believed(tmp_path: Path) -> None:
    """Its pid may be another process's by now: here it is the test's."""
    state, runtime = tmp_path / "state", tmp_path / "runtime"
    with own(state, runtime) as owned:
        assert ending(runtime) is None
        owned.say_ending()
        assert ending(runtime) == os.getpid()
    assert ending(runtime) is None
    with own(state, runtime):
        assert ending(runtime) is None
