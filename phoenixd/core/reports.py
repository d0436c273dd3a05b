"""Reports that were held against the facts: what is contradicted is told to a person, and is never progress."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Disproved
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import ReportJudged
from phoenixd.core.events.orders import OperatorEvent
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import keep

CONTRADICTED = "contradicted claim"
"""The alert about a report that claims what did not happen."""

OF_A_TASK = "task "
"""How the name of a task's report begins; its id follows."""

MOST_REPORTS, MOST_CLAIMS, CLAIM_LIMIT, NAME_LIMIT = 32, 5, 300, 80


def hear(agent: Agent, event: ReportJudged, seen: Seen, now: Moment) -> Decision:
    """Note what became of a report's claims; a newer report of the same task takes the place of the older one."""
    of = event.of[:NAME_LIMIT]
    others = tuple(one for one in agent.disproved if one.of != of)
    counts = f"{event.verified} verified, {event.unverifiable} unverifiable"
    if not event.contradicted:
        return keep(replace(agent, disproved=others), f"report of {of}: {counts}, none contradicted")
    claims = tuple(one[:CLAIM_LIMIT] for one in event.contradicted[:MOST_CLAIMS])
    noted = replace(agent, disproved=(*others, Disproved(of, claims, now.wall))[-MOST_REPORTS:])
    count = len(event.contradicted) + event.beyond
    text = f"the report of {of} claims what did not happen ({count}): {'; '.join(claims)}"
    decision = keep(noted, f"report of {of}: {count} claim{'' if count == 1 else 's'} contradicted, {counts}")
    return replace(decision, actions=(Alert(agent.name, CONTRADICTED, text, about=(of,)),))


def hear_order(agent: Agent, event: OperatorEvent, seen: Seen, now: Moment) -> Decision:
    """A person who starts the agent anew, or tells it something, has taken the matter up."""
    decision = seen.decision
    if not agent.disproved or decision.refusal is not None or decision.agent is None:
        return decision
    return replace(decision, agent=replace(decision.agent, disproved=()))
