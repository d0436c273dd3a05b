"""An agent that cannot be heard: its shim's link is lost, or hooks of it were refused. Told, and no reason to end it.

Meanwhile its screen is looked at, and its silence proves nothing (core.turn.due). A link is found again by
what is said on it, and by nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Deaf
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.runs import HooksRefused, LinkLost, RunAdopted
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.transitions import keep, with_run

LOST = "link lost"
"""The alert about a link that does not come back."""

REFUSED = "hooks refused"
"""The alert about hooks that bore the run's token, and were not taken in."""

PATIENCE = 30.0
"""Seconds that a link may be lost before a person is told."""


def hear_loss(agent: Agent, event: LinkLost, seen: Seen, now: Moment) -> Decision:
    """The link to the run's shim is lost, and is being taken up again; said once more it is no news."""
    run = agent.run
    if run is None or run.deaf is not None:
        return Decision(agent)
    return keep(with_run(agent, replace(run, deaf=Deaf(now.at, now.wall, event.reason))), _words(event.reason))


def hear_adoption(agent: Agent, event: RunAdopted, seen: Seen, now: Moment) -> Decision:
    """Its shim was spoken to: whatever had cut the link is over."""
    run = agent.run
    if run is None or run.deaf is None:
        return seen.decision
    return replace(seen.decision, agent=with_run(agent, replace(run, deaf=None)))


def due(agent: Agent) -> Instant | None:
    """When a person is told that the link stays lost; None where none is lost, or that was told."""
    run = agent.run
    if run is None or run.deaf is None or any(one.kind == LOST for one in agent.alerts):
        return None
    return run.deaf.since + PATIENCE


def tell(agent: Agent, now: Moment) -> Decision:
    """Call a person: neither turns nor questions of the agent can be heard."""
    run = agent.run
    if run is None or run.deaf is None:
        return Decision(agent)
    text = (
        f"for {in_words(now.at - run.deaf.since)} nothing that it says has arrived ({run.deaf.why}); it runs on, its "
        "screen is looked at, and the link is tried again all the while"
    )
    return Decision(agent, (Alert(agent.name, LOST, text),), f"still deaf to it: {run.deaf.why}")


def hear_refusals(agent: Agent, event: HooksRefused, seen: Seen, now: Moment) -> Decision:
    """Hooks did not get in: the event counts the run's own, and requests that bore no token."""
    run = agent.run
    if run is None or (event.hooks, event.strangers) <= (run.refused, run.strangers):
        return Decision(agent)
    counted = with_run(agent, replace(run, refused=event.hooks, strangers=max(event.strangers, run.strangers)))
    if event.hooks > run.refused:
        text = f"its shim refused hooks of its own, the last because {event.why}; what they told is not known"
        is_told = any(one.kind == REFUSED for one in agent.alerts)
        reason = f"{event.hooks} hooks of this run were refused so far: {event.why}"
        return Decision(counted, (Alert(agent.name, REFUSED, text),), reason, weight="noise" if is_told else None)
    first = "somebody without its token knocks at its hooks, and is turned away"
    return Decision(counted, reason=first, weight="detail" if not run.strangers else "noise")


def _words(why: str) -> str:
    return f"the link to its shim is lost ({why}); it runs on, and the link is taken up again as soon as it can be"
