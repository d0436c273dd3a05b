"""Agents that show no turns: nothing of them was ever told by a hook. Their life is all that can be seen of their work.

By that they are productive (design section 3: five minutes), and by that a treatment of them holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phoenixd.core.agent import Agent
from phoenixd.core.moment import Instant
from phoenixd.core.treatment import outcome
from phoenixd.core.treatment.case import Case, Cases, Treated


def since(agent: Agent) -> Instant | None:
    """When the run of such an agent began; None for any other agent, and between two runs.

    Where the CLI would tell by hooks, its transcript at least must have grown, as for being productive.
    """
    run = agent.run
    if run is None or agent.hooks_seen or (agent.spec.has_hooks and not run.evidence):
        return None
    return run.exec_at if run.exec_at is not None else run.began


def gives_signs(agent: Agent) -> bool:
    """Whether a file of it is watched: then its silence counts for nothing."""
    return agent.spec.has_hooks or agent.spec.heartbeat_file is not None or agent.spec.transcript is not None


def next_due(cases: Cases, agents: Mapping[str, Agent]) -> Instant | None:
    """When the length of a run's life decides an outcome: no event makes anybody look at such an agent."""
    found = (
        outcome.life_due(one, began) for _, one, agent in productive(cases, agents)
        if (began := since(agent)) is not None and not gives_signs(agent)
    )  # fmt: skip
    return min((at for at in found if at is not None), default=None)


def productive(cases: Cases, agents: Mapping[str, Agent]) -> Iterator[tuple[Case, Treated, Agent]]:
    """The treatments whose run was productive and that have no outcome yet, with their agents."""
    for case in cases.cases:
        for one in case.treated if case.closed is None else ():
            agent = agents.get(one.agent) if one.productive is not None and one.is_open else None
            if agent is not None:
                yield case, one, agent
