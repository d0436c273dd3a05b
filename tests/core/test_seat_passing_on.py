"""A seat passes on: one generation that is not fenced holds it, and no order about it leaves one behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.core.actions import Release, Spawn, TakeSession, Terminate
from phoenixd.core.agent.state import Desired, Running, Starting, Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.seat import finding, succession
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from tests.core.seats import BOSS, Seats, succession_start
from tests.core.story import spec


def test_the_fence_makes_the_successor_the_holder_and_refuses_the_predecessor() -> None:
    story = Seats().handing_over()
    assert finding.why_fenced(story.fleet, story.of("boss")) == ""
    story.passes(succession.succeed(story.fleet, "boss", story.now))

    assert (story.seat.generation, story.seat.fenced) == (2, 1)
    assert "generation 2" in finding.why_fenced(story.fleet, story.of("boss"))
    assert finding.why_fenced(story.fleet, story.of("boss-g2")) == ""
    assert story.sent(TakeSession) == [TakeSession("boss-g2", "boss", 2)]
    # Nothing starts the predecessor again, though it should die before it is ended.
    story.ends("boss", code=1)
    assert not story.sent(Spawn)
    assert isinstance(story.of("boss").state, Stopped)
    assert story.of("boss-g2").spec.restart.policy is BOSS.restart.policy


def test_a_retired_generation_ends_and_is_gone() -> None:
    story = Seats().handing_over()
    story.passes(succession.succeed(story.fleet, "boss", story.now))
    story.passes(succession.retire(story.fleet, "boss", 1, story.now))
    assert [one.agent for one in story.sent(Terminate)] == ["boss"]

    story.ends("boss")
    assert "boss" not in story.fleet.agents
    assert [one.agent for one in story.sent(Release)] == ["boss"]
    assert story.fleet.seats["boss"].generation == 2
    assert story.fleet.retired["boss"] == 1
    assert succession.retire(story.fleet, "boss", 1, story.now) == (story.fleet, ())
    with pytest.raises(ValueError, match="holds"):
        succession.retire(story.fleet, "boss", 2, story.now)


def test_a_failed_successor_may_be_followed_by_another_of_its_number() -> None:
    story = Seats().handing_over()
    story.passes(succession.retire(story.fleet, "boss", 2, story.now)).ends("boss-g2")
    assert set(story.fleet.agents) == {"boss", "other"}
    assert story.seat == Seat("boss", "boss")

    story.passes(succession.declare_successor(story.fleet, "boss", story.now)).runs("boss-g2")
    assert story.of("boss-g2").incarnation == 2, "an incarnation is never given twice"


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("order", [StopRequested("boss"), AgentWithdrawn("boss")])
def test_promise_3_a_seat_that_is_stopped_is_so_with_every_generation(order: Event, fenced: bool) -> None:
    story = Seats().handing_over()
    if fenced:
        story.passes(succession.succeed(story.fleet, "boss", story.now))
    story.tell(order)
    assert {one.agent for one in story.sent(Terminate)} == {"boss", "boss-g2"}

    story.ends("boss").ends("boss-g2")
    story.wait(3600)
    story.tell(Rebooted("another"))
    story.wait(3600)
    assert not story.sent(Spawn)
    assert all(isinstance(agent.state, Stopped) for agent in story.fleet.agents.values())
    if isinstance(order, AgentWithdrawn):
        assert set(story.fleet.agents) == {"other"}
        assert not story.fleet.seats


def test_a_successor_that_dies_is_not_started_again() -> None:
    story = Seats().handing_over().ends("boss-g2", code=1)
    story.wait(3600)

    assert isinstance(story.of("boss-g2").state, Stopped)
    assert not story.sent(Spawn)


def test_a_declaration_changes_the_holder_whatever_it_is_called() -> None:
    story = Seats().succeeded()
    story.tell(AgentDeclared(replace(BOSS, prompt="Go on.", argv=("agent", "--more"))))

    assert set(story.fleet.agents) == {"boss-g2", "other"}
    assert story.of("boss-g2").spec.prompt == "Go on."
    assert [one.agent for one in story.sent(Terminate)] == ["boss-g2"]
    assert finding.declared(story.fleet)["boss"].argv == ("agent", "--more")


def test_a_declaration_waits_while_the_seat_passes_on() -> None:
    story = Seats().handing_over()
    changed = replace(BOSS, argv=("agent", "--more"))
    assert story.tell(AgentDeclared(changed)) is None
    assert not story.sent(Terminate)
    assert story.of("boss").spec.argv == BOSS.argv
    assert finding.declared(story.fleet)["boss"] == changed

    story.passes(succession.succeed(story.fleet, "boss", story.now))
    story.passes(succession.retire(story.fleet, "boss", 1, story.now))
    assert [one.agent for one in story.sent(Terminate)] == ["boss"]
    story.ends("boss")
    assert [one.agent for one in story.sent(Terminate)] == ["boss", "boss-g2"], "it is taken over now"
    assert story.of("boss-g2").spec.argv == changed.argv
    assert story.seat.declared is None


def test_a_restart_waits_while_the_seat_passes_on_and_a_stop_takes_it_back() -> None:
    story = Seats().handing_over()
    assert story.tell(RestartRequested("boss")) is None
    story.tell(StartRequested("other"))
    assert not story.sent(Terminate), "also after what happens to others"
    story.passes(succession.retire(story.fleet, "boss", 2, story.now)).ends("boss-g2")
    assert [one.agent for one in story.sent(Terminate)] == ["boss-g2", "boss"]

    story = Seats().handing_over()
    story.tell(RestartRequested("boss"))
    story.tell(StopRequested("boss"))
    story.ends("boss").ends("boss-g2")
    story.wait(3600)
    assert not story.sent(Spawn)


def test_seats_for_which_nothing_waits_are_the_same_value_after_what_happens_to_others() -> None:
    """By that the clinic knows that no handoff has changed, without a look at each."""
    story = Seats()
    story.tell(StartRequested("boss"))
    story.runs("boss")
    before = story.fleet.seats
    story.tell(StartRequested("other"))
    story.runs("other").ends("other")
    assert story.fleet.seats is before


def test_an_orchestrator_that_is_declared_as_another_kind_gives_its_seat_up() -> None:
    story = Seats(BOSS, spec("lead", kind=Kind.ORCHESTRATOR))

    assert story.tell(AgentDeclared(replace(BOSS, kind=Kind.RESIDENT))) is None

    assert list(story.fleet.seats) == ["lead"]
    assert (story.of("boss").spec.kind, story.of("boss").spec.seat) == (Kind.RESIDENT, "")


def test_a_seat_that_has_passed_on_is_kept_whatever_its_holder_is_declared_as() -> None:
    """Its name is still the way to the generation that works."""
    story = Seats().succeeded()

    assert story.tell(AgentDeclared(replace(BOSS, kind=Kind.RESIDENT))) is None

    assert story.seat == Seat("boss", "boss", 2, 1)
    assert story.of("boss-g2").spec.kind is Kind.RESIDENT


def test_a_declaration_as_another_kind_waits_as_well_while_the_seat_passes_on() -> None:
    story = Seats().handing_over()

    story.tell(AgentDeclared(replace(BOSS, kind=Kind.RESIDENT)))

    assert story.seat.declared is not None
    assert story.of("boss").spec.kind is Kind.ORCHESTRATOR


ORDERS = (
    StartRequested("boss"), StopRequested("boss"), RestartRequested("boss"), AgentWithdrawn("boss"),
    AgentDeclared(BOSS), AgentDeclared(replace(BOSS, argv=("agent", "--more"))), SendRequested("boss", "m", "hello"),
    Rebooted("another"),
)  # fmt: skip


steps = st.one_of(
    st.sampled_from(ORDERS),
    st.sampled_from(["declare", "start", "succeed", "retire before", "retire after", "time"]),
    st.tuples(st.sampled_from(["starts", "ends"]), st.integers(0, 2)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, max_size=30))
def test_whatever_happens_one_unfenced_generation_holds_the_seat(script: list[Any]) -> None:
    story = Seats(BOSS)
    kept_down = False
    for one in script:
        fleet = story.fleet
        seat = fleet.seats.get("boss")
        known = len(story.sent(Spawn))
        if isinstance(one, tuple):
            agents = [agent for agent in fleet.agents.values() if agent.run is not None]
            if agents:
                agent = agents[one[1] % len(agents)]
                assert agent.run is not None
                if one[0] == "ends":
                    story.ends(agent.name, code=1)
                elif isinstance(agent.state, Starting):
                    story.tell(AgentStarted(agent.name, agent.incarnation, agent.run.run_id, 100, 1))
        elif not isinstance(one, str):
            story.tell(one)
            if isinstance(one, StopRequested | AgentWithdrawn):
                kept_down = True
            elif isinstance(one, StartRequested | RestartRequested):
                kept_down = False
        elif one == "time":
            story.wait(600)
        elif seat is not None:
            hands_over(story, seat, one, kept_down=kept_down)
        holds(story)
        if kept_down and not (isinstance(one, str) and one == "start"):
            assert len(story.sent(Spawn)) == known, "what was stopped stays so"


def hands_over(story: Seats, seat: Seat, what: str, *, kept_down: bool) -> None:
    """A step of the handoff, where that step may come."""
    successor = finding.successor(story.fleet, seat)
    if what == "declare" and successor is None and not finding.holder(story.fleet, "boss").removing:
        story.passes(succession.declare_successor(story.fleet, "boss", story.now))
    elif what == "start" and successor is not None and isinstance(successor.state, Stopped) and not kept_down:
        story.passes(succession_start(story.fleet, successor.name, story))
    elif (
        what == "succeed" and successor is not None and isinstance(successor.state, Running) and not successor.removing
    ):
        story.passes(succession.succeed(story.fleet, "boss", story.now))
    elif what == "retire before" and seat.generation > 1:
        story.passes(succession.retire(story.fleet, "boss", seat.generation - 1, story.now))
    elif what == "retire after":
        story.passes(succession.retire(story.fleet, "boss", seat.generation + 1, story.now))


def holds(story: Seats) -> None:
    """What is true of seats at any moment."""
    fleet = story.fleet
    for seat in fleet.seats.values():
        assert seat.fenced == seat.generation - 1
        assert seat.holder in fleet.agents
        generations = finding.generations(fleet, seat)
        for agent in generations:
            assert bool(finding.why_fenced(fleet, agent)) == (agent.spec.generation < seat.generation)
        # Whom nobody wants is not started: a fenced one, and a successor, by anything but its handoff.
        assert all(agent.desired is Desired.STOPPED for agent in generations if agent.spec.generation < seat.generation)
        meant = finding.meant(fleet, "boss")
        assert meant is not None
        assert meant.name == seat.holder
    if not fleet.seats:
        assert all(agent.removing for agent in fleet.agents.values())


def test_a_seat_without_a_room_for_its_next_generation_has_none() -> None:
    story = Seats()
    for name in ("other", "nobody"):
        with pytest.raises(KeyError):
            succession.declare_successor(story.fleet, name, story.now)
    with pytest.raises(ValueError, match="no successor"):
        succession.succeed(story.fleet, "boss", story.now)

    removing = replace(story.of("boss"), removing=True)
    with pytest.raises(ValueError, match="being removed"):
        succession.declare_successor(replace(story.fleet, agents={"boss": removing}), "boss", story.now)
    stranger = replace(story.of("other"), spec=replace(story.of("other").spec, name="boss-g2"))
    taken = replace(story.fleet, agents={**story.fleet.agents, "boss-g2": stranger})
    with pytest.raises(ValueError, match="is called boss-g2"):
        succession.declare_successor(taken, "boss", story.now)

    fleet, _ = succession.declare_successor(story.fleet, "boss", story.now)
    made = fleet.agents["boss-g2"]
    assert (made.spec.autostart, made.spec.restart.policy, made.desired) == (
        False,
        RestartPolicy.NEVER,
        Desired.STOPPED,
    )
    with pytest.raises(ValueError, match="already"):
        succession.declare_successor(fleet, "boss", story.now)
    going = replace(fleet, agents={**fleet.agents, "boss-g2": replace(made, removing=True)})
    with pytest.raises(ValueError, match="no successor"):
        succession.succeed(going, "boss", story.now)
    after, _ = succession.succeed(fleet, "boss", story.now)
    assert (after.seats["boss"].generation, after.seats["boss"].fenced) == (2, 1)
    assert after.agents["boss"].desired is Desired.STOPPED
