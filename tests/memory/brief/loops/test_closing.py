"""What holds of all kinds: readings change nothing twice, operators' loops stay, what is closed stays closed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.documents.deeds import TaskRow
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.state import UNCONFIRMED, OpenLoop, StateDocument, render_state, resolve_loop
from phoenixd.documents.state_reading import read_state
from phoenixd.documents.times import timestamp, utc_date
from phoenixd.memory.brief.closing import MOST_LOOPS, MOST_OF_KIND, UNSEEN, settle
from tests.memory.brief.loops.sessions import NOW, Story, empty, settled, tasks, texts

OWN = OpenLoop(id="prüfung", text="Kontraste prüfen lassen", added="2026-11-01")

LINES = ("npm test", "npm test -- a", "pytest", "pytest tests/a.py", "make lint && make test", "ls", "git commit -m x")
EVENTS = st.one_of(
    st.tuples(st.just("run"), st.sampled_from(LINES), st.sampled_from((0, 1, None))),
    st.tuples(st.just("job"), st.sampled_from(LINES)),
    st.tuples(st.just("ask"), st.sampled_from(("a", "bitte x", "修一下"))),
    st.tuples(st.just("end")),
    st.tuples(
        st.just("tasks"),
        st.lists(
            st.tuples(st.sampled_from(("写测试", "Doku", "ship it")), st.sampled_from(("open", "done"))), max_size=3
        ),
    ),
)


def told(story: Story, events: list[tuple[Any, ...]]) -> Story:
    for event in events:
        match event:
            case ("run", line, code):
                story.ran(line, code)
            case ("job", line):
                story.began_job(line)
            case ("ask", text):
                story.asked(text)
            case ("end",):
                story.turn_ended()
            case ("tasks", rows):
                story.listed(*tasks(*rows))
    return story


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=20), st.lists(EVENTS, max_size=20))
def test_a_reading_that_is_repeated_changes_nothing_and_no_operators_loop_is_lost(
    first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]
) -> None:
    state = empty(OWN)
    for number, events in enumerate((first, second), 1):
        seen = told(Story(f"{number}" * 8, number, NOW - 3600 / number), events).seen()
        state = settle(state, seen).state
        assert settle(state, seen).state == state
        assert OWN in state.open_loops
        ids = [loop.id for loop in state.open_loops]
        assert len(ids) == len(set(ids))
        assert not set(ids) & {item.id for item in state.resolved}


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=20))
def test_what_was_resolved_comes_back_on_newer_proof_alone(events: list[tuple[Any, ...]]) -> None:
    story = told(Story(), events)
    opened = settle(empty(), story.seen()).state
    state, made = opened, []
    for loop in opened.open_loops:
        made.append(Resolution(loop.id, "by hand", timestamp(NOW), "a"))
        state = resolve_loop(state, loop.id, "by hand", utc_date(NOW)) or state
    gone = {loop.id: loop.text for loop in opened.open_loops}

    assert settle(state, story.seen(), made, gone).state.open_loops == ()
    story.at = NOW + 60
    assert texts(settle(state, story.ran("npm test", 1).seen(), made, gone)) == ["`npm test` failed with exit code 1"]


def test_what_a_person_took_out_of_the_file_stays_out_and_is_on_record() -> None:
    story = Story().listed(*tasks(("Write the export", "open")))
    name = settled(story).state.open_loops[0].id

    again = settle(empty(), story.seen(), (), {name: "Write the export"})

    assert again.state.open_loops == ()
    assert again.resolved == ((name, "a person took it out of state.json"),)


def test_ten_sessions_without_a_sign_and_it_is_unconfirmed_until_it_is_seen_again() -> None:
    state = settled(Story().listed(*tasks(("Write the export", "open"))), empty(OWN)).state
    for number in range(2, UNSEEN + 2):
        assert UNCONFIRMED not in (state.open_loops[1].model_extra or {})
        state = settled(Story(f"session{number}", number), state).state

    assert (state.open_loops[1].model_extra or {})[UNCONFIRMED] == utc_date(NOW).isoformat()
    assert state.open_loops[0] == OWN
    seen = settled(Story("zzzzzzzz", 20).listed(*tasks(("write the export", "open"))), state).state
    assert UNCONFIRMED not in (seen.open_loops[1].model_extra or {})


def test_eight_hours_with_200_tasks_end_with_exactly_the_open_ones() -> None:
    story, state = Story(at=NOW - 8 * 3600), empty(OWN)
    status: dict[int, str] = {}
    largest = 0
    for step in range(240):
        story.at = NOW - 8 * 3600 + step * 120
        if step < 200:
            status[step] = "open"
        if step >= 20 and step - 20 not in (50, 150, 199):
            status[step - 20] = "done"
        for old in [number for number, one in status.items() if one == "done" and number < step - 60]:
            del status[old]
        story.listed(*(TaskRow(str(number), f"Step {number} of the work", one) for number, one in status.items()))  # type: ignore[arg-type]
        state = settle(state, story.seen()).state
        largest = max(largest, len(render_state(state)))

    assert sorted(texts(state)[1:]) == ["Step 150 of the work", "Step 199 of the work", "Step 50 of the work"]
    assert largest < 128 * 1024
    read = read_state(render_state(state), "a", utc_date(NOW))
    assert read.document == state
    assert read.notes == ()


def test_bounds_hold_and_what_is_left_out_is_told_as_a_number() -> None:
    own = tuple(OWN.model_copy(update={"id": f"own-{number}"}) for number in range(150))
    story = Story().listed(*(TaskRow(str(number), f"Task number {number}", "open") for number in range(250)))
    for number in range(150):
        story.ran(f"make target-{number}", 2).began_job(f"sleep {number}").asked(f"prompt {number}")

    state = settle(empty(*own), story.seen()).state
    again = settle(state, story.seen()).state

    kinds = [str((loop.model_extra or {}).get("kind", "")) for loop in state.open_loops]
    assert kinds.count("") == 150
    assert max(kinds.count(kind) for kind in set(kinds) - {""}) <= MOST_OF_KIND + 1
    assert len(kinds) - 150 <= MOST_LOOPS + len(set(kinds))
    assert "and 240 more of the kind tasks" in texts(state), "each kind has its room"
    assert again == state


HOSTILE = st.text(st.sampled_from("a`\"'\n\t\x00\x1b\u202e|;&$(){}<>\ud800漢é -_/."), max_size=400)


@settings(deadline=None)
@given(HOSTILE, HOSTILE)
def test_no_row_is_too_odd(one: str, other: str) -> None:
    story = Story(one[:8] or "x").ran(one, 1).ran(f"pytest {other}", 1).began_job(other).asked(one)
    story.listed(TaskRow(None, one, "open"), TaskRow(other[:40], other, "active"))

    state = settle(empty(OWN), story.seen(), (), {one[:20]: other}).state

    for loop in state.open_loops:
        assert len(loop.text) <= 800
        assert "\n" not in loop.text
        assert "\x1b" not in loop.text
        assert "\u202e" not in loop.text
    assert json.loads(render_state(state))["agent"] == "a"


def test_loops_of_an_older_version_are_closed_by_their_kind_or_kept() -> None:
    old = OpenLoop.model_validate(
        {"id": "retry", "text": "the nightly export has no retry", "added": "2026-11-01", "source": "session"}
    )
    story = Story().ran("git commit -m 'export: the nightly export has a retry'")

    assert texts(settled(Story(), empty(old))) == [old.text]
    closed = settled(Story().ran("git commit -m 'the nightly export has no retry: add one'"), empty(old))
    assert texts(closed) == []
    assert isinstance(settled(story, empty(old)).state, StateDocument)
