"""The verdicts as decisions about a fleet, what is told of them, and what an operator's confirmation does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.behind import verdicts
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.events.orders import AgentDeclared, OperatorEvent, StartRequested
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Task, Tasks
from phoenixd.core.transitions import RECOVER

BEHIND = "journal behind"
"""The fleet's alert that the journal was older than the world, until `recover` is confirmed."""
EPOCH = "epoch"
"""The fleet's alert that epoch and wishes cannot be written."""
ITEM_GAP = 10_000
"""Numbers of items and of tasks that are skipped: somebody may know one that the journal has forgotten."""
DO = ". Do: phoenixctl recover"
"""How the alert ends: the next command."""
ROW_GAP = 1_000_000_000
"""Row numbers for each epoch: more than a journal gains between two copies that come back."""
MOST_ROWS = 2**53
"""Where readers of JSON lose digits."""
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


def newcomer(event: AgentDeclared, incarnation: int, now: Moment) -> Decision | None:
    """What becomes of an agent that was left alone and is declared while its run lives; None where nothing of it lives.

    incarnation: the last one that its name had.
    """
    if event.world is None:
        return None
    seen = (trace for trace in event.world.traces if trace.agent == event.spec.name and trace.living is not None)
    trace = next(seen, None)
    if trace is None:
        return None
    known = replace(trace, incarnation=max(trace.incarnation, incarnation))
    judged = verdicts.judge(event.world, known, None, event.spec, now)
    assert judged is not None
    assert judged.agent is not None
    reason = f"declared while it runs: {judged.finding.reason}"
    return Decision(replace(judged.agent, found=None, reason=reason), reason=reason)


def left_alone(agents: Mapping[str, Agent], event: JournalBehind, now: Moment) -> list[str]:
    """The agents that live although nobody declares them."""
    specs = {spec.name: spec for spec in event.specs}
    found = verdicts.judge_all(event.world, agents, specs, now)
    return [judged.name for judged in found if judged.finding.verdict == "leave"]


def summary(why: str, agents: Iterable[Agent], left: Iterable[str], tasks: Iterable[str] = ()) -> str:
    """The plan in a sentence: why, how many became what, and who waits."""
    findings = [(agent.name, agent.found) for agent in agents if agent.found is not None]
    found = [(name, finding.verdict) for name, finding in findings]
    proposed = [(name, finding.proposal) for name, finding in findings]
    told = [
        f"{sum(verdict == wanted for _, verdict in found)} {words}"
        for wanted, words in (
            ("adopt", "adopted"), ("keep", "as the journal says"), ("heal", "brought back"),
            ("down", "kept stopped"), ("quarantine", "given up before"), ("stop", "stopped as ordered"),
        )
        if any(verdict == wanted for _, verdict in found)
    ]  # fmt: skip
    if over := [name for name, proposal in proposed if proposal == "end"]:
        told.append(f"left over from a lost handoff: {_named(over)}")
    if waiting := [name for name, verdict in found if verdict == "wait"]:
        told.append(f"waiting for you: {_named(waiting)}")
    if doubted := list(tasks):
        told.append(f"tasks that wait for you: {_named(doubted)}")
    if strangers := list(left):
        told.append(f"alive, and declared by nobody: {_named(strangers)}")
    return f"the journal is older than the world ({why}): {', '.join(told) or 'no agent'}"


def is_waiting(agent: Agent) -> bool:
    """Whether a person has yet to say whether it is to run."""
    return any(item.kind == RECOVER for item in agent.items)


def alert(why: str, agents: Iterable[Agent], left: Iterable[str], tasks: Tasks) -> Alert:
    """The one alert of it."""
    names = tuple(sorted(left))
    gist = summary(why, agents, names, [task.id for task in doubted(tasks)])
    return Alert(None, BEHIND, f"{gist}{DO}", watched=True, about=(why, *names), gist=gist)


def doubted(tasks: Tasks) -> list[Task]:
    """The tasks that a person has to confirm."""
    return [task for task in tasks.open if task.doubted and not task.has_ended]


def first_row_after(epoch: int) -> int:
    """The number behind which rows go on in a journal that was faced with the world, in that epoch.

    A follower knows some rows that the journal has forgotten, and goes on behind the newest that it was given. No
    gap from what the journal knows would do: the same old copy may come back twice, and no two times in one epoch.
    """
    return min(epoch, MOST_ROWS // ROW_GAP - 1) * ROW_GAP


def settle(agent: Agent, event: OperatorEvent, seen: Seen, now: Moment) -> Decision:
    """An order that says whether the agent is to run settles what was found of it."""
    return replace(seen.decision, agent=settled(agent))


def settled(agent: Agent) -> Agent:
    """An agent on which an operator has decided by an order of its own: nothing is proposed for it any more."""
    if agent.found is None:
        return agent
    rest = tuple(item for item in agent.items if item.kind != RECOVER)
    return replace(agent, found=None, items=rest)


def renewed(standing: StandingAlert, agents: Mapping[str, Agent], tasks: Tasks) -> Alert | None:
    """The alert as it is after an order; None where every agent and task was settled by hand, so that it is over.

    One that an older version raised does not tell what it was made of, and stays as it is.
    """
    if not standing.about:
        return Alert(None, BEHIND, standing.text, watched=True, gist=standing.gist)
    why, *left = standing.about
    alone = [name for name in left if name not in agents]
    if not alone and not doubted(tasks) and all(agent.found is None for agent in agents.values()):
        return None
    return alert(why, agents.values(), alone, tasks)


def confirmed(agents: Iterable[Agent], by: str, now: Moment) -> Iterator[Decision]:
    """What `recover` does: start the agents that wait and were wanted, and take the others as they were found."""
    for agent in agents:
        finding = agent.found
        if finding is None:
            continue
        if is_waiting(agent) and finding.proposal == "start":
            order = StartRequested(agent.name, by=f"{by}, who confirmed the recovery")
            yield requests.start(settled(agent), order, now)
            continue
        yield Decision(settled(agent), reason=f"what was found of it is confirmed by {by}", weight="detail")


def _named(names: list[str]) -> str:
    shown = sorted(names)[:NAMED]
    return ", ".join(shown) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
