"""Seats after a restart, a reboot or the loss of the journal: who holds one, and what a lost handoff left over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed, glance
from phoenixd.core.actions import Deliver, Disarm, Spawn, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Running, Stopped, Stopping
from phoenixd.core.behind.epochs import wish_of
from phoenixd.core.behind.verdicts import lag
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import JournalBehind, Rebooted, RecoveryConfirmed
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    HandoffRequested,
    RestartRequested,
    RollbackRequested,
    StopRequested,
)
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.handoff.words import CALLED_OFF
from phoenixd.core.projection import project
from phoenixd.core.seat import succession
from phoenixd.core.seat.lost import found_again, generations
from phoenixd.core.seat.state import HeldRestart, Seat
from phoenixd.core.spec import Kind
from phoenixd.documents.codec import decode, encode
from phoenixd.ports.journal import Saved
from phoenixd.runtime.recovery import restore
from tests.core import handing
from tests.core.seats import BOSS, Seats
from tests.core.story import spec


def test_promise_9_a_daemon_that_is_killed_as_it_removes_a_generation_has_no_old_journal() -> None:
    """Taken for one that the journal does not know, it would stay there for ever, and no handoff could begin."""
    story = Seats().handing_over()
    story.passes(succession.succeed(story.fleet, "boss", story.now))
    story.passes(succession.retire(story.fleet, "boss", 1, story.now)).ends("boss")
    fleet = story.fleet
    left = Trace("boss", Wish("stopped", fleet.epoch, 1), incarnation=1)
    holder = Trace("boss-g2", Wish("running", fleet.epoch, 1), "runs", SeenRun(1, "r"), incarnation=1)
    world = World("b", fleet.epoch, fleet.epoch, (left, holder))

    found = [one.name for one in generations([BOSS], fleet, world.traces)]

    assert found == ["boss-g2"]
    assert lag(world, fleet.agents, fleet.retired, found) is None
    again = replace(left, incarnation=2, wish=Wish("running", fleet.epoch, 2))
    assert "boss" in [one.name for one in generations([BOSS], fleet, (again, holder))], "a run that came afterwards"


def test_a_reboot_starts_the_holder_alone() -> None:
    for fenced, alone in ((False, "boss"), (True, "boss-g2")):
        story = Seats().handing_over()
        if fenced:
            story.passes(succession.succeed(story.fleet, "boss", story.now))
            story.passes(succession.retire(story.fleet, "boss", 1, story.now))
        story.tell(Rebooted("another"))
        story.wait(3600)

        assert [one.agent for one in story.sent(Spawn)] == [alone]


def test_an_older_journal_has_a_seat_for_each_orchestrator() -> None:
    agent = Agent(replace(BOSS, env=()), Desired.RUNNING, Stopped(), 0.0, "as saved")
    fleet = restore(Saved(agents=(agent,)), {"boss": BOSS}, Fleet().limits)

    assert fleet.seats == {"boss": Seat("boss", "boss")}
    assert fleet.agents["boss"].spec == replace(BOSS, seat="boss", generation=1)


def test_seats_and_environments_come_back_from_the_journal() -> None:
    story = Seats().succeeded()
    saved = Saved(
        agents=tuple(replace(agent, spec=replace(agent.spec, env=())) for agent in story.fleet.agents.values()),
        seats=tuple(decode(Seat, encode(seat)) for seat in story.fleet.seats.values()),
        retired=story.fleet.retired,
    )
    fleet = restore(saved, {"boss": BOSS, "other": spec("other")}, story.fleet.limits)

    assert fleet.seats == story.fleet.seats
    assert fleet.agents["boss-g2"].spec == story.of("boss-g2").spec


def test_a_salvaged_journal_finds_the_holder_by_what_is_wanted() -> None:
    story = Seats().handing_over()
    assert restore(Saved(agents=tuple(story.fleet.agents.values())), {}, story.fleet.limits).seats == {
        "boss": Seat("boss", "boss")
    }
    story.passes(succession.succeed(story.fleet, "boss", story.now))
    assert restore(Saved(agents=tuple(story.fleet.agents.values())), {}, story.fleet.limits).seats == {
        "boss": Seat("boss", "boss", 2, 1)
    }


def test_promise_9_an_old_journal_keeps_what_it_knows_of_a_seat_whose_holder_is_the_one_that_is_wanted() -> None:
    story = Seats().succeeded()
    waits = replace(story.seat, restart=HeldRestart("operator", False))
    behind = JournalBehind("it is old", World("boot", 0, 1))

    def again(seats: dict[str, Seat]) -> dict[str, Seat]:
        return dict(found_again(story.fleet, Step(replace(story.fleet, seats=seats)), behind, story.now).fleet.seats)

    assert again({"boss": waits}) == {"boss": waits}
    assert again({"boss": Seat("boss", "boss")}) == {"boss": Seat("boss", "boss", 2, 1)}, "it knew of no fence"
    assert again({}) == {"boss": Seat("boss", "boss", 2, 1)}
    assert again({"boss": waits, "gone": Seat("gone", "gone")}) == {"boss": waits}


def test_promise_9_a_lost_journal_leaves_every_agent_declared_that_the_configuration_names() -> None:
    specs = [spec("docs"), spec("boss", kind=Kind.ORCHESTRATOR, project="shop"), spec("web")]
    assert [one.name for one in generations(specs, Fleet(), ())] == ["docs", "boss", "web"]


def half_made(*, lives: bool = True) -> Seats:
    """The journal was lost while both generations ran; a handoff that nobody knows any more had made the second."""
    runs = [SeenRun(1, f"run-{name}", "s", "fresh", 20, 1, 9e8, 10, "boot") for name in ("boss", "boss-g2")]
    wish = Wish("running", 10)
    first = Trace("boss", wish, "runs", runs[0], runs[0], 1)
    second = Trace("boss-g2", wish, "runs" if lives else "idle", runs[1] if lives else None, runs[1], 1)
    story = Seats()
    story.fleet = Fleet()
    declared = tuple(generations([BOSS], Fleet(), (first, second)))
    story.tell(JournalBehind("it is lost", World("boot", 0, 20, (first, second)), declared))
    return story


def test_promise_3_a_successor_whose_handoff_the_journal_has_lost_has_a_row_until_the_recovery_ends_it() -> None:
    story = half_made()
    assert (story.seat.holder, story.seat.handoff) == ("boss", None)
    assert [one.name for one in project(story.fleet, story.now)] == ["boss", "boss-g2"]
    assert [one.name for one in glance.glances(story.fleet, story.now)] == ["boss", "boss-g2"]
    assert glance.counts(story.fleet, story.now)["working"] == 2, "nothing has told yet that either is idle"
    assert any("left over from a lost handoff: boss-g2" in one.text for one in story.fleet.alerts)
    assert not story.sent(Terminate), "nothing is ended before a person has confirmed it"

    story.tell(RecoveryConfirmed("ann"))
    assert [one.agent for one in story.sent(Terminate)] == ["boss-g2"]
    assert any("the journal has lost its handoff; ann confirmed the recovery" in reason for reason in story.reasons)
    assert isinstance(story.of("boss").state, Running)
    assert [one.name for one in project(story.fleet, story.now)] == ["boss"]
    story.ends("boss-g2")
    assert set(story.fleet.agents) == {"boss"}
    assert not story.fleet.alerts
    assert story.tell(HandoffRequested("boss", "again")) is None
    assert story.seat.handoff is not None


def adopted(story: Seats, *answers: str, name: str = "boss") -> list[Deliver]:
    """What a generation is told once its shim has said what it was armed with."""
    before = len(story.sent(Deliver))
    held = tuple((id, 0) for id in answers)
    story.tell(RunAdopted(name, 1, 10, 20, link=2, armed=held))
    told: list[Deliver] = story.sent(Deliver)[before:]
    return told


def test_promise_9_a_holder_whose_handoff_the_journal_has_lost_is_told_to_go_on() -> None:
    """It sat there for ever, for it had been told to begin nothing, and nobody took that back."""
    begin, rest = (one.answer.id for one in armed.standing(handing.armed_at_ack().agent, 0.0))
    story = half_made()
    (told,) = adopted(story, begin, rest)
    assert (told.agent, told.text) == ("boss", CALLED_OFF)
    assert {one.id for one in story.sent(Disarm)} == {begin, rest}
    assert adopted(story) == [], "it is told once: its shim holds nothing of it any more"


def test_promise_9_nobody_else_is_told_of_a_lost_handoff() -> None:
    held = ("handoff-1bd69072-1-begin", "handoff-1bd69072-1-rest")
    assert adopted(half_made(), *held, name="boss-g2") == [], "it holds no seat"
    assert adopted(half_made(), "compaction", "check-1") == [], "no handoff armed that"

    story = half_made()
    story.tell(RecoveryConfirmed("ann"))
    story.ends("boss-g2")
    story.tell(HandoffRequested("boss", "it is full"))
    assert [one for one in adopted(story, *held) if one.text == CALLED_OFF] == [], "another handoff goes on"


def test_promise_3_a_successor_without_its_handoff_that_died_is_started_by_nothing() -> None:
    story = half_made(lives=False)
    for _ in range(3):
        story.wait(600)
    assert set(story.fleet.agents) == {"boss"} or story.of("boss-g2").removing
    story = half_made()
    story.ends("boss-g2", code=1)
    for _ in range(3):
        story.wait(600)
    assert not story.sent(Spawn)
    story.tell(RecoveryConfirmed("ann"))
    assert set(story.fleet.agents) == {"boss"}


@pytest.mark.parametrize(
    "order",
    [
        HandoffRequested("boss", "it is full"), RollbackRequested("boss"), AgentWithdrawn("boss-g2"),
        RestartRequested("boss-g2"), StopRequested("boss-g2"),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_lost_handoff_hinders_names_the_command_that_helps(order: Event) -> None:
    refused = half_made().tell(order)
    assert refused is not None
    assert ("left over" in refused.message, refused.remedy) == (True, "phoenixctl recover")


def test_a_restart_of_a_seat_does_not_wait_for_what_a_lost_handoff_left_over() -> None:
    story = half_made()
    story.tell(RestartRequested("boss"))
    assert story.seat.restart is None
    assert isinstance(story.of("boss").state, Stopping)
    assert isinstance(story.of("boss-g2").state, Running)


@pytest.mark.parametrize("order", [StopRequested("boss"), AgentWithdrawn("boss")], ids=str)
def test_promise_3_what_a_lost_handoff_left_over_ends_with_its_seat(order: Event) -> None:
    story = half_made()
    story.tell(order)
    assert {one.agent for one in story.sent(Terminate)} == {"boss", "boss-g2"}
    story.ends("boss-g2")
    assert "boss-g2" not in story.fleet.agents
    assert not story.fleet.alerts, "all was settled by an order"


def test_what_a_lost_handoff_left_over_ends_as_well_where_its_holder_is_down_and_goes_at_once() -> None:
    story = half_made()
    while story.of("boss").run is not None:
        story.ends("boss", code=1)
    story.tell(AgentWithdrawn("boss"))
    assert set(story.fleet.agents) == {"boss-g2"}
    story.ends("boss-g2")
    assert not story.fleet.agents


@pytest.mark.parametrize("step", ["freeze", "drain", "spawn", "await_ack", "shutdown"])
def test_promise_9_a_seat_that_nobody_wants_any_more_is_held_after_a_lost_journal_by_who_held_it(step: str) -> None:
    """As after `down --agents`: the highest generation with a wish that is left, for a stop takes a successor away."""
    story = handing.at(step)
    for name in sorted(story.fleet.agents):
        story.tell(StopRequested(name, "the end of the daemon"))
    for name in sorted(story.fleet.agents):
        if (found := story.find(name)) is not None and found.run is not None:
            story.exits(name, signal=15)
    agents = story.fleet.agents.values()
    assert all(one.desired is Desired.STOPPED and one.run is None for one in agents)
    traces = tuple(
        Trace(one.name, wish_of(one, 30), last=SeenRun(one.incarnation, f"run-{one.name}"), incarnation=one.incarnation)
        for one in agents
    )
    after = Seats()
    after.fleet = Fleet()
    declared = tuple(generations([handing.orchestrator()], Fleet(), traces))
    after.tell(JournalBehind("it is lost", World("boot", 0, 40, traces), declared))
    assert after.fleet.seats["o"].holder == story.seat.holder
