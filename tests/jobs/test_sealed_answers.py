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
from phoenixd.documents.seal import Seal, request
from phoenixd.jobs.collection import whole

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

    once = judge(task, ENDED, Outcome("done", seal="cut"))
    last = judge(replace(task, runs=2), ENDED, Outcome("done", seal="front lost"))
    kept = judge(task, ENDED, Outcome("done", seal="unsealed"))

    assert (once.state, once.again) == ("failed", 10.0)
    assert (last.state, last.again) == ("failed", None)
    assert "the beginning of its answer is missing (run 2 of 2)" in last.why
    assert kept.state == "done"
    assert "no seal" in kept.why
    assert judge(task, ENDED, Outcome("done", seal="sealed")).why == "its worker ended with 0"


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
