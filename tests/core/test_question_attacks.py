"""What an agent asks may deceive: an answer goes to what was shown, and nothing that is asked breaks a page (P15)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from phoenixd.api.pages.inbox import one
from phoenixd.api.pages.layout import Page
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.render import render, title
from phoenixd.core.question.reply import Said, understand


def item(tool: str, given: dict[str, Any] | str, kind: str = "permission") -> InboxItem:
    text = given if isinstance(given, str) else json.dumps(given)
    return InboxItem(7, "a", 1, kind, f"{tool} {text}", "hash", 0.0, "answer", hold=3, tool=tool, whole=True)


def question(*labels: str, several: bool = False) -> InboxItem:
    asked = {"question": "Which?", "multiSelect": several, "options": [{"label": label} for label in labels]}
    return item("AskUserQuestion", {"questions": [asked]}, "question")


def test_p15_no_depth_of_nesting_breaks_what_shows_it() -> None:
    for depth in (10, *range(sys.getrecursionlimit() - 60, sys.getrecursionlimit()), 3000):
        nested = item("mcp__x", '{"a": ' + "[" * depth + "]" * depth + "}")
        assert title(nested).startswith("mcp__x {")
        shown = "".join(line.strip() for line in render(nested).lines)
        assert shown.count("[") == shown.count("]") == depth


@pytest.mark.parametrize(
    ("tool", "given", "ours"),
    [
        ("Edit", {"file_path": "x", "old_string": "a", "new_string": f"{'b':75}-all that was there"}, "+b"),
        ("Write", {"file_path": "x", "content": f"{'b':73}2  and the second"}, "1  b"),
        ("Bash", {"command": f"{'echo':76}rm -rf /"}, "echo"),
    ],
)
def test_p15_a_line_that_goes_on_below_is_told_from_the_next_one(tool: str, given: dict[str, Any], ours: str) -> None:
    shown = one(item(tool, given), Page(0.0, 80)).splitlines()

    begins = next(number for number, line in enumerate(shown) if line.startswith(f"    {ours}"))
    assert shown[begins + 1].startswith("  > "), "where no agent's words can stand"


def test_p15_an_option_whose_label_another_one_has_too_is_not_chosen_by_it() -> None:
    twice = question("Keep it", "Drop it", "Keep it")

    for word in ("1", "3", "Keep it"):
        found = understand(twice, [word])
        assert isinstance(found, Unclear), word
        assert "options 1 and 3 say the same" in found.why
    assert understand(twice, ["2"]) == Said(True, answers=("Drop it",))
    assert isinstance(understand(question("a", "b", "a", several=True), ["2,3"]), Unclear)


def test_p14_a_number_that_is_a_label_too_can_mean_two_where_several_may_be_chosen() -> None:
    found = understand(question("2", "1", "x", several=True), ["1,3"])

    assert isinstance(found, Unclear)
    assert "1 can mean two" in found.why


def test_p14_options_that_read_together_like_another_one_are_not_told() -> None:
    found = understand(question("tests", "docs", "tests, docs", several=True), ["1,2"])

    assert isinstance(found, Unclear)
    assert "option 3" in found.why
    assert understand(question("a", "b", "a, b", several=True), ["3"]) == Said(True, answers=("a, b",))
