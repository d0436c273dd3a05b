"""The fifth step of a restoration: a new session that rests is given a turn, or all that it lacks (R39, R40, R42)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Deliver
from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.resonance import RestorationRequested
from phoenixd.core.events.runs import NotDelivered
from phoenixd.core.prompts import is_ours
from phoenixd.core.resonance.restoring import MOST_OPENED, OPENED_WITHIN, VERIFY_WITHIN
from phoenixd.core.resonance.state import Step
from phoenixd.core.rules import BreakerRules
from phoenixd.planting import CODES, RENEWED
from tests.core.resonating import SEED, ResonanceStory, hexes_in, resonant
from tests.journaled import dump_agent, load_agent


def resting(shows: bool = True, per_turn: bool = False) -> ResonanceStory:
    """A restored agent that was never told anything: its new session begins without a turn."""
    spec = replace(resonant(interval_turns=50), prompt=None, breaker=BreakerRules(per_turn=per_turn))
    told = ResonanceStory(spec, shows=shows)
    told.start()
    told.up()
    assert told.tell(RestorationRequested("a")) is None
    told.exited(143)
    told.respawned()
    assert told.spawn.prompt.value == "none"
    told.up()
    assert told.steps == [1, 2, 3, 4, 5]
    return told


def opened(told: ResonanceStory) -> list[Deliver]:
    return told.of(Deliver)


def takes(told: ResonanceStory, words: str = "here", answer: str | None = None) -> str | None:
    """The words that opened a turn arrive, and that turn ends."""
    told.hook("prompt-submit", text=opened(told)[-1].text)
    return told.ends_turn(words, answer)


def test_r40_an_agent_that_rests_is_given_a_turn_and_asked_at_its_end() -> None:
    told = resting()
    told.wait(VERIFY_WITHIN - 1)
    assert opened(told) == []
    told.wait(2)

    (order,) = opened(told)
    assert is_ours(order.text), "it is no task in hand"
    assert not CODES.search(order.text)
    assert takes(told) is not None
    assert told.steps == [1, 2, 3, 4, 5, 6]
    assert told.agent.last_prompt is None
    told.wait(7200)
    assert len(opened(told)) == 1


def test_its_deadline_is_in_the_state_and_survives_a_daemon() -> None:
    told = resting()
    going = told.known.restoration
    assert going is not None
    assert going.deadline == told.at + VERIFY_WITHIN
    due = next_deadline(told.fleet, told.now)
    assert due is not None
    assert due <= going.deadline
    loaded = load_agent(dump_agent(told.agent))
    assert loaded.resonance == told.agent.resonance
    told.fleet = replace(told.fleet, agents={"a": loaded})
    told.wait(VERIFY_WITHIN + 1)

    assert len(opened(told)) == 1


def test_words_that_began_no_turn_are_typed_again_and_after_six_of_them_a_person_is_called() -> None:
    told = resting()
    told.wait(VERIFY_WITHIN + MOST_OPENED * OPENED_WITHIN - 5)
    assert len(opened(told)) == MOST_OPENED
    assert len({one.message_id for one in opened(told)}) == MOST_OPENED
    assert told.steps[-1] == 5
    told.wait(10)

    assert told.steps == [1, 2, 3, 4, 5, 7]
    told.exited(143)
    assert isinstance(told.state, Quarantined)
    assert told.state.cause.startswith("marker lost: 6 turns were opened for its check")


def test_a_persons_draft_in_its_input_line_is_no_try_that_failed() -> None:
    told = resting()
    for _ in range(3 * MOST_OPENED):
        told.wait(VERIFY_WITHIN + 1)
        order = opened(told)[-1]
        told.tell(NotDelivered("a", order.incarnation, order.message_id, "something unsent stands there", person=True))
    assert told.steps == [1, 2, 3, 4, 5]
    assert len(opened(told)) == 3 * MOST_OPENED
    assert told.known.restoration is not None
    assert told.known.restoration.opened == 0
    assert told.alerts().count("resonance") == 1, "a person is asked to send or delete it"

    told.wait(VERIFY_WITHIN + 1)
    takes(told)
    assert told.steps[-1] == 6


def test_words_that_came_to_nothing_without_a_person_count_as_a_try() -> None:
    told = resting()
    told.wait(VERIFY_WITHIN + 1)
    order = opened(told)[-1]
    told.tell(NotDelivered("a", order.incarnation, order.message_id, "no input line is to be seen"))
    told.tell(NotDelivered("a", order.incarnation, "another", "somebody types at its terminal", person=True))

    assert told.known.restoration is not None
    assert told.known.restoration.opened == 1


def test_inside_a_turn_its_clock_stands_still() -> None:
    told = resting()
    told.hook("prompt-submit", text="Build the shop.")
    told.wait(2 * VERIFY_WITHIN)
    assert opened(told) == []
    told.ends_turn("Which colour?")
    assert told.steps[-1] == 5, "a turn that ended with a question is left alone"
    told.wait(VERIFY_WITHIN + 1)
    takes(told)

    assert told.steps[-1] == 6
    assert told.agent.last_prompt == "Build the shop."


def test_who_waits_for_a_person_is_left_to_that() -> None:
    told = resting()
    told.hook("prompt-submit", text="Build the shop.")
    told.hook("permission-request", tool="Bash")
    told.wait(1800)

    assert opened(told) == []
    assert isinstance(told.state, Running)


def test_a_miss_in_a_turn_that_was_opened_is_asked_again_in_another() -> None:
    told = resting()
    told.wait(VERIFY_WITHIN + 1)
    takes(told, answer="No.")
    assert told.steps[-1] == 5
    told.wait(VERIFY_WITHIN + 1)
    takes(told)

    assert len(opened(told)) == 2
    assert told.steps[-1] == 6


def test_a_turn_that_was_opened_is_not_judged_by_what_it_changed() -> None:
    told = resting(per_turn=True)
    told.wait(VERIFY_WITHIN + 1)
    takes(told)
    assert told.agent.turns_begun == 0
    told.turn()
    assert told.agent.turns_begun == 1


def test_an_operators_stop_ends_it_also_while_it_rests() -> None:
    told = resting()
    assert told.tell(StopRequested("a")) is None
    told.exited(143)
    told.wait(7200)

    assert opened(told) == []
    assert not told.known.is_restoring


def test_r39_a_restored_session_without_its_first_words_is_told_the_whole_seed_at_a_turns_end() -> None:
    told = resting(shows=False)
    told.memory = None
    old = told.plantings[0]
    for _ in range(3):
        told.wait(VERIFY_WITHIN + 1)
        takes(told)
    (words,) = [text for text in told.sent() if RENEWED in text]

    assert words.startswith(SEED), "persona, tasks and decisions"
    assert str(told.plantings[-1].marker) in words, "and the new marker"
    assert not hexes_in(words, old)
    assert len(words) <= armed.MAX_TEXT
    assert told.steps == [1, 2, 3, 4, 5, 6]


def test_codes_that_are_told_in_another_session_bring_no_seed() -> None:
    told = ResonanceStory(resonant(interval_turns=2), shows=False)
    told.start()
    told.memory = None
    told.begins()
    for _ in range(6):
        told.turn()
    renewed = [text for text in told.sent() if RENEWED in text]

    assert renewed
    assert not any(SEED in text for text in renewed)


@pytest.mark.parametrize("step", [Step.SEED, Step.SESSION])
def test_what_the_seed_says_is_kept_with_the_restoration(step: Step) -> None:
    told = ResonanceStory(resonant(), papers="well" if step is Step.SESSION else "never").begins()
    told.tell(RestorationRequested("a"))
    assert told.known.restoration is not None
    assert told.known.restoration.seed == (SEED if step is Step.SESSION else "")
    assert "No framework" not in repr(told.known)
