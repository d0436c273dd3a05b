"""What is kept of a hook's input, without a process: the text of a prompt as it was sent (F-TMUX-9)."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.shim import payload

TEXT = "1. one\n\n  > two\n"


def tagged(text: str, name: str = "02d8") -> str:
    """As Claude Code 2.1.332 wrote it into its hook and its transcript."""
    return f'\n\n<pasted_content id="{name}">\n{text}\n</pasted_content id="{name}">\n'


@given(st.text(max_size=200), st.text("0123456789abcdef", min_size=4, max_size=4))
def test_f_tmux_9_what_was_pasted_alone_is_told_character_for_character(text: str, name: str) -> None:
    if f'</pasted_content id="{name}">' not in text:
        assert payload.as_sent(tagged(text, name)) == text


@given(st.text(max_size=200))
def test_a_prompt_without_such_tags_stays_as_it_is(text: str) -> None:
    assert payload.as_sent(text) == text


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("Look:" + tagged("a\nb"), "Look:\n\na\nb"),
        ("Look:" + tagged("a\nb") + "\nand say why", "Look:\n\na\nb\n\nand say why"),
        (tagged("a") + tagged("b"), "a\n\nb"),
        (tagged(tagged("inner", "ffff")), tagged("inner", "ffff")),
        ('<pasted_content id="02d8">\nnever closed', '<pasted_content id="02d8">\nnever closed'),
        ('<pasted_content id="02d8"> no break </pasted_content id="02d8">',) * 2,
        ('<pasted_content id="WXYZ">\na\n</pasted_content id="WXYZ">',) * 2,
        ('<pasted_content id="02d8">\na\n</pasted_content id="02d9">',) * 2,
    ],
    ids=["words before", "words around", "two", "tags within", "never closed", "one line", "no number", "another end"],
)
def test_tags_go_with_the_line_breaks_that_are_theirs_and_what_only_looks_like_them_stays(
    prompt: str, sent: str
) -> None:
    assert payload.as_sent(prompt) == sent


def test_f_tmux_9_the_sum_the_length_and_the_beginning_of_a_prompt_are_those_of_the_text_that_was_sent() -> None:
    kept = payload.trim({"prompt": tagged(TEXT)})
    content = TEXT.encode()
    assert (kept["prompt"], kept["prompt_bytes"], kept["prompt_sha256"]) == (
        TEXT, len(content), sha256(content).hexdigest(),
    )  # fmt: skip


def test_a_prompt_full_of_tags_that_never_end_costs_one_look() -> None:
    opened = "".join(f'<pasted_content id="{number:04x}">\n' for number in range(65536)) * 8
    assert payload.as_sent(opened) == opened
