"""What can be measured, by name: a row here is all that `./dev bench --only NAME` needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench import (
    adoption,
    brief,
    crowd,
    death,
    faces,
    feed,
    flood,
    hooks,
    hostile,
    ledger,
    race_report,
    recovery,
    step,
    thousand,
    transcripts,
    work,
)
from tests.bench.scale import Scale


@dataclass(frozen=True, slots=True)
class Part:
    """words: what it measures; run: prints its tables and returns whether all of it ran; usual: without being asked."""

    words: str
    run: Callable[[Scale], bool]
    usual: bool = True


PARTS: dict[str, Part] = {
    "race": Part(
        "kill -9 to main(), all killed at once, status and idle cost beside runit, s6, pm2, supervisord and systemd",
        race_report.report,
    ),
    "death": Part("where the time of a death lies, step by step", death.report, usual=False),
    "idle": Part("the idle cost and memory of phoenixd alone", race_report.report_idle, usual=False),
    "call": Part("what one hook call costs the agent", hooks.report),
    "hooks": Part(
        "4,000 hooks a second from 100 agents, 20,000 events a second at the links, and where orders lie meanwhile",
        flood.report,
        usual=False,
    ),
    "work": Part("the fingerprint of a repository of 50,000 files", work.report),
    "transcripts": Part("the newest usage of a transcript of 1 GB", transcripts.run),
    "ledger": Part("a turn's reading for the brief at 1 MB and at 1 GB", ledger.run),
    "brief": Part("one whole brief run at a turn's end, at 1 MB and at 1 GB", brief.run),
    "hostile": Part("what agents write, at its worst", hostile.run),
    "thousand": Part(
        "1,000 agents beside 100: start, idle, a death, the daemon's restart", thousand.report, usual=False
    ),
    "adoption": Part(
        "what the daemon's restart costs it under 300 agents, and under one", adoption.report, usual=False
    ),
    "step": Part("one event in the core at 1, 100 and 1,000 agents", step.report),
    "recovery": Part(
        "how long a failed agent of each real CLI is away, by cause, on an API that answers at once",
        recovery.report,
        usual=False,
    ),
    "feed": Part(
        "an event to a client of the feed, 50 followers of 1,000 agents, status and prompt beside a bare python",
        feed.report,
        usual=False,
    ),
    "faces": Part(
        "phoenixctl top at 1,000 agents: first paint, a key, memory; then what feed measures", faces.report, usual=False
    ),
    "crowd": Part("kill -9 to main() with more and more processes on the host", crowd.report, usual=False),
}
