"""What a call's processes have done: the dead count through who waited for them, and what began before never does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phoenixd.drivers.processes import proc
from phoenixd.drivers.processes.work import work_since
from phoenixd.ports.processes import ProcessIdentity, WorkDone
from tests.ending import A_WHILE
from tests.storage import storage
from tests.waiting import eventually_sync

BURN = "awk 'BEGIN { for (i = 0; i < 300000; i++) x += i }'"


def now() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def me() -> ProcessIdentity:
    stat = proc.read_stat(os.getpid())
    assert stat is not None
    return ProcessIdentity(proc.boot_id(), os.getpid(), stat.start_time)


def done(ticks: int, *members: int) -> WorkDone:
    return work_since(me(), frozenset(members), ticks)


@contextmanager
def running(*argv: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def after_a_tick() -> int:
    """The first tick that nothing which runs already began in."""
    last = now()
    eventually_sync(lambda: now() > last + 1, what="the next tick")
    return now()


def test_promise_4_thousands_of_short_lived_compilers_count_through_their_parents() -> None:
    began = after_a_tick()
    with running("sh", "-c", f"(while {A_WHILE}; do {BURN}; done); true"):
        eventually_sync(lambda: done(began).cpu > 0.5, 60, "the sum holds the dead")
        # One that just ends cannot be read by every user.
        eventually_sync(lambda: done(began).unread == 0, what="a look at which all can be read")
        assert 1 <= done(began).processes <= 8
    eventually_sync(lambda: done(began).processes == 0, what="what the shell had started is gone")


def test_what_began_before_the_call_never_counts() -> None:
    with running("sh", "-c", f"while {A_WHILE}; do {BURN}; done") as server:
        eventually_sync(lambda: done(0, server.pid).cpu > 0.05, what="it works")
        began = after_a_tick()
        with running("sleep", "100") as blocked:
            eventually_sync(lambda: done(began, server.pid, blocked.pid).processes, what="the blocked one is seen")
            # A burner of the server's may be alive for a moment, which began after the call did.
            assert done(began, server.pid, blocked.pid).cpu < 0.2


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Path]:
    """A file to come on a file system with storage."""
    with storage(tmp_path) as place:
        if place is None:
            pytest.skip("not run: no directory for temporary files has storage")
        yield place / "f"


def test_what_is_printed_is_no_work_and_what_is_stored_is(stored: Path) -> None:
    began = after_a_tick()
    script = (
        "import os, sys\n"
        "for _ in range(64): os.write(1, b'x' * 65536)\n"
        "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
        "sys.stdin.read(1)\n"
        "os.write(file, b'y' * 3 * 1024 * 1024)\n"
        "sys.stdin.read()"
    )
    feed, end = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", script, str(stored)], stdin=feed, stdout=subprocess.DEVNULL)
    try:
        eventually_sync(stored.exists, what="it has printed")
        printed = done(began).io
        os.write(end, b"1")
        eventually_sync(lambda: done(began).io >= printed + 3 * 1024 * 1024, what="it has stored")
    finally:
        os.close(end)
        os.close(feed)
        child.wait()


def test_members_of_the_leaf_count_once(tmp_path: Path) -> None:
    began = after_a_tick()
    with running("sleep", "100") as one:
        eventually_sync(lambda: done(began).processes == 1, what="it is found by descent")
        assert done(began, one.pid).processes == 1


def test_another_process_of_the_same_number_is_no_root() -> None:
    began = after_a_tick()
    with running("sleep", "100"):
        stranger = ProcessIdentity(proc.boot_id(), os.getpid(), me().start_time + 1)
        assert work_since(stranger, frozenset(), began) == WorkDone()


def test_p88_what_cannot_be_read_is_counted_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    began = after_a_tick()
    with running("sleep", "100") as hidden, running("sleep", "100") as secret, running("sleep", "100") as seen:
        read = proc.read

        def guarded(path: str) -> bytes:
            """hidepid: one process of our own cannot be seen at all, of another the I/O cannot be read."""
            if path.startswith(f"/proc/{hidden.pid}/"):
                raise FileNotFoundError(path)
            if path == f"/proc/{secret.pid}/io":
                raise PermissionError(path)
            return read(path)

        monkeypatch.setattr(proc, "read", guarded)
        found = done(began, hidden.pid, secret.pid, seen.pid)
    assert (found.processes, found.unread) == (2, 2)
