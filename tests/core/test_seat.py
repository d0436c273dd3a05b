"""Seats: whom a name means, how a seat passes on, and that no order about it leaves a generation behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.core import glance, requests
from phoenixd.core.actions import Alert, Deliver, Release, Spawn, TakeSession, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Desired, Running, Starting, Stopped, Stopping
from phoenixd.core.behind.verdicts import lag
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import JournalBehind, Rebooted, RecoveryConfirmed, TroubleSeen
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
from phoenixd.core.events.runs import AgentExited, AgentStarted, RunAdopted
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.inbox import inbox
from phoenixd.core.projection import project, row_of
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.seat import finding, names, succession
from phoenixd.core.seat.lost import found_again, generations
from phoenixd.core.seat.orders import NAME_TOO_LONG
from phoenixd.core.seat.state import HeldRestart, Seat
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.starts import release
from phoenixd.documents.codec import decode, encode
from phoenixd.ports.journal import Saved
from phoenixd.runtime.recovery import restore
from tests.core.story import Story, spec

BOSS = spec("boss", kind=Kind.ORCHESTRATOR, env=(("KEY", "value"),))


class Seats(Story):
    """A fleet with the orchestrator `boss`, and one worker."""

    def __init__(self, *specs: AgentSpec) -> None:
        super().__init__(*(specs or (BOSS, spec("other"))))

    @property
    def seat(self) -> Seat:
        return self.fleet.seats["boss"]

    def of(self, name: str) -> Agent:  # type: ignore[override]
        return self.fleet.agents[name]

    def sent(self, kind: type[Any]) -> list[Any]:
        return [action for action in self.actions if isinstance(action, kind)]

    def runs(self, name: str) -> Seats:
        """Start the run that is due, or that the generation's handoff starts."""
        agent = self.fleet.agents[name]
        if not isinstance(agent.state, Starting):
            self.passes(succession_start(self.fleet, name, self))
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1))
        return self

    def passes(self, passed: tuple[Fleet, tuple[Decision, ...]]) -> Seats:
        """Take what a rule of the handoff decided."""
        self.fleet, decisions = passed
        self.decisions.extend(decisions)
        return self

    def handing_over(self) -> Seats:
        """Both generations run, and the first one holds the seat."""
        self.tell(StartRequested("boss"))
        self.runs("boss")
        self.passes(succession.declare_successor(self.fleet, "boss", self.now)).runs("boss-g2")
        self.decisions.clear()
        return self

    def succeeded(self) -> Seats:
        """The second generation holds the seat, and the first one is gone."""
        self.handing_over().passes(succession.succeed(self.fleet, "boss", self.now))
        self.passes(succession.retire(self.fleet, "boss", 1, self.now))
        self.ends("boss")
        self.decisions.clear()
        return self

    def ends(self, name: str, code: int | None = 0) -> Seats:
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, None))
        return self


def succession_start(fleet: Fleet, name: str, story: Story) -> tuple[Fleet, tuple[Decision, ...]]:
    """Start a generation as its handoff does, beside the door."""
    found = put(Step(fleet), requests.start(fleet.agents[name], StartRequested(name), story.now), story.now)
    found = release(fleet, found, StartRequested(name), story.now)
    return found.fleet, found.decisions


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


def test_a_reboot_starts_the_holder_alone() -> None:
    for fenced, alone in ((False, "boss"), (True, "boss-g2")):
        story = Seats().handing_over()
        if fenced:
            story.passes(succession.succeed(story.fleet, "boss", story.now))
            story.passes(succession.retire(story.fleet, "boss", 1, story.now))
        story.tell(Rebooted("another"))
        story.wait(3600)

        assert [one.agent for one in story.sent(Spawn)] == [alone]


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


def test_promise_9_a_lost_journal_leaves_every_agent_declared_that_the_configuration_names() -> None:
    specs = [spec("docs"), spec("boss", kind=Kind.ORCHESTRATOR, project="shop"), spec("web")]
    assert [one.name for one in generations(specs, Fleet(), ())] == ["docs", "boss", "web"]


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
    assert glance.counts(story.fleet, story.now)["resting"] == 2
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
