"""What goes on as it happens says when the daemon was gone, and when it was back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from phoenixd.ctl import calls, follow
from phoenixd.ctl.grammar import Command


def test_a_daemon_that_goes_and_comes_back_is_told_with_the_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: Iterator[Any] = iter([iter([("1", "event", "one")]), None, iter([("2", "event", "two")]), 3])
    monkeypatch.setattr(follow, "_open", lambda *asked: next(answers))
    monkeypatch.setattr(follow, "RETRY", 0.0)
    shown: list[str] = []

    command = Command(("events",), calls.operation("list_events"), {}, None, as_json=False)
    assert follow.follow(command, shown.append) == 3

    assert shown == ["one", "two"]
    said = capsys.readouterr().err.splitlines()
    assert [re.sub(r"\d\d:\d\d:\d\d", "TIME", line) for line in said] == [
        "TIME phoenixd has gone; waiting for it to come back",
        "TIME phoenixd is back",
        "TIME phoenixd has gone; waiting for it to come back",
    ]
