"""A check and the work beside it: never inside a turn, not for ever put off, and no part of the work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Arm, Deliver, Disarm, MeasureWork
from phoenixd.core.agent.state import Running, Stopped
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import (
    HandoffRequested,
    RollbackRequested,
)
from phoenixd.core.events.resonance import CheckRequested
from phoenixd.core.events.runs import Delivered
from phoenixd.core.resonance.checklist import checks
from phoenixd.core.rules import BreakerRules, ResonanceRules
from phoenixd.core.spec import Kind
from phoenixd.core.step import as_heard
from phoenixd.documents.hooks import hook_of
from phoenixd.runtime.describe import describe_event
from tests.core.resonating import ResonanceStory, resonant
from tests.core.story import claude
from tests.core.test_resonance import story, until_asked

# Never inside a turn, and not for ever.


def test_f_re_10_a_turn_that_ends_with_a_question_is_left_alone_three_times_at_most() -> None:
    told = story(interval_turns=2)
    left = [told.turn(words="Shall I go on?") for _ in range(4)]

    assert left[:3] == [None, None, None]
    assert left[3] is not None
    assert told.known.state == "intact"


def test_f_re_10_a_check_that_is_put_off_says_why_in_its_decision_and_in_the_list() -> None:
    told = story(interval_turns=2)
    for _ in range(2):
        told.turn(words="Shall I go on?")
    (line,) = [one.what for one in checks(told.agent) if one.name == "check"]

    why = "ended with a question, or was held up before"
    assert line == f"due in 0 turns; put off, for each of its last 2 turns {why}"
    assert any(f"another turn's end, 1 of 3: its turn {why}" in one.reason for one in told.decisions)


@pytest.mark.parametrize(("happens", "why"), [("stops", "it is stopped"), ("is old", "its shim has not said")])
def test_r33_a_check_that_is_due_and_not_asked_says_what_it_waits_for(happens: str, why: str) -> None:
    told = story(interval_turns=9)
    told.tell(CheckRequested("a", "operator"))
    agent = told.agent
    if happens == "stops":
        agent = replace(agent, state=Stopped())
    else:
        assert isinstance(agent.state, Running)
        agent = replace(agent, state=replace(agent.state, run=replace(agent.state.run, link=0)))
    (line,) = [one.what for one in checks(agent) if one.name == "check"]

    assert line.startswith(f"due at its next turn's end: asked; put off, for {why}")


def test_a_question_is_armed_once_and_not_with_every_event() -> None:
    told = story(interval_turns=2)
    armed_before = len(told.of(Arm))
    told.hook("prompt-submit", text="Go on.")
    for number in range(5):
        told.hook("tool-start", tool="Bash", tool_use_id=f"t{number}")
        told.hook("tool-end", tool="Bash", tool_use_id=f"t{number}")
    told.hook("notification", notification="idle_prompt")

    assert len(told.of(Arm)) == armed_before


def test_a_handoff_of_an_agent_at_rest_takes_a_check_back_that_stands_ready() -> None:
    """It is told to finish by a text, and the end of that turn is its last word: nobody asks it for a code then."""
    rules = ResonanceRules(overflow="silent", interval_turns=2)
    told = ResonanceStory(claude("o", kind=Kind.ORCHESTRATOR, resonance=rules)).begins()
    assert told.ready is not None
    asked = told.ready.id
    assert told.tell(HandoffRequested("o")) is None
    assert [one.id for one in told.of(Disarm)] == [asked]
    assert told.ready is None
    text = told.of(Deliver)[-1]
    told.hook("prompt-submit", text=text.text)
    told.tell(Delivered("o", text.incarnation, text.message_id, "prompt"))
    assert told.ready is None, "nor is it asked while the handoff goes on"
    told.hook("stop", text="The till is half done.")
    assert told.verdicts == []

    told.tell(RollbackRequested("o", "operator"))
    told.hook("notification", notification="idle_prompt")
    assert told.ready is not None, "afterwards it is asked as before"


def test_a_handoffs_freeze_comes_before_a_check_which_waits() -> None:
    told = story(interval_turns=2)
    assert told.ready is not None
    freeze = ArmedAnswer("f-1", "stop", "Finish here.", told.at + 600, "freeze")
    decision = armed.arm(Decision(told.agent), freeze, told.now)
    assert decision.agent is not None
    assert [type(action) for action in decision.actions] == [Disarm, Arm]
    told.fleet = replace(told.fleet, agents={"a": decision.agent})
    told.hook("prompt-submit", text="Go on.")
    told.decisions.clear()
    told.hook("stop-blocked", text="Done.")
    assert [fact.what for fact in told.facts] == [], "it was told to finish, and nobody asked it for a code"
    told.hook("stop", text="Finished.")
    assert told.verdicts == []
    assert told.ready is not None
    assert told.ready.purpose == "freeze"

    released = armed.disarm(Decision(told.agent), "f-1").agent
    assert released is not None
    told.fleet = replace(told.fleet, agents={"a": released})
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_a_prompt_that_comes_into_a_check_leaves_it_without_a_verdict() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.hook("prompt-submit", text="Stop that, and look at the tests.")
    told.hook("stop", text="The tests are green.")

    assert told.verdicts == [""] or "lost" not in told.verdicts
    assert told.known.misses == 0
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_a_check_that_a_prompt_came_into_is_not_noted_as_intact_because_the_one_before_was() -> None:
    told = story()
    told.turn()
    assert told.turn() is not None
    assert told.known.state == "intact"
    before = len(told.verdicts)
    told.tell(CheckRequested("a"))
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.hook("prompt-submit", text="Stop that, and look at the tests.")
    told.hook("stop", text="The tests are green.")

    assert told.verdicts[before:] == ["unverifiable"]
    assert told.known.state == "intact"


def test_a_note_of_the_clis_own_that_comes_into_a_check_leaves_it_without_a_verdict() -> None:
    """Word of a job in the background is no prompt, and what is answered after it is about that all the same."""
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.hook("prompt-submit", text="<task-notification>job 7 is done</task-notification>", source="machine")
    told.hook("stop", text="The job is done.")

    assert told.known.misses == 0
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_work_in_a_check_that_another_hook_asked_for_is_no_miss_where_nothing_drops_in_silence() -> None:
    told = story(overflow="compaction", enabled="on")
    for _ in range(4):
        told.turn()
        told.hook("prompt-submit", text="Go on.")
        told.asked()
        told.hook("tool-start", tool="Bash", tool_use_id="t")
        told.hook("tool-end", tool="Bash", tool_use_id="t")
        told.hook("stop", text="The lint is well now.")

    assert "lost" not in told.verdicts
    assert (told.known.misses, told.known.state) == (0, "unverifiable")
    assert "another hook" in told.known.note
    until_asked(told)
    assert told.known.state == "intact"


def test_an_answer_of_which_no_words_were_told_is_no_miss_and_a_person_hears_of_it() -> None:
    told = story()
    for _ in range(8):
        told.turn(answer="")

    assert "lost" not in told.verdicts
    assert (told.known.misses, told.known.state) == (0, "unverifiable")
    assert "told no words" in told.known.note
    assert "resonance" in told.alerts()


def test_work_in_a_check_is_a_miss_where_a_front_is_dropped_in_silence() -> None:
    told = story()
    for _ in range(8):
        told.hook("prompt-submit", text="Go on.")
        if told.asked() is not None:
            told.hook("tool-start", tool="Bash", tool_use_id="t")
        told.hook("stop", text="I looked for it in the files.")

    assert "lost" in told.verdicts


def test_a_check_that_an_error_ends_is_no_miss() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.hook("stop-failure", error="server_error")

    assert (told.known.misses, told.known.due) == (0, "error")
    assert told.turn() is not None
    assert told.known.state == "intact"


# The exchange is no part of the work.


def test_the_end_of_a_turn_that_was_checked_bears_the_words_of_the_work() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    question = told.asked("The shop is built.")
    assert question is not None
    code = told.recited(question)
    event = as_heard(told.fleet, hook_of("a", 1, "stop", text=code))

    assert (event.text, event.check) == ("The shop is built.", code)  # type: ignore[union-attr]
    assert as_heard(told.fleet, event) == event
    assert code not in str(describe_event(event))


def test_a_check_counts_as_no_turn_of_a_resident_that_is_judged_by_the_turn() -> None:
    rules = BreakerRules(per_turn=True)
    checked = ResonanceStory(replace(resonant(interval_turns=1), breaker=rules)).begins()
    plain = ResonanceStory(replace(resonant(enabled="off"), breaker=rules)).begins()
    for _ in range(5):
        checked.turn()
        plain.turn()

    assert len(checked.verdicts) == 6
    assert checked.agent.turns_begun == plain.agent.turns_begun
    assert len(checked.of(MeasureWork)) == len(plain.of(MeasureWork))
    assert checked.agent.breaker.tally.iterations == plain.agent.breaker.tally.iterations == 6


def test_a_check_that_the_cli_tells_as_a_prompt_begins_no_turn() -> None:
    told = ResonanceStory(replace(resonant(interval_turns=1), breaker=BreakerRules(per_turn=True))).begins()
    begun = told.agent.turns_begun
    told.hook("prompt-submit", text="Go on.")
    question = told.asked()
    assert question is not None
    told.tell(replace(hook_of("a", 1, "prompt-submit", text=question), source="machine"))
    told.hook("stop", text=told.recited(question))

    assert told.agent.turns_begun == begun + 1
    assert told.agent.last_prompt == "Go on."
    assert told.known.state == "intact"


def test_a_call_in_a_check_shows_no_work_after_a_death() -> None:
    told = story(interval_turns=50)
    told.exited(1)
    told.respawned()
    told.up()
    assert told.run.merit.after_death
    told.hook("prompt-submit", text="continue")
    assert told.asked("Continuing.") is not None
    told.hook("tool-start", tool="Bash", tool_use_id="t1")
    told.hook("tool-end", tool="Bash", tool_use_id="t1")
    told.hook("stop", text="nothing")

    assert not told.run.merit.called
