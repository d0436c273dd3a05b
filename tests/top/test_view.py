"""The screen of `phoenixctl top` as text: compared with the agreed pages, and held to the rules of every screen.

What is meant to change is written anew by `PHOENIX_WRITE_PAGES=1 pytest tests/top/test_view.py`, and its diff is read.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.api.pages import status
from phoenixd.api.pages.layout import Page, columns
from phoenixd.core import glance
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events.fleet import AlertAcknowledged
from phoenixd.core.events.orders import MuteRequested
from phoenixd.core.selection import Selector
from phoenixd.top.face import Face, World
from phoenixd.top.frames import Frame
from phoenixd.top.groups import TITLES, places
from phoenixd.top.model import Model, hear
from phoenixd.top.spans import plain
from phoenixd.top.view import View, paint
from phoenixd.top.words import Clock, matter
from tests.api.daemon import FakeDaemon
from tests.api.fleets import FLEETS, HOSTILE, LONGEST, NOW
from tests.top.fleets import AT, NAMES, SINCE, frames, of_everything, pressed, settled, world

PAGES = Path(__file__).with_name("pages")
SIZES = ((80, 24), (40, 20), (200, 60))
LOWEST = (20, 5)


def screens(before: World) -> dict[str, View]:
    """The list, and the pages that are drawn from the model, by the keys that lead there."""
    found = {"": paint(before)}
    for key in ("?", "o"):
        after, _ = pressed(before, key)
        if after.face.page is not None:
            found[key] = paint(after)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_screens_are_as_they_were_agreed(name: str) -> None:
    """Faces, check 11."""
    told = "".join(
        f"--- {width}x{height} {key}\n{screen.text}"
        for width, height in SIZES
        for key, screen in screens(settled(world(name, width, height))).items()
    )
    kept = PAGES / f"{name}.txt"
    if os.environ.get("PHOENIX_WRITE_PAGES"):
        PAGES.mkdir(exist_ok=True)
        kept.write_text(told)

    assert told == kept.read_text()


def test_of_a_program_of_which_nothing_is_known_that_is_said_in_words() -> None:
    """A newcomer took a lone "?" in the widest column for a fault of the screen."""
    row = {"state": "running", "hooks": "none", "group": "working", "last_evidence": None}

    assert matter(row, None, world().clock) == "it tells nothing of what it does"


@pytest.mark.parametrize("size", [*SIZES, LOWEST, (1, 1), (33, 9)])
def test_rules_of_every_screen(size: tuple[int, int]) -> None:
    """Faces, checks 11, 13 and 23: nothing is wider or higher than the screen, and nothing on it acts."""
    for name in NAMES:
        for key, screen in screens(settled(world(name, *size))).items():
            assert len(screen.lines) == size[1], key
            for one in screen.lines:
                text = "".join(span.text for span in one)
                assert columns(text) == size[0], (key, text)
                for character in text:
                    assert unicodedata.category(character)[0] != "C", f"{key} prints {character!r}"


@pytest.mark.parametrize("size", [*SIZES, LOWEST])
def test_the_first_line_answers_what_needs_me_and_is_never_cut(size: tuple[int, int]) -> None:
    """Faces, check 1."""
    needs = {"of_everything": "3 NEED YOU", "thousand": "300 NEED YOU", "one_unknown": "0 NEED YOU"}
    for name in NAMES:
        first, *rest = paint(world(name, *size)).text.splitlines()
        assert needs.get(name, "YOU") in first
        assert "..." not in first
        assert size[1] < 8 or "..." not in rest[0]
    first, second = paint(world()).text.splitlines()[:2]
    assert "5/7 alive  1 stopped  1 quarantined  0 healing  0 unknown" in first, "the numbers add up"
    assert second == " since 20 Nov 18:00: 14 deaths: 6 healed, 3 not healed yet, 5 quarantined"
    wider = paint(world(width=100)).text.splitlines()[1]
    assert wider == " since 20 Nov 18:00: 14 deaths: 6 healed, 2 running again, 1 not back, 5 quarantined"
    assert paint(world(width=76)).text.splitlines()[1].endswith("6 healed, 3 not healed yet, 5 quarantined")
    deaths = {**SINCE["deaths"], "quarantined": 0, "ended": 2, "released": 3}
    third = paint(world(width=120, face=Face(since={**SINCE, "deaths": deaths}))).text.splitlines()[1]
    assert "1 not back, 2 stopped or removed, 3 were down, started since" in third
    one = {**deaths, "returned": 2, "released": 1}
    third = paint(world(width=150, face=Face(since={**SINCE, "deaths": one}))).text.splitlines()[1]
    assert "2 came back, stopped and started since, 1 was down, started since" in third
    story = {**SINCE["deaths"], "total": 13, "healed": 1, "repeated": 1, "running_again": 1, "healing": 0}
    story["quarantined"] = 10
    told = paint(world(width=120, face=Face(since={**SINCE, "deaths": story}))).text.splitlines()[1]
    assert "13 deaths: 1 healed after 1 more, 1 running again, 10 quarantined" in told, "the ends add up to the total"
    later = Face(since={**SINCE, "from": "2026-11-20T18:00:41.900Z"})
    assert " since 20 Nov 18:00:41: 14 deaths" in paint(world(face=later)).text, (
        "two starts of one minute look different"
    )


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.__name__)
@pytest.mark.parametrize("alerts", [0, 2])
def test_top_status_and_prompt_count_the_same_things_that_need_you(
    fleet: Callable[[], FakeDaemon], alerts: int
) -> None:
    """Faces, checks 1 and 3: also what no agent is at fault for waits for a person."""
    daemon = copy(fleet())  # Fleets are made once, and others count them too.
    raised = [StandingAlert(900 + one, kind, "a text", NOW) for one, kind in enumerate(("journal", "journal behind"))]
    daemon.state = replace(daemon.state, alerts=(*daemon.state.alerts, *raised[:alerts]))
    now = daemon.now()
    seen = glance.glances(daemon.state, now)
    counted = glance.counts(daemon.state, now)["needs_you"]
    agents = sum(one.group == "needs_you" for one in seen)
    assert counted >= agents + alerts

    shown = status.status(
        seen, daemon.facts(), None, Page(NOW, 80), whole=glance.whole(daemon.state, now, daemon.sight)
    )
    told = World(hear(Model(), frames(daemon), AT - 1), Face(since=SINCE), Clock(AT, NOW, UTC), 80, 24, "build-1")
    first = paint(told).text.splitlines()[0]
    says = re.search(r"([0-9]+) NEEDS? YOU", first)
    assert says is not None
    assert (shown.split()[0], says[1]) == (str(counted), str(counted))


def test_what_was_acknowledged_is_counted_and_stands_as_in_status() -> None:
    daemon = of_everything()
    (item,) = daemon.state.agents["shop-api"].items
    daemon.happen(AlertAcknowledged(item.id, "uid 7"))
    daemon.happen(MuteRequested("shop-web", 60.0, "uid 7"))
    seen = glance.glances(daemon.state, daemon.now())
    shown = status.status(seen, daemon.facts(), None, Page(NOW, 200)).splitlines()
    told = World(hear(Model(), frames(daemon), AT - 1), Face(since=SINCE), Clock(AT, NOW, UTC), 200, 60, "build-1")
    screen = paint(told).text

    assert shown[0].startswith("3 need you (1 acknowledged, 1 muted). 5 of 7 alive")
    assert "3 NEED YOU (1 acknowledged, 1 muted)   5/7 alive" in screen.splitlines()[0]
    needy = ("docs", "shop-web", "shop-api")
    in_status = [name for line in shown for name in needy if line.startswith(f"! {name}")]
    assert sorted(in_status) == sorted(needy)
    assert in_status[-1] == "shop-api"
    in_top = [place.key for place in places(told.model, Selector(""), {}, 60) if place.key in needy]
    assert in_top == in_status


@pytest.mark.parametrize("size", SIZES)
def test_a_daemon_that_starts_nothing_new_says_so_in_the_first_line(size: tuple[int, int]) -> None:
    """Faces, check 1: whether everything is alive is asked of phoenixd too."""
    before = world("one_idle", *size)
    body = {"id": 9, "kind": "degraded", "text": "no space", "agent": None, "over": False, "needs_you": True}
    after = replace(before, model=hear(before.model, [Frame("alert", body)], AT))

    assert ["DEGRADED" in paint(one).text.splitlines()[0] for one in (before, after)] == [False, True]


def test_agents_that_are_fine_are_counted_where_not_all_fit() -> None:
    shown = paint(world("a_bad_night")).text

    assert "WORKING (30)\n" in shown
    assert " ... 25 more  Tab opens the group" in shown
    assert ("worker-02" in shown, "worker-03" in shown) == (True, False)
    moved, _ = pressed(world("a_bad_night"), "G", "k")
    assert (moved.name, "... 25 more" in paint(moved).text) == ("worker-02", True), "a look changes no list"
    opened, _ = pressed(world("a_bad_night"), "G", "tab")
    assert "worker-27" in paint(replace(opened, height=60)).text
    folded, _ = pressed(opened, "tab")
    assert "WORKING (30)  Tab opens it" in paint(folded).text
    there, _ = pressed(opened, "G")
    closed = replace(there, face=replace(there.face, folds={}))
    assert closed.name == "worker-27", "nothing folds under the cursor"


def test_every_state_has_its_word_and_sign_beside_its_colour() -> None:
    """Faces, check 13: in grey each group can be told apart."""
    for name in NAMES:
        screen = paint(world(name, 80, 60))
        for one in screen.lines[2:]:
            if any(span.style in ("need", "heal", "work", "rest", "unknown") for span in one):
                assert (
                    any(word in plain(one) for word in TITLES.values())
                    or plain(one)[1:2] in "!~*.?"
                    or "..." in plain(one)
                )


def test_escapes_of_an_agent_are_shown_and_never_sent() -> None:
    shown = paint(settled(world("hostile_words", 200, 60))).text

    assert "\x1b" not in shown
    assert "<U+001B>[2J<U+001B>]0;pwned<U+0007> rm -rf /" in shown
    assert "<U+202E>" in shown
    lines = [line for line in shown.splitlines() if "docs is fine" in line]
    assert not any(line.lstrip().startswith("! docs is fine") and line[:2] == " !" for line in lines)
    assert LONGEST in shown
    assert HOSTILE not in shown


@settings(max_examples=60)
@given(
    words=st.text(st.characters(), max_size=120),
    width=st.integers(1, 130),
    height=st.integers(1, 40),
)
def test_whatever_agents_say_the_layout_holds(words: str, width: int, height: int) -> None:
    """Faces, check 23, with what hypothesis thinks of."""
    before = world("of_everything", width, height)
    row = before.model.agents["infra"].body
    said = {"reason": words, "task": words, "cwd": words, "said": {"text": words, "at": None}, "doing": None}
    item = {**before.model.waiting("shop-api")[0], "title": words, "shown": [f"  {words}"], "text": words}
    frames = [Frame("agent", {**row, **said}), Frame("item", item)]
    after = replace(before, model=hear(before.model, frames, AT))
    for keys in ((), ("o",), ("j", "j", "j", "j", "j")):
        moved, _ = pressed(after, *keys)
        for one in paint(moved).lines:
            text = "".join(span.text for span in one)
            assert columns(text) == width
            assert not any(unicodedata.category(character)[0] == "C" for character in text)


def test_what_is_old_says_so_and_nothing_is_green_then() -> None:
    """Faces, check 21: no colour of health, and the age in the first line."""
    before = world()
    old = replace(before, clock=replace(before.clock, at=AT + 30))
    screen = paint(old)

    assert "NOT LIVE 31s: 3 NEED YOU" in screen.text.splitlines()[0]
    assert "phoenixd does not answer" in screen.text.splitlines()[1]
    assert not any(span.style in ("work", "heal", "need", "rest") for one in screen.lines for span in one)
    assert any(span.style == "work" for one in paint(before).lines for span in one)


def test_an_empty_list_says_why_and_what_to_type() -> None:
    assert "No agents yet" in paint(world("empty")).text
    filtered, _ = pressed(world(), "/", *"nobody", "enter")
    assert "Nothing matches; 7 agents are there" in paint(filtered).text


def test_unknown_is_a_question_mark_and_never_zero() -> None:
    row = next(line for line in paint(world("of_everything", 200, 60)).text.splitlines() if "planner" in line)

    assert row.split()[4:6] == ["?", "?"]
    assert "$3.10" in paint(world("of_everything", 200, 60)).text


def test_what_was_told_last_is_cut_between_words() -> None:
    """A newcomer read "do: d" on one line and "etach first" on the next."""
    words = (
        "attach m1: this terminal is inside another tmux, whose prefix key would hide the inner one's do: detach first"
    )
    shown = paint(world(width=95, face=Face(since=SINCE, message=words))).text

    assert "do: detach first" in " ".join(shown.split())
