"""Background jobs and wake-ups: they end with the agent's process, and nobody but the daemon could say so.

A turn's end tells all that go on; a call that begins one tells of it before. What a run leaves behind is an alert until
a later run was told of it, by its brief and by the words with which it goes on, and has brought a turn to its end.
"""

from __future__ import annotations

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import LostJobs
from phoenixd.core.agent.run import LastExit, Run
from phoenixd.core.change import replace
from phoenixd.core.hooks import Hook, ToolEnded, ToolFailed, ToolStarted, TurnEnded
from phoenixd.core.moment import Moment

KIND = "background jobs lost"
MOST, LONGEST = 8, 200
"""Jobs that are remembered, and characters of each; an agent cannot make the daemon remember more.

They are cut here, once secrets have been taken out: half a secret would not be known for one.
"""


TELLING = ToolStarted | ToolEnded | ToolFailed | TurnEnded
"""The hooks that may tell of background jobs."""


def hear(run: Run, event: Hook) -> Run:
    """Take note of what goes on in the background."""
    if not isinstance(event, TELLING) or event.jobs is None:
        return run
    told = tuple(job[:LONGEST] for job in event.jobs[:MOST])
    if isinstance(event, TurnEnded) and not event.sub:
        return replace(run, jobs=told)
    if isinstance(event, ToolFailed):
        return replace(run, jobs=tuple(job for job in run.jobs if job not in told))
    begun = tuple(job for job in told if job not in run.jobs)
    return replace(run, jobs=(*run.jobs, *begun)[-MOST:]) if begun else run


def made_good(agent: Agent, event: TurnEnded) -> Agent:
    """The agent without what was lost, once it was told of it and a turn of it came to its end."""
    lost, run = agent.lost, agent.run
    if lost is None or run is None or event.sub or run.incarnation <= lost.incarnation:
        return agent
    return replace(agent, lost=None)


def lose(agent: Agent, run: Run, end: LastExit, now: Moment, *, expected: bool) -> tuple[Agent, tuple[Alert, ...], str]:
    """What ends with this run: the agent that remembers it, the word to people, and the words for the reason.

    expected: a person ended the run, or it ended as it was to, so nobody has to be called.
    """
    if not run.jobs:
        return agent, (), ""
    earlier = agent.lost.jobs if agent.lost is not None else ()
    jobs = (*(job for job in earlier if job not in run.jobs), *run.jobs)[-MOST:]
    words = in_words(run.jobs)
    agent = replace(agent, lost=LostJobs(run.incarnation, jobs, end.at_wall))
    text = f"they ended with run {run.incarnation}: {in_words(jobs)}; the next run is told to begin again what it needs"
    return agent, () if expected else (Alert(agent.name, KIND, text),), f"background jobs ended with it: {words}"


def in_words(jobs: tuple[str, ...]) -> str:
    """The jobs in a clause."""
    return "; ".join(jobs)
