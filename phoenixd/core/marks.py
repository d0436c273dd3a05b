"""What the fleet has to find among all agents without looking at each: who is due when, who shares what with whom.

Each mark is (what, group, at, place in the fleet, name). starts.py, accounts.py, outage.py and the
rules of sequences ask for marks between two bounds, and so cost the same in a fleet of one agent and of a thousand.
Where a rule sorts by name within an instant, the place is left at 0. Those of this file:

DUE: a deadline. START: a start that is due at an instant. SPAWN: the deadline of a start that has not been executed.
LAUNCH: until when a start weighs on the host. WANTED: the agent is to run.
"""

from __future__ import annotations

from itertools import islice

from phoenixd.core import progress
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Starting
from phoenixd.core.lifecycle import overdue
from phoenixd.core.limits import marks as limits
from phoenixd.core.limits import waits
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.ranked import END, Mark
from phoenixd.core.roster import DUE, LAUNCH, MEMBER, RESTORING, SPAWN, START, WANTED, Marker, Marks, Roster
from phoenixd.core.sequence import rules as sequence
from phoenixd.core.spec import AgentSpec

ANY_TIME = Moment(0.0, 0.0)
"""Deadlines are a matter of the agent alone."""


def declared(spec: AgentSpec, place: int) -> Marks:
    """The marks of a specification."""
    return ((MEMBER, waits.account_of(spec), 0.0, place, spec.name),)


def now(agent: Agent, place: int) -> Marks:
    """The marks of what an agent is."""
    name, state = agent.name, agent.state
    marks: list[Mark] = []
    if isinstance(state, BackingOff) and not progress.waits(agent):
        marks.append((START, "", state.until, 0, name))
    elif (due := overdue.deadline(agent, ANY_TIME)) is not None:
        unsaved = isinstance(state, Starting) and state.run.exec_at is None
        marks.append((SPAWN if unsaved else DUE, "", due, place, name))
    if isinstance(state, Starting):
        since = state.run.exec_at
        marks.append((LAUNCH, "", END if since is None else since + agent.spec.resume.window, place, name))
    if agent.desired is Desired.RUNNING:
        marks.append((WANTED, "", 0.0, place, name))
    if agent.resonance is not None and agent.resonance.is_restoring:
        marks.append((RESTORING, "", 0.0, place, name))
    return (*marks, *limits.of(agent, place), *sequence.marks(agent, place))


MARKER = Marker(declared, now)


def first(roster: Roster, what: int, after: Instant = -END) -> Instant | None:
    """The earliest instant of a mark that lies later."""
    found = roster.marks.first((what, "", after, END), (what, "", END, END))
    return found[2] if found is not None else None


def due(roster: Roster, what: int, at: Instant, most: int | None = None) -> list[Mark]:
    """The marks whose instant has come, the earliest first."""
    most = None if most is None else min(most, len(roster))  # However large a limit is, there are no more agents.
    return list(islice(roster.marks.between((what,), (what, "", at, END)), most))


def later(roster: Roster, what: int, at: Instant) -> int:
    """How many marks lie later."""
    return roster.marks.count((what, "", at, END), (what, "", END, END))


def how_many(roster: Roster, what: int) -> int:
    """How many agents bear a mark."""
    return roster.marks.count((what,), (what + 1,))
