"""Seats: whom a name means, who holds one, and how a seat with several generations is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import glance
from phoenixd.core.actions import Alert, Deliver, Spawn, TakeSession
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Desired, Stopped, Stopping
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    AnswerRequested,
    HandoffRequested,
    RestartRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.inbox import inbox
from phoenixd.core.projection import project, row_of
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.seat import finding, names, succession
from phoenixd.core.seat.orders import NAME_TOO_LONG
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from tests.core.seats import BOSS, Seats
from tests.core.story import spec


def test_an_orchestrator_is_the_first_generation_of_its_seat() -> None:
    story = Seats()

    assert story.fleet.seats == {"boss": Seat("boss", "boss")}
    assert (story.of("boss").spec.seat, story.of("boss").spec.generation) == ("boss", 1)
    assert finding.holder(story.fleet, "boss") is story.of("boss")
    assert (story.of("other").spec.seat, story.of("other").spec.generation) == ("", 0)


def test_generations_are_named_after_their_seat() -> None:
    assert [names.generation_name("boss", number) for number in (1, 2, 10)] == ["boss", "boss-g2", "boss-g10"]
    assert names.seat_name("boss-g10") == names.seat_name("boss") == "boss"
    assert [names.is_reserved(name) for name in ("a-g2", "a-g0", "a-g", "a-g2b", "g2")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("name", ["boss-g2", "shop-g17"])
def test_a_reserved_name_is_refused_at_declaration(name: str) -> None:
    story = Seats()
    refusal = story.tell(AgentDeclared(spec(name)))

    assert refusal is not None
    assert refusal.code == "invalid"
    assert "reserved" in refusal.message
    assert refusal.remedy
    assert name not in story.fleet.agents


def test_a_new_orchestrators_name_has_at_most_26_characters() -> None:
    story = Seats()
    refused = story.tell(AgentDeclared(spec("a" * 27, kind=Kind.ORCHESTRATOR)))

    assert refused is not None
    assert refused.code == "invalid"
    assert refused.remedy
    assert story.tell(AgentDeclared(spec("a" * 26, kind=Kind.ORCHESTRATOR))) is None
    assert story.tell(AgentDeclared(spec("b" * 32))) is None


def test_a_longer_name_that_exists_runs_on_with_one_alert() -> None:
    name = "a" * 30
    story = Seats(spec(name))
    for _ in range(3):
        story.tell(AgentDeclared(spec(name, kind=Kind.ORCHESTRATOR)))

    assert name in story.fleet.agents
    assert not story.fleet.seats
    assert [alert.kind for alert in story.sent(Alert)] == [NAME_TOO_LONG]
    story.tell(StartRequested(name))
    assert story.sent(Spawn)


def test_one_project_has_one_seat() -> None:
    story = Seats(replace(BOSS, project="shop"))
    refusal = story.tell(AgentDeclared(spec("rival", kind=Kind.ORCHESTRATOR, project="shop")))

    assert refusal is not None
    assert refusal.code == "conflict"
    assert "boss" in refusal.message
    assert refusal.remedy
    assert "rival" not in story.fleet.agents
    assert story.tell(AgentDeclared(spec("rival", kind=Kind.ORCHESTRATOR, project="shop", cwd="/srv/other"))) is None
    assert story.tell(AgentDeclared(spec("third", kind=Kind.ORCHESTRATOR))) is None
    assert story.seat.project == "shop"
    assert story.fleet.seats["third"].project == "third"


def test_a_declared_successor_holds_nothing_and_nothing_starts_it() -> None:
    story = Seats()
    story.tell(StartRequested("boss"))
    story.runs("boss").passes(succession.declare_successor(story.fleet, "boss", story.now))
    story.tell(AgentDeclared(BOSS, start=True))
    story.tell(StartRequested("boss"))

    successor = story.of("boss-g2")
    assert isinstance(successor.state, Stopped)
    assert successor.desired is Desired.STOPPED
    assert successor.spec.restart.policy is RestartPolicy.NEVER
    assert not successor.spec.autostart
    assert dict(successor.spec.env) == {"KEY": "value"}
    assert finding.holder(story.fleet, "boss-g2").name == "boss"
    assert story.seat.fenced == 0
    with pytest.raises(ValueError, match="already"):
        succession.declare_successor(story.fleet, "boss", story.now)


def test_verbs_reach_the_holder_before_and_after_the_fence() -> None:
    story = Seats().handing_over()
    story.tell(SendRequested("boss", "m1", "hello"))
    assert [one.agent for one in story.sent(Deliver)] == ["boss"]

    story.passes(succession.succeed(story.fleet, "boss", story.now))
    story.tell(SendRequested("boss", "m2", "hello"))
    assert [one.agent for one in story.sent(Deliver)] == ["boss", "boss-g2"]
    story.tell(TroubleSeen("boss", "brief", "too old"))
    assert [one.kind for one in story.of("boss-g2").alerts] == ["brief"]
    assert not story.of("boss").alerts


def test_what_is_seen_of_one_generation_is_told_of_that_one() -> None:
    """Only orders go to the holder alone: trouble with a successor is no fault of its predecessor's."""
    story = Seats().handing_over()

    assert story.tell(TroubleSeen("boss-g2", "brief", "too old")) is None
    assert [one.kind for one in story.of("boss-g2").alerts] == ["brief"]
    assert not story.of("boss").alerts


def test_an_order_to_a_generation_that_there_is_not_is_refused_by_its_name() -> None:
    refusal = Seats().handing_over().tell(StopRequested("boss-g9"))

    assert refusal is not None
    assert (refusal.code, refusal.message) == ("not_found", "there is no agent boss-g9")


@pytest.mark.parametrize("order", [HandoffRequested, RollbackRequested])
def test_a_handoff_is_ordered_by_the_name_of_a_generation_that_lives(order: Any) -> None:
    story = Seats().succeeded()

    refused = {name: story.tell(order(name)) for name in ("boss-g7", "boss-g1", "other", "nobody")}

    assert story.seat.handoff is None
    told = {name: (one.code, one.message.partition(",")[0]) for name, one in refused.items() if one is not None}
    assert told == {
        "boss-g7": ("not_found", "there is no agent boss-g7"),
        "boss-g1": ("not_found", "boss-g1 is gone"),
        "other": ("not_found", "other is no orchestrator with a seat"),
        "nobody": ("not_found", "there is no agent nobody"),
    }
    for name in ("boss", "boss-g2"):
        found = story.tell(order(name))
        assert found is None or found.code == "conflict"


def test_a_look_at_a_handoff_takes_the_name_of_any_generation_that_was_there() -> None:
    fleet = Seats().succeeded().fleet
    seat = fleet.seats["boss"]

    names_of = ("boss", "boss-g1", "boss-g2", "boss-g7", "other")
    assert [finding.looked_at(fleet, name) for name in names_of] == [seat, seat, seat, None, None]
    assert [finding.ordered(fleet, name) for name in names_of] == [seat, None, seat, None, None]


@pytest.mark.parametrize("order", [StopRequested, StartRequested, RestartRequested])
def test_a_generation_that_does_not_hold_its_seat_takes_no_orders(order: Any) -> None:
    story = Seats().handing_over()
    refusal = story.tell(order("boss-g2"))

    assert refusal is not None
    assert refusal.code == "conflict"
    assert "boss" in refusal.remedy
    assert not story.actions


def test_what_is_being_removed_is_declared_no_more() -> None:
    """Its run may take its time to end; a configuration that is read meanwhile finds the name free."""
    story = Seats()
    story.tell(StartRequested("other"))
    story.runs("other").tell(AgentWithdrawn("other"))
    assert isinstance(story.of("other").state, Stopping)
    assert set(finding.declared(story.fleet)) == {"boss"}


def test_a_seat_is_down_when_no_generation_of_it_runs_or_is_about_to() -> None:
    story = Seats()
    assert [finding.is_down(story.fleet, name) for name in ("boss", "other", "nobody")] == [True, True, True]
    story.tell(StartRequested("other"))
    story.runs("other")
    assert [finding.is_down(story.fleet, name) for name in ("boss", "other")] == [True, False]
    story.handing_over()
    story.passes(succession.succeed(story.fleet, "boss", story.now))
    alone = replace(story.of("boss-g2"), state=Stopped())
    agents = {**story.fleet.agents, "boss-g2": alone}
    assert not finding.is_down(replace(story.fleet, agents=agents), "boss"), "its predecessor runs"
    story.passes(succession.retire(story.fleet, "boss", 1, story.now))
    story.ends("boss")
    assert not finding.is_down(story.fleet, "boss"), "its successor runs"
    story.tell(StopRequested("boss"))
    assert not finding.is_down(story.fleet, "boss"), "it is being stopped"
    story.ends("boss-g2")
    assert finding.is_down(story.fleet, "boss")


def test_declaring_it_again_as_it_is_changes_nothing() -> None:
    story = Seats().succeeded()
    before = story.fleet
    story.tell(AgentDeclared(BOSS, start=True))

    assert story.fleet == before
    assert not story.decisions
    assert finding.declared(story.fleet)["boss"] == BOSS


def test_an_answer_goes_to_the_generation_that_asked() -> None:
    story = Seats().handing_over()
    asked = replace(story.of("boss-g2"), items=(story_item("boss-g2", 7),))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, "boss-g2": asked})

    refusal = story.tell(AnswerRequested("boss", 7, allow=True))
    assert refusal is None or "boss-g2" in refusal.message or "boss-g2" in refusal.remedy


def story_item(agent: str, number: int) -> Any:
    return InboxItem(number, agent, 1, "permission", "Bash: ls", "hash", 0.0, "reply", hold=3)


def test_the_holders_session_is_named_again_whenever_it_is_met() -> None:
    story = Seats().succeeded()
    run = story.of("boss-g2").run
    assert run is not None
    story.tell(RunAdopted("boss-g2", run.incarnation, 100, 1))
    assert story.sent(TakeSession) == [TakeSession("boss-g2", "boss", 2)]

    story = Seats().handing_over()
    run = story.of("boss-g2").run
    assert run is not None
    story.tell(RunAdopted("boss-g2", run.incarnation, 100, 1))
    assert not story.sent(TakeSession), "it does not hold the seat yet"


def test_status_and_inbox_show_one_row_under_the_seats_name() -> None:
    story = Seats().handing_over()
    asked = replace(story.of("boss-g2"), items=(story_item("boss-g2", 7),))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, "boss-g2": asked})
    assert [(one.name, one.generation) for one in project(story.fleet, story.now)] == [("boss", 1), ("other", 0)]
    assert [one.agent for one in inbox(story.fleet)] == ["boss-g2"], "a successor's question is shown as such"
    assert project(story.fleet, story.now)[0].group == "needs_you"
    told = glance.counts(story.fleet, story.now)
    assert (told["needs_you"], sum(told.values())) == (1, 2), "a shell's prompt counts the seat once, and what it asks"
    assert row_of(story.fleet, asked, story.now).name == "boss-g2"

    story.passes(succession.succeed(story.fleet, "boss", story.now))
    assert [(one.name, one.generation) for one in project(story.fleet, story.now)] == [("boss", 2), ("other", 0)]
    assert [one.agent for one in inbox(story.fleet)] == ["boss"]
    assert row_of(story.fleet, story.of("boss"), story.now).name == "boss-g1"
    story.tell(TroubleSeen("boss", "brief", "too old"))
    assert [alert.agent for alert in story.sent(Alert)] == ["boss"]


def test_a_seats_rows_in_the_journal_are_those_of_all_its_generations() -> None:
    story = Seats()
    assert finding.written_by(story.fleet, "boss") == "boss"
    story.handing_over()
    assert finding.written_by(story.fleet, "boss") == ("boss", "boss-g2")
    story.passes(succession.succeed(story.fleet, "boss", story.now))
    assert finding.written_by(story.fleet, "boss-g1") == "boss"
    assert finding.written_by(story.fleet, "boss-g2") == "boss-g2"
    assert finding.written_by(story.fleet, "boss-g3") is None
    assert finding.written_by(story.fleet, "nobody") is None


def test_the_journal_tells_of_an_agent_that_was_removed() -> None:
    story = Seats()
    story.tell(AgentWithdrawn("other"))
    story.tell(AgentWithdrawn("boss"))

    for name in ("other", "boss"):
        assert finding.was_removed(story.fleet, name)
        assert not finding.is_gone(story.fleet, name)
        assert finding.written_by(story.fleet, name) == name
    assert not finding.was_removed(story.fleet, "nobody")
    story.tell(AgentDeclared(spec("other")))
    assert not finding.was_removed(story.fleet, "other")


def test_a_name_like_that_of_a_generation_means_its_seat_and_is_given_to_nobody_else() -> None:
    story = Seats(BOSS, spec("other"))
    refused = story.tell(AgentDeclared(spec("boss-g2")))
    fleet = story.fleet

    assert refused is not None
    assert finding.of(fleet, "boss") is story.seat
    assert finding.of(fleet, "boss-g3") is story.seat
    assert finding.of(fleet, "other") is None
    assert finding.of(fleet, "other-g2") is None
    assert finding.meant(fleet, "boss-g3") is None
