"""What a look at the whole fleet goes by: enough of each agent to count, sort and name it. Rows cost ten times that.

Most of a thousand agents are fine, and a face shows only their number. The others need a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from phoenixd.core import condition, projection
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.alerts import pressing
from phoenixd.core.condition import Group
from phoenixd.core.fleet import Fleet
from phoenixd.core.meter.reading import Gauge
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.projection import Row
from phoenixd.core.seat import finding
from phoenixd.core.sight import NOTHING, Sight
from phoenixd.core.spec import Kind


class Glance(NamedTuple):
    """One agent that asks for nothing and holds no seat; each field as in its Row."""

    name: str
    group: Group
    desired: str
    state: str
    activity: str | None
    pid: int | None
    since: float
    parked_until: float | None
    muted_until: float | None
    is_acknowledged: bool = False
    kind: str = ""
    context: Gauge | None = None


Seen = Glance | Row
Known = dict[str, tuple[Agent, Glance]]
"""The glances of the look before, each with the very value that it was of."""


def glances(
    fleet: Fleet, now: Moment, sight: Callable[[Agent], Sight] = lambda agent: NOTHING, known: Known | None = None
) -> tuple[Seen, ...]:
    """All agents in the order of their names, each seat as one; an agent that has more to tell than a glance, as a row.

    known: of the looks before, brought up to date; most agents have not changed since.
    """
    told = projection.open_cases(fleet)
    known = _usable(fleet, known)
    found: list[Seen] = []
    for agent in fleet.agents.values():
        if not finding.is_listed(fleet, agent):
            continue
        if agent.items or agent.alerts or agent.spec.seat or agent.spec.kind is Kind.ORCHESTRATOR:
            found.append(projection.row_of(fleet, agent, now, sight(agent), told))
        else:
            found.append(_remembered(fleet, agent, now, known))
    found.sort(key=lambda one: one.name)
    return tuple(found)


def _usable(fleet: Fleet, known: Known | None) -> Known:
    if known is None or fleet.mutes:
        # A mute ends by the clock, and a glance that is known does not hear of it.
        return {}
    if len(known) > 2 * len(fleet.agents):
        known.clear()
    return known


def _remembered(fleet: Fleet, agent: Agent, now: Moment, known: Known) -> Glance:
    before = known.get(agent.name)
    if before is None or before[0] is not agent:
        before = known[agent.name] = agent, _of(fleet, agent, now)
    return before[1]


def _of(fleet: Fleet, agent: Agent, now: Moment) -> Glance:
    muted = muting.standing(fleet.mutes, agent.spec, now)
    return Glance(
        agent.name,
        condition.group(agent),
        agent.desired.value,
        agent.state_name,
        condition.activity_word(agent),
        condition.seen_pid(agent),
        agent.since_wall,
        agent.parking.until_wall if agent.parking is not None else None,
        muting.ends_at(muted, now) if muted is not None else None,
    )


def whole(fleet: Fleet, now: Moment, sight: Callable[[Agent], Sight]) -> Callable[[Seen], Row]:
    """How a glance of this fleet becomes the row of its agent."""
    told = projection.open_cases(fleet)

    def row(one: Seen) -> Row:
        if isinstance(one, Row):
            return one
        agent = fleet.agents[one.name]
        return projection.row_of(fleet, agent, now, sight(agent), told)

    return row


def counts(fleet: Fleet, now: Moment, known: Known | None = None) -> dict[Group, int]:
    """How many agents each group has: all that a shell's prompt is told, at every line that is typed.

    Of what needs a person, all that does, alerts of no agent among them. known: as in `glances`.
    """
    known = _usable(fleet, known)
    found: Counter[Group] = Counter()
    for agent in fleet.agents.values():
        if not agent.spec.seat:
            found[_remembered(fleet, agent, now, known).group] += 1
        elif finding.is_listed(fleet, agent):
            found[projection.row_of(fleet, agent, now, told={}).group] += 1
    counted = {group: found[group] for group in condition.SIGNS}
    return {**counted, "needs_you": found["needs_you"] + len(pressing(fleet.alerts))}


Down = Literal["stopped", "starting", "parked by a limit", "quarantined"]


class Headcount(NamedTuple):
    """How many of a fleet are alive, and what those are that are not; docs/reference/states.md has the words.

    down: of those without a process, by what they are; healing and unknown: as the groups of that name.
    """

    alive: int
    down: dict[Down, int]
    healing: int
    unknown: int


def headcount(seen: Sequence[Seen]) -> Headcount:
    """An agent that is not alive is counted in `down`, in `healing`, in `unknown` or among those that need a person."""
    down = Counter(word for one in seen if (word := _down(one)) is not None)
    healing = sum(one.group == "healing" for one in seen)
    return Headcount(
        sum(map(_is_alive, seen)), {word: down[word] for word in get_args(Down)}, healing, sum(map(_is_unknown, seen))
    )


def _is_unknown(one: Seen) -> bool:
    """Whether nobody can say how it is; one that cannot be heard is so also where it needs a person for that."""
    return one.group == "unknown" or (isinstance(one, Row) and one.deaf is not None)


def _is_alive(one: Seen) -> bool:
    """An unknown agent is not called alive; a loop between two iterations is well, and has no process."""
    is_between_runs = one.group == "working" and one.state == "backing_off"
    return not _is_unknown(one) and (one.pid is not None or is_between_runs)


def _down(one: Seen) -> Down | None:
    """What an agent without a process is; None where its group says it."""
    if one.pid is not None or one.group in ("healing", "unknown"):
        return None
    if one.state == "stopped":
        return "stopped"
    if one.parked_until is not None:
        return "parked by a limit"
    if one.state == "quarantined":
        return "quarantined"
    return "starting" if one.state == "starting" else None


def needs(seen: Iterable[Seen], alerts: Iterable[StandingAlert]) -> int:
    """How many things need a person: the number that each face says first. alerts: those of no agent."""
    return sum(one.group == "needs_you" for one in seen) + len(pressing(alerts))
