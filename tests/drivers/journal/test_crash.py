"""A journal whose process is killed, or whose disk fails or is full, keeps what it acknowledged, and keeps it whole."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.errors import JournalFailed
from tests import warm
from tests.drivers.journal.journal_script import last_whole_batch, numbered_batch

ROOT = Path(__file__).resolve().parents[3]
COUNT = 5
"""Batches of one run under strace: a few dozen system calls, and each is made to fail once."""

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="not run: strace is not installed")


def command(path: Path, count: int) -> list[str]:
    return [sys.executable, "-m", "tests.drivers.journal.journal_script", str(path), str(count)]


def check(path: Path, acknowledged: int) -> int:
    """Open what a crash left: sound, whole, and with all that was acknowledged; the number of its last batch."""
    with SqliteJournal(path, reserve_bytes=65536) as journal:
        assert journal.damage is None
        entries = asyncio.run(journal.read(limit=10_000))
        last = last_whole_batch(journal, entries)
        assert last >= acknowledged
        assert asyncio.run(journal.commit(numbered_batch(last + 1)))
        return last + 1


def acknowledged_in(output: str) -> int:
    return max([int(number) for number in re.findall(r"^acked (\d+)$", output, re.M)], default=0)


def kill_at_random(path: Path, dice: random.Random) -> None:
    """One life: write as fast as possible, die after some milliseconds from the first acknowledgement on."""
    reading, writing = os.pipe()
    with open(reading) as told, open(writing, "wb") as out:
        writer = warm.popen(
            command(path, 10_000), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            env=os.environ, cwd=ROOT,
        )  # fmt: skip
        out.close()
        assert told.readline() == "open\n"
        timer = threading.Timer(dice.uniform(0, 0.15), os.kill, (writer.pid, signal.SIGKILL))
        timer.start()
        output = told.read()  # Until the end: what was written before the kill is still in the pipe.
        timer.join()
    assert writer.wait() == -signal.SIGKILL
    check(path, acknowledged_in(output))


@pytest.mark.slow
def test_promise_1_kill_9_loses_nothing_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(1)
    for life in range(10):
        # Every fifth life begins on an empty directory: creation is an instant like any other.
        kill_at_random(tmp_path / str(life // 5) / "journal.sqlite3", dice)


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_promise_1_three_hundred_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(2)
    for life in range(300):
        kill_at_random(tmp_path / str(life // 20) / "journal.sqlite3", dice)


Calls = dict[str, int]


def traced(directory: Path, *options: str, begun: bool) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run the script under strace, which looks at the journal's files only: from an empty directory, or `begun`.

    strace counts calls per thread. In a begun journal the thread that opens it writes next to nothing, so that every
    index reaches the thread that commits; an empty directory exercises the creation.
    """
    path = directory / "state" / "journal.sqlite3"
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(mode=0o700)
    if begun:
        check(path, 0)
    names = [
        path.name + suffix for suffix in ("", "-wal", "-shm", ".part", ".part-wal", ".part-shm", ".new", ".reserve")
    ]
    watched = [word for name in names for word in ("-P", str(path.parent / name))]
    strace = ["strace", "-f", "-qq", "-y", "-P", str(path.parent), *watched, *options]
    finished = subprocess.run(
        [*strace, *command(path, COUNT)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    return path, finished


def calls_of_an_undisturbed_run(directory: Path, begun: bool) -> Calls:
    """How often each system call is made on the journal's files, by the thread that makes it most."""
    log = directory / "calls"
    path, finished = traced(directory, "-o", str(log), begun=begun)
    assert finished.returncode == 0, finished.stderr
    check(path, COUNT + begun)
    counts = Counter(re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.M))
    return {name: max(n for (_, call), n in counts.items() if call == name) for _, name in counts}


@needs_strace
def test_no_batch_is_acknowledged_before_it_is_synced(tmp_path: Path) -> None:
    """What a power cut would take: pages of the log that were written, and not synced, when `acked` was said."""
    trace = tmp_path / "trace"
    watch_standard_output = ("-e", "trace=pwrite64,write,fdatasync,fsync,ftruncate", "-o", str(trace))
    path = tmp_path / "state" / "journal.sqlite3"
    path.parent.mkdir(mode=0o700)
    subprocess.run(
        ["strace", "-f", "-qq", "-y", *watch_standard_output, *command(path, 20)],
        cwd=ROOT, stdout=subprocess.DEVNULL, timeout=60, check=True,
    )  # fmt: skip
    dirty = acknowledged = synced = 0
    for line in trace.read_text().splitlines():
        if "-wal>" in line and "pwrite64(" in line:
            dirty += 1
        elif "-wal>" in line and re.search(r"f(data)?sync\(", line):
            synced, dirty = synced + 1, 0
        elif '"acked ' in line:
            acknowledged += 1
            assert dirty == 0, line

    assert acknowledged == 20
    assert synced >= 20


@needs_strace
@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
def test_promise_1_a_kill_at_every_system_call(tmp_path: Path, begun: bool) -> None:
    calls = calls_of_an_undisturbed_run(tmp_path, begun)
    runs = 0
    for call in sorted(calls.keys() - {"fcntl", "fstat", "newfstatat", "pread64", "getcwd", "lseek", "statfs"}):
        for index in range(1, calls[call] + 1):
            inject = f"inject={call}:signal=SIGKILL:when={index}"
            path, finished = traced(tmp_path, "-e", f"trace={call}", "-e", inject, begun=begun)
            assert finished.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), (inject, finished.stderr)
            check(path, acknowledged_in(finished.stdout))
            runs += 1
    print(f"{runs} kills, one at every call: {calls}")


ERRORS = {
    "pwrite64": ("ENOSPC", "EIO"),
    "fdatasync": ("EIO", "ENOSPC"),
    "fsync": ("EIO",),
    "openat": ("EMFILE", "EACCES", "EIO"),
    "rename": ("EIO",),
    "unlink": ("EIO",),
    "ftruncate": ("EIO",),
    "fallocate": ("ENOSPC",),
    "pread64": ("EIO",),
    "mmap": ("ENOMEM",),
}


@needs_strace
@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
@pytest.mark.parametrize("lasting", ["", "+"], ids=["once", "for good"])
@pytest.mark.parametrize(("call", "error"), [(call, error) for call, errors in ERRORS.items() for error in errors])
def test_promise_1_an_error_of_every_system_call(
    tmp_path: Path, call: str, error: str, lasting: str, begun: bool
) -> None:
    """The process says which batches failed, goes on or refuses in an orderly way, and loses nothing acknowledged."""
    calls = calls_of_an_undisturbed_run(tmp_path, begun)
    runs = refused = recovered = 0
    for index in range(1, calls.get(call, 0) + 1):
        inject = f"inject={call}:error={error}:when={index}{lasting}"
        # So only that call stops the process, which takes less than half the time. strace 6.1 loses signals by it.
        path, finished = traced(tmp_path, "--seccomp-bpf", "-e", f"trace={call}", "-e", inject, begun=begun)
        where = (inject, finished.stdout, finished.stderr)
        assert "Traceback" not in finished.stderr, where
        assert finished.returncode in (0, 3), where
        if "refused" in finished.stdout:
            refused += 1
        elif not lasting:
            assert acknowledged_in(finished.stdout) == COUNT + begun, where
            recovered += "failed" in finished.stdout
        check(path, acknowledged_in(finished.stdout))
        runs += 1
    print(f"{runs} injected errors: {refused} orderly refusals, {recovered} runs that went on after a failed commit")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0:
        pytest.skip("not run: a full disk needs root to mount a tmpfs")
    options = "size=1M,nr_inodes=64,mode=0700"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "phoenixd-test", mount], check=False).returncode != 0:
        pytest.skip("not run: this host does not mount a tmpfs")
    yield mount
    subprocess.run(["umount", "--lazy", mount], check=True)


@pytest.mark.faults
def test_a_full_disk_fails_by_name_and_is_survived(small_disk: Path) -> None:
    path = small_disk / "journal.sqlite3"
    reserve = path.with_name("journal.sqlite3.reserve")
    filler = small_disk / "filler"

    async def fill_and_heal() -> int:
        journal = SqliteJournal(path, reserve_bytes=128 * 1024)
        filler.write_bytes(b"x" * 300_000)
        acknowledged = failures = 0
        while failures < 3:
            try:
                await journal.commit(numbered_batch(acknowledged + 1))
                acknowledged, failures = acknowledged + 1, 0
            except JournalFailed:
                failures += 1
        assert acknowledged > 10
        assert reserve.stat().st_size == 128 * 1024

        # The reserve is for orders that end processes: one of them is saved on a disk without a free byte.
        assert journal.release_reserve()
        await journal.commit(numbered_batch(acknowledged + 1))
        assert not reserve.exists()
        assert last_whole_batch(journal, await journal.read(limit=10_000)) == acknowledged + 1

        # Space is back: the next commit simply works, and the reserve is taken again.
        filler.unlink()
        for number in range(acknowledged + 2, acknowledged + 7):
            await journal.commit(numbered_batch(number))
        journal.close()
        assert reserve.stat().st_size == 128 * 1024
        return acknowledged + 6

    check(path, asyncio.run(fill_and_heal()))
