"""A run that begins after it was given up: its shim was silent for longer than a start may take (promise 3)."""

from __future__ import annotations

from phoenixd.core.actions import Kill
from phoenixd.core.decision import Decision
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment


def hear_late_start(before: Fleet, found: Step, event: AgentStarted, now: Moment) -> Step:
    """A run that begins after it was given up is ended. The state of the agent stays: the run was judged already.

    Nothing else would end the run. A fence that finds nothing proves that nothing of a run lives, and not that the
    shim has read the order to start. A run of a higher incarnation is none of these: then the journal is old.
    """
    agent = before.agents.get(event.agent)
    if agent is None or event.incarnation > agent.incarnation:
        return found
    if before.roster.living(event.agent, event.incarnation) is not None:
        return found
    reason = f"run {event.incarnation} began after it was given up: it is ended"
    return put(found, Decision(agent, (Kill(agent.name, event.incarnation),), reason), now)
