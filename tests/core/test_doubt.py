"""A question that is closed before anybody saw its dialog: gone within 1 s, there again if that is drawn late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Alert, LookAtScreen, Reassure, ReleaseHold
from phoenixd.core.agent.activity import Doubted
from phoenixd.core.agent.state import Running
from phoenixd.core.condition import activity_word
from phoenixd.core.doubt import begin
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import AlertAcknowledged, AlertsTold
from phoenixd.core.events.orders import AnswerRequested, MuteRequested, UnmuteRequested
from phoenixd.core.events.runs import HoldAnswered, HoldReleased, RunAdopted
from phoenixd.core.facts import Asked, AskingOver
from phoenixd.core.turn.due import DOUBT_LOOKS
from phoenixd.core.typing.answering import APPEARS_WITHIN
from tests.core.story import Story, claude
from tests.core.test_touched_dialogs import asking, keys, looks, waits

SURE = APPEARS_WITHIN + 2 * DOUBT_LOOKS
"""Seconds after the newest key in which it is known whether the question is over."""


def doubted(story: Story) -> Doubted | None:
    assert isinstance(story.state, Running)
    return story.state.activity.doubted


def doubting(*commands: str) -> Story:
    """Keys were read before any look saw the dialog, and the question was closed."""
    story = asking(*commands, screen="working")
    story.wait(0.05)
    keys(story)
    story.wait(0.6)
    assert not waits(story)
    assert doubted(story) is not None
    return story


@pytest.mark.parametrize("pressed", [0.0, 0.05, 0.12, 0.24, 0.3, 0.6, 0.9, 1.4, 3.0])
@pytest.mark.parametrize("commands", [("make",), ("one", "two")])
def test_an_answer_before_any_look_clears_the_item_within_1_s(pressed: float, commands: tuple[str, ...]) -> None:
    story = asking(*commands, screen="working")
    story.wait(pressed)
    assert waits(story)
    keys(story)
    story.wait(1)
    assert not waits(story)
    assert not story.agent.alerts


@pytest.mark.parametrize("drawn", [0.3, 0.5, 0.61, 0.88, 1.0, 2.0, 4.0, 4.9])
def test_a_dialog_that_is_drawn_late_is_open_within_250_ms_as_the_same_item(drawn: float) -> None:
    story = asking(screen="working")
    before = story.agent.items[0]
    standing = story.agent.alerts
    keys(story)
    story.wait(drawn)
    assert not waits(story)
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    assert story.agent.items == (before,)
    assert story.agent.alerts == standing
    assert not story.of(Reassure), "nobody was told of its end"
    assert not story.of(Alert), "so nobody is told again"
    assert not story.of(ReleaseHold), "it can still be answered from afar"
    story.wait(600)
    assert waits(story)
    keys(story)
    story.screen = "working"
    story.wait(0.3)
    assert not waits(story)
    assert [order.hold for order in story.of(ReleaseHold)] == [1]


def test_an_alert_that_its_way_told_while_the_question_was_in_doubt_waits_for_it_no_more_when_it_is_asked_again() -> (
    None
):
    story = Story(claude()).runs()
    story.fleet = replace(story.fleet, ways=("command",))
    story.screen = "working"
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=1)
    (told,) = story.agent.alerts
    story.wait(0.05)
    keys(story)
    story.wait(0.6)
    assert doubted(story) is not None
    story.tell(AlertsTold("command", (("a", told.id),)))
    story.screen = "permission"
    story.wait(0.5)
    assert waits(story)
    assert (told.waits, story.agent.alerts) == (("command",), (replace(told, waits=()),))


def test_no_dialog_within_5_s_of_the_key_proves_it_over_and_that_is_told_then() -> None:
    story = doubting()
    story.wait(APPEARS_WITHIN - 0.6 - 2 * DOUBT_LOOKS)
    assert doubted(story) is not None
    assert not story.of(Reassure)
    assert not story.of(ReleaseHold)
    story.wait(4 * DOUBT_LOOKS)
    assert doubted(story) is None
    assert [over.id for over in story.of(Reassure)] == [1]
    assert [order.hold for order in story.of(ReleaseHold)] == [1]
    assert "the question #1 is over: no dialog was drawn after it was closed" in story.reasons
    assert len(looks(story, 20)) <= 1


@pytest.mark.parametrize("pressed", [0.0, 0.05, 0.3, 3.0])
@pytest.mark.parametrize("drawn", [5.5, 8.0, 30.0, 300.0])
def test_a_dialog_that_is_drawn_after_all_doubt_is_over_is_asked_for_at_the_terminal(
    pressed: float, drawn: float
) -> None:
    """A key that was read before the dialog was drawn leaves no agent waiting with nothing in the inbox."""
    story = asking(screen="working")
    story.wait(pressed)
    keys(story)
    story.wait(drawn)
    assert not waits(story)
    story.screen = "permission"
    story.wait(max(story.agent.spec.liveness.check_interval, drawn / 2))
    assert waits(story)
    assert [item.answer_by for item in story.agent.items] == ["attach"]


def test_who_types_on_keeps_the_dialog_from_being_drawn_and_it_is_looked_for_as_long() -> None:
    """Codex draws none while somebody types, and for a second after that."""
    story = doubting()
    for _ in range(100):
        keys(story)
        story.wait(0.2)
    assert not waits(story)
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)


def test_a_look_that_is_not_answered_is_asked_for_again_and_ever_less_often() -> None:
    story = doubting()
    story.screen = None
    assert 8 <= len(looks(story, 1.5)) <= 12
    story.wait(SURE)
    assert 4 <= len(looks(story, 20)) <= 7
    assert doubted(story) is not None, "nothing has told that it is over"
    story.screen = "permission"
    story.wait(8)
    assert waits(story)


def test_a_screen_that_tells_nothing_is_looked_at_as_seldom_as_that_of_a_dialog_that_stands() -> None:
    """An agent can draw what it likes, for as long as it likes; and a person can leave a menu open."""
    story = doubting()
    story.screen = "unknown"
    assert len(looks(story, 600)) <= 60


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tool-end", {"tool": "Bash"}),
        ("tool-failure", {"tool": "Bash"}),
        ("permission-denied", {"tool": "Bash"}),
        ("stop", {}),
        ("prompt-submit", {"text": "go on"}),
    ],
)
def test_what_tells_that_it_was_answered_ends_the_doubt(kind: str, said: dict[str, str]) -> None:
    story = doubting()
    story.hook(kind, seq=9, **said)
    assert doubted(story) is None
    assert [over.id for over in story.of(Reassure)] == [1]
    assert story.of(Reassure)[0].why
    assert [order.hold for order in story.of(ReleaseHold)] == [1]
    story.screen = "idle" if kind == "stop" else "working"
    story.wait(SURE)
    assert not waits(story)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("tool-start", {"tool": "Read"}), ("tool-end", {"tool": "Read"}), ("tool-end", {"tool": "Bash", "sub": True})],
)
def test_what_tells_of_another_call_does_not(kind: str, said: dict[str, str]) -> None:
    story = doubting()
    story.hook(kind, seq=9, **said)
    assert doubted(story) is not None
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)


def test_the_end_of_one_of_two_calls_tells_not_which_dialog_may_still_come() -> None:
    story = doubting("one", "two")
    story.hook("tool-end", tool="Bash", seq=9)
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    assert isinstance(story.state, Running)
    assert [one.hold for one in story.state.activity.also_asked] == [1]


def test_a_dialog_that_was_drawn_late_has_been_seen_and_its_absence_proves_it_over() -> None:
    story = doubting()
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    keys(story)
    story.screen = "working"
    story.wait(0.3)
    assert not waits(story)
    assert doubted(story) is None
    assert [order.hold for order in story.of(ReleaseHold)] == [1]


def test_a_key_that_is_still_on_its_way_when_the_dialog_is_found_is_seen_to_answer_it() -> None:
    story = doubting()
    story.wait(0.1)
    keys(story)
    story.screen = "permission"
    story.wait(DOUBT_LOOKS)
    assert waits(story)
    story.screen = "working"
    story.wait(0.5)
    assert not waits(story)


def test_between_two_dialogs_there_is_none_for_a_moment_and_the_item_stays() -> None:
    story = asking("one", "two")
    story.wait(5)
    keys(story)
    story.screen = "working"
    story.wait(0.3)
    assert waits(story)
    story.screen = "permission"
    story.wait(5)
    assert waits(story)
    assert not [fact for one in story.decisions for fact in one.facts if isinstance(fact, AskingOver)]


def test_an_idle_screen_ends_the_doubt_and_the_turn() -> None:
    story = doubting()
    story.screen = "idle"
    story.wait(0.2)
    assert doubted(story) is not None, "an idle screen is drawn before a dialog as well"
    story.wait(1.5)
    assert doubted(story) is None
    assert isinstance(story.state, Running)
    assert not story.state.activity.turn_open
    assert [order.hold for order in story.of(ReleaseHold)] == [1]


def test_a_menu_of_the_person_who_sits_there_is_no_dialog_of_the_question() -> None:
    story = doubting()
    story.screen = None
    story.tell(ScreenSeen("a", 1, "dialog", attended=True))
    assert not waits(story)
    story.tell(ScreenSeen("a", 1, "dialog"))
    assert waits(story)


def test_a_new_question_covers_the_one_that_may_be_drawn_yet() -> None:
    story = doubting()
    story.hook("permission-request", tool="Bash", text="two", held=True, seq=9)
    assert doubted(story) is None
    assert isinstance(story.state, Running)
    assert [one.hold for one in story.state.activity.also_asked] == [1]
    assert not story.of(ReleaseHold)
    story.tell(HoldAnswered("a", 1, 9, taken=True))
    assert waits(story)
    assert story.agent.items[0].hold == 1


def test_a_notice_of_the_dialog_that_is_doubted_is_no_second_question() -> None:
    story = doubting()
    before = story.of(Alert)
    story.hook("notification", notification="permission_prompt", text="Claude needs your permission", seq=9)
    assert [item.hold for item in story.agent.items] in ([], [1])
    assert story.of(Alert) == before
    assert not story.of(ReleaseHold)
    story.screen = "permission"
    story.wait(0.2)
    assert [(item.id, item.hold) for item in story.agent.items] == [(1, 1)]
    story.hook("tool-end", tool="Bash", seq=10)
    story.screen = "working"
    story.wait(1)
    assert not waits(story)


def test_an_answer_from_afar_to_a_closed_question_is_refused_until_its_dialog_is_drawn() -> None:
    story = doubting()
    refusal = story.tell(AnswerRequested("a", 1, allow=True))
    assert refusal is not None
    assert "does not wait any more" in refusal.message
    story.screen = "permission"
    story.wait(0.2)
    assert story.tell(AnswerRequested("a", 1, allow=True)) is None


def test_while_an_answer_from_afar_is_given_its_shim_tells_and_no_screen_that_lacks_the_dialog() -> None:
    story = asking(screen="working")
    story.tell(AnswerRequested("a", 1, allow=True))
    story.wait(2)
    assert story.agent.items[0].answering
    assert doubted(story) is None
    story.tell(HoldAnswered("a", 1, 1, taken=True))
    assert not story.agent.items


def test_a_request_that_its_program_lets_go_of_was_answered() -> None:
    story = doubting()
    story.tell(HoldReleased("a", 1, 1))
    assert doubted(story) is None
    assert [over.id for over in story.of(Reassure)] == [1]


@pytest.mark.parametrize("pause", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("told", [HoldReleased("a", 1, 1), HoldAnswered("a", 1, 1, taken=True)])
def test_after_a_doubt_that_its_request_ends_the_screen_tells_soon_whether_the_turn_was_broken_off(
    told: Event, pause: float
) -> None:
    """Escape refuses, and ends the turn: the program lets go of its request, and no hook tells of the turn."""
    story = doubting()
    story.wait(pause)
    story.tell(told)
    assert doubted(story) is None
    story.wait(0.2)
    assert activity_word(story.agent) == "working"
    story.screen = "idle"
    story.wait(2)
    assert activity_word(story.agent) == "idle"
    assert len(looks(story, 20)) <= 1


@pytest.mark.parametrize("told", [HoldReleased("a", 1, 1), HoldAnswered("a", 1, 1, taken=True)])
def test_after_a_doubt_that_its_request_ends_a_turn_that_goes_on_is_looked_at_no_oftener_than_any(told: Event) -> None:
    story = doubting()
    story.tell(told)
    assert len(looks(story, 50)) <= 5
    assert activity_word(story.agent) == "working"


def test_of_several_the_one_that_is_let_go_of_was_answered_and_the_other_is_asked() -> None:
    """Its dialog is drawn next: nobody else tells of it, and its request must stay held."""
    story = doubting("one", "two")
    story.tell(HoldReleased("a", 1, 2))
    assert waits(story)
    assert [item.hold for item in story.agent.items] == [1]
    assert [over.id for over in story.of(Reassure)] == [2]
    assert len(story.of(Alert)) == 1
    assert not story.of(ReleaseHold)
    story.tell(HoldReleased("a", 1, 1))
    story.wait(SURE)
    assert not waits(story)


def test_of_several_the_one_that_is_let_go_of_does_not_come_up_again() -> None:
    story = doubting("one", "two")
    story.tell(HoldReleased("a", 1, 1))
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    story.tell(HoldAnswered("a", 1, 2, taken=True))
    assert not waits(story)


def test_the_end_of_its_run_tells_that_its_alert_is_over() -> None:
    story = doubting()
    story.exited(code=1)
    story.tree_gone()
    assert 1 in [over.id for over in story.of(Reassure)]


def test_an_operator_who_has_seen_it_has_seen_it_when_it_is_open_again() -> None:
    story = asking(screen="working")
    story.tell(AlertAcknowledged(1, by="anna"))
    acked = story.agent.items[0].ack or story.agent.alerts[0].ack
    assert acked is not None
    keys(story)
    story.wait(0.5)
    assert not waits(story)
    story.screen = "permission"
    story.wait(0.2)
    assert (story.agent.items[0].ack or story.agent.alerts[0].ack) == acked


@pytest.mark.parametrize("seen", [False, True])
def test_what_a_mute_held_back_is_told_when_it_is_open_again_after_the_mute_unless_somebody_saw_it(seen: bool) -> None:
    story = asking(screen=None)
    story.hook("stop", seq=2)
    story.tell(MuteRequested("a", 3600.0))
    story.hook("prompt-submit", text="go", seq=3)
    story.screen = "working"
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=4)
    if seen:
        story.tell(AlertAcknowledged(story.agent.alerts[0].id, by="anna"))
    keys(story)
    story.wait(0.5)
    assert doubted(story) is not None
    story.tell(UnmuteRequested("a"))
    story.decisions.clear()
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    assert [alert.held for alert in story.of(Alert)] == ([] if seen else [False])


def test_what_a_mute_holds_back_is_told_to_nobody_when_it_is_open_again() -> None:
    story = asking(screen=None)
    story.hook("stop", seq=2)
    story.tell(MuteRequested("a", 3600.0))
    story.hook("prompt-submit", text="go", seq=3)
    story.screen = "working"
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=4)
    keys(story)
    story.wait(0.5)
    assert doubted(story) is not None
    story.decisions.clear()
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    assert not story.of(Alert)


def test_a_daemon_that_begins_meanwhile_goes_on_looking() -> None:
    story = doubting()
    story.tell(RunAdopted("a", 1, 100, 1, held=(1,)))
    assert doubted(story) is not None
    story.screen = "permission"
    story.wait(0.2)
    assert waits(story)
    assert story.agent.items[0].hold == 1


def test_a_sign_of_life_changes_nothing_of_it() -> None:
    story = doubting()
    story.tell(EvidenceSeen("a", 1, "transcript"))
    assert doubted(story) is not None
    assert not waits(story)


def test_the_story_tells_the_end_and_that_it_was_none_and_no_look_between() -> None:
    story = asking(screen="working")
    story.kept.clear()
    keys(story)
    story.wait(3)
    story.screen = "permission"
    story.wait(1)
    facts = [fact for one in story.decisions for fact in one.facts]
    assert facts == [AskingOver(1, "permission"), Asked(1, "permission")]
    told = [one.reason for one in story.decisions if one.weight not in ("noise",) and one.reason]
    assert told == [
        "no longer waits: keys were read at its terminal, and no dialog stands on its screen",
        "waits for a person after all: the dialog of #1 is drawn only now",
    ]
    assert 15 <= len(story.of(LookAtScreen)) <= 40


def test_a_question_of_which_no_item_stands_is_not_doubted() -> None:
    story = asking(screen="working")
    keys(story)
    story.pass_over(0.3)
    state = story.state
    assert isinstance(state, Running)
    waiting = state.activity.waiting
    assert waiting is not None

    assert begin(story.agent, state, waiting, story.now) is not None
    assert begin(replace(story.agent, items=()), state, waiting, story.now) is None
    left = tuple(replace(one, left=True) for one in story.agent.items)
    assert begin(replace(story.agent, items=left), state, waiting, story.now) is None, "it is of an earlier run"
