"""A brief writer's answer: JSON, or the seed's form of a page, a separator and a state; else refused in words."""

from __future__ import annotations

import json

import pytest

from phoenixd.documents.brief.answer import SEPARATOR, AnswerRefused, read_answer

STATE = json.dumps({"agent": "a", "open_loops": [{"id": "auth-flow", "text": "Test the redirect"}]})
OTHER = json.dumps({"agent": "a", "open_loops": []})


@pytest.mark.parametrize(
    "answer",
    [
        STATE,
        f"```json\n{STATE}\n```",
        f"# Brief\n\n## Next\n- test it\n{SEPARATOR}\n{STATE}",
        # The last separator that stands on a line of its own counts.
        f"# Brief\n{SEPARATOR}\n{OTHER}\n{SEPARATOR}\n{STATE}",
        f"# Brief\nThe line {SEPARATOR} comes below.\n{SEPARATOR}\n{STATE}",
        f"# Brief\n**{SEPARATOR}**\n```json\n{STATE}\n```",
    ],
    ids=["json", "fenced", "separator", "doubled", "in a sentence", "marked up"],
)
def test_p64_f_br_2_both_forms_are_read_and_the_last_separator_counts(answer: str) -> None:
    assert [loop.id for loop in read_answer(answer, "a").open_loops] == ["auth-flow"]


@pytest.mark.parametrize("answer", ["", "# Brief\n\nNothing else.", f"# Brief\n{SEPARATOR}\n", f"{SEPARATOR} {{"])
def test_f_br_2_an_answer_without_a_state_is_refused_in_words(answer: str) -> None:
    with pytest.raises(AnswerRefused, match="JSON"):
        read_answer(answer, "a")


@pytest.mark.parametrize(
    "answer",
    [
        f"Here it is:\n```json  \n\n{STATE}\n\n  ```\n",
        f"```\n{STATE}\n```",
        f"See ```json\n{STATE}\n```",
        f"```json\r\n{STATE}\r\n```\r\n",
    ],
)
def test_a_fence_at_the_end_is_taken_off_wherever_it_opens(answer: str) -> None:
    assert [loop.id for loop in read_answer(answer, "a").open_loops] == ["auth-flow"]


@pytest.mark.parametrize(
    "answer",
    ["```" + "\n" * 200_000 + "x", "```json\n" * 30_000, "`" * 200_000, "```" + "a" * 200_000 + "\n```", "```\n```"],
    ids=["line breaks", "fences", "backticks", "one word", "nothing"],
)
def test_an_answer_of_nothing_but_fences_is_refused_in_one_pass(answer: str) -> None:
    """A pattern that tries each line break anew would be at it for years."""
    with pytest.raises(AnswerRefused, match="JSON"):
        read_answer(answer, "a")
