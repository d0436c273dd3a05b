"""What passes by in a session: codes that are burnt, and the agent's own footers."""

from __future__ import annotations

import pytest

from phoenixd.documents.resonance.footer import Footer
from phoenixd.documents.resonance.heard import Passed, newest_footer, spotted, wanted
from phoenixd.planting import Marker, Planting, anchor_text

PLANTING = Planting(Marker("the map folded along its river", "7f3a9c"), ("1a2b3c", "4d5e6f", "7a8b9c"))


def test_a_code_is_burnt_wherever_it_stands_and_told_once() -> None:
    passed = (
        Passed("call", '{"command": "echo 1A2B3C"}', 5.0),
        Passed("result", "1a2b3c\n4d5e6f"),
        Passed("answer", "4d5e6f again"),
    )

    assert [(one.codes, one.where) for one in spotted(PLANTING, passed)] == [
        (("1a2b3c",), "call"), (("4d5e6f",), "result"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["x1a2b3c", "1a2b3c4", "1a2b3", "_1a2b3cd"])
def test_a_part_of_a_longer_word_is_no_code(text: str) -> None:
    assert spotted(PLANTING, [Passed("result", text)]) == ()


def test_the_anchor_itself_and_what_was_asked_for_already_burn_nothing() -> None:
    assert spotted(PLANTING, [Passed("prompt", anchor_text(PLANTING, "a"))]) == ()
    assert spotted(PLANTING.asked(1), [Passed("answer", "1a2b3c")]) == ()
    # From a file, the anchor is a copy.
    assert len(spotted(PLANTING, [Passed("result", anchor_text(PLANTING, "a"))])[0].codes) == 3


def test_f_re_12_a_footer_counts_in_the_agents_own_answer_alone() -> None:
    mine, theirs = Footer("7f3a9c", "a", "Stable"), str(Footer("1a2b3c", "a", "Degraded"))
    passed = [
        Passed("answer", f"Done.\n{mine}", 7.0),
        *(Passed(where, theirs) for where in ("call", "result", "prompt")),
    ]  # type: ignore[arg-type]

    assert newest_footer(passed) == (mine, 7.0)


@pytest.mark.parametrize(
    ("line", "is_read"),
    [(b'{"text":"1A2B3C"}', True), (b'{"text":":: SYSTEM :: [Reson"}', True), (b'{"text":"nothing"}', False)],
)
def test_only_lines_that_may_tell_something_are_read(line: bytes, is_read: bool) -> None:
    assert (wanted(PLANTING).search(line) is not None) is is_read
