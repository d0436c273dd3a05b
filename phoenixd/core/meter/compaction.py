"""What it means that a CLI shortens a context by itself: the backstop of the meter (E80, F-HO-2).

A CLI does that when its own limit is reached or its API refused a request, wherever our threshold lies.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.hooks import CompactionBegun
from phoenixd.core.meter import parts
from phoenixd.core.meter.reading import Gauge, read
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind

IN_A_ROW = 3
"""Automatic ones after which a handoff is asked for, also where the meter shows room or nothing."""


def hear(agent: Agent, event: CompactionBegun, seen: Seen, now: Moment) -> Decision:
    """Note an automatic one with the tokens; past `warn`, or at the third in a row, it asks for a handoff.

    What a person orders is the person's: it asks for nothing, and the row begins anew.
    """
    if parts.is_old(event, seen) or agent.spec.kind is not Kind.ORCHESTRATOR or not isinstance(agent.state, Running):
        return seen.decision
    before = parts.of(agent)
    if event.trigger == "manual":
        return replace(seen.decision, agent=replace(agent, meter=replace(before, compactions=0, asks="")))
    if event.trigger != "auto":
        return seen.decision
    gauge, many = read(before, agent.spec.context), before.compactions + 1
    after = replace(before, compactions=many)
    if before.asks:
        # A CLI that is kept from it may try again with each request.
        return replace(seen.decision, agent=replace(agent, meter=after))
    told = f"its CLI begins to shorten its context by itself, {_how_full(gauge)}, for time {many} in a row"
    if gauge.verdict in ("WARNING", "HANDOFF") or many >= IN_A_ROW:
        early = f", before the threshold of {gauge.threshold:.0%}" if gauge.verdict != "HANDOFF" else ""
        after = replace(after, asks=f"{told}{early}")
    kept = "; it was kept from it" if event.blocked else ""
    reason = one_reason(seen.decision.reason, f"{told}{kept}")
    readings = (*seen.decision.readings, ("tokens", gauge.tokens), ("limit", gauge.limit), ("in a row", many))
    return replace(seen.decision, agent=replace(agent, meter=after), reason=reason, readings=readings)


def _how_full(gauge: Gauge) -> str:
    if gauge.tokens is None:
        return "at an unknown number of tokens"
    share = f", {gauge.share:.2%} of the window" if gauge.share is not None else ""
    return f"at {gauge.tokens:,} tokens{share}"
