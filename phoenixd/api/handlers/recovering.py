"""`recover`: what was found where the journal was older than the world, and the operator's word on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phoenixd.api import problems
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages.layout import Page, page, wrap
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.behind.plan import BEHIND, is_waiting
from phoenixd.core.events.fleet import RecoveryConfirmed
from phoenixd.core.seat.finding import is_left_over

WORDS = {
    "keep": "stays as the journal says",
    "adopt": "was adopted as it lives",
    "heal": "is brought back, as it was wanted",
    "stop": "is stopped, as was ordered",
    "down": "stays stopped",
    "quarantine": "had been given up, and stays so",
    "wait": "waits for you",
    "forget": "was removed",
    "leave": "was left alone",
}

DONE = {"start": "started", "leave it stopped": "left stopped", "end it": "ended", "none": "none"}
"""What was done, by what was proposed."""


async def recover(ask: Ask) -> Reply:
    """The plan: for each agent what journal, wish and processes said, and what became of it."""
    agents, alert = _found(ask), _alert(ask)
    return Reply(_body(agents, alert), lambda here: _text(agents, alert, here, done=False))


async def confirm_recovery(ask: Ask) -> Reply:
    """Do what is proposed, and take the rest as it was found."""
    agents, alert = _found(ask), _alert(ask)
    if not agents and alert is None:
        message = "nothing is to be recovered: the journal knows all that runs"
        return Reply({**_body((), None), "done": True}, said(message))
    refusal = await ask.service.order(RecoveryConfirmed(ask.caller.name))
    if refusal is not None:
        raise problems.of_refusal(refusal)
    done = {"behind": _alert(ask) is not None, "done": True, "agents": [_done(agent) for agent in agents]}
    return Reply({**_body(agents, alert), **done}, lambda here: _text(agents, alert, here, done=True))


def _found(ask: Ask) -> tuple[Agent, ...]:
    return tuple(agent for _, agent in sorted(ask.service.fleet().agents.items()) if agent.found is not None)


def _alert(ask: Ask) -> StandingAlert | None:
    return next((one for one in ask.service.facts().alerts if one.kind == BEHIND), None)


def _body(agents: Sequence[Agent], alert: StandingAlert | None) -> dict[str, Any]:
    return {
        "behind": alert is not None,
        "reason": alert.gist if alert is not None else None,
        "agents": [_row(agent) for agent in agents],
        "done": False,
    }


def _row(agent: Agent) -> dict[str, Any]:
    found = agent.found
    assert found is not None
    return {
        "agent": agent.name,
        "journal": found.journal,
        "wish": found.wish,
        "processes": found.processes,
        "verdict": found.verdict,
        "reason": found.reason,
        "waits": _is_asked(agent),
        "proposal": _proposal(agent),
        "state": agent.state_name,
    }


def _done(agent: Agent) -> dict[str, Any]:
    """The row of an agent as the plan had it, after what it proposed was done."""
    return {**_row(agent), "waits": False, "proposal": "none", "done": DONE[_proposal(agent)]}


def _is_asked(agent: Agent) -> bool:
    """Whether something is done with it once the recovery is confirmed."""
    return is_waiting(agent) or is_left_over(agent)


def _proposal(agent: Agent) -> str:
    if is_left_over(agent):
        return "end it"
    if not is_waiting(agent) or agent.found is None:
        return "none"
    return "start" if agent.found.proposal == "start" else "leave it stopped"


def _text(agents: Sequence[Agent], alert: StandingAlert | None, here: Page, *, done: bool) -> str:
    if not agents and alert is None:
        told = "Nothing is to be recovered: the journal knows all that runs. See: phoenixctl status"
        return page([here.reaching(told)])
    lines = wrap(f"{alert.gist}.", here.width) if alert is not None else []
    lines = ["Done. Nothing is left to be recovered. Found was:", *lines] if done else lines
    for agent in agents:
        found = agent.found
        assert found is not None
        lines += ["", f"{agent.name} {WORDS[found.verdict]}"]
        for what, words in (
            ("why", found.reason),
            ("journal", found.journal),
            ("wish", found.wish),
            ("processes", found.processes),
        ):
            lines += [f"  {line}" for line in wrap(f"{what}: {words}", here.width - 2)]
        if _is_asked(agent):
            lines.append(f"  done: {DONE[_proposal(agent)]}" if done else f"  to do: {_proposal(agent)}")
    return page([*lines, "", here.reaching("See: phoenixctl status" if done else "do it: phoenixctl recover --yes")])
