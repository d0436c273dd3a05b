"""What `apply` does of each agent, and what is to be known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phoenixd import config
from phoenixd.api.values import Change
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined, Running, Starting
from phoenixd.core.correction import LAUNCH_KEYS, is_corrected, still_given_up
from phoenixd.core.fleet import Fleet
from phoenixd.core.seat.finding import meant


def changes_of(plan: config.Plan, fleet: Fleet, warnings: Mapping[str, Sequence[str]]) -> tuple[Change, ...]:
    """What is done of each agent, and what is to be known of it."""
    added = [
        Change(spec.name, "add", f"{spec.harness}, {'starts' if spec.autostart else 'does not start'}")
        for spec in plan.added
    ]
    changed = [_changed(change, meant(fleet, change.spec.name)) for change in plan.changed]
    removed = [Change(name, "remove", "its run is stopped, its files stay", restart=False) for name in plan.removed]
    found = (*added, *changed, *removed, *(Change(name, "keep") for name in plan.unchanged))
    return tuple(
        replace(
            one, detail="; ".join(filter(None, (one.detail, *(f"warning: {each}" for each in warnings[one.agent]))))
        )
        if one.agent in warnings
        else one
        for one in found
    )


def _changed(change: config.Change, agent: Agent | None) -> Change:
    """A change as this agent takes it: its run ends where it has one, and a quarantine ends or stays."""
    told = list(change.differences)
    if agent is not None and isinstance(agent.state, Quarantined):
        is_over = is_corrected(agent, change.spec)
        told.append("it is started, which ends its quarantine" if is_over else still_given_up(agent))
    lives = agent is not None and isinstance(agent.state, Starting | Running)
    restart = lives and any(key.partition(".")[0] in LAUNCH_KEYS for key in change.keys)
    return Change(change.spec.name, "change", "; ".join(told), restart=restart)
