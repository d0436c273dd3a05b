"""What a status line was given is read whatever stands in it, and nothing absurd is made reasonable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.status_line import StatusLine, read_status_line


def given_line(**more: Any) -> bytes:
    return json.dumps({"session_id": "s-1", "model": {"id": "opus"}, **more}).encode()


def test_the_window_is_read_with_its_model_and_session() -> None:
    found = read_status_line(given_line(context_window={"context_window_size": 200_000, "used_percentage": 90}))

    assert found == StatusLine("s-1", "opus", 200_000)


@pytest.mark.parametrize("window", [{}, {"context_window_size": None}, None, [], "200000"])
def test_a_cli_that_says_nothing_of_a_window_is_in_no_doubt(window: Any) -> None:
    assert read_status_line(given_line(context_window=window)) == StatusLine("s-1", "opus", None)


@pytest.mark.parametrize("size", ["200000", 2e5, True, [200_000], 10**30])
def test_a_window_that_is_no_number_of_tokens_is_a_problem(size: Any) -> None:
    found = read_status_line(given_line(context_window={"context_window_size": size}))

    assert (found.window, found.problem) == (None, "the status line's window is no number of tokens")


@pytest.mark.parametrize("size", [0, -1, 1, 10**12])
def test_an_absurd_window_is_kept_as_it_is_claimed_for_the_core_to_judge(size: int) -> None:
    assert read_status_line(given_line(context_window={"context_window_size": size})).window == size


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{" * 60_000, b"no json\n"])
def test_what_is_no_json_object_is_a_problem(content: bytes) -> None:
    assert read_status_line(content).problem == "the status line was given no JSON object"


def test_more_than_any_status_line_is_given_is_not_read() -> None:
    assert "64 KiB" in read_status_line(b" " * 70_000).problem


@given(st.binary(max_size=200))
def test_nothing_raises(content: bytes) -> None:
    read_status_line(content)
