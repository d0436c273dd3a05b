"""A document that cannot be relied on is named, with its field; one that can is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.brief.health import MAX_AGE, check_brief, check_state
from phoenixd.documents.brief.page import BriefFacts, render_brief
from phoenixd.documents.state import OpenLoop, StateDocument, render_state

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
STATE = StateDocument(agent="a", open_loops=(OpenLoop(id="x", text="x", added="2026-11-20"),), numbers={"n": "1"})
BRIEF = render_brief(BriefFacts(STATE, NOW, goal="Build.")).encode()


def test_what_the_daemon_writes_has_no_fault() -> None:
    assert check_state(render_state(STATE), "a", NOW) == ()
    assert check_brief(BRIEF, "a", NOW - MAX_AGE + 1, NOW) == ()


@pytest.mark.parametrize(
    ("change", "field", "kind"),
    [
        ({"agent": "b"}, "agent", "schema"),
        ({"current_task": 7}, "current_task", "schema"),
        ({"version": 3}, "version", "schema"),
        ({"open_loops": "none"}, "open_loops", "schema"),
        ({"open_loops": [{"id": "x", "text": "x", "added": "2026-11-20"}, 3]}, "open_loops[1]", "schema"),
        ({"open_loops": [{"id": "x", "text": "x", "added": "soon"}]}, "open_loops[0]", "odd"),
        ({"numbers": {"tests": [1]}}, "numbers.tests", "schema"),
    ],
)
def test_p41_a_corrupted_state_is_told_with_its_field(change: dict[str, object], field: str, kind: str) -> None:
    content = json.dumps(json.loads(render_state(STATE)) | change).encode()

    faults = check_state(content, "a", NOW)

    assert [(fault.field, fault.kind) for fault in faults] == [(field, kind)]
    assert field.split("[")[0] in faults[0].text


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{", b"\xff", b"{}"])
def test_p41_what_is_no_state_at_all_is_one_fault(content: bytes | None) -> None:
    assert len(check_state(content, "a", NOW)) == 1


def test_p42_a_brief_is_too_old_after_36_hours_and_not_before() -> None:
    assert MAX_AGE == 36 * 3600
    assert check_brief(BRIEF, "a", NOW - MAX_AGE, NOW)[0].kind == "age"
    assert check_brief(BRIEF, "a", NOW - 7200, NOW, max_age=3600)[0].text == (
        "brief.md: it was written 2:00:00 ago, and more than 1:00:00 is too old"
    )


@pytest.mark.parametrize("section", ["Task", "Open loops", "Next"])
def test_p82_a_brief_without_task_loops_or_next_is_none(section: str) -> None:
    text = BRIEF.decode().replace(f"## {section}\n", f"## Not {section}\n")

    assert [(fault.kind, fault.field) for fault in check_brief(text.encode(), "a", NOW, NOW)] == [("schema", section)]


def test_a_brief_of_another_agent_is_a_fault() -> None:
    assert [fault.field for fault in check_brief(BRIEF, "ab", NOW, NOW)] == ["heading"]
    assert [fault.field for fault in check_brief(BRIEF.replace(b"# a ", b"# a-b "), "a", NOW, NOW)] == ["heading"]
    assert [fault.kind for fault in check_brief(None, "a", None, NOW)] == ["missing"]


@given(st.binary(max_size=200))
def test_no_content_breaks_the_check(content: bytes) -> None:
    for fault in (*check_state(content, "a", NOW), *check_brief(content, "a", NOW, NOW)):
        assert "\n" not in fault.text
