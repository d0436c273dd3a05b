"""What one whole brief run costs the daemon at a turn's end: the session's end and its ledger, loops, state and page.

`python -m tests.bench.brief [--megabytes N...] [--profile]`
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import structlog

from phoenixd.core.agent import Agent
from phoenixd.core.briefing import Cause, Due
from phoenixd.documents.workspace import Commit, GitSummary
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.memory.brief.run import BriefRuns
from tests.bench.arena import Figures
from tests.bench.ledger import AIM, TASKS, ran, task
from tests.bench.scale import Scale
from tests.bench.transcripts import MEGABYTE, a_stretch, append, transcript
from tests.start.places import Room, entry
from tests.transcripts.samples import answer, prompt

LOOPS, NUMBERS = 20, 20
"""An operator's own, beside what the session leaves."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of the daemon's processor time at one turn's end."""

    megabytes: int
    run: Figures
    """One whole brief run."""
    again: Figures
    """One with nothing new."""
    papers: Figures
    """The agent's documents, which every turn's end brings up to date, brief or not."""
    largest: int
    """Bytes of state.json, at most."""
    open_loops: int


def measure(megabytes: int, turns: int = 60, profile: cProfile.Profile | None = None) -> Cost:
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory, transcript(megabytes) as path:
        if path.stat().st_size == 0:
            append(path, a_stretch()[: megabytes * MEGABYTE].rpartition(b"\n")[0] + b"\n")
        return anyio.run(_measured, Path(directory), path, megabytes, turns, profile)


async def _measured(directory: Path, path: Path, megabytes: int, turns: int, profile: cProfile.Profile | None) -> Cost:
    room = Room(directory)
    files = TranscriptFiles(lambda agent: str(path))
    room.options = {"conversation": files.conversation, "ledger": files.ledger}
    room.restarted()
    room.git.summary = GitSummary("main", (Commit("abc1234", "2026-11-21", "Fix it"),), 3, 1, dirty=("a.py", "b.py"))
    loops = [
        {"id": f"own-{n}", "text": f"Renew certificate {n} of the shop", "added": "2026-11-15"} for n in range(LOOPS)
    ]
    room.state.mkdir(parents=True)
    plain = {"agent": "a", "open_loops": loops, "numbers": {f"figure {n}": str(n) for n in range(NUMBERS)}}
    (room.state / "state.json").write_text(json.dumps(plain))
    agent = room.running(room.agent(replace(room.spec(), harness="claude")))
    # The same that a turn's end hears by.
    runs: BriefRuns = room.papers.briefing._runs
    for number in range(TASKS):
        append(path, task(number))
    run, again, papers, number, largest = Figures(), Figures(), Figures(), TASKS, 0
    await _turned(room, agent)
    await runs.write(agent, _due(room))
    for _ in range(turns):
        number += 1
        room.clock.wall += 700
        append(path, task(number) + ran(number) + prompt(f"Go on {number}.") + answer(f"It is done {number}."))
        papers.samples.append(await _cost(lambda: _turned(room, agent)))
        if profile is not None:
            profile.enable()
        run.samples.append(await _cost(lambda: runs.write(agent, _due(room))))
        if profile is not None:
            profile.disable()
        again.samples.append(await _cost(lambda: runs.write(agent, _due(room))))
        largest = max(largest, (room.state / "state.json").stat().st_size)
    return Cost(megabytes, run, again, papers, largest, len(room.document()["open_loops"]))


async def _turned(room: Room, agent: Agent) -> None:
    room.git.asked.clear()
    await room.papers.publication.publish(agent, [entry("hook_seen", kind="stop", reason="the turn ended")])


async def _cost(act: Callable[[], Awaitable[object]]) -> float:
    began = time.process_time()
    await act()
    return (time.process_time() - began) * 1000


def _due(room: Room) -> Due:
    return Due(room.clock.wall, Cause.TURN, "a turn ended")


def report(found: Cost) -> None:
    """Print the figures of one transcript."""
    print(f"\na transcript of {found.megabytes} MB: milliseconds of processor time, median / p99")
    print(f"{'a whole brief run at the end of a turn':44}{found.run.text():>18}   aim {AIM:.0f}")
    print(f"{'another one, where nothing is new':44}{found.again.text():>18}")
    print(f"{'documents and ledger, which each turn has':44}{found.papers.text():>18}")
    print(f"{found.open_loops} loops are open; state.json has {found.largest} bytes at most")


def run(scale: Scale) -> bool:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    for megabytes in (1, 100 if scale.quick else 1000):
        report(measure(megabytes))
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.brief", description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 1000])
    parser.add_argument("--profile", action="store_true", help="name the functions that cost most")
    given = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    for megabytes in given.megabytes:
        profile = cProfile.Profile() if given.profile else None
        report(measure(megabytes, profile=profile))
        if profile is not None:
            pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
