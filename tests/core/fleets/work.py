"""Tasks and their workers, and agents that are checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from phoenixd.core.tasks.state import Outcome, TaskState
from tests.core.filled import filled
from tests.core.fleets.situation import At, at
from tests.core.happening import hook
from tests.core.resonating import ResonanceStory, resonant
from tests.core.workers import Works


def working() -> Iterator[At]:
    """Tasks and their workers."""
    story = Works()
    story.works()
    story.ask(tries=2)
    yield at("its task has a worker that starts", story)
    yield at("it is a worker that starts", story, story.task("t1").agent)
    story.begins("t1")
    yield at("it is a worker", story, story.task("t1").agent)
    story.ask("Then that.", after=("t1",))
    yield at("another task waits for its worker's", story, story.task("t1").agent)
    story.ends("t1", 1)
    yield at("it is a worker that failed", story, story.task("t1").agent)
    done = Works()
    done.works()
    done.ask(asked_by="shop", project="shop", plan="2", phase="1", tries=1)
    worker = done.task("t1").agent
    done.begins("t1")
    done.tell(hook("permission-request", tool="Bash", text="make", held=True, seq=3)(done.fleet.agents[worker]))
    yield at("it is a worker that asks", done, worker, 60)
    done.ends("t1", 0)
    yield at("it is a worker that is done", done, worker)
    yield at("its task's work is being collected", done, "shop", 60)
    done.collected("t1", Outcome("done", report="/tasks/report.md", seal="sealed"))
    yield at("its task is done", done, "shop")
    cut = Works()
    cut.works()
    cut.ask(asked_by="shop")
    cut.begins("t1")
    worker = cut.task("t1").agent
    cut.cancel("t1")
    yield at("it is a worker whose task is canceled", cut, worker)
    for state in get_args(TaskState):
        task = replace(filled(done.task("t1")), state=state, told="", spec=done.agent.spec)
        fleet = replace(done.fleet, tasks=replace(done.fleet.tasks, open=(task,), ended=()))
        yield At(f"all is known of its task that is {state}", fleet, done.agent, done.now)
    unsealed = Works()
    unsealed.works()
    unsealed.ask(asked_by="shop")
    unsealed.ends("t1", 0)
    unsealed.collected("t1", Outcome("done", report="/tasks/report.md", seal="cut"))
    yield at("its task's answer was cut", unsealed, "shop")


def checking() -> Iterator[At]:
    """An agent that is checked: a check that stands ready, one that goes on, one that was missed."""
    story = ResonanceStory(resonant(interval_turns=2)).begins()
    yield at("a check is ready", story)
    story.hook("prompt-submit", text="Go on.")
    story.asked()
    yield at("it is being checked", story)
    story.memory = None
    story.hook("stop", text="I do not know.")
    yield at("it missed a check", story)
