"""What an answer to a check proves, after a compaction too: one miss is no loss, two are, and a crib is no proof."""

from __future__ import annotations

from phoenixd.core.actions import PlantCodes
from phoenixd.core.events.resonance import CodesPlanted, CodesSeen, PlantingFailed
from phoenixd.planting import Marker, Planting
from tests.core.resonating import PERSONA, ResonanceStory, hexes_in, resonant
from tests.core.test_resonance import story, until_asked

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
