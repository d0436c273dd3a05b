"""Processes are known by identity: watched to their death, and never confused with a later one of the same number."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import parse_stat, read_stat
from phoenixd.errors import PhoenixdError
from tests.drivers.processes.processes import identity
from tests.waiting import eventually, eventually_sync


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("command", ["sleep", "a b", "(x) R 1", "))) S 7 7", "new\nline", "ünï", ""])
def test_a_command_cannot_disturb_the_reading_of_its_own_line(command: str) -> None:
    fields = " ".join(str(number) for number in range(5, 53))
    stat = parse_stat(f"77 ({command}) S 4 {fields}\n".encode())

    assert (stat.state, stat.parent, stat.start_time) == ("S", 4, 22)
    assert "\n" not in stat.command


@pytest.mark.parametrize(
    ("line", "is_kernel"),
    [
        (b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 2 0 0 20 0 1 0 4 0 0", True),
        (b"10 (kworker/0:1H-kblockd) I 2 0 0 0 -1 69238880 0 0 0 0 0 9 0 0 0 -20 1 0 4 0 0", True),
        (b"77 (sleep) S 76 77 77 34816 77 4194304 98 0 0 0 0 0 0 0 20 0 1 0 22 5947392 448", False),
    ],
)
def test_a_thread_of_the_kernel_is_told_by_its_line(line: bytes, is_kernel: bool) -> None:
    assert parse_stat(line).is_kernel is is_kernel


def test_f_proc_25_a_process_that_changes_its_name_is_the_same_process() -> None:
    """P63: by the pid's identity, not by a name."""
    script = 'echo "2.1.197 (new)" > /proc/$$/comm; echo; read end'
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        known = identity(process.pid)
        assert process.stdout is not None
        process.stdout.readline()
        stat = read_stat(process.pid)
        assert stat is not None
        assert stat.command.startswith("2.1.197")
        assert Processes().is_alive(known)
        process.kill()


async def test_f_proc_1_a_death_is_told_once(sleeper: subprocess.Popen[bytes]) -> None:
    processes = Processes()
    deaths: list[str] = []
    assert processes.watch(identity(sleeper.pid), lambda: deaths.append("replaced"))
    assert processes.watch(identity(sleeper.pid), lambda: deaths.append("died"))
    before = len(os.listdir("/proc/self/fd"))
    sleeper.kill()
    await eventually(lambda: deaths, what="the death was told")
    await asyncio.sleep(0)

    assert deaths == ["died"]
    assert len(os.listdir("/proc/self/fd")) == before - 1


async def test_g65_f_proc_22_what_is_gone_or_a_zombie_is_not_watched(sleeper: subprocess.Popen[bytes]) -> None:
    processes = Processes()
    known = identity(sleeper.pid)
    for stranger in (replace(known, start_time=known.start_time - 1), replace(known, boot_id="another boot")):
        assert not processes.watch(stranger, lambda: None)
        assert not processes.is_alive(stranger)
    sleeper.kill()
    # Not reaped yet: the number is taken, and nobody lives there (F-PROC-22).
    await eventually(lambda: (stat := read_stat(sleeper.pid)) and stat.state == "Z")
    assert not processes.watch(known, lambda: None)
    assert not processes.is_alive(known)
    assert processes.identity_of(sleeper.pid) is None
    sleeper.wait()
    assert not processes.watch(known, lambda: None)
    assert processes.identity_of(sleeper.pid) is None


async def test_a_watch_that_is_taken_back_tells_nothing(sleeper: subprocess.Popen[bytes]) -> None:
    processes = Processes()
    deaths: list[str] = []
    processes.watch(identity(sleeper.pid), lambda: deaths.append("died"))
    processes.close()
    sleeper.kill()
    sleeper.wait()
    await asyncio.sleep(0.05)

    assert deaths == []


async def test_f_proc_23_a_stranger_with_the_same_number_is_never_signalled() -> None:
    """The start time of the saved identity differs, as it does when a number was given to somebody else.

    The stranger is no child of this process, because a fence spares those.
    """
    processes = Processes()
    known = identity(int(subprocess.check_output(["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"])))
    saved = replace(known, start_time=known.start_time + 1)

    assert not processes.is_alive(saved)
    assert (await processes.fence("a", 1, "no-such-run", saved)).killed == ()
    assert processes.is_alive(known)
    assert (await processes.fence("a", 1, "no-such-run", known)).killed == (f"{known.pid} sleep",)


@pytest.mark.parametrize("free", [0, 1])
def test_unknown_is_not_gone(sleeper: subprocess.Popen[bytes], free: int) -> None:
    """Without a free descriptor the answer is an error, never "dead"."""
    known = identity(sleeper.pid)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + free, hard))
    try:
        with pytest.raises(PhoenixdError, match="cannot be watched"):
            Processes().is_alive(known)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_is_inside_a_tree(sleeper: subprocess.Popen[bytes]) -> None:
    processes = Processes()
    ourselves, child = identity(os.getpid()), identity(sleeper.pid)

    assert processes.is_below(child, ourselves)
    assert not processes.is_below(ourselves, ourselves)
    assert not processes.is_below(identity(os.getppid()), ourselves)
    assert not processes.is_below(ourselves, child)
    assert processes.is_below(replace(child, start_time=1), ourselves) is None, "of that number, but not that process"
    assert processes.is_below(child, replace(ourselves, start_time=1)) is False
    sleeper.kill()
    eventually_sync(lambda: not processes.is_alive(child), what="it ended")
    assert processes.is_below(child, ourselves), "a zombie is still somebody's"
    sleeper.wait()
    assert processes.is_below(child, ourselves) is None


@pytest.mark.faults
def test_f_proc_23_numbers_that_are_reused_at_once_never_hit_a_stranger() -> None:
    """In a pid name space of its own the next number can be chosen, so that each victim's is reused at once.

    P75: a pid with its start time is safe to keep.
    """
    script = r"""
import asyncio, os, signal, subprocess, sys, time
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.ports.processes import ProcessIdentity
processes = Processes()
hits = reused = alive = 0
for round in range(100):
    victim = subprocess.Popen(["sleep", "1000"])
    known = processes.identity_of(victim.pid)
    victim.kill(); victim.wait()
    time.sleep(0.02)  # Another tick: an identity that is only remembered has nothing but the start time.
    # Of two processes the shell has the number before: a fence spares this program's own children.
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(victim.pid - 2))
    stranger = processes.identity_of(int(subprocess.check_output(["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"])))
    reused += stranger.pid == victim.pid
    alive += processes.is_alive(known)
    fenced = asyncio.run(processes.fence("a", 1, "no-such-run", known))
    hits += not processes.is_alive(stranger) or bool(fenced.killed)
    os.kill(stranger.pid, signal.SIGKILL)
print(reused, hits, alive)
"""
    # The shell is the one who adopts what loses its parent, and stays.
    adopted = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", script]
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    done = subprocess.run([*alone, *adopted], capture_output=True, text=True)
    if "Operation not permitted" in done.stderr:
        pytest.skip("not run: no pid name space to be had here")
    reused, hits, alive = map(int, done.stdout.split())

    assert reused > 90
    assert (hits, alive) == (0, 0)


def test_the_sync_twin_of_eventually_names_what_did_not_come() -> None:
    with pytest.raises(TimeoutError, match="pigs fly"):
        eventually_sync(lambda: False, timeout=0.01, what="pigs fly")
