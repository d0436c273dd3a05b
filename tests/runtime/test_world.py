"""What is known of agents beside the journal, as shims and files say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from phoenixd.core.behind.world import SeenRun, World
from phoenixd.ports import Outside
from phoenixd.ports.journal import Epochs, RunFiles
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimRun
from phoenixd.runtime.world import look

OLD = SeenRun(4, "r4", pid=40, start_time=400, session_id="s4", mode="resume")


@dataclass
class Seen:
    """Shims, files and processes at once; each is asked for what it was given."""

    hello: ShimHello | None
    files: RunFiles = field(default_factory=RunFiles)

    async def connect(self, agent: str) -> ShimHello | None:
        return self.hello

    def epoch(self) -> int:
        return 7

    def names(self) -> frozenset[str]:
        return frozenset({"a"})

    def run_files(self, agent: str) -> RunFiles:
        return self.files

    def boot_id(self) -> str:
        return "boot"


def hello(run: ShimRun | None) -> ShimHello:
    return ShimHello("a", ProcessIdentity("boot", 1, 10), 2, "1", 0, run, {"incarnation": 3})


async def world(seen: Seen) -> World:
    outside = cast(Any, type("Everything", (), {"shims": seen, "processes": seen})())
    return await look(cast(Outside, outside), cast(Epochs, seen), 5, ())


async def test_a_living_run_is_what_its_shim_says_and_its_file_adds_what_an_older_shim_does_not_say() -> None:
    known = RunFiles(last=OLD, incarnation=4)
    (trace,) = (await world(Seen(hello(ShimRun(4, "r4", 41, 401)), known))).traces
    assert trace.living == SeenRun(4, "r4", "s4", "resume", 41, 401, boot_id="boot")
    assert (trace.shim, trace.incarnation) == ("runs", 4)
    (other,) = (await world(Seen(hello(ShimRun(5, "r5", 51, 501, "s5", "fresh")), known))).traces
    assert other.living is not None
    assert (other.living.run_id, other.living.pid, other.living.session_id) == ("r5", 51, "s5"), "another run's file"


async def test_without_a_run_or_a_shim_the_highest_incarnation_that_anything_names_is_known() -> None:
    (idle,) = (await world(Seen(hello(None)))).traces
    assert (idle.shim, idle.incarnation, idle.living) == ("idle", 3, None)
    (none,) = (await world(Seen(None, RunFiles(last=OLD, incarnation=4)))).traces
    assert (none.shim, none.incarnation, none.living) == ("none", 4, None)


@pytest.mark.parametrize(
    ("said", "known"),
    [(1, 1), (2**53 - 1, 2**53 - 1), (0, 0), (-1, 0), (2**53, 0), (True, 0), ("3", 0), (None, 0)],
)
async def test_an_incarnation_that_a_shim_says_counts_where_it_can_be_one(said: object, known: int) -> None:
    greeting = ShimHello("a", ProcessIdentity("boot", 1, 10), 2, "1", 0, None, {"incarnation": said})
    (trace,) = (await world(Seen(greeting))).traces
    assert trace.incarnation == known
