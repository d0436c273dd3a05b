"""What a person at top is told of what came of a key: why, and what to type (faces, check 28)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.top import pages, told
from phoenixd.top.effects import Fetch
from phoenixd.top.face import Face, Order, Prompt
from phoenixd.top.told import Answer
from phoenixd.top.words import Clock

STOP = Order("act", {"verb": "stop"}, "stop", ("docs", "shop"))
UNDO = Order("undo", {"dry_run": True}, "undo")
CLOCK = Clock(1.0, 1_795_248_840.0)


def results(*codes: int) -> Answer:
    names = ("docs", "shop")
    agents = [
        {
            "name": name,
            "exit": code,
            "message": f"{name} is stopped" if not code else "it asks",
            "remedy": "phoenixctl inbox",
        }
        for name, code in zip(names, codes, strict=False)
    ]
    return Answer(0, {"verb": "stop", "agents": agents})


def test_a_refusal_is_told_with_its_remedy() -> None:
    refused = Answer(6, {"detail": "nothing was done: shop does not match any more", "remedy": "phoenixctl status"})
    assert told.ordered(Face(), STOP, refused).message == (
        "stop: nothing was done: shop does not match any more. do: phoenixctl status"
    )


def test_the_heads_of_the_page_of_lives_stand_above_their_columns() -> None:
    life = {
        "incarnation": 3, "started": "2026-11-21T08:00:00Z", "ended": "2026-11-21T08:01:00Z", "mode": "resume",
        "reason": "it died", "end_reason": "killed", "cause": None, "code": None,
    }  # fmt: skip
    head, line = pages.lives({"lives": [life]}, CLOCK)
    assert head.index("for") == line.index("1m")
    assert head.index("how it began") == line.index("resume")


def test_only_the_newest_run_on_the_page_of_lives_runs() -> None:
    """Newcomer's list, 7: an older one without a recorded end runs no more."""
    open_life = {
        "agent": "a", "started": "2026-11-21T08:00:00Z", "ended": None, "mode": "resume", "reason": "it died",
        "end_reason": None, "cause": None, "code": None,
    }  # fmt: skip
    lives = [open_life | {"incarnation": number} for number in (11, 4)]
    _, newest, older = pages.lives({"lives": lives}, CLOCK)
    assert newest.endswith("-> it runs")
    assert older.endswith("-> its end is not known")
    assert "2m" not in older


def test_no_answer_says_that_nothing_is_known() -> None:
    assert "whether it was done is not known" in told.ordered(Face(), STOP, None).message


def test_results_are_told_agent_by_agent_where_one_failed() -> None:
    marked = Face(marks=frozenset(("docs", "shop", "web")))
    done = told.ordered(marked, STOP, results(0, 0))
    assert (done.message, done.page, done.marks) == ("stop: 2 of 2 done", None, {"web"})
    failed = told.ordered(marked, STOP, results(0, 6))
    assert failed.page is not None
    assert failed.page.lines == ("docs: is stopped", "shop: it asks. do: phoenixctl inbox")
    assert failed.marks == marked.marks
    assert told.ordered(Face(), STOP, results(6)).message == "docs: it asks. do: phoenixctl inbox"


def test_undo_becomes_a_question_only_for_a_person_who_still_waits_for_it() -> None:
    found = Answer(0, {"act": "a1", "agents": [{"name": "docs", "exit": 0, "message": "stop by operator"}]})
    asked = told.ordered(Face(), UNDO, found).prompt
    assert asked is not None
    assert asked.order is not None
    assert asked.order.given == {"act": "a1", "expect": ["docs"]}
    busy = Face(prompt=Prompt("deny", "deny #1, because: ", "not n"))
    after = told.ordered(busy, UNDO, found)
    assert (after.prompt, "press it again" in after.message) == (busy.prompt, True)


def test_a_page_that_comes_while_a_person_types_covers_nothing() -> None:
    busy: Any = Face(prompt=Prompt("deny", "deny #1, because: ", "not n"))
    after = told.fetched(busy, Fetch("log", "docs"), Answer(0, None, "a line\n"), CLOCK)
    assert (after.page, after.prompt) == (None, busy.prompt)
    assert told.fetched(Face(), Fetch("log", "docs"), None, CLOCK).page is None


@pytest.mark.parametrize(
    ("fetch", "says"),
    [
        (Fetch("log", "docs"), "log of docs came while you typed: ask again"),
        (Fetch("closed", ""), "the list of what waited came while you typed: ask again"),
    ],
)
def test_a_page_that_came_too_late_is_named_in_words(fetch: Fetch, says: str) -> None:
    busy = Face(prompt=Prompt("deny", "deny #1, because: ", "not n"))
    assert told.fetched(busy, fetch, Answer(0, None, "a line\n"), CLOCK).message == says
    assert "closed:" not in told.fetched(Face(), fetch, None, CLOCK).message


def test_an_answer_that_is_torn_is_a_failure_and_no_crash() -> None:
    assert told.read(200, 0, "application/json", b'{"agents": [').exit == 1
    assert told.read(200, 0, "text/plain", b"\xff\xfe").text == "\ufffd\ufffd"


def test_lives_are_lines_the_newest_first() -> None:
    life = {
        "incarnation": 2,
        "started": "2026-11-21T08:00:00.000Z",
        "ended": None,
        "mode": "resume",
        "reason": "a death",
    }
    over = {
        **life, "incarnation": 1, "ended": "2026-11-21T08:01:00.000Z", "mode": None, "reason": None, "end_reason": None,
        "cause": None, "code": 1,
    }  # fmt: skip
    page = told.fetched(Face(), Fetch("lives", "docs"), Answer(0, {"lives": [life, over]}), CLOCK).page
    assert page is not None
    assert page.lines is not None
    assert page.lines[1].startswith("inc 2")
    assert page.lines[1].endswith("resume: a death -> it runs")
    assert page.lines[2].endswith("1m      ?: ? -> exit 1")
    assert told.fetched(Face(), Fetch("lives", "x"), Answer(0, {"lives": []}), CLOCK).page is not None
