"""An agent that was given up because its working directory cannot be entered is started once that can be (F-RES-8).

A mount may come late, and somebody may type `mkdir`: no event tells of either. So the directory is looked at, ever less
often. Only one that was seen to be closed and then open starts anything: where a look finds it open from the beginning,
something stands in the way that no look sees, and the next start would fail like those before. Where it is opened and
closed over and over, each further start waits twice as long: anybody who may write there can do that in a loop.
"""

from __future__ import annotations

from phoenixd.core import requests
from phoenixd.core.actions import LookForDirectory
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Quarantined
from phoenixd.core.change import replace
from phoenixd.core.correction import DIRECTORIES
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import DirectoryLooked
from phoenixd.core.moment import Instant, Moment, in_words

FIRST, OFTEN, SELDOM = 0.0, 1.0, 30.0
"""Seconds from the quarantine to the first look, and between two looks at least and at most."""
SHARE = 0.25
"""Of the time for which it is closed, that lies between two looks."""
ANSWER_WITHIN = 60.0
"""Seconds after which a look that was not answered is ordered anew."""
FEW, WITHIN, MOST = 2, 3600.0, 12
"""Starts within these seconds after which the first look waits, and as many as are counted: then it waits for longer
than these seconds."""


def given_up(agent: Agent, state: Quarantined, now: Moment) -> Quarantined:
    """The quarantine, with the first look at the directory that stood in the way."""
    end = agent.last_exit
    if not state.misdeclared or end is None or end.obstacle not in DIRECTORIES:
        return state
    cause, pause = f"{state.cause}; it starts by itself once that can be entered", FIRST
    if (often := sum(at > now.at - WITHIN for at in agent.let_in)) >= FEW:
        pause = OFTEN * 2.0**often
        cause += f", and is looked at in {in_words(pause)}: within an hour it was opened and closed {often} times"
    return replace(state, cause=cause, look_at=now.at + pause)


def due(agent: Agent) -> Instant | None:
    """When its directory is to be looked at; None where no look starts it."""
    state = agent.state
    if not isinstance(state, Quarantined) or agent.desired is not Desired.RUNNING or agent.found is not None:
        return None
    # The turns of a sequence are begun by a start, and a task has a rule of its own for what its worker fails by.
    is_begun_by_others = agent.spec.turn_of is not None or agent.spec.loop.sequence or agent.spec.task
    return None if is_begun_by_others else state.look_at


def look(agent: Agent, now: Moment) -> Decision:
    """Have it looked at."""
    state = agent.state
    assert isinstance(state, Quarantined)
    asked = replace(agent, state=replace(state, look_at=now.at + ANSWER_WITHIN))
    order = LookForDirectory(agent.name, agent.incarnation, agent.spec.cwd)
    return Decision(asked, (order,), weight="noise")


def hear(agent: Agent, event: DirectoryLooked, seen: Seen, now: Moment) -> Decision:
    """Start it where its directory was closed and is open now; else look again later."""
    state = agent.state
    if due(agent) is None or not isinstance(state, Quarantined) or event.directory != agent.spec.cwd:
        return Decision(agent)
    if event.is_open and state.closed_since is not None:
        why = f"its directory {agent.spec.cwd} can be entered now"
        forgiven = replace(requests.forgive(agent, why), let_in=(*agent.let_in, now.at)[-MOST:])
        return requests.queue(forgiven, why, now)
    if event.is_open:
        return Decision(replace(agent, state=replace(state, look_at=None)), weight="noise")
    since = state.closed_since if state.closed_since is not None else now.at
    pause = min(SELDOM, max(OFTEN, SHARE * (now.at - since)))
    waits = replace(state, closed_since=since, look_at=now.at + pause)
    return Decision(replace(agent, state=waits), weight="noise")
