"""Resonance in the core: when a code is asked for, what an answer proves, and what is kept apart from the work."""

from __future__ import annotations

from phoenixd.core.actions import PlantCodes, Spawn
from tests.core.resonating import ResonanceStory, hexes_in, resonant
from tests.core.story import Story, claude


def test_r43_r45_codes_are_planted_before_the_session_begins() -> None:
    told = ResonanceStory()
    told.start()

    kinds = [type(action) for action in told.actions if isinstance(action, PlantCodes | Spawn)]
    assert kinds == [PlantCodes, Spawn]
    assert told.known.planting is not None
    assert told.known.state == "unverifiable"


def test_r4_r33_a_code_is_asked_for_every_ten_turns_and_at_a_turns_end_alone() -> None:
    told = ResonanceStory().begins()

    asked = [bool(told.turn()) for _ in range(29)]

    assert [number for number, was in enumerate(asked, 2) if was] == [10, 20, 30]
    assert told.known.state == "intact"
    assert told.known.last_verified_wall is not None


def test_r64_no_question_holds_a_code() -> None:
    told = ResonanceStory(resonant(interval_turns=1)).begins()
    for _ in range(30):
        told.turn()

    assert len(told.plantings) > 1
    questions = [text for text in told.sent() if "take the place of" not in text]
    assert len(questions) >= 20
    assert not any(hexes_in(text, *told.plantings) for text in questions)


def test_f_re_2_one_miss_is_asked_again_and_is_no_loss() -> None:
    told = ResonanceStory(resonant(interval_turns=3)).begins()
    told.turn()
    assert told.turn(answer="I would rather not.")
    assert (told.known.state, told.known.misses) == ("missed", 1)

    question = told.turn()

    assert question is not None
    assert question.startswith("This is asked once more")
    assert (told.known.state, told.known.misses, told.steps) == ("intact", 0, [])


def test_nothing_of_it_for_an_agent_that_bears_no_marker() -> None:
    told = Story(claude()).works()
    told.hook("stop")

    assert told.agent.resonance is None
    assert not told.of(PlantCodes)
