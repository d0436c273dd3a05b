"""The thread that owns a connection serves what waits together, in order and within a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.drivers.journal.thread import DatabaseThread
from phoenixd.errors import JournalFailed


@pytest.mark.parametrize("largest", [1, 3])
async def test_what_waits_is_served_in_its_order_and_in_groups_up_to_the_bound(largest: int) -> None:
    groups: list[list[int]] = []
    may_serve = threading.Event()

    def serve(questions: Sequence[int]) -> Sequence[int]:
        may_serve.wait()
        groups.append(list(questions))
        return questions

    thread = DatabaseThread("of-a-test", serve, largest_group=largest)
    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(thread.ask, number)
        await checkpoint()
        may_serve.set()
    thread.close()

    assert [number for group in groups for number in group] == list(range(12))
    assert max(map(len, groups)) == largest


async def test_a_group_that_the_journal_does_not_take_fails_alone_and_the_next_is_served() -> None:
    rests: list[bool] = []

    def serve(questions: Sequence[int]) -> Sequence[int]:
        if 0 in questions:
            raise JournalFailed("the disk is full")
        return [number * 2 for number in questions]

    thread = DatabaseThread("of-a-test", serve, lambda is_idle: rests.append(is_idle()), largest_group=1)
    with pytest.raises(JournalFailed, match="the disk is full"):
        await thread.ask(0)
    assert await thread.ask(3) == 6
    thread.close()

    assert len(rests) == 2, "it rests after each group, failed ones too"
    with pytest.raises(JournalFailed, match="is closed"):
        await thread.ask(4)


@pytest.mark.parametrize(
    ("serve", "why"),
    [(lambda questions: {}[0], "KeyError"), (lambda questions: [1], "ValueError")],
    ids=("a bug", "answers that are too few"),
)
async def test_what_nobody_expected_ends_the_thread_loudly_and_fails_all_that_wait(
    serve: Callable[[Sequence[int]], Sequence[int]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_serve, loud = threading.Event(), list[str]()
    monkeypatch.setattr(threading, "excepthook", lambda died: loud.append(died.exc_type.__name__))

    def served(questions: Sequence[int]) -> Sequence[int]:
        may_serve.wait()
        return serve(questions)

    thread = DatabaseThread("of-a-test", served, largest_group=2)
    failed: list[str] = []

    async def ask(number: int) -> None:
        try:
            await thread.ask(number)
        except JournalFailed as failure:
            failed.append(str(failure))

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(ask, number)
        await checkpoint()
        may_serve.set()
    thread.close()

    assert len(failed) >= 3, "whoever waits is told"
    assert all(f"the journal's thread died: {why}" in one for one in failed)
    assert loud == [why]
    with pytest.raises(JournalFailed, match="thread died"):
        await thread.ask(9)


def test_the_end_waits_for_the_group_before_it_and_ends_the_next_one() -> None:
    thread = DatabaseThread[int, int]("of-a-test", lambda questions: questions, largest_group=3)
    thread.close()
    asked = [object(), object()]
    for one in (*asked, None):
        thread._queue.put(one)  # type: ignore[arg-type]
    assert thread._next_group() == asked
    assert thread._next_group() == []
