"""Whether a context is so full that its agent has to be handed over (E15, E16)."""

from __future__ import annotations

from phoenixd.api import exits, problems, representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages.context import context
from phoenixd.api.problems import Problem
from phoenixd.core.agent import Agent
from phoenixd.core.meter import parts
from phoenixd.core.meter.reading import Gauge, read
from phoenixd.core.seat.finding import as_shown, meant, of_session

CODES = {"OK": exits.OK, "WARNING": exits.OK, "HANDOFF": exits.CONDITION, None: exits.FAILED}
"""phoenixctl's exit code by the verdict; unknown is a failure, and never taken for room that is left."""

WAYS = "phoenixctl tokens check NAME"


async def tokens_check(ask: Ask) -> Reply:
    agent = as_shown(ask.service.fleet(), _agent_meant(ask))
    gauge = read(parts.of(agent), agent.spec.context, _threshold(ask.arguments["threshold"]))
    body = representation.tokens(agent, gauge)
    return Reply(body, lambda here: said(_sentence(agent, gauge, context(gauge, here)))(here), CODES[gauge.verdict])


def _sentence(agent: Agent, gauge: Gauge, told: str) -> str:
    is_windowless = gauge.verdict is None and gauge.limit is None
    remedy = f". Where nothing tells it: [agent.{agent.name}.context] limit = TOKENS" if is_windowless else ""
    return f"{agent.name}: {told or 'unknown'}{remedy}"


def _threshold(given: str | None) -> float | None:
    if given is None:
        return None
    try:
        threshold = float(given)
    except ValueError:
        threshold = 0.0
    # What is no number compares as false.
    if not 0 < threshold <= 1:
        raise Problem(
            "invalid", f"threshold {given[:40]} is no share in (0, 1]", "phoenixctl tokens check --threshold 0.9"
        )
    return threshold


def _agent_meant(ask: Ask) -> Agent:
    """The agent by name, by a session of its own, or the one that asks; an agent may only ask about itself."""
    named, session_id, own = ask.arguments["agent"], ask.arguments["session_id"], ask.caller.agent
    agents = ask.service.fleet().agents
    found = meant(ask.service.fleet(), str(named)) if named is not None else None
    if named is not None and found is None:
        raise problems.absent(ask.service.fleet(), str(named), ask.service.now())
    if session_id is not None:
        whose = of_session(ask.service.fleet(), str(session_id))
        if whose is None or (found is not None and whose is not found):
            where = f" of {named}" if named is not None else ""
            raise Problem("not_found", f"no session{where} is called {session_id[:64]!r} now", "phoenixctl status NAME")
        found = whose
    if own is not None and found is not None and own not in (found.name, found.spec.seat):
        said_why = f"agent {own} may not ask about the context of {found.name}: {ask.caller.why}"
        raise Problem("denied", said_why, "phoenixctl tokens check")
    if found is None and own is not None:
        found = agents.get(ask.caller.process) if ask.caller.process else meant(ask.service.fleet(), own)
    if found is None:
        raise Problem("invalid", "nothing says whose context is meant", WAYS)
    return found
