"""Runs one after the other in virtual time, each with its work at its end, and whether the breaker stops them.

What a round is stands here, written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phoenixd.core.agent.state import BackingOff, Quarantined
from phoenixd.core.kind import Kind
from phoenixd.core.rules import BreakerRules
from phoenixd.core.tasks.state import Task, Tasks
from tests.blind.frozen import Case, Corpus
from tests.core.recycled.missed import MISSED
from tests.core.story import Story, claude

RECYCLED = Corpus(Path(__file__).parent, "recycled-open.json", "recycled-held.json", MISSED)

Round = dict[str, Any]
LASTS = 900.0
"""Seconds of a round: no run is short enough to be judged by that."""
TIDY = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """after: the number of the round after which it was stopped; None where it goes on."""

    after: int | None
    reason: str

    @property
    def word(self) -> str:
        return "goes on" if self.after is None else "stopped"


def answer(case: Case) -> Answer:
    """Play a case to its end, or until it is stopped."""
    rules = BreakerRules(enabled=case["breaker"])
    story = Story(claude(kind=Kind(case["kind"]), breaker=rules))
    looks = 0
    for number, one in enumerate(case["rounds"], start=1):
        looks += one["work"] == "changed"
        # A letter is the content itself. Of the first round the cases say "unknown", for nothing was before it.
        is_unknown = one["work"] == "unknown" and number > 1
        story.work = None if is_unknown else f"git:{looks if one['work'] in SAID else one['work']}"
        _round(story, one)
        if isinstance(story.state, Quarantined):
            return Answer(number, story.state.cause)
        if story.agent.run is None and not isinstance(story.state, BackingOff):
            story.start()
        if isinstance(story.state, BackingOff):
            story.respawned()
    return Answer(None, story.reasons[-1])


SAID = ("same", "changed", "unknown")


def is_right(case: Case, found: Answer) -> bool:
    """The word, and when: a case says after which round, and others that it takes as well."""
    said = (case["expected"], case["stopped_after"])
    return (found.word, found.after) == said or found.word in case["also_accept"]


def _round(story: Story, one: Round) -> None:
    """One run: its turn, what a person and its workers did meanwhile, and its end."""
    story.works()
    story.hook("tool-end", tool="Bash")
    if one["asked"]:
        story.hook("stop")
        story.hook("prompt-submit", text="What do you think of it?")
    open_ones = (_task("t1", "waiting", story),) if one["task_open"] else ()
    ended = (_task("t2", "done", story),) if one["task_done"] else ()
    story.fleet = replace(story.fleet, tasks=Tasks(3, open_ones, ended=ended))
    if one["limited"]:
        story.hook("stop-failure", error="rate_limit", text="429")
    elif one["turn_ended"]:
        story.hook("stop")
    story.pass_over(LASTS)
    story.exited(one["code"], one.get("signal"))


def _task(name: str, state: Any, story: Story) -> Task:
    return Task(name, name, asked_by="a", state=state, doubted=True, told="told", since_wall=story.wall + TIDY)
