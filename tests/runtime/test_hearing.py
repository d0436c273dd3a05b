"""What shims say is held against what the kernel says, before anything rests on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events import AgentStarted, Event, RunAdopted, RunMissing
from phoenixd.drivers.processes import Processes
from phoenixd.drivers.processes_proc import boot_id, read_stat
from phoenixd.ports import ProcessIdentity, ShimHello, ShimMessage, ShimRun
from phoenixd.runtime.hearing import Hearing
from tests.core.story import Story
from tests.drivers.processes import identity


class Ear:
    """Hearing over the real process table, with this process in the place of agent a's shim."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        self.processes = Processes()
        self.story = Story()
        self.story.start()
        absent: Any = None
        self.hearing = Hearing(
            absent, self.processes, absent, absent, self.find, self.tell, later=lambda seconds, call: None
        )
        self.shim = identity(os.getpid())

    def find(self, name: str) -> Agent:
        return self.story.agent

    def tell(self, event: Event, saved: Callable[[], None] | None) -> None:
        self.told.append(event)

    def hello(self, run: ProcessIdentity | None = None) -> ShimHello:
        known = self.story.run
        said = None if run is None else ShimRun(known.incarnation, known.run_id, run.pid, run.start_time)
        return ShimHello("a", self.shim, 1, "0.1.0", 40001, said, None)

    def started(self, process: ProcessIdentity) -> None:
        run = self.story.run
        body = {"incarnation": run.incarnation, "run_id": run.run_id, "pid": process.pid}
        self.hearing.hear(ShimMessage("a", "started", {**body, "start_time": process.start_time}))


@pytest.fixture
async def ear() -> Any:
    made = Ear()
    yield made
    made.processes.close()


@pytest.fixture
def child() -> Iterator[ProcessIdentity]:
    process = subprocess.Popen(["sleep", "1000"])
    yield identity(process.pid)
    process.kill()
    process.wait()


async def test_promise_5_only_a_process_below_the_shim_is_taken_for_its_agent(ear: Ear, child: ProcessIdentity) -> None:
    ear.hearing.watch_shim(ear.hello())
    # Under hidepid the first process cannot be read, and is none of ours all the same.
    first = identity(1) if read_stat(1) else replace(ear.shim, pid=1)
    for stranger in (identity(os.getppid()), first, ear.shim):
        ear.started(stranger)
        assert ear.told == []

    ear.started(child)
    assert [(type(event), event.pid) for event in ear.told if isinstance(event, AgentStarted)] == [
        (AgentStarted, child.pid)
    ]


async def test_nobodys_word_counts_before_its_shim_is_known(ear: Ear, child: ProcessIdentity) -> None:
    ear.started(child)
    assert ear.told == []


async def test_an_agent_that_is_gone_already_was_started_all_the_same(ear: Ear, child: ProcessIdentity) -> None:
    """Its number may be a stranger's by now, but not with its start time: nothing is ever signalled by the number."""
    ear.hearing.watch_shim(ear.hello())
    ear.started(replace(identity(os.getppid()), start_time=1))
    assert [type(event) for event in ear.told] == [AgentStarted]


async def test_a_run_is_adopted_only_with_a_process_below_its_shim(ear: Ear, child: ProcessIdentity) -> None:
    ear.hearing.reconcile(ear.story.agent, ear.hello(identity(os.getppid())))
    ear.hearing.reconcile(ear.story.agent, ear.hello(child))
    assert [type(event) for event in ear.told] == [RunMissing, RunAdopted]


def test_boots_differ(child: ProcessIdentity) -> None:
    of_another_boot = replace(child, boot_id="other")
    assert child.boot_id == boot_id()
    assert Processes().is_below(of_another_boot, identity(os.getpid())) is None
