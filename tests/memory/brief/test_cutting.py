"""A quotation is cut where a sentence or a line ends, in every script, and never in a word or in a code fence."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phoenixd.documents.brief.page import utf16_units
from phoenixd.memory.brief.cutting import beginning, ending


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("The tests pass. The retry is left out. I go on now.", "The tests pass.", "I go on now."),
        ("Die Tests laufen! Der Rest fehlt noch. Morgen mehr.", "Die Tests laufen!", "Morgen mehr."),
        ("测试都通过了。重试的逻辑还没有写完。明天继续。", "测试都通过了。", "明天继续。"),
        ("テストは通りました。再試行はまだです！続けますか？", "テストは通りました。", "続けますか？"),
        ("Тесты прошли… Повтор пока не сделан. Завтра.", "Тесты прошли…", "Завтра."),
        ("¿Sigo? ¡Ya está! Falta el reintento por hacer.", "¿Sigo?", "Falta el reintento por hacer."),
        ("اكتملت الاختبارات؟ بقيت إعادة المحاولة۔ غدا.", "اكتملت الاختبارات؟", "غدا."),
        ("first line\nsecond line\nthird line", "first line", "third line"),
    ],
)
def test_cut_at_the_end_of_a_sentence_in_any_script(text: str, first: str, last: str) -> None:
    assert beginning(text, len(first) + 2, len) == first
    assert ending(text, len(last) + 2, len) == last


def test_a_number_or_a_name_with_dots_is_no_end_of_a_sentence() -> None:
    assert beginning("It is at 3.14159 in docs/a.b.c now. Done.", 22, len) == "It is at 3.14159 in"


def test_a_word_that_does_not_fit_is_left_out() -> None:
    assert beginning("x" * 1000, 100, len) == ending("x" * 1000, 100, len) == ""


def test_a_code_fence_is_shown_whole_or_not_at_all() -> None:
    text = "Before it.\n```py\n" + "a = 1. b = 2.\n" * 20 + "```\nBehind it."

    assert beginning(text, 100, len) == "Before it."
    assert ending(text, 100, len) == "Behind it."
    assert "```" not in ending(text + "\n~~~\n```\n" + "y. z\n" * 50, 100, len)


def test_the_end_of_a_longer_text_may_begin_within_a_fence() -> None:
    """What the ledger kept of a long answer does not say whether a fence was open where it was cut."""
    text = "b = 2. c = 3.\nd = 4. e = 5.\n```\nBehind it. Really."

    assert ending(text, 40, len, starts_within=True) == "Behind it. Really."


def test_a_character_of_two_units_is_counted_and_kept() -> None:
    text = "🙂 " * 30

    assert utf16_units(beginning(text, 20, utf16_units)) <= 20
    assert set(beginning(text, 20, utf16_units)) == {"🙂", " "}


TEXT = st.text(st.sampled_from("ab. \n`~>-。字かー́🙂!?\u200f"), max_size=120)


@given(TEXT, st.integers(0, 60))
@example("```\na. b\n```\nc. d", 8)
@example("? \u0301", 2)
@example(" \u0301", 1)
def test_what_is_kept_is_within_bounds_and_whole(text: str, room: int) -> None:
    for kept in (beginning(text, room, len), ending(text, room, len)):
        assert len(kept) <= room
        assert kept in text

    head, tail = beginning(text, room, len), ending(text, room, len)
    at, back = len(head), len(text) - len(tail)
    for place in (at, back):
        if 0 < place < len(text) and (head if place == at else tail):
            left, right = text[place - 1], text[place]
            assert not (left in "ab" and right in "ab"), "a word was cut"
            assert not unicodedata.combining(right), "a mark was parted from its letter"


@pytest.mark.parametrize("cut", [beginning, ending])
def test_a_text_that_fits_but_for_its_line_breaks_is_cut(cut: Callable[..., str]) -> None:
    def quoted(character: str) -> int:
        return 3 if character == "\n" else 1

    assert sum(map(quoted, cut("a\n\n" * 20, 80, quoted))) <= 80
