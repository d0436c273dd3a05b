"""The verdicts as decisions about a fleet, what is told of them, and what an operator's confirmation does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent, Desired, Stopped
from phoenixd.core.behind import verdicts
from phoenixd.core.decision import Decision
from phoenixd.core.events import JournalBehind, StartRequested
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec

BEHIND = "journal behind"
"""The fleet's alert that the journal was older than the world, until `recover` is confirmed."""
EPOCH = "epoch"
"""The fleet's alert that epoch and wishes cannot be written."""
ITEM_GAP = 10_000
"""Numbers of items that are skipped: somebody may know one that the journal has forgotten."""
ROW_GAP = 1_000_000_000
"""Numbers of the journal's rows that are skipped: whoever follows them knows some that the journal has forgotten, and
goes on behind the newest that it was given. No journal gains so many between a copy and its coming back."""
NAMED = 5
"""Names in a summary at most."""


def decisions(
    agents: Mapping[str, Agent], retired: Mapping[str, int], event: JournalBehind, now: Moment
) -> Iterator[Decision]:
    """What becomes of each agent, and of the incarnations of those that there are no more."""
    specs = {spec.name: spec for spec in event.specs}
    for judged in verdicts.judge_all(event.world, agents, specs, now):
        if judged.agent is None:
            continue
        finding = judged.finding
        readings = (("journal", finding.journal), ("wish", finding.wish), ("processes", finding.processes))
        reason = f"the journal is old: {finding.reason}"
        yield Decision(judged.agent, reason=reason, readings=readings, removed=judged.forgotten)
    for trace in event.world.traces:
        is_known = trace.agent in agents or trace.agent in specs or trace.living is not None
        if not is_known and trace.incarnation > retired.get(trace.agent, 0):
            gone = AgentSpec(trace.agent, ("true",), "/")
            was = Agent(gone, Desired.STOPPED, Stopped(), now.wall, "there was one of that name", trace.incarnation)
            reason = f"nobody declares it any more; its incarnations go on from {trace.incarnation}"
            yield Decision(was, reason=reason, removed=True, weight="detail")


def left_alone(agents: Mapping[str, Agent], event: JournalBehind, now: Moment) -> list[str]:
    """The agents that live although nobody declares them."""
    specs = {spec.name: spec for spec in event.specs}
    found = verdicts.judge_all(event.world, agents, specs, now)
    return [judged.name for judged in found if judged.finding.verdict == "leave"]


def summary(why: str, agents: Iterable[Agent], left: Iterable[str]) -> str:
    """The alert in a sentence: why, how many became what, who waits, and the next command."""
    found = [(agent.name, agent.found.verdict) for agent in agents if agent.found is not None]
    told = [
        f"{sum(verdict == wanted for _, verdict in found)} {words}"
        for wanted, words in (
            ("adopt", "adopted"), ("keep", "as the journal says"), ("heal", "brought back"),
            ("down", "kept stopped"), ("stop", "stopped as ordered"),
        )
        if any(verdict == wanted for _, verdict in found)
    ]  # fmt: skip
    if waiting := [name for name, verdict in found if verdict == "wait"]:
        told.append(f"waiting for you: {_named(waiting)}")
    if strangers := list(left):
        told.append(f"alive, and declared by nobody: {_named(strangers)}")
    return f"the journal is older than the world ({why}): {', '.join(told) or 'no agent'}. Do: phoenixctl recover"


def is_waiting(agent: Agent) -> bool:
    """Whether a person has yet to say whether it is to run."""
    return any(item.kind == verdicts.ITEM for item in agent.items)


def alert(text: str) -> Alert:
    """The one alert of it."""
    return Alert(None, BEHIND, text, watched=True)


def confirmed(agents: Iterable[Agent], by: str, now: Moment) -> Iterator[Decision]:
    """What `recover` does: start who waits and was wanted, and take the rest as it was found."""
    for agent in agents:
        finding = agent.found
        if finding is None:
            continue
        seen = replace(agent, found=None)
        if is_waiting(agent) and finding.proposal == "start":
            yield requests.start(seen, StartRequested(agent.name, by=f"{by}, who confirmed the recovery"), now)
            continue
        rest = tuple(item for item in seen.items if item.kind != verdicts.ITEM)
        yield Decision(replace(seen, items=rest), reason=f"what was found of it is confirmed by {by}", weight="detail")


def _named(names: list[str]) -> str:
    shown = sorted(names)[:NAMED]
    return ", ".join(shown) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
