"""From when on the past is shown: which day a time of day means, and what was left out of the events."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from phoenixd.api.history import Digest, Stretch
from phoenixd.api.pages import events, history
from phoenixd.api.pages.layout import Page, of_yesterday
from phoenixd.core.events.orders import StartRequested, StopRequested
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl

NOW = datetime(2026, 11, 28, 17, 48, tzinfo=UTC).timestamp()
HERE = Page(NOW, 80, UTC)
TO_COME = "23:59:59"
"""A time of day that today has yet to reach, whenever the test runs."""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("17:50", "It is not 17:50 yet: this begins yesterday, at 27 Nov 17:50"),
        ("17:48:01", "It is not 17:48:01 yet: this begins yesterday, at 27 Nov 17:48:01"),
        ("17:48", ""), ("17:40", ""), ("8h", ""), ("yesterday", ""), ("2026-11-27", ""), ("last", ""),
    ],
)  # fmt: skip
def test_a_time_of_day_that_is_to_come_is_told_as_yesterdays(words: str, told: str) -> None:
    start = datetime(2026, 11, 27, *map(int, words.split(":")), tzinfo=UTC) if ":" in words else HERE.local(NOW)

    assert of_yesterday(words, start.timestamp(), HERE) == told


def test_since_says_in_its_heading_that_it_begins_yesterday() -> None:
    start = datetime(2026, 11, 27, 17, 50, tzinfo=UTC).timestamp()
    stretch = Stretch(Digest(start), NOW)

    assert history.since(stretch, HERE, "17:50").splitlines()[1:3] == [
        "It is not 17:50 yet: this begins yesterday, at 27 Nov 17:50",
        "  nothing happened",
    ]
    assert "yesterday" not in history.since(stretch, HERE, "24h")


async def test_verbs_that_show_the_past_say_on_standard_error_that_they_begin_yesterday(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")

    for words in (["events"], ["events", "docs", "--json"], ["log"], ["log", "docs", "--json"]):
        ran = await ctl(*words, "--since", TO_COME)
        assert (ran.code, ran.err.splitlines()[0]) == (0, ran.err.strip()), words
        assert re.fullmatch(f"It is not {TO_COME} yet: this begins yesterday, at .+ {TO_COME}\n", ran.err), words
        assert "yesterday" not in ran.out, words
        assert (await ctl(*words, "--since", "8h")).err == "", words
    assert f"It is not {TO_COME} yet" in (await ctl("since", TO_COME)).out


async def test_events_say_which_are_left_out_and_how_to_see_them(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    for _ in range(3):
        daemon.happen(StopRequested("docs"))
        daemon.happen(StartRequested("docs"))
    whole = await ctl("events", "docs", "--all", COLUMNS="200")
    newest = await ctl("events", "docs", "--all", "--lines", "2", COLUMNS="200")

    assert "left out" not in whole.out
    assert newest.out.splitlines()[:2] == whole.out.splitlines()[-4:-2]
    (told,) = newest.out.splitlines()[4:]
    assert told == "Older events are left out. More: phoenixctl events docs --all --lines 20"
    assert (await ctl(*told.partition("phoenixctl ")[2].split(), COLUMNS="200")).out == whole.out
    assert "left out" not in (await ctl("events", "docs", "--all", "--lines", "2", "--json")).out
    chosen = await ctl("events", "doc*", "--lines", "1", "--since", "8h", COLUMNS="200")
    assert chosen.out.splitlines()[-1].endswith("More: phoenixctl events 'doc*' --since 8h --lines 10")


def test_where_the_newest_are_left_out_the_next_page_begins_at_the_last_one() -> None:
    later = events.LeftOut("phoenixctl events", events.MOST_SHOWN, is_older=False)
    earlier = events.LeftOut("phoenixctl events", events.MOST_SHOWN, is_older=True)

    assert later.command(NOW - 60, NOW, HERE) == "phoenixctl events --since 2026-11-28T17:48:00+0000"
    assert earlier.command(NOW, NOW + 60, HERE) == "phoenixctl events --since 2026-11-27T17:48:00+0000"
