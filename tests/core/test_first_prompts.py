"""The first prompt of a run is the one that it was started with, unless it is known to be another text."""

from __future__ import annotations

import pytest

from tests.core.story import Story, claude

OURS = "a turn began with the prompt it was started with"
GOAL = "Build the shop with the key s3cret, and keep the till apart from it."


@pytest.mark.parametrize(
    "told",
    [
        GOAL, f"  {GOAL}\n", f"{GOAL}\n\nYour last answer is your report.", GOAL[:20],
        "Build the shop with the key [redacted], and keep the till apart from it.", "[Pasted text #1 +9 lines]", "",
    ],
)  # fmt: skip
def test_what_it_was_started_with_is_told_so_however_it_is_reported(told: str) -> None:
    story = Story(claude(prompt=GOAL)).runs()
    story.hook("prompt-submit", text=told)

    assert any(OURS in one for one in story.reasons)
    assert story.agent.last_prompt != told or not told


def test_a_first_prompt_that_is_another_text_is_a_new_prompt_and_the_task_in_hand() -> None:
    story = Story(claude(prompt=GOAL)).runs()
    story.hook("prompt-submit", text="What does the till do?")

    assert not any(OURS in one for one in story.reasons)
    assert any("a turn began with a new prompt" in one for one in story.reasons)
    assert story.agent.last_prompt == "What does the till do?"


@pytest.mark.parametrize("goal", ["/build the shop", "x" * 200_000])
def test_a_goal_of_which_the_cli_may_be_told_other_words_is_known_by_its_place(goal: str) -> None:
    story = Story(claude(prompt=goal)).runs()
    story.hook("prompt-submit", text="Your goal stands in a file.")

    assert any(OURS in one for one in story.reasons)
