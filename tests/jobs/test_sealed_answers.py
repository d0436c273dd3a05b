"""A worker's last answer and its seal: what is taken for whole, and what follows for its task (issue 13, step 2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Literal

import pytest

from phoenixd.core.agent.run import LastExit
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.core.tasks.verdict import judge
from phoenixd.core.traits import traits_of
from phoenixd.documents.conversation import Utterance
from phoenixd.documents.seal import Seal, request, request_alone
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import CutShort, TurnEnded
from phoenixd.jobs.collection import sealed_late, told_of, whole

SEAL = Seal("a1b2c3", "d4e5f6")
TEXT = "The number is 42.\n\nAll tests pass."
SEALED = f"a1b2c3\n{TEXT}\nd4e5f6"
ENDED = LastExit(1, 0, None, "exit", 60.0, 1.8e9)


@pytest.mark.parametrize(
    ("texts", "told", "answer", "verdict"),
    [
        ([SEALED], "unknown", TEXT, "sealed"),
        (["I look.", SEALED], "whole", TEXT, "sealed"),
        (["Earlier words.", SEALED[:20], SEALED[20:]], "whole", TEXT, "sealed"),
        ([SEALED[:20], SEALED[20:30], SEALED[30:]], "unknown", TEXT, "sealed"),
        ([SEALED[20:]], "whole", SEALED[20:], "front lost"),
        ([SEALED[:20]], "unknown", SEALED[:20], "cut"),
        ([TEXT], "whole", TEXT, "unsealed"),
        ([TEXT], "unknown", TEXT, "cut"),
        ([request(SEAL)], "unknown", request(SEAL), "cut"),
        ([], "unknown", "", "cut"),
    ],
)
def test_what_the_seal_proves_of_a_workers_answer(
    texts: list[str], told: Literal["whole", "unknown"], answer: str, verdict: str
) -> None:
    assert whole(texts, SEAL, told) == (answer, verdict)
    assert whole(texts, None, told) == (texts[-1] if texts else "", "")


def test_a_cut_answer_is_asked_for_once_more_and_then_fails_and_one_without_its_seal_is_kept_with_a_warning() -> None:
    task = Task("t1", "w", runs=1)

    once = judge(task, ENDED, Outcome("done", seal="cut"), wall=0.0)
    last = judge(replace(task, runs=2), ENDED, Outcome("done", seal="front lost"), wall=0.0)
    kept = judge(task, ENDED, Outcome("done", seal="unsealed"), wall=0.0)

    assert (once.state, once.again) == ("failed", 10.0)
    assert (last.state, last.again) == ("failed", None)
    assert "the beginning of its answer is missing (run 2 of 2)" in last.why
    assert kept.state == "done"
    assert "no seal" in kept.why
    assert judge(task, ENDED, Outcome("done", seal="sealed"), wall=0.0).why == "its worker ended with 0"


def test_of_a_thousand_cut_answers_none_is_whole_and_of_a_thousand_whole_ones_one_in_twenty_forgot_its_seal() -> None:
    places = count(1)
    for _ in range(1000):
        at = 1 + next(places) * 7 % (len(SEALED) - 2)
        assert whole([SEALED[:at]], SEAL, "unknown")[1] == "cut"
        assert whole([SEALED[at + 6 :]], SEAL, "unknown")[1] in ("front lost", "cut")
    for number in range(1000):
        text = TEXT if number % 20 == 0 else SEALED
        assert whole([text], SEAL, "whole")[1] in ("sealed", "unsealed")


def test_only_the_gemini_cli_cannot_tell_that_an_answer_was_cut() -> None:
    import phoenixd.harness

    assert phoenixd.harness
    told = {name: traits_of(name).tells_cut for name in ("claude", "codex", "gemini")}
    assert told == {"claude": True, "codex": True, "gemini": False}


AGAIN = Seal("0a1b2c", "3d4e5f")


def late(*reply: str, first: str = TEXT, question: str = request_alone(AGAIN)) -> tuple[str, str]:
    """What becomes of an answer without its seal, after these words came back."""
    said = [Utterance("user", "Do it."), Utterance("assistant", "I look."), Utterance("assistant", first)]
    said += [Utterance("user", question), *(Utterance("assistant", one) for one in reply)]
    return sealed_late(said, SEAL, AGAIN)


@pytest.mark.parametrize(
    ("reply", "answer", "verdict"),
    [
        (["0a1b2c\n3d4e5f"], TEXT, "sealed"),
        (["`0A1B2C`\n`3D4E5F`."], TEXT, "sealed"),
        (["0a1b2c\nMore of it.\n3d4e5f"], "More of it.", "sealed"),
        (["0a1b2c\nMore of", " it.\n3d4e5f"], "More of it.", "sealed"),
        (["0a1b2c\nMore of it, which is c"], TEXT, "unsealed"),
        (["3d4e5f"], TEXT, "unsealed"),
        (["3d4e5f\n0a1b2c"], TEXT, "unsealed"),
        (["a1b2c3\nd4e5f6"], TEXT, "unsealed"),
        ([request_alone(AGAIN)], TEXT, "unsealed"),
        (["It was whole."], TEXT, "unsealed"),
        ([], TEXT, "unsealed"),
    ],
)
def test_what_comes_back_when_the_seal_alone_is_asked_for(reply: list[str], answer: str, verdict: str) -> None:
    assert late(*reply) == (answer, verdict)


def test_words_of_an_answer_are_no_reply_to_a_question_that_was_never_asked() -> None:
    said = [Utterance("user", "Do it."), Utterance("assistant", "0a1b2c\n3d4e5f")]
    assert sealed_late(said, SEAL, AGAIN) == ("0a1b2c\n3d4e5f", "unsealed")
    assert sealed_late(said, SEAL, None)[1] == "unsealed"
    assert sealed_late([], SEAL, AGAIN)[1] == "unsealed"


def test_a_tool_that_prints_the_words_seals_nothing() -> None:
    said = [Utterance("assistant", TEXT), Utterance("user", request_alone(AGAIN))]
    said += [Utterance("assistant", "0a1b2c\n3d4e5f", tool="Bash"), Utterance("user", "0a1b2c\n3d4e5f", tool="Bash")]
    assert sealed_late(said, SEAL, AGAIN) == (TEXT, "unsealed")


def test_the_last_part_of_an_answer_that_its_cli_went_on_with_is_not_whole_by_its_clis_word() -> None:
    ended = SessionFacts(newest_kind="assistant", turn_open=False, ending=TurnEnded("done", 1.8e9))
    went_on = replace(ended, cut=CutShort("output_limit", 1.8e9), went_on=True)

    assert told_of(ended, True) == "whole"
    assert told_of(ended, False) == "unknown"
    assert told_of(went_on, True) == "unknown"
    assert whole([TEXT], SEAL, told_of(went_on, True))[1] == "cut", "it forgot its seal, and nothing says it is all"
    assert whole([SEALED[:20], SEALED[20:]], SEAL, told_of(went_on, True)) == (TEXT, "sealed")
