"""Resonance in the core: when a code is asked for, what an answer proves, and what is kept apart from the work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Alert, Arm, Deliver, Disarm, MeasureWork, PlantCodes, Spawn
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting, Stopped
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.orders import (
    AgentDeclared,
    HandoffRequested,
    RestartRequested,
    RollbackRequested,
    UndoRequested,
)
from phoenixd.core.events.resonance import CheckRequested, CodesPlanted, CodesSeen, FooterSeen, PlantingFailed
from phoenixd.core.events.runs import Delivered, RunAdopted
from phoenixd.core.hooks import SessionStarted
from phoenixd.core.projection import row
from phoenixd.core.resonance.checklist import checks
from phoenixd.core.resonance.checks import hear
from phoenixd.core.rules import BreakerRules, ResonanceRules
from phoenixd.core.spec import Kind
from phoenixd.core.step import as_heard
from phoenixd.documents.hooks import hook_of
from phoenixd.planting import Marker, Planting
from phoenixd.runtime.describe import describe_event
from tests.core.resonating import PERSONA, ResonanceStory, hexes_in, resonant
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent


def story(**rules: Any) -> ResonanceStory:
    return ResonanceStory(resonant(**{"interval_turns": 3, **rules})).begins()


def until_asked(told: ResonanceStory, **how: Any) -> str:
    """Turns until one's end is held up."""
    for _ in range(20):
        if (question := told.turn(**how)) is not None:
            return question
    raise AssertionError("nothing was asked in 20 turns")


# When codes are planted, and asked for.


def test_r43_r45_codes_are_planted_before_the_session_begins() -> None:
    told = ResonanceStory()
    told.start()

    kinds = [type(action) for action in told.actions if isinstance(action, PlantCodes | Spawn)]
    assert kinds == [PlantCodes, Spawn]
    assert told.known.planting is not None
    assert told.known.state == "unverifiable"
    assert told.known.last_verified_wall is None, "F-RE-14: nothing was verified so far"


@pytest.mark.parametrize(
    ("declared", "is_on"),
    [
        (claude(kind=Kind.ORCHESTRATOR), True),
        (resonant(overflow="reject"), True),
        (resonant(overflow="compaction"), False),
        (resonant(enabled="off"), False),
        (resonant(overflow="compaction", enabled="on"), True),
        (replace(resonant(), kind=Kind.EPHEMERAL), False),
    ],
    ids=["orchestrator", "reject", "compaction", "off", "on", "ephemeral"],
)
def test_x14_it_is_on_for_orchestrators_and_where_an_overflow_is_not_told(declared: Any, is_on: bool) -> None:
    told = Story(declared)
    told.start()

    assert bool(told.of(PlantCodes)) is is_on


def test_nothing_of_it_for_an_agent_that_bears_no_marker() -> None:
    told = Story(claude()).works()
    told.hook("stop")

    assert told.agent.resonance is None
    assert not told.of(PlantCodes)


def test_r4_r33_a_code_is_asked_for_every_ten_turns_and_at_a_turns_end_alone() -> None:
    told = ResonanceStory().begins()

    asked = [bool(told.turn()) for _ in range(29)]

    assert [number for number, was in enumerate(asked, 2) if was] == [10, 20, 30]
    assert (told.known.state, told.known.last_verified_wall) == ("intact", told.wall)


@pytest.mark.parametrize("mode", ["one_time", "classic"])
def test_r64_r16_no_question_holds_a_code_and_each_addresses_the_role(mode: str) -> None:
    told = story(interval_turns=1, mode=mode)
    for number in range(40):
        told.turn(answer="No." if number % 5 == 3 else None)

    questions = [text for text in told.sent() if "take the place of" not in text]
    assert len(questions) >= 30
    assert not any(hexes_in(text, *told.plantings) for text in questions)
    assert all(PERSONA in text for text in questions)


def test_f_re_4_in_one_time_each_code_is_asked_for_once_and_new_ones_are_told_when_they_are_spent() -> None:
    told = story(interval_turns=1, codes=4)
    questions = [told.turn() for _ in range(12)]

    numbers = [question.split("code number ")[1].split()[0] for question in questions[:2] if question]
    assert numbers == ["2", "3"], "the first one was asked for in its first turn"
    spent, after = questions[2], questions[3]
    assert spent is not None
    assert hexes_in(spent, told.plantings[1]) == set(told.plantings[1].hexes())
    assert not hexes_in(spent, told.plantings[0])
    assert after is not None
    assert "code number 1 " in after
    assert [order.why for order in told.of(PlantCodes)][:2] == ["start", "spent"]
    assert "lost" not in told.verdicts


def test_x13b_what_was_answered_once_is_no_crib_in_one_time_and_is_one_in_classic() -> None:
    for mode, state in (("one_time", "missed"), ("classic", "intact")):
        told = story(mode=mode)
        until_asked(told)
        assert told.known.asked is not None
        echo = told.known.asked.code
        told.memory = None

        until_asked(told, answer=f"It is {echo}.")

        assert told.known.state == state, mode


@pytest.mark.parametrize(
    ("happens", "why"),
    [("compacted", "compaction"), ("stop-failure", "error")],
)
def test_r15_r17_a_check_comes_after_a_compaction_and_after_an_error(happens: str, why: str) -> None:
    told = story(interval_turns=50)
    told.hook("prompt-submit", text="Go on.")
    told.hook(happens, **({"error": "unknown"} if why == "error" else {}))

    assert told.known.due == why
    assert (told.ends_turn() if why == "compaction" else told.turn()) is not None
    assert (told.known.state, told.known.due) == ("intact", "")


def test_r18_x19_a_resumed_session_is_asked_at_boot_for_what_it_has_and_a_fresh_one_begins_anew() -> None:
    told = story(interval_turns=50)
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "resume"
    assert len(told.plantings) == 1
    told.up()
    assert told.turn() is not None
    assert told.known.state == "intact"

    told.restart(fresh=True)
    told.exited(143)
    assert len(told.plantings) == 2
    assert told.plantings[1].marker != told.plantings[0].marker
    assert (told.known.state, told.known.due) == ("unverifiable", "")


def in_two_sessions(**rules: Any) -> tuple[ResonanceStory, Planting]:
    """An agent that a fresh start led away from its session, and what that one was told."""
    told = story(**rules)
    told.turn()
    first = told.plantings[-1]
    told.tell(RestartRequested("a", fresh=True, act="1"))
    told.exited(signal=15)
    return told.begins(), first


def goes_back(told: ResonanceStory, memory: Planting) -> None:
    assert told.tell(UndoRequested("a", "1")) is None
    told.exited(signal=15)
    told.up()
    assert told.run.mode is Mode.RESUME
    told.memory = memory


def test_r43_x19_a_session_that_an_undo_gives_back_is_not_asked_for_the_codes_of_the_one_it_leaves() -> None:
    told, first = in_two_sessions()
    second = told.plantings[-1]
    goes_back(told, first)

    assert "take the place of" in until_asked(told), "it is told new ones at a turn's end"
    assert told.plantings[-1] not in (first, second)
    for _ in range(3):
        until_asked(told)
    assert set(told.verdicts) == {"intact"}
    assert told.steps == []
    assert "marker lost" not in told.alerts()


def test_r38_what_the_session_lost_that_an_undo_leaves_is_not_lost_in_the_one_that_it_gives_back() -> None:
    told, first = in_two_sessions(restore=False)
    told.memory = None
    until_asked(told)
    until_asked(told)
    assert told.known.lost
    goes_back(told, first)

    assert told.known.lost == ""
    until_asked(told)
    until_asked(told)
    assert told.known.state == "intact"


def test_no_fresh_start_is_taken_back_while_a_restoration_begins_its_session() -> None:
    told, _ = in_two_sessions()
    told.memory = None
    until_asked(told)
    until_asked(told)
    told.exited(signal=15)
    assert isinstance(told.state, Starting)
    assert told.known.is_restoring

    refused = told.tell(UndoRequested("a", "1"))
    assert refused is not None
    assert "is being restored" in refused.message
    told.up()
    told.turn()
    assert told.steps[-1] == 6


def test_r33_work_that_is_flagged_as_key_is_preceded_by_a_check() -> None:
    told = story(interval_turns=50)

    assert told.tell(CheckRequested("a", "operator", "the release")) is None
    assert told.known.due == "key"
    assert told.ready is not None
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_a_check_is_refused_with_the_reason_where_none_can_be_made() -> None:
    off = Story(claude()).works()
    refusal = off.tell(CheckRequested("a"))
    assert refusal is not None
    assert "enabled = true" in refusal.remedy

    down = ResonanceStory()
    refusal = down.tell(CheckRequested("a"))
    assert refusal is not None
    assert refusal.remedy == "phoenixctl start a"

    told = ResonanceStory()
    told.start()
    told.up(link=1)
    refusal = told.tell(CheckRequested("a"))
    assert refusal is not None
    assert "older version" in refusal.message


def test_where_an_agent_cannot_be_asked_the_core_says_why_and_takes_nothing_for_a_loss() -> None:
    told = ResonanceStory(resonant(interval_turns=2))
    told.start()
    told.up(link=1)
    told.hook("prompt-submit", text="Build the shop.")
    for _ in range(5):
        assert told.turn() is None

    assert told.known.state == "unverifiable"
    assert "older version" in told.known.note
    assert sum("it cannot be checked" in reason for reason in told.reasons) == 1, "told once"
    assert told.steps == []


# What an answer proves.


def test_f_re_2_one_miss_is_asked_again_and_is_no_loss() -> None:
    told = story()
    until_asked(told, answer="I would rather not.")
    assert (told.known.state, told.known.misses) == ("missed", 1)

    question = told.turn()

    assert question is not None
    assert question.startswith("This is asked once more")
    assert (told.known.state, told.known.misses, told.steps) == ("intact", 0, [])


def test_a_miss_of_codes_that_nothing_shows_were_given_is_told_with_what_was_asked() -> None:
    told = ResonanceStory(resonant(interval_turns=2), shows=False).begins()
    told.memory = None
    until_asked(told)

    (decision,) = [one for one in told.decisions if "nothing shows that its session was given its codes" in one.reason]
    assert [name for name, _ in decision.readings] == ["number", "answer", "misses"]
    assert dict(decision.readings)["misses"] == 0


def test_f_re_3_r8_a_phrase_without_its_code_is_paraphrased_and_asked_again() -> None:
    told = story()
    assert told.memory is not None
    until_asked(told, answer=f"{told.memory.marker.phrase}, I believe.")

    assert (told.known.state, told.known.misses) == ("paraphrased", 1)
    told.turn()
    assert told.known.state == "intact"


def test_r60_f_re_1_two_misses_are_a_loss_and_are_told() -> None:
    told = story()
    told.memory = None
    until_asked(told)
    assert told.steps == []
    told.turn()

    assert told.verdicts == ["missed", "lost"]
    assert "marker lost" in told.alerts()
    assert told.steps[:1] == [1]


def test_f_re_6_a_list_of_guesses_proves_nothing() -> None:
    told = story()
    assert told.memory is not None
    until_asked(told, answer=" ".join((*told.memory.codes, *(f"{number:06x}" for number in range(0xA00000, 0xA00080)))))

    assert told.verdicts == ["missed"]


def test_a_code_that_was_read_by_a_tool_in_the_check_is_no_proof_and_the_call_is_reported() -> None:
    told = story()
    told.hook("prompt-submit", text="Go on.")
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    question = told.asked()
    assert question is not None
    told.hook("tool-start", tool="Bash", tool_use_id="t1")
    told.hook("tool-end", tool="Bash", tool_use_id="t1")
    told.hook("stop", text=told.recited(question))

    assert told.known.state == "unverifiable"
    assert any("it called Bash in a check" in reason for reason in told.reasons)
    assert "resonance" in told.alerts()
    assert told.steps == []
    assert told.turn() is not None, "it is asked again"
    assert told.known.state == "intact"


def test_a_code_that_was_seen_elsewhere_proves_nothing_before_meanwhile_and_afterwards() -> None:
    told = story(interval_turns=1)
    planting = told.memory
    assert planting is not None
    told.tell(CodesSeen("a", 1, (planting.code(2), planting.code(3)), "the result of Read", told.wall))
    question = told.turn()
    assert question is not None
    assert "code number 4 " in question, "number 1 was asked for in the first turn"

    told.hook("prompt-submit", text="Go on.")
    question = told.asked()
    assert question is not None
    told.tell(CodesSeen("a", 1, (planting.code(5),), "the result of Grep", told.wall))
    told.hook("stop", text=told.recited(question))
    assert told.known.state == "unverifiable"

    told.hook("prompt-submit", text="Go on.")
    question = told.asked()
    assert question is not None
    during = told.wall
    told.hook("stop", text=told.recited(question))
    assert told.known.state == "intact"
    told.tell(CodesSeen("a", 1, (planting.code(6),), "the result of Grep", during))
    assert told.known.state == "unverifiable", "the transcript tells a moment later"
    assert told.known.due == "again"


def test_codes_that_the_agent_itself_wrote_are_asked_for_no_more() -> None:
    told = story(interval_turns=50)
    assert told.memory is not None
    told.turn(words=f"My codes are {', '.join(told.memory.codes[:23])}.")

    assert told.known.ordered is None
    assert [order.why for order in told.of(PlantCodes)] == ["start", "spent"]


def test_f_re_13_a_planting_that_our_own_parser_refuses_is_told_and_never_a_skipped_check() -> None:
    told = ResonanceStory(papers="never")
    told.start()
    broken = Planting(Marker("salt - on it", "7f3a9c"), ("1a2b3c", "4d5e6f"))
    told.tell(CodesPlanted("a", 1, broken, told.wall, PERSONA))

    assert told.known.planting is None
    assert told.known.state == "unverifiable"
    assert "read back" in told.known.note
    assert told.alerts() == ["resonance"]


def test_codes_that_could_not_be_planted_are_ordered_again_when_a_check_is_due() -> None:
    told = ResonanceStory(resonant(interval_turns=2), papers="never")
    told.start()
    told.tell(PlantingFailed("a", 1, "the disk is full"))
    assert told.known.state == "unverifiable"
    assert told.alerts() == ["resonance"]
    told.papers = "well"
    told.begins()
    told.turn()

    assert [order.why for order in told.of(PlantCodes)] == ["start", "missing"]
    told.turn()
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_a_clock_that_is_set_back_leaves_no_verification_in_the_future() -> None:
    told = story()
    until_asked(told)
    assert told.known.last_verified_wall == told.wall
    told.wall -= 7200
    told.turn()

    assert told.known.last_verified_wall is not None
    assert told.known.last_verified_wall <= told.wall
    until_asked(told)
    assert told.known.last_verified_wall == told.wall


# After a compaction.


def test_x27_f_re_11_after_a_compaction_a_miss_is_degraded_and_new_codes_are_told() -> None:
    told = story(interval_turns=50)
    told.hook("compacted", source="auto")
    told.memory = None
    told.turn()
    assert told.steps == []
    assert told.known.degraded == 1
    assert told.of(PlantCodes)[-1].why == "degraded"

    anchor = told.turn()
    assert anchor is not None
    assert hexes_in(anchor, told.plantings[-1]) == set(told.plantings[-1].hexes())
    assert told.known.state == "unverifiable"
    assert told.turn() is not None, "what it was told is asked for at the next turn's end"
    assert (told.known.state, told.known.degraded, told.steps) == ("intact", 0, [])


def test_r38_only_a_loss_of_the_new_codes_is_a_loss() -> None:
    told = story(interval_turns=50)
    told.hook("compacted", source="auto")
    told.memory = None
    told.turn()
    told.turn(answer="noted")
    told.turn()
    assert told.steps == []
    told.turn()

    assert told.verdicts[-1] == "lost"
    assert told.steps[:1] == [1]


def test_a_hundred_ordinary_compactions_that_drop_the_codes_are_no_loss() -> None:
    told = story(interval_turns=5)
    for _ in range(100):
        told.hook("compacted", source="auto")
        told.memory = None
        for _ in range(4):
            told.turn()

    assert "lost" not in told.verdicts
    assert told.known.state == "intact"


def test_a_context_that_a_person_emptied_is_told_new_codes() -> None:
    told = story(interval_turns=50)
    told.hook("session-start", session_id="s-2", source="clear")
    told.memory = None
    told.turn()
    told.turn()

    assert [order.why for order in told.of(PlantCodes)] == ["start", "clear"]
    assert (told.known.state, told.steps) == ("intact", [])


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


# Footers.


def test_r35_r21_a_footer_that_says_degraded_leads_to_a_check_and_another_role_is_told() -> None:
    told = story(interval_turns=50)
    told.tell(FooterSeen("a", 1, "7f3a9c", PERSONA, "Stable", told.wall))
    assert told.known.due == ""
    told.tell(FooterSeen("a", 1, "7f3a9c", PERSONA, "Degraded", told.wall))
    assert told.known.due == "footer"
    assert told.turn() is not None
    told.decisions.clear()
    told.tell(FooterSeen("a", 1, "7f3a9c", "Somebody", "Stable", told.wall))
    assert "names the role 'Somebody'" in told.reasons[-1]
    told.decisions.clear()
    told.tell(FooterSeen("a", 1, "7f3a9c", "Somebody", "Stable", told.wall))
    assert told.reasons == [], "the same again is no news"


# The daemon, the journal, and what people see.


def test_what_is_known_survives_the_journal_and_no_row_holds_a_code() -> None:
    told = story()
    until_asked(told)
    agent = told.agent
    text = dump_agent(agent)

    assert load_agent(text).resonance == agent.resonance
    assert told.memory is not None
    planted = CodesPlanted("a", 1, told.memory, told.wall, PERSONA)
    seen = CodesSeen("a", 1, told.memory.codes, "a file", told.wall)
    footer = FooterSeen("a", 1, told.memory.marker.code, PERSONA, "Stable", told.wall)
    for event in (planted, seen, footer):
        assert not hexes_in(f"{describe_event(event)} {event!r}", told.memory)
    said = " ".join(f"{one.reason} {one.readings} {one.facts}" for one in told.decisions)
    assert not hexes_in(said, *told.plantings)
    assert not hexes_in(repr(row(agent, told.now)), *told.plantings)
    assert not any(hexes_in(one.text, *told.plantings) for one in told.of(Alert))


def test_an_older_journal_knows_nothing_of_it_and_loads() -> None:
    import json

    data = json.loads(dump_agent(story().agent))
    del data["resonance"], data["spec"]["resonance"]

    assert load_agent(json.dumps(data)).resonance is None


def test_a_daemon_that_begins_orders_codes_again_that_did_not_come() -> None:
    told = ResonanceStory(papers="never")
    told.start()
    told.up()
    told.decisions.clear()
    told.tell(RunAdopted("a", 1, 100, 1000, link=armed.LINK, armed=()))

    assert [order.why for order in told.of(PlantCodes)] == ["missing"]


def test_a_resumed_session_that_has_no_anchor_is_told_one_at_a_turns_end_and_is_not_lost() -> None:
    """What a resumed session prints at its start holds no anchor (X19)."""
    told = ResonanceStory(resonant(interval_turns=2), papers="never").begins()
    told.papers = "well"
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "resume"
    assert told.of(PlantCodes)[-1].why == "missing"
    told.up()
    for _ in range(5):
        told.turn()

    assert "lost" not in told.verdicts
    assert told.known.state == "intact"


def test_a_check_that_stands_ready_is_taken_back_where_resonance_is_switched_off() -> None:
    told = story(interval_turns=2)
    assert told.ready is not None
    told.tell(AgentDeclared(replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))))

    assert told.ready is None
    assert told.of(Disarm)
    assert told.turn() is None


def test_an_answer_that_comes_after_resonance_was_switched_off_is_not_judged() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.tell(AgentDeclared(replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))))
    told.hook("stop", text="No.")

    assert told.verdicts == []
    assert told.known.misses == 0


def test_a_check_that_was_answered_while_no_daemon_lived_is_judged() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    ready = told.ready
    assert ready is not None
    told.tell(RunAdopted("a", 1, 100, 1000, link=armed.LINK, armed=((ready.id, 1),)))
    told.hook("stop-blocked", text="Done.")
    told.hook("stop", text=told.recited(ready.text))

    assert told.known.state == "intact"


def test_a_command_that_reports_by_the_hook_program_is_checked_too() -> None:
    told = ResonanceStory(spec(resonance=resonant(interval_turns=2).resonance, prompt="go"))
    told.start()
    told.up()
    told.hook("prompt-submit", text="go")
    told.ends_turn()

    assert told.turn() is not None
    assert told.known.state == "intact"


@pytest.mark.parametrize(
    ("run", "known", "told_anew"),
    [
        ({}, {}, True),
        ({"mode": Mode.RESUME}, {}, False),
        ({}, {"planting": None}, False),
        ({}, {"told": False}, False),
        ({}, {"state": "intact"}, False),
    ],
)
def test_a_fresh_session_that_began_unheard_is_told_its_codes_where_nothing_shows_that_it_knows_them(
    run: dict[str, Any], known: dict[str, Any], told_anew: bool
) -> None:
    told = ResonanceStory(resonant()).begins()
    assert isinstance(told.state, Running)
    knows = replace(told.known, **{"state": "not_applicable", "misses": 1, **known})
    agent = replace(
        told.agent, resonance=knows, state=replace(told.state, run=replace(told.run, **{"mode": Mode.FRESH, **run}))
    )
    for source, unheard, anew in (
        ("startup", True, told_anew), ("compact", True, told_anew), ("startup", False, False), ("resume", True, False),
    ):  # fmt: skip
        began = hook_of("a", 1, "session-start", source=source)
        assert isinstance(began, SessionStarted)
        found = hear(agent, replace(began, unheard=unheard), Seen(agent, Decision(agent)), told.now).agent
        assert found is not None
        assert found.resonance == (replace(knows, told=False, misses=0) if anew else knows), source
