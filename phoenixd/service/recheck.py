"""One agent held against the world, as `phoenixctl recover` asks for it."""

from __future__ import annotations

from phoenixd.api.values import Rechecked
from phoenixd.core.agent import Agent
from phoenixd.errors import PhoenixdError
from phoenixd.ports.shims import ShimLinks
from phoenixd.runtime.hearing import Hearing


async def recheck(agent: Agent, shims: ShimLinks, hearing: Hearing) -> Rechecked:
    """Compare what the agent's shim says with what is known of it, and have told what came of that."""
    state = agent.state_name
    try:
        hello = await shims.connect(agent.name)
    except PhoenixdError as failure:
        return Rechecked(agent.name, f"{state}; {failure.message}")
    if hello is None:
        found = "no shim listens"
        if agent.run is None:
            return Rechecked(agent.name, f"{state}; {found}", "nothing to do")
        hearing.report_missing(agent)
        return Rechecked(agent.name, f"{state}; {found}", "what is left of its run is fenced")
    if agent.run is None:
        return Rechecked(agent.name, f"{state}; its shim waits", "nothing to do")
    # A look by cron must not be what keeps a hung agent alive.
    hearing.reconcile(agent, hello, unwatched=False)
    alive = hello.run is not None and hello.run.run_id == agent.run.run_id
    return Rechecked(agent.name, f"{state}; {'alive' if alive else 'its run has ended'}", "compared with the journal")
