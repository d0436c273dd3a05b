"""What the fleet finds by marks is what it would find by looking at every agent; and older fleets stay as they were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core import ranked as ranks
from phoenixd.core.agent import Agent
from phoenixd.core.declarations import declared
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.fleet import Fleet
from phoenixd.core.lifecycle import overdue
from phoenixd.core.marks import MARKER
from phoenixd.core.moment import Moment
from phoenixd.core.ranked import END, Mark, Ranked
from phoenixd.core.roster import BLOCK, DUE, SPAWN, START, Roster
from phoenixd.core.spec import FleetLimits
from phoenixd.core.step import step
from tests.core.story import spec
from tests.core.test_determinism import BASE, Told, belonging, histories

marks = st.builds(
    lambda what, group, at, place: (what, group, at, place, f"a{place}"),
    st.integers(0, 3),
    st.sampled_from(["", "team", "tier"]),
    st.sampled_from([-END, 0.0, 0.5, 3.0, END]),
    st.integers(0, 200),
)


def bounds(mark: Mark) -> list[tuple[int | str | float, ...]]:
    what, group, at, _, _ = mark
    return [(what,), (what, group), (what, group, at), (what, group, at, END), (what, group, END, END), (what + 1,)]


@given(st.sets(marks), st.sets(marks), st.sampled_from([2, 3, 8, ranks.BLOCK]), st.data())
def test_marks_in_order_are_a_sorted_list_whatever_is_put_in_and_taken_out(
    first: set[Mark], second: set[Mark], longest: int, data: st.DataObject
) -> None:
    """However short the blocks are in which they lie, and none is longer than the longest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "BLOCK", longest)
        check_order(first, second, longest, data)


def check_order(first: set[Mark], second: set[Mark], longest: int, data: st.DataObject) -> None:
    ranked = Ranked.of(first)
    kept = list(ranked)
    for mark in sorted(second):
        ranked = ranked.changed((), [mark]) if mark not in ranked else ranked.changed([mark], [mark])
    gone = data.draw(st.sets(st.sampled_from(sorted(first | second)))) if first | second else set()
    for mark in gone:
        ranked = ranked.changed([mark], ())
    assert all(0 < len(block) <= longest for block in ranked._blocks)
    left = sorted((first | second) - gone)
    assert list(ranked) == left
    assert kept == sorted(first)
    for low in (bound for mark in sorted(second)[:3] for bound in bounds(mark)):
        for high in (bound for mark in sorted(second)[-3:] for bound in bounds(mark)):
            between = [mark for mark in left if low <= mark < high]
            assert list(ranked.between(low, high)) == between
            assert ranked.first(low, high) == (between[0] if between else None)
            assert ranked.last(low, high) == (between[-1] if between else None)
            assert ranked.count(low, high) == len(between) or low > high


@given(histories())
def test_after_every_step_the_marks_are_those_made_anew_from_the_agents(told: list[Told]) -> None:
    fleet = BASE
    for event, now in told:
        before = fleet
        kept = list(before.roster.marks)
        fleet = step(fleet, belonging(fleet, event), now).fleet
        check(fleet)
        assert list(before.roster.marks) == kept, "a step changes no older fleet"


def marks_anew(roster: Roster) -> Ranked:
    """The marks, from nothing but the agents and their places."""
    marker, placed = roster._marker, [(roster[name], roster.place(name)) for name in roster]
    return Ranked.of(one for at in placed for one in (*marker.declared(at[0].spec, at[1]), *marker.now(*at)))


def check(fleet: Fleet) -> None:
    """The index of a fleet equals the one computed from its agents alone."""
    roster = fleet.roster
    assert list(roster.marks) == list(marks_anew(roster))
    assert list(roster.values()) == [roster[name] for name in roster]
    every = {agent.name: overdue.deadline(agent, Moment(0.0, 0.0)) for agent in roster.values()}
    marked = {mark[4]: mark[2] for mark in roster.marks if mark[0] in (DUE, SPAWN, START)}
    assert marked == {name: due for name, due in every.items() if due is not None}


def test_a_limit_may_be_larger_than_any_number_of_agents() -> None:
    fleet = Fleet(limits=FleetLimits(max_starting=10**20))
    assert (
        step(fleet, AgentDeclared(spec("a"), start=True), Moment(0.0, 0.0)).fleet.agents["a"].state.name == "starting"
    )


names = st.sampled_from([f"a{number}" for number in range(40)])


@given(st.lists(st.tuples(st.sampled_from(["put", "put", "put", "drop"]), names), max_size=150))
def test_a_roster_is_a_mapping_in_the_order_of_declaration(moves: list[tuple[str, str]]) -> None:
    roster, plain = Roster.of(MARKER, []), dict[str, Agent]()
    for number, (how, name) in enumerate(moves):
        if how == "put":
            known = plain.get(name) or declared(spec(name), Moment(0.0, 0.0))
            plain[name] = replace(known, incarnation=number)
            roster = roster.taking(plain[name])
        else:
            plain.pop(name, None)
            roster = roster.without(name)
        assert roster == plain
        assert list(roster.items()) == list(plain.items())
        assert list(roster.marks) == list(marks_anew(roster))
    for name in ("a0", "nobody"):
        assert (roster.get(name), name in roster) == (plain.get(name), name in plain)


def test_a_roster_of_which_most_are_gone_is_the_same_mapping_and_takes_no_room_for_them() -> None:
    agents = [declared(spec(f"a{number}"), Moment(0.0, 0.0)) for number in range(2 * BLOCK + 10)]
    roster = Roster.of(MARKER, agents)
    for agent in agents[:-5]:
        roster = roster.without(agent.name)

    assert list(roster) == [agent.name for agent in agents[-5:]]
    assert list(roster.marks) == list(marks_anew(roster))
    again = roster.taking(declared(spec("new"), Moment(0.0, 0.0)))
    assert list(again)[-1] == "new"
    assert again.place("new") <= 2 * BLOCK + 2 * len(again)
