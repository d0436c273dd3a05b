"""A mute holds back what people are told and nothing else; it ends by itself, and what still stands is told then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import projection
from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.behind.world import World
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import AlertAcknowledged, JournalBehind, Tick, TroubleGone, TroubleSeen
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, MuteRequested, UndoRequested, UnmuteRequested
from phoenixd.core.inbox import inbox
from phoenixd.core.mutes.state import Mute
from phoenixd.core.undo.age import kept
from phoenixd.core.undo.state import Undoable
from phoenixd.documents.codec import decode, encode
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

MINUTE = 60.0


def mute(story: Story, seconds: float = MINUTE, act: str = "1") -> None:
    assert story.tell(MuteRequested("a", seconds, "ada", act)) is None


def told(story: Story) -> list[tuple[str, int]]:
    """What people were told: raised alerts, and ends with a minus."""
    words = [one for one in story.actions if isinstance(one, Alert | Reassure) and not one.held]
    return [(one.kind, one.id if isinstance(one, Alert) else -one.id) for one in words]


def trouble(story: Story, kind: str = "brief", text: str = "it is old") -> None:
    story.tell(TroubleSeen("a", kind, text))


def test_what_is_raised_under_a_mute_stands_and_is_counted_and_nobody_is_told() -> None:
    story = Story(claude()).runs()
    mute(story)
    trouble(story)

    assert told(story) == []
    (standing,) = story.agent.alerts
    assert standing.held
    (row,) = projection.project(story.fleet, story.now)
    assert (row.group, row.held_back, row.muted_until) == ("needs_you", 1, story.wall + MINUTE)
    assert [item.kind for item in inbox(story.fleet)] == ["brief"]


def test_the_end_of_what_nobody_was_told_of_is_told_to_nobody() -> None:
    story = Story(claude()).runs()
    mute(story)
    trouble(story)
    story.tell(TroubleGone("a", "brief"))
    story.wait(2 * MINUTE)

    assert told(story) == []
    assert [one.held for one in story.of(Reassure)] == [True]


def test_a_mute_ends_by_itself_and_tells_what_still_stands_once_under_its_own_number() -> None:
    story = Story(claude()).runs()
    mute(story)
    trouble(story)
    number, raised = story.agent.alerts[0].id, story.wall
    story.wait(MINUTE - 1)
    assert told(story) == []
    story.wait(2)

    assert told(story) == [("brief", number)]
    assert story.of(Alert)[-1].raised_wall == raised
    assert story.fleet.mutes == {}
    assert projection.project(story.fleet, story.now)[0].muted_until is None
    trouble(story, text="it is older")
    assert told(story) == [("brief", number)], "it is no news"
    story.tell(TroubleGone("a", "brief"))
    assert told(story)[-1] == ("brief", -number)


def test_the_deadline_of_a_mute_is_one_of_the_fleets_and_a_clock_that_jumps_ends_it() -> None:
    story = Story(spec())
    mute(story)
    assert next_deadline(story.fleet, story.now) == story.at + MINUTE
    story.wall += 2 * MINUTE
    assert next_deadline(story.fleet, story.now) == story.at
    story.tell(Tick())
    assert story.fleet.mutes == {}


@pytest.mark.parametrize("undone", [False, True])
def test_f_hb_4_a_clock_that_is_set_back_makes_no_mute_longer(undone: bool) -> None:
    story = Story(spec())
    mute(story)
    trouble(story)
    if undone:
        mute(story, 2 * MINUTE, act="2")
    story.wall -= 300 * 24 * 3600.0
    if undone:
        story.tell(UndoRequested("a", "2"))
    assert len(told(story)) == 0

    story.wait(1.1 * MINUTE)

    assert story.fleet.mutes == {}
    assert len(told(story)) == 1


def test_f_hb_4_a_mute_of_before_the_clock_was_set_back_is_no_longer_where_one_of_after_it_is_undone() -> None:
    story = Story(spec())
    mute(story)
    story.wall -= 300 * 24 * 3600.0
    mute(story, 2 * MINUTE, act="2")
    assert story.tell(UndoRequested("a", "2")) is None
    trouble(story)
    assert told(story) == []

    story.wait(1.1 * MINUTE)

    assert story.fleet.mutes == {}
    assert len(told(story)) == 1


def test_f_hb_4_status_says_until_when_an_agent_is_muted_also_where_the_clock_was_set_back() -> None:
    story = Story(spec())
    mute(story)
    story.wall -= 300 * 24 * 3600.0

    (row,) = projection.project(story.fleet, story.now)

    assert row.muted_until is not None
    assert story.wall + MINUTE <= row.muted_until <= story.wall + 1.1 * MINUTE


def test_a_question_that_a_mute_held_back_is_told_with_its_number_when_it_is_unmuted() -> None:
    story = Story(claude()).runs()
    mute(story)
    story.hook("permission-request", tool="Bash", text="npm publish")
    assert told(story) == []
    story.tell(UnmuteRequested("a", "ada"))

    item = story.agent.item
    assert item is not None
    assert told(story) == [("permission", item.id)]
    assert story.of(Alert)[-1].text == "Bash npm publish"


def test_what_is_about_phoenixd_itself_is_never_held_back() -> None:
    story = Story(claude()).runs()
    mute(story)
    story.tell(TroubleSeen("a", "documents", "the disk is full"))
    story.tell(TroubleSeen(None, "degraded", "the disk is full"))

    assert [kind for kind, _ in told(story)] == ["documents", "degraded"]


def test_an_alert_of_before_the_mute_is_over_as_ever() -> None:
    story = Story(claude()).runs()
    trouble(story)
    mute(story)
    story.tell(TroubleGone("a", "brief"))

    assert [number > 0 for _, number in told(story)] == [True, False]


def test_undo_takes_a_mute_back_also_in_another_life_of_the_daemon() -> None:
    story = Story(claude()).runs()
    mute(story, act="1")
    mute(story, 4 * MINUTE, act="2")
    trouble(story)
    acts = tuple(decode(Undoable, encode(one)) for one in story.fleet.undoable)
    mutes = {name: decode(Mute, encode(one)) for name, one in story.fleet.mutes.items()}
    assert (acts, mutes) == (story.fleet.undoable, story.fleet.mutes)

    assert story.tell(UndoRequested("a", "2", "ada")) is None
    assert story.fleet.mutes["a"].until_wall == story.wall + MINUTE, "the mute of before stands again"
    assert story.tell(UndoRequested("a", "1", "ada")) is None
    assert story.fleet.mutes == {}
    assert story.fleet.undoable == ()


def test_undo_of_a_mute_leaves_what_somebody_ordered_since() -> None:
    story = Story(claude()).runs()
    mute(story, act="1")
    story.tell(MuteRequested("a", 4 * MINUTE, "bob", "2"))
    until = story.fleet.mutes["a"].until_wall

    refusal = story.tell(UndoRequested("a", "1", "ada"))
    assert refusal is not None
    assert (refusal.code, refusal.remedy) == ("conflict", "phoenixctl undo a")
    assert "bob" in refusal.message
    assert story.fleet.mutes["a"].until_wall == until
    assert story.tell(UndoRequested("a", "2", "ada")) is None, "the newest goes first, as the remedy does it"
    assert story.tell(UndoRequested("a", "1", "ada")) is None
    assert story.fleet.mutes == {}


def test_a_stop_leaves_a_mute_that_can_be_taken_back_and_a_removal_ends_it() -> None:
    story = Story(claude()).runs()
    mute(story)
    story.stop()
    assert [one.verb for one in story.fleet.undoable] == ["mute"]
    story.exited(None, 15)
    story.tell(AgentWithdrawn("a"))
    assert not story.fleet.agents
    assert story.fleet.mutes == {}
    story.tell(AgentDeclared(claude()))
    trouble(story)
    assert [kind for kind, _ in told(story)][-1] == "brief"


def test_an_old_journal_mutes_nobody_and_what_it_held_back_is_told() -> None:
    story = Story(claude()).runs()
    mute(story)
    trouble(story)
    story.tell(JournalBehind("it is old", World("boot", 1, 2)))
    assert story.fleet.mutes == {}
    assert "brief" in [kind for kind, _ in told(story)]


def test_who_is_not_there_cannot_be_muted_and_who_is_not_muted_can_be_unmuted() -> None:
    story = Story(claude()).runs()
    refusal = story.tell(MuteRequested("nobody", MINUTE))
    assert refusal is not None
    assert refusal.code == "not_found"
    assert story.tell(UnmuteRequested("a")) is None
    assert "it is not muted" in story.reasons[-1]


def test_an_acknowledged_alert_stands_apart_until_it_ends_and_returns() -> None:
    story = Story(claude()).runs()
    trouble(story)
    number = story.agent.alerts[0].id
    assert story.tell(AlertAcknowledged(number, "ada")) is None

    ack = story.agent.alerts[0].ack
    assert ack is not None
    assert (ack.by, ack.at_wall) == ("ada", story.wall)
    assert projection.project(story.fleet, story.now)[0].is_acknowledged
    assert inbox(story.fleet)[0].ack == ack
    assert load_agent(dump_agent(story.agent)).alerts == story.agent.alerts
    trouble(story, text="it is older")
    assert story.agent.alerts[0].ack == ack, "it is the same trouble"
    story.tell(TroubleGone("a", "brief"))
    trouble(story)
    assert story.agent.alerts[0].ack is None
    assert story.alerts() == ["brief", "brief"]


def test_a_question_and_an_alert_of_the_fleet_can_be_acknowledged_and_what_is_over_cannot() -> None:
    story = Story(claude()).runs()
    story.hook("permission-request", tool="Bash", text="make")
    story.tell(TroubleSeen(None, "slow disk", "3 s"))
    item, fleets = story.agent.item, story.fleet.alerts[0]
    assert item is not None
    story.tell(AlertAcknowledged(item.id, "ada"))
    story.tell(AlertAcknowledged(item.id, "bob"))
    story.tell(AlertAcknowledged(fleets.id, "bob"))

    asked = story.agent.item
    assert asked is not None
    assert asked.ack is not None
    assert (asked.ack.by, story.agent.alerts[0].ack) == ("ada", asked.ack), "the first word stands"
    assert story.fleet.alerts[0].ack is not None
    refusal = story.tell(AlertAcknowledged(999))
    assert refusal is not None
    assert (refusal.code, refusal.remedy) == ("not_found", "phoenixctl inbox")


def test_what_was_acknowledged_under_a_mute_is_not_told_at_its_end() -> None:
    story = Story(claude()).runs()
    mute(story)
    trouble(story)
    story.tell(AlertAcknowledged(story.agent.alerts[0].id, "ada"))
    story.wait(2 * MINUTE)

    assert told(story) == []


def test_a_mute_that_is_over_has_nothing_to_be_taken_back_nor_has_what_it_replaced() -> None:
    story = Story(claude()).runs()
    mute(story, 60 * MINUTE, act="1")
    mute(story, MINUTE, act="2")
    assert [one.act for one in story.fleet.undoable] == ["1", "2"]
    story.stop()
    story.wait(2 * MINUTE)

    assert story.fleet.mutes == {}
    assert [one.verb for one in story.fleet.undoable if one.verb in ("mute", "unmute")] == []
    refusal = story.tell(UndoRequested("a", "2", "ada"))
    assert refusal is not None
    assert story.fleet.mutes == {}


def test_an_undo_never_takes_back_an_unmute_nor_the_mute_that_it_ended() -> None:
    """Help and manual name stops, removals, fresh starts and mutes. Silence again, unasked, is what nobody means."""
    story = Story(claude()).runs()
    story.stop(act="0")
    mute(story, 60 * MINUTE, act="1")
    story.tell(UnmuteRequested("a", "ada", "2"))

    assert [(one.act, one.verb) for one in story.fleet.undoable] == [("0", "stop")]
    for act in ("1", "2"):
        refusal = story.tell(UndoRequested("a", act, "ada"))
        assert refusal is not None
    assert story.fleet.mutes == {}


def test_an_unmute_that_an_older_version_noted_is_not_taken_back() -> None:
    story = Story(claude()).runs()
    noted = Undoable("1", "unmute", "a", story.wall, "ada", muted_until=story.wall + 60 * MINUTE)

    assert kept((noted,), story.now) == ()
    assert kept((replace(noted, verb="mute"),), story.now) != ()


def test_an_unmute_of_who_is_not_muted_is_no_order_that_counts() -> None:
    story = Story(claude()).runs()
    mute(story)
    story.tell(UnmuteRequested("a", "ada"))
    story.tell(UnmuteRequested("a", "ada"))

    counted = [fact for decision in story.decisions for fact in decision.facts if getattr(fact, "verb", "") == "unmute"]
    assert len(counted) == 1


def test_the_end_of_a_mute_leaves_what_else_can_be_taken_back() -> None:
    """Other acts on that agent, and mutes of others."""
    story = Story(claude(), claude("b")).runs()
    mute(story, MINUTE, act="1")
    story.tell(MuteRequested("b", 60 * MINUTE, "ada", "2"))
    story.stop(act="3")
    story.wait(2 * MINUTE)

    assert set(story.fleet.mutes) == {"b"}
    assert [(one.agent, one.verb) for one in story.fleet.undoable] == [("b", "mute"), ("a", "stop")]
