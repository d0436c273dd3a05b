"""Names and paths of a project: nothing leads out of the workspace, and numbers sort as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.project import layout
from phoenixd.errors import BadProject


def test_e6_the_seeds_layout() -> None:
    paths = layout.paths("my-project")

    assert paths.state == ".claude/projects/my-project/orchestrator-state.json"
    assert paths.plan("phase-01-planning") == ".claude/projects/my-project/phase-01-planning/plan.md"
    assert paths.context("phase-01-planning") == ".claude/projects/my-project/phase-01-planning/claude.md"
    assert paths.manifest("phase-01-planning").endswith("/phase-01-planning/artifacts/manifest.json")
    session = layout.session_paths("abc123")
    assert session.package == ".claude/orchestrators/orchestrator-abc123/handoff-package.json"
    assert session.memory == ".claude/orchestrators/orchestrator-abc123/memory"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../etc", "a/b", "a\\b", "a\0b", "a\n", "-x", ".hidden", "x" * 120, "é", "a b", "\ud800"]
)
def test_e6_a_name_that_could_lead_elsewhere_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadProject) as refused:
        layout.paths(name)
    assert repr(name[:80]) in refused.value.message
    assert refused.value.remedy
    with pytest.raises(BadProject):
        layout.phase_name(f"phase-01-{name}" if name else "")


def test_e60_the_seeds_five_examples_are_phases_and_e61_the_standard() -> None:
    assert all(layout.is_phase(phase) for phase in layout.STANDARD_PHASES)
    assert len(layout.STANDARD_PHASES) == 5
    assert not any(map(layout.is_phase, ("phase-planning", "phase-1", "phase-01-", "phase-01-..", "Phase-01-x", "x")))


def test_f_ph_4_phase_10_stands_behind_phase_9_everywhere() -> None:
    phases = ["phase-10-b", "phase-9-a", "phase-2-c-part10", "phase-2-c-part9", "phase-2-c", "phase-01-z"]

    assert layout.in_order(phases) == (
        "phase-01-z", "phase-2-c", "phase-2-c-part9", "phase-2-c-part10", "phase-9-a", "phase-10-b",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["abc123", "orchestrator-abc123", "orchestrator-orchestrator-abc123", " abc123 "])
def test_f_ho_19_an_id_has_its_prefix_once(text: str) -> None:
    assert layout.canonical_id(text) == "orchestrator-abc123"


def test_x16_a_new_id_is_its_directorys_name_and_sorts_by_time() -> None:
    early, late = layout.new_session_id(1_000, b"\xff" * 10), layout.new_session_id(2_000, b"\0" * 10)

    assert early < late
    assert all(layout.is_session(one) and layout.canonical_id(one) == one for one in (early, late))
    assert len(early) == len("orchestrator-") + 26


@given(st.text(max_size=60))
def test_x16_what_is_taken_for_a_path_stays_within_the_workspace(text: str) -> None:
    try:
        path = layout.checked_path(text)
    except BadProject:
        return
    assert path == text
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(path.split("/"))
    assert "\0" not in path


def test_names_with_digits_that_are_no_number_have_their_order_too() -> None:
    """One file of such a name, and the project could not be read any more."""
    assert sorted(["10²", "9", "x1①", "10"], key=layout.natural)[:2] == ["9", "10"]
