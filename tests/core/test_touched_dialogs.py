"""A dialog that was answered is an item no longer, also where no hook tells of the answer: faces.md, check 4."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import LookAtScreen, ReleaseHold
from phoenixd.core.agent.state import Running
from phoenixd.core.condition import needs_person
from phoenixd.core.events.evidence import KeysRead
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered, HoldReleased
from phoenixd.core.facts import AnswerJudged, AskingOver
from tests.core.story import Story, claude

FIRST = [0.125, 0.25]
"""When a dialog is looked at for the first times, in seconds after its hook; no more once it was seen."""


def asking(*commands: str, screen: str | None = "permission", harness: str = "claude") -> Story:
    """An agent whose calls wait for a person, each request held; its screen shows a dialog."""
    story = Story(claude(harness=harness))
    story.start()
    story.started()
    story.hook("session-start", source="startup")
    story.hook("prompt-submit", text="go")
    story.screen = screen
    for number, command in enumerate(commands or ("make",), 1):
        story.hook("permission-request", tool="Bash", text=command, held=True, seq=number)
    story.decisions.clear()
    return story


def waits(story: Story) -> bool:
    """Whether a person is asked: inbox, row and run say the same."""
    assert isinstance(story.state, Running)
    waiting = story.state.activity.waiting is not None
    assert waiting == bool(story.agent.items) == needs_person(story.agent)
    return waiting


def keys(story: Story, **changes: Any) -> None:
    story.tell(KeysRead("a", changes.get("incarnation", 1)))


def looks(story: Story, seconds: float) -> list[float]:
    """When the screen is looked at in this time, from now on, to an eighth of a second."""
    began, found = story.at, list[float]()
    while story.at < began + seconds:
        seen = len(story.of(LookAtScreen))
        story.wait(0.125)
        found += [story.at - began] * (len(story.of(LookAtScreen)) - seen)
    return found


def test_a_yes_at_the_terminal_clears_the_item_while_its_call_runs_on() -> None:
    story = asking()
    story.wait(30)
    assert waits(story)
    keys(story)
    story.screen = "working"
    assert waits(story), "a key may be any key: the screen decides"
    story.wait(0.25)
    assert not waits(story)
    assert isinstance(story.state, Running)
    assert story.state.activity.turn_open
    assert [order.hold for order in story.of(ReleaseHold)] == [1]
    assert "no longer waits: the dialog has left its screen" in story.reasons


@pytest.mark.parametrize("late", [0.3, 0.9, 1.9])
def test_a_program_that_is_slow_to_draw_is_looked_at_again(late: float) -> None:
    story = asking()
    story.wait(30)
    keys(story)
    story.wait(late)
    assert waits(story)
    story.screen = "working"
    story.wait(1)
    assert not waits(story)


def test_a_key_that_answers_nothing_leaves_the_item_and_costs_four_looks() -> None:
    story = asking()
    story.wait(30)
    story.wait(looks(story, 20)[-1])
    before = looks(story, 40)
    keys(story)
    assert looks(story, 2.125) == [0.25, 0.5, 1, 2]
    assert len(looks(story, 40)) <= len(before) + 1
    assert waits(story)


def test_who_types_on_does_not_put_the_look_off() -> None:
    story = asking()
    story.wait(30)
    seen = len(story.of(LookAtScreen))
    for _ in range(100):
        keys(story)
        story.wait(0.02)
    assert 5 <= len(story.of(LookAtScreen)) - seen <= 8
    story.screen = "working"
    keys(story)
    story.wait(0.3)
    assert not waits(story)


def test_an_answer_from_afar_is_seen_on_the_screen_before_the_shim_has_its_word() -> None:
    story = asking()
    story.wait(5)
    assert story.agent.item is not None
    story.tell(AnswerRequested("a", story.agent.item.id, allow=True))
    story.screen = "working"
    story.wait(0.25)
    assert not waits(story)
    story.tell(HoldAnswered("a", 1, 1, taken=False, why="its shim did not say", still_held=True))
    story.tell(HoldAnswered("a", 1, 1, taken=True))
    assert not waits(story)


@pytest.mark.parametrize("taken", [True, False])
def test_the_verdict_says_of_an_item_that_its_screen_has_closed_whether_the_answer_from_afar_counted(
    taken: bool,
) -> None:
    story = asking()
    story.wait(5)
    assert story.agent.item is not None
    number = story.agent.item.id
    story.tell(AnswerRequested("a", number, allow=True))
    story.screen = "working"
    story.wait(0.25)
    assert not waits(story)
    assert AskingOver(number, "permission") in [fact for one in story.decisions for fact in one.facts]
    story.tell(HoldAnswered("a", 1, 1, taken=taken, why="the terminal was first"))
    assert story.decisions[-1].facts == (AnswerJudged(number, taken),)
    assert story.decisions[-1].weight == "story"


def test_an_answer_that_the_dialog_outlives_clears_nothing() -> None:
    story = asking()
    story.wait(5)
    assert story.agent.item is not None
    story.tell(AnswerRequested("a", story.agent.item.id, allow=True))
    story.wait(4)
    assert story.agent.item is not None
    story.tell(HoldAnswered("a", 1, 1, taken=False, why="nobody knows", still_held=True))
    assert waits(story)


def test_an_answer_within_the_first_second_is_seen_because_the_dialog_was() -> None:
    story = asking()
    assert looks(story, 1) == FIRST[:1]
    keys(story)
    story.screen = "working"
    story.wait(0.25)
    assert not waits(story)


@pytest.mark.parametrize("late", [0.12, 0.2, 0.25])
def test_an_answer_within_a_quarter_of_a_second_of_its_hook_clears_the_item_within_1_s(late: float) -> None:
    story = asking()
    story.wait(late)
    keys(story)
    story.screen = "working"
    story.wait(1)
    assert not waits(story)


def test_keys_do_not_put_the_first_look_off() -> None:
    story = asking()
    story.wait(0.05)
    keys(story)
    story.wait(0.05)
    story.screen = "working"
    story.wait(0.9)
    assert not waits(story)


def test_a_screen_on_which_the_dialog_was_never_seen_clears_nothing_that_nobody_touched() -> None:
    """On a slow machine it is not drawn yet; what a key may have answered is in test_doubt."""
    story = asking(screen="working")
    story.wait(30)
    assert waits(story)


@pytest.mark.parametrize(("idle_for", "closed"), [(0.2, False), (1.0, False), (2.2, True)])
def test_an_idle_screen_right_after_the_hook_closes_nothing_that_nobody_has_seen_or_touched(
    idle_for: float, closed: bool
) -> None:
    """Codex shows neither its work nor the dialog while its hook runs, and draws that 0.9 s later."""
    story = asking(screen="idle")
    story.wait(idle_for)
    story.screen = "permission"
    story.wait(0.9)
    assert waits(story) is not closed
    assert isinstance(story.state, Running)
    assert story.state.activity.turn_open is not closed


@pytest.mark.parametrize("pressed", [0.0, 0.05, 0.5])
def test_an_idle_screen_right_after_the_hook_ends_no_turn_of_which_somebody_typed_ahead(pressed: float) -> None:
    story = asking(screen="idle")
    item = story.agent.items[0]
    story.wait(pressed)
    keys(story)
    story.wait(0.9 - pressed)
    assert isinstance(story.state, Running)
    assert story.state.activity.turn_open
    story.screen = "permission"
    story.wait(0.25)
    assert waits(story)
    assert story.agent.items == (item,)


def test_an_idle_screen_2_s_after_a_key_ends_the_turn_of_a_dialog_that_nobody_saw() -> None:
    """Somebody said no at once, and no hook tells of it."""
    story = asking(screen="idle")
    story.wait(0.05)
    keys(story)
    story.wait(1)
    assert not waits(story)
    story.wait(1.5)
    assert isinstance(story.state, Running)
    assert not story.state.activity.turn_open
    assert [order.hold for order in story.of(ReleaseHold)] == [1]


def test_a_dialog_that_is_drawn_late_is_looked_for_until_it_is_seen() -> None:
    story = asking(screen="working")
    assert looks(story, 2.125) == [*FIRST, 0.5, 1, 2]


def test_between_two_dialogs_a_screen_without_one_clears_neither() -> None:
    story = asking("one", "two")
    story.wait(5)
    keys(story)
    story.screen = "working"
    story.wait(0.3)
    assert waits(story)
    story.screen = "permission"
    story.wait(60)
    assert waits(story)
    assert len(story.agent.items) == 1
    keys(story)
    story.screen = "working"
    story.wait(3)
    assert not waits(story)


def test_keys_at_a_run_that_asks_nothing_change_nothing() -> None:
    story = asking()
    story.tell(HoldReleased("a", 1, 1))
    story.hook("tool-end", tool="Bash", seq=2)
    story.screen = "working"
    story.wait(5)
    before, kept = story.agent, len(story.kept)
    keys(story)
    assert (story.agent, len(story.kept)) == (before, kept)


def test_keys_at_an_older_run_change_nothing() -> None:
    story = asking()
    story.wait(30)
    before = story.agent
    keys(story, incarnation=0)
    assert story.agent == before


def test_a_request_whose_dialog_is_drawn_nowhere_is_not_looked_for() -> None:
    story = asking(harness="codex")
    keys(story)
    assert looks(story, 1.875) == []


def test_keys_before_its_dialog_is_drawn_clear_no_question() -> None:
    """Codex draws it when its request is let go of, and reads its terminal whenever somebody sits down there."""
    story = asking(harness="codex", screen="working")
    keys(story)
    story.wait(60)
    story.tell(HoldReleased("a", 1, 1))
    story.wait(1)
    assert waits(story)
    story.screen = "permission"
    story.wait(3)
    assert waits(story)
    keys(story)
    story.screen = "working"
    story.wait(0.3)
    assert not waits(story)


def test_a_question_that_nobody_touches_costs_one_look_more_than_its_age_asks_for() -> None:
    story = asking()
    found = looks(story, 60)
    assert found[0] == FIRST[0]
    assert found[1] >= 2
    assert len(found) <= 16


def test_no_row_is_written_for_a_key() -> None:
    story = asking()
    story.wait(30)
    story.kept.clear()
    keys(story)
    story.wait(0.3)
    assert not [one for one in story.kept if one.decision.weight != "noise" and one.decision.reason]
