"""The threads of desks: results and errors come back, their number has a limit, and they end with their owner."""

from __future__ import annotations

import gc
import threading

import anyio
import pytest

from phoenixd.memory.threads import Threads
from tests.waiting import eventually


def named(name: str) -> int:
    return sum(one.name == name for one in threading.enumerate())


async def test_work_comes_back_with_what_it_returned_or_raised() -> None:
    threads = Threads("returned", 2)

    def fail() -> None:
        raise FileNotFoundError("gone")

    assert await threads.run(threading.get_ident) != threading.get_ident()
    with pytest.raises(FileNotFoundError, match="gone"):
        await threads.run(fail)
    assert named("returned") == 1, "one was free"


async def test_no_more_than_so_many_work_at_once_and_each_has_its_turn() -> None:
    threads, gate = Threads("at once", 2), threading.Event()
    working, most, done = 0, 0, []
    lock = threading.Lock()

    def work() -> None:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        gate.wait(60)
        with lock:
            working -= 1

    async def ask(number: int) -> None:
        await threads.run(work)
        done.append(number)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(ask, number)
            await eventually(lambda: working == 2, what="two are at work")
            gate.set()
    assert (most, sorted(done)) == (2, [0, 1, 2, 3, 4])


async def test_whoever_is_cancelled_waits_for_the_end_of_the_work() -> None:
    threads, began, gate, ended = Threads("cancelled", 1), threading.Event(), threading.Event(), []

    def work() -> None:
        began.set()
        gate.wait(60)
        ended.append(True)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(threads.run, work)
            await eventually(began.is_set, what="the work began")
            tasks.cancel_scope.cancel()
            gate.set()
    assert ended


async def test_they_end_with_their_owner() -> None:
    threads = Threads("ending", 2)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(threads.run, lambda: None)
    assert named("ending") > 0
    del threads
    gc.collect()
    await eventually(lambda: named("ending") == 0, what="the threads ended")


async def test_promise_20_where_no_thread_could_be_made_the_next_work_makes_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent may take all processes of its user for a while; what comes after that is not waited for in vain."""
    threads = Threads("scarce", 1)

    def cannot(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as scarce:
        scarce.setattr(threading.Thread, "start", cannot)
        with pytest.raises(RuntimeError, match="new thread"):
            await threads.run(threading.get_ident)
    assert (threads._made, threads._busy, threads._work.empty()) == (0, 0, True)
    assert await threads.run(threading.get_ident) != threading.get_ident()
