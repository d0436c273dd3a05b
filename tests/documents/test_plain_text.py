"""What is shown holds no control of the terminal and nothing that the eye cannot see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.plain_text import clip, one_line, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jx", "x"),
        ("\x1b(Bx\x1bcy", "xy"),
        ("bell\x07 del\x7f nul\0", "bell del nul"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("tag\U000e0041s", "tags"),
        ("line\r\nline\rline\tend", "line\nline\nline\tend"),
        ("\ud800lone", "lone"),
        ("Größe 日本 🙂", "Größe 日本 🙂"),
        ("\x1b[201~rm -rf\x1b", "rm -rf"),
    ],
)
def test_control_and_disguise_are_taken_out(text: str, shown: str) -> None:
    """F-SY-16."""
    assert plain(text) == shown


@given(st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d[]0;m\x07\u202e")))
def test_p16_nothing_of_category_control_or_format_is_left(text: str) -> None:
    shown = plain(text)

    bad = {character for character in shown if unicodedata.category(character) in ("Cc", "Cs")} - {"\n", "\t"}
    assert bad == set()
    assert "\u202e" not in shown


@given(st.text(), st.integers(1, 80))
def test_one_line_is_one_and_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_a_clip_is_seen() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"
