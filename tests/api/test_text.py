"""The text for people: compared with the pages in `pages/`, and held to the rules of every page.

What is meant to change is written anew by `PHOENIX_WRITE_PAGES=1 pytest tests/api/test_text.py`, and its diff is read.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.api.chronicle import Chronicle
from phoenixd.api.closed_items import ClosedItem
from phoenixd.api.history import Stretch
from phoenixd.api.pages import agent as text_agent
from phoenixd.api.pages import agent_lines
from phoenixd.api.pages import clinic as text_clinic
from phoenixd.api.pages import events as text_events
from phoenixd.api.pages import history as text_history
from phoenixd.api.pages import inbox as text_inbox
from phoenixd.api.pages import past as text_past
from phoenixd.api.pages import status as text
from phoenixd.api.pages import tasks as text_tasks
from phoenixd.api.pages.headline import needed
from phoenixd.api.pages.layout import UNCUT, Page, clean, clip, columns, pad, page_columns, wrap
from phoenixd.api.pages.next_commands import next_commands
from phoenixd.api.pages.pane import pane_text
from phoenixd.api.times import meant_past, parse_past
from phoenixd.api.values import Change, Planned
from phoenixd.core import projection
from phoenixd.core.agent.run import Incident
from phoenixd.core.alerts import pressing
from phoenixd.core.breaker import Word
from phoenixd.core.condition import URGENCY
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.inbox import inbox
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.reply import understand
from phoenixd.core.sight import Doing, Sight, Words
from phoenixd.core.tasks.state import Task
from phoenixd.core.treatment.outcome import Figure
from phoenixd.top import spans
from tests.api.daemon import FakeDaemon
from tests.api.fleets import FLEETS, HOSTILE, LONGEST, NOW, a_bad_night, one_asks, one_idle, thousand_in_trouble

PAGES = Path(__file__).with_name("pages")
HERE = Page(NOW, 80, UTC)
MANY = 20


def test_an_agent_that_starts_is_waited_for_and_not_started() -> None:
    daemon = one_idle()
    (row,) = projection.project(daemon.state, daemon.now())

    told = {
        state: next_commands([dataclasses.replace(row, state=state, pid=None)], HERE)
        for state in ("starting", "stopped")
    }

    assert "next: phoenixctl wait " in told["starting"]
    assert "next: phoenixctl start " in told["stopped"]


def test_an_agent_that_starts_is_counted_once_as_one_that_starts_and_not_as_one_that_works() -> None:
    (row,) = projection.project(one_idle().state, one_idle().now())
    begins = dataclasses.replace(row, name="new", state="starting", group="working", pid=None)
    works = dataclasses.replace(row, name="old", group="working")

    assert agent_lines.fine([begins, works], HERE) == ["* 1 starting: new", "* 1 working: old"]


def test_status_of_one_says_when_it_was_last_heard_and_nothing_of_that_where_nothing_runs() -> None:
    (row,) = projection.project(one_idle().state, one_idle().now())
    silent = dataclasses.replace(row, evidence_age=None, hooks="none")
    down = dataclasses.replace(silent, pid=None, state="stopped")

    assert "last heard nothing yet since it was started, it sends no hooks" in text_agent.agent(silent, HERE)
    assert "last heard" not in text_agent.agent(down, HERE)


@pytest.mark.parametrize("label", ["mode", "open loops", "session_id"])
def test_a_label_never_runs_into_its_value(label: str) -> None:
    assert text_agent._labelled(label, "1", HERE)[0].split()[-1] == "1"


fleets = pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.__name__)


def pages(daemon: FakeDaemon, here: Page = HERE) -> dict[str, str]:
    """Every page about a fleet, by the command that prints it."""
    rows = projection.project(daemon.state, daemon.now())
    items = inbox(daemon.state)
    chronicle = Chronicle(daemon.journal)
    digest = asyncio.run(chronicle.digest(NOW - 8 * 3600))
    found = {
        "status": text.status(rows, daemon.facts(), digest, here),
        "since 8h": text_history.since(Stretch(digest, NOW, items), here),
    }
    if len(items) <= MANY:
        found["inbox"] = text_inbox.inbox(items, here, pressing(daemon.state.alerts), needed(rows, daemon.state.alerts))
    if len(rows) <= MANY:
        found["status --all"] = text.status(rows, daemon.facts(), None, here, everyone=True)
        found["events"] = text_events.events(daemon.journal.rows, here)
    for row in sorted(rows, key=lambda row: (URGENCY.index(row.group), row.name))[:1]:
        decisions = [stored for stored in daemon.journal.rows if stored.entry.agent == row.name and stored.entry.reason]
        found[f"status {row.name}"] = text_agent.agent(row, here)
        found[f"explain {row.name}"] = text_history.explain(row, decisions[-12:], here)
    return found


@fleets
def test_pages_are_as_they_were_agreed(fleet: Callable[[], FakeDaemon]) -> None:
    told = "\n".join(f"$ phoenixctl {command}\n{shown}" for command, shown in pages(fleet()).items())
    kept = PAGES / f"{fleet.__name__}.txt"
    if os.environ.get("PHOENIX_WRITE_PAGES"):
        PAGES.mkdir(exist_ok=True)
        kept.write_text(told)

    assert told == kept.read_text()


@fleets
@pytest.mark.parametrize("width", [40, 80, 200])
def test_rules_of_every_page(fleet: Callable[[], FakeDaemon], width: int) -> None:
    for command, shown in pages(fleet(), Page(NOW, width, UTC)).items():
        lines = shown.splitlines()
        assert "phoenixctl" in lines[-1] + lines[0], f"{command} ends with the next command"
        assert shown.endswith("\n")
        for line in lines:
            assert line == line.rstrip()
            # Only what would no longer work if it were cut may be wider than the page.
            assert columns(line) <= width or "phoenixctl" in line or (LONGEST in shown and width < 80), (command, line)
        for character in shown.replace("\n", ""):
            assert unicodedata.category(character)[0] != "C", f"{command} prints {character!r}"


@fleets
def test_status_fits_a_terminal_however_many_agents_there_are(fleet: Callable[[], FakeDaemon]) -> None:
    shown = pages(fleet())["status"]

    assert len(shown.splitlines()) <= text.LINES
    assert all(columns(line) <= 80 for line in shown.splitlines())


def test_status_says_what_waits_and_how_it_is_answered() -> None:
    """Design section 6, to the letter."""
    assert "waiting: permission (Bash npm publish --tag next)" in pages(one_asks())["status"]
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("docs")
    daemon.wait("docs")
    assert "waiting: permission (Bash) - phoenixctl attach docs" in pages(daemon)["status"]


def test_the_next_command_offers_a_start_only_where_nothing_runs() -> None:
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("docs")
    daemon.happen(TroubleSeen("docs", "documents", "CLAUDE.md could not be written"))
    row = projection.project(daemon.state, daemon.now())[0]
    assert row.pid is not None
    assert row.pressing is not None
    told = next_commands([row], Page(NOW, 200))
    assert "phoenixctl start" not in told
    assert told.endswith(f"seen: phoenixctl ack {row.pressing.id}")


def test_the_next_command_shows_what_an_item_takes_and_decides_nothing_as_it_stands() -> None:
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("docs")
    daemon.wait("docs", text="npm test", held=True)
    row = projection.project(daemon.state, daemon.now())[0]
    assert row.item is not None
    number = row.item.id
    assert f"answer: phoenixctl answer {number}  " in next_commands([row], Page(NOW, 200))
    assert isinstance(understand(row.item, []), Unclear)


def test_status_of_all_does_not_end_in_the_command_that_was_typed() -> None:
    daemon = FakeDaemon(stands_at=NOW)
    for name in ("docs", "shop"):
        daemon.declare(name)
    rows = projection.project(daemon.fleet(), daemon.now())
    assert "phoenixctl status --all" in text.status(rows, daemon.facts(), None, Page(NOW, 200))
    shown = text.status(rows, daemon.facts(), None, Page(NOW, 200), everyone=True)
    assert "--all" not in shown
    assert shown.splitlines()[-1].startswith("one in full: phoenixctl status docs")


def test_explain_of_who_never_began_names_no_screen() -> None:
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("shop")
    row = replace(projection.project(daemon.fleet(), daemon.now())[0], state="quarantined")
    told = {begun: text_history.explain(replace(row, session_id=begun), [], Page(NOW, 200)) for begun in (None, "s")}
    assert "phoenixctl screen shop" in told["s"]
    assert "phoenixctl screen" not in told[None]
    assert "again: phoenixctl start shop" in told[None]


@pytest.mark.parametrize("state", ["OPEN", "HALF_OPEN", "CLOSED"])
def test_g_explain_names_a_breaker_that_is_not_closed_and_where_it_is_shown(state: Word) -> None:
    """It spoke of iterations without progress, and never of the breaker that had ended them."""
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("shop", kind="loop")
    row = replace(projection.project(daemon.fleet(), daemon.now())[0], breaker=state, no_progress=5)

    told = text_history.explain(row, [], HERE)
    line = f"\n  breaker    {state}, 5 without progress in a row\n{'':<13}see: phoenixctl breaker show shop\n"
    assert (line in told, "breaker" in told) == (state != "CLOSED", state != "CLOSED")
    if state != "CLOSED":
        by_hand = text_history.explain(replace(row, no_progress=0), [], HERE)
        assert f"\n  breaker    {state}\n{'':<13}see: phoenixctl breaker show shop\n" in by_hand


def test_colour_marks_signs_alone_and_only_when_asked_for() -> None:
    plain = pages(a_bad_night())
    coloured = pages(a_bad_night(), Page(NOW, 80, UTC, colour=True))

    assert "\x1b" not in "".join(plain.values())
    assert "\x1b[31;1m!\x1b[0m docs" in coloured["status"]
    for sign, code in (("!", "31;1"), ("~", "33"), ("*", "32"), (".", "2"), ("?", "35")):
        for command, shown in coloured.items():
            coloured[command] = shown.replace(f"\x1b[{code}m{sign}\x1b[0m", sign)
    assert coloured == plain


def test_the_ones_that_do_not_fit_are_counted() -> None:
    shown = pages(thousand_in_trouble())["status"]

    assert "300 need you" in shown.splitlines()[0]
    assert "more need you" in shown


def test_a_pane_is_shown_without_what_moves_a_cursor() -> None:
    shown = pane_text("one\x1b[2J\ntwo\u202e\t|\n\n\n")

    assert shown == "one[2J\ntwo |\n"


@given(st.text(st.characters(), max_size=200), st.integers(0, 100))
def test_cleaned_text_is_harmless_and_fits(words: str, width: int) -> None:
    for made in (clean(words), clip(words, width), pad(words, width), *wrap(words, max(1, width))):
        assert not any(unicodedata.category(character)[0] == "C" for character in made)
    assert columns(clip(words, width)) <= width
    assert columns(pad(words, width)) == width
    assert clean(HOSTILE).count("\u0305") == 0


def test_the_widest_column_says_what_an_agent_is_doing(daemon: FakeDaemon) -> None:
    """Issue 15: 18 working agents said "exec succeeded, pid 2", and later "?"."""
    now = daemon.now().wall
    for name in ("builds", "talks", "knows-nothing"):
        daemon.declare(name)
    incarnation = daemon.state.agents["builds"].incarnation
    daemon.hook("builds", "prompt-submit", text="go")
    daemon.sights = {
        "builds": Sight(incarnation, doing=Doing("Bash", "npm test\x1b[2J", now - 65), has_calls=True),
        "talks": Sight(incarnation, said=Words("All tests pass.", now - 5)),
    }
    rows = projection.project(daemon.fleet(), daemon.now(), daemon.sight)
    shown = text.status(rows, daemon.facts(), None, Page(now, 80), everyone=True)
    lines = {line.split()[1]: line for line in shown.splitlines() if line[:1] == "*"}
    assert "Bash: npm test[2J (1m)" in lines["builds"]
    assert "said (5s ago): All tests pass." in lines["talks"]
    assert lines["knows-nothing"].endswith(" running      it tells nothing of what it does"), (
        "that it was started says nothing of what it does"
    )
    assert "\x1b" not in shown
    one = text_agent.agent(rows[0], Page(now, 80))
    assert "Bash: npm test[2J (for 1m)" in one


def test_of_a_program_without_hooks_the_newest_sign_of_life_is_told() -> None:
    daemon = FakeDaemon(stands_at=NOW)
    daemon.declare("docs")
    daemon.happen(EvidenceSeen("docs", 1, "its heartbeat file"))
    daemon.pass_time(65)
    rows = projection.project(daemon.fleet(), daemon.now())
    shown = text.status(rows, daemon.facts(), None, Page(daemon.now().wall, 80), everyone=True)
    assert "last sign of life 1m ago" in shown


def plan(changes: Sequence[Change], here: Page, waiting: tuple[str, ...] = (), *, done: bool = False) -> str:
    found = Planned(tuple(changes), waiting)
    return text_agent.plan(found, here, done=done, again="phoenixctl down; phoenixctl up")


def test_a_plan_tells_all_of_each_change() -> None:
    change = Change("docs", "change", "restart.max_crashes: 5 -> 9; restart.period: 30m -> 1h30m; cwd: /a -> /b", True)
    kept = plan([Change("docs", "keep", "warning: twice"), Change("shop", "keep")], Page(NOW))
    assert kept.splitlines() == [
        "keep    docs         warning: twice", "1 agent stays as it is", "", "nothing to do; see: phoenixctl status",
    ]  # fmt: skip
    shown = plan([change, Change("shop", "keep")], Page(NOW, 40, UTC))

    assert columns(max(shown.splitlines(), key=columns)) <= 40
    assert " ".join(shown.split()) == (
        f"change docs {change.detail} (its run ends) 1 agent stays as it is do it: phoenixctl apply"
    )


def test_a_plan_never_says_that_there_is_nothing_to_do_about_what_waits_for_a_restart_of_the_daemon() -> None:
    waits = "alerts.command, daemon.log_level: in force after a restart of the daemon, the agents live on:"
    for changes in ([], [Change("shop", "keep")], [Change("docs", "keep", "warning: twice")]):
        for done in (False, True):
            waiting = ("alerts.command", "daemon.log_level")
            shown = plan(changes, Page(NOW), waiting, done=done)
            assert "nothing to do" not in shown
            assert waits in " ".join(shown.split())
            assert shown.rstrip().endswith("phoenixctl down; phoenixctl up")
    change = Change("docs", "change", "cwd: /a -> /b")
    shown = plan([change], Page(NOW), ("alerts.command",))
    assert shown.splitlines()[-1] == "do it: phoenixctl apply"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_name_takes_a_third_of_the_line_at_most_and_an_items_number_is_never_cut(width: int) -> None:
    daemon = FakeDaemon(stands_at=NOW)
    for name in (LONGEST, "docs"):
        daemon.declare(name)
        daemon.wait(name, tool="Bash", text="npm publish --tag next --access public --registry https://npm.example")
    here = Page(NOW, width, UTC)
    rows, items = projection.project(daemon.state, daemon.now()), inbox(daemon.state)
    table = text.status(rows, daemon.facts(), None, here, everyone=True)

    assert {f"#{item.id} " in table.replace("\n", " ") for item in items} == {True}
    for shown in (table, text_inbox.inbox(items, here), text_events.events(daemon.journal.rows, here)):
        assert not any(LONGEST in line and "phoenixctl" not in line for line in shown.splitlines()) or width >= 96


def test_promise_9_the_numbers_of_tasks_and_items_after_a_lost_journal_are_told_whole() -> None:
    """They go on from 10,001, and each is what the next command is given."""
    tasks = [Task("t9", "w9"), Task("t10001", "w10001"), Task("t10002", "w10002")]
    listed = text_tasks.tasks(tasks, 4, HERE).splitlines()[2:5]
    assert [line.split()[1] for line in listed] == ["t9", "t10001", "t10002"]
    assert len({line.index(" waiting") for line in listed}) == 1

    daemon = FakeDaemon(stands_at=NOW)
    daemon.state = replace(daemon.state, next_item=10_006)
    daemon.declare("shop")
    daemon.wait("shop", tool="Bash", text="npm publish")
    assert "#10006 shop" in text_inbox.inbox(inbox(daemon.state), HERE)
    ended = [ClosedItem(10_006, "shop", "permission", NOW, 1), ClosedItem(7, "docs", "permission", NOW, 2)]
    lines = [line for line in text_past.closed(ended, HERE).splitlines() if "#" in line]
    assert [line.split()[1:3] for line in lines] == [["#10006", "shop"], ["#7", "docs"]]
    assert len({line.index("permission") for line in lines}) == 1


def test_what_is_cut_ends_with_a_whole_word() -> None:
    assert clip("one two three four", 18) == "one two three four"
    assert clip("one two three four", 17) == "one two three..."
    assert clip("one two three four", 15) == "one two..."
    assert clip("https://example.org/a/long/address", 12) == "https://e...", "one word has to be cut"


def test_a_time_of_another_day_has_a_date_that_a_person_reads() -> None:
    assert HERE.minute(NOW) == "08:14"
    assert HERE.clock(NOW - 86400) == "20 Nov 08:14:00"
    assert HERE.minute(NOW - 400 * 86400) == "17 Oct 2025 08:14"


def test_nothing_is_cut_in_a_pipe() -> None:
    assert page_columns(80) == 80
    daemon = a_bad_night()
    whole = Page(NOW, page_columns(UNCUT), UTC)

    for command, shown in pages(daemon, whole).items():
        assert "..." not in shown.replace("... ", "", shown.count("more like it")), command
        assert max(map(len, shown.splitlines())) < 500, f"{command}: nothing is filled up"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("5", "5h"), ("8 h", "8h"), ("3 days", "3d"), ("90 minutes", "90m"), ("2026", "8h"), ("x", "8h")],
)
def test_the_remedy_of_a_time_that_is_none_has_the_number_that_was_typed(typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_past(typed, 1.7e9, UTC)
    assert meant_past(typed) == meant
    assert parse_past(meant, 1.7e9, UTC) < 1.7e9


@pytest.mark.parametrize(
    ("case", "kept"), [("c4", "phoenixctl clinic show c4"), ("", "incidents/4-hung.json in its directory")]
)
def test_explain_says_where_an_incident_is_found(case: str, kept: str) -> None:
    daemon = one_idle()
    row = next(iter(projection.project(daemon.state, daemon.now())))

    page = text_history.explain(row, (), Page(NOW, 200, UTC), Incident(4, "hung", "silent", NOW, case=case))

    assert f"silent ({kept})" in page


@given(st.text("ab 0123456789.,%:#", max_size=60), st.integers(4, 60))
def test_a_number_is_never_cut(text: str, width: int) -> None:
    """`of 10 treatments` must not become `of 1...`."""
    for shown in (clip(text, width), spans.cut(text, width)):
        assert columns(shown) <= width
        kept = shown.removesuffix("...")
        if shown != text and re.search(r"[0-9][.,]?$", kept):
            assert not re.match(r"[.,]?[0-9]|%", text[len(kept) :]), (text, shown)


@pytest.mark.parametrize("width", [*range(20, 110, 3), UNCUT])
def test_the_clinics_list_cuts_no_number_at_any_width(width: int) -> None:
    known = Figure(
        group=("transient_api_error", "overloaded by the vendor's API", "resume", "wait", "claude"),
        healed=123456, tried=98765, held=45678, open=3, moot=0, low=0.451, high=0.463, seconds=11_100.0,
    )  # fmt: skip
    shown = text_clinic.figures(
        [known, dataclasses.replace(known, tried=0, low=None, high=None, open=777)], [], [], Page(NOW, width)
    )

    told = " ".join(shown.split())
    assert told.count("123456") == 2
    assert "45678 of 98765 (45%-46%)" in told
    assert "777 not yet known" in told
    assert told.count("3h05m") == 2
    assert max(map(columns, shown.splitlines())) <= max(width, len("one of them: phoenixctl clinic show ID"))
