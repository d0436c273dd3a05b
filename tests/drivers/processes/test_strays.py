"""One pass ends what bears the marks of ended runs, and nothing of a run that lives (promises 2 and 5)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from phoenixd.drivers.processes import proc
from phoenixd.drivers.processes.strays import StraySweeper
from phoenixd.ports.processes import EndedRun
from tests.drivers.processes.processes import identity
from tests.waiting import eventually_sync

# Of this process alone: a sweep of one test would end the strays of another that runs at the same time.
OLD, OTHER = EndedRun("a", 3, f"run-3-{uuid.uuid4()}"), EndedRun("b", 7, f"run-7-{uuid.uuid4()}")
# A shim that keeps a child, which has the marks of an older run.
SHIM = "import subprocess, sys; print(subprocess.Popen(['sleep', '271828']).pid, flush=True); sys.stdin.read()"


def marks(run: EndedRun, **changes: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PHOENIX_AGENT": run.agent, "PHOENIX_RUN_ID": run.run_id, **changes}


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


class Leaf:
    def __init__(self, pid: int, owner: tuple[str, int]) -> None:
        self._pid, self._owner = pid, owner

    def owner_of(self, pid: int) -> tuple[str, int] | None:
        return self._owner if pid == self._pid else None


def sleep(started: list[subprocess.Popen[bytes]], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    started.append(subprocess.Popen(["sleep", "271828"], env=environment))
    run_id = environment.get("PHOENIX_RUN_ID")
    eventually_sync(lambda: proc.run_of(started[-1].pid) == run_id, what="its environment is its own")
    return started[-1]


async def test_promise_5_one_pass_ends_the_strays_of_many_runs_and_no_stranger(
    started: list[subprocess.Popen[bytes]],
) -> None:
    strays = [sleep(started, marks(OLD)), sleep(started, marks(OLD)), sleep(started, marks(OTHER))]
    strangers = [
        sleep(started, marks(OLD, PHOENIX_AGENT="b")),
        sleep(started, marks(OLD, PHOENIX_RUN_ID=f"{OLD.run_id}2")),
        sleep(started, {"PHOENIX_RUN_ID": OLD.run_id}),
        sleep(started, {}),
    ]
    found = await StraySweeper(None, list).sweep([OLD, OTHER])
    assert [stray.wait(60) for stray in strays] == [-signal.SIGKILL] * 3
    assert {run: (set(fenced.killed), fenced.remaining) for run, fenced in found.items()} == {
        OLD: ({f"{one.pid} sleep" for one in strays[:2]}, ()),
        OTHER: ({f"{strays[2].pid} sleep"}, ()),
    }
    assert [one.poll() for one in strangers] == [None] * 4
    assert await StraySweeper(None, list).sweep([OLD, OTHER]) == {}


async def test_promise_2_what_lives_below_a_shim_is_the_new_runs_whatever_mark_it_bears(
    started: list[subprocess.Popen[bytes]],
) -> None:
    shim = subprocess.Popen([sys.executable, "-c", SHIM], env=marks(OLD), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    started.append(shim)
    assert shim.stdout is not None
    child = int(shim.stdout.readline())
    try:
        eventually_sync(lambda: proc.run_of(child) == OLD.run_id)
        assert await StraySweeper(None, lambda: [identity(shim.pid)]).sweep([OLD]) == {}
        assert shim.poll() is None
        found = await StraySweeper(None, list).sweep([OLD])
        assert {line.split()[0] for line in found[OLD].killed} == {str(shim.pid), str(child)}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        shim.communicate()


@pytest.mark.parametrize(("owner", "is_spared"), [(("a", 4), True), (("b", 1), True), (("a", 3), False)])
async def test_promise_2_what_sits_in_another_runs_leaf_is_spared(
    started: list[subprocess.Popen[bytes]], owner: tuple[str, int], is_spared: bool
) -> None:
    stray = sleep(started, marks(OLD))
    found = await StraySweeper(Leaf(stray.pid, owner), list).sweep([OLD])
    assert (found == {}) is is_spared
    assert (stray.poll() is None) is is_spared


async def test_what_cannot_be_listed_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_descriptor() -> list[int]:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(proc, "process_ids", no_descriptor)
    with pytest.raises(OSError, match="too many"):
        await StraySweeper(None, list).sweep([OLD])
