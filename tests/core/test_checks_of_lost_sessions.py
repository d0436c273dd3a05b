"""A session that is given up is asked for no code: R40 asks the one in its place, and for the new marker's."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Disarm
from phoenixd.core.events.orders import StartRequested, StopRequested
from phoenixd.core.events.resonance import CheckRequested, RestorationRequested, SeedRead
from phoenixd.core.hooks import TurnEnded
from phoenixd.core.step import as_heard
from phoenixd.documents.hooks import hook_of
from tests.core.resonating import SEED, ResonanceStory, resonant


def resumed() -> ResonanceStory:
    """An agent whose session was gone back to: a code is asked for at its next turn's end (R15, X19)."""
    told = ResonanceStory(resonant(interval_turns=4))
    told.start()
    told.tell(StopRequested("a"))
    told.tell(StartRequested("a"))
    told.exited(143)
    told.up()
    assert told.ready is not None
    return told


def in_a_turn() -> ResonanceStory:
    """It works, a check is due at this turn's end, and no seed comes before that."""
    told = ResonanceStory(resonant(interval_turns=50)).begins()
    told.papers = "late"
    told.tell(CheckRequested("a"))
    told.hook("prompt-submit", text="Go on.")
    assert told.ready is not None
    return told


def test_r40_a_restoration_takes_back_the_check_that_stood_ready_also_where_a_person_empties_the_context() -> None:
    told = resumed()
    ready = told.ready
    assert ready is not None
    told.papers = "late"
    assert told.tell(RestorationRequested("a")) is None
    assert told.of(Disarm)[-1].id == ready.id
    told.hook("session-start", session_id="s-2", source="clear")
    told.hook("prompt-submit", text="Go on.")

    assert told.ready is None
    assert told.known.planting is None, "there is nothing that it could be asked for"
    assert told.ends_turn() is None


def test_r40_the_session_that_is_given_up_is_asked_nothing_at_the_end_of_its_open_turn() -> None:
    told = in_a_turn()
    told.tell(RestorationRequested("a"))

    assert told.ready is None
    assert told.ends_turn() is None
    told.tell(SeedRead("a", told.run.incarnation, words=SEED))
    assert told.steps == [1, 2, 3]


@pytest.mark.parametrize("answer", [None, "I cannot see it."])
def test_r40_an_answer_that_was_on_its_way_when_a_restoration_was_ordered_is_neither_judged_nor_work(
    answer: str | None,
) -> None:
    told = in_a_turn()
    question = told.asked("All tests pass now.")
    assert question is not None
    told.tell(RestorationRequested("a"))
    ended = hook_of("a", told.run.incarnation, "stop", text=told.recited(question) if answer is None else answer)
    heard = as_heard(told.fleet, ended)
    told.tell(ended)

    assert isinstance(heard, TurnEnded)
    assert heard.text == "All tests pass now."
    assert told.verdicts == []
    assert told.known.challenge is None
    assert told.steps == [1, 2]
