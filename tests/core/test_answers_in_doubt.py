"""A person answers at the terminal while an answer from afar is on its way to a dialog that no look has seen."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, AnswerHold, Reassure
from phoenixd.core.agent.state import Running
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered
from phoenixd.core.facts import AnswerJudged
from phoenixd.core.typing.answering import DIALOG_GONE
from tests.core.story import Story
from tests.core.test_touched_dialogs import asking, keys
from tests.journaled import dump_agent, load_agent


def is_open(story: Story) -> bool:
    """Whether its question is an item; while it is being answered nobody else is asked."""
    assert isinstance(story.state, Running)
    assert (story.state.activity.waiting is not None) == bool(story.agent.items)
    return bool(story.agent.items)


def judged(story: Story) -> list[bool]:
    facts = [fact for decision in story.decisions for fact in decision.facts]
    return [fact.taken for fact in facts if isinstance(fact, AnswerJudged)]


def racing(answered: float = 0.02, pressed: float = 0.08) -> Story:
    """The answer from afar is on its way, and keys were read so long after it; no dialog stands any more."""
    story = asking(screen="working")
    story.wait(answered)
    assert story.tell(AnswerRequested("a", story.agent.items[0].id, allow=True)) is None
    assert story.of(AnswerHold)
    story.wait(pressed)
    keys(story)
    return story


@pytest.mark.parametrize("answered", [0.0, 0.02, 0.1, 0.2])
@pytest.mark.parametrize("pressed", [0.0, 0.05, 0.12, 0.3, 0.7])
def test_promise_11_the_terminals_answer_clears_the_item_within_1_s_also_then(answered: float, pressed: float) -> None:
    story = racing(answered, pressed)
    story.wait(1)

    assert not is_open(story)
    assert judged(story) == [], "what became of the other answer is told when it is known"


@pytest.mark.parametrize("word", [0.5, 2.0, 4.9, 5.5])
def test_promise_11_who_was_second_is_told_when_that_is_known_and_nothing_comes_back(word: float) -> None:
    story = racing()
    story.wait(word)
    story.tell(HoldAnswered("a", 1, 1, taken=False, why=DIALOG_GONE))
    story.wait(20)

    assert judged(story) == [False]
    assert not is_open(story)
    assert [over.id for over in story.of(Reassure)] == [1]


def test_an_answer_that_was_taken_ends_the_doubt() -> None:
    story = racing()
    story.wait(1)
    story.tell(HoldAnswered("a", 1, 1, taken=True))

    assert judged(story) == [True]
    assert isinstance(story.state, Running)
    assert story.state.activity.doubted is None


def test_a_dialog_that_is_drawn_late_is_open_again_and_being_answered() -> None:
    story = racing()
    story.wait(0.6)
    assert not is_open(story)
    story.screen = "permission"
    story.wait(0.3)

    assert is_open(story)
    assert story.agent.items[0].answering == "allow"
    story.tell(HoldAnswered("a", 1, 1, taken=True))
    assert not is_open(story)


@pytest.mark.parametrize(("still_held", "by"), [(True, "answer"), (False, "attach")])
def test_a_dialog_that_is_drawn_after_the_answer_failed_is_being_answered_no_more(still_held: bool, by: str) -> None:
    story = racing()
    story.wait(0.6)
    story.tell(HoldAnswered("a", 1, 1, taken=False, why="its shim did not say", still_held=still_held))
    assert not is_open(story)
    story.screen = "permission"
    story.wait(0.3)

    assert is_open(story)
    item = story.agent.items[0]
    assert (item.id, item.answering, item.answer_by, item.hold) == (1, "", by, int(still_held))
    assert not story.of(Alert), "nobody was told of its end"
    assert dump_agent(load_agent(dump_agent(story.agent))) == dump_agent(story.agent)


def test_an_answer_from_afar_closes_nothing_by_itself_before_its_dialog_is_drawn() -> None:
    story = asking(screen="working")
    story.wait(0.02)
    story.tell(AnswerRequested("a", 1, allow=True))
    story.wait(3)

    assert is_open(story)
