"""A screen with its colours moves no cursor, sets no title, and hides no secret between two colours."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.redact import redact
from phoenixd.documents.screen import RESET, SGR, coloured

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 8


def test_colours_stay_and_nothing_else_that_a_terminal_obeys_does() -> None:
    captured = "\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07 and\x1b[38;2;1;2;3m blue\u202e\x9b31m\n\n"
    assert coloured(captured, 10, lambda text: text) == (
        f"\x1b[31mred\x1b[0m[2J]0;title and\x1b[38;2;1;2;3m blue31m{RESET}\n"
    )


def test_a_secret_with_colours_in_it_is_taken_out_with_the_colours_of_its_line() -> None:
    captured = f"\x1b[1mkey {SECRET[:20]}\x1b[0m{SECRET[20:]}\n\x1b[32mfine\x1b[0m"
    first, second = coloured(captured, 10, redact).splitlines()
    assert SECRET[20:] not in first
    assert "\x1b[1m" not in first
    assert second == f"\x1b[32mfine\x1b[0m{RESET}"


def test_where_a_secret_has_several_lines_no_colour_is_left() -> None:
    assert coloured("\x1b[31ma\nb\nc", 10, lambda text: "[redacted]") == "[redacted]\n"


def test_only_the_last_lines_are_told() -> None:
    assert coloured("a\nb\nc\n\n", 2, lambda text: text) == "b\nc\n"


@given(st.text(st.characters(), max_size=200))
def test_what_is_told_is_text_and_colours(words: str) -> None:
    told = coloured(words, 100, lambda text: text)
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", SGR.sub("", told)) is None
