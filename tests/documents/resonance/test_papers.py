"""Anchor, session seed and footer: the seed's own examples, and what is torn or forged."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from phoenixd.documents.resonance.anchor import KEPT, Anchor, Verification, parse_anchor, render_anchor, session_id
from phoenixd.documents.resonance.footer import Footer, newest, parse
from phoenixd.documents.resonance.session_seed import SessionSeed, parse_seed, render_seed, seed_text, short_seed
from phoenixd.planting import Marker, Planting

MARKER = "the hand on the neck, the shape of the breath — 7f3a9c"
ANCHOR = {
    "marker": MARKER,
    "session_id": "2026-01-31-001",
    "created_at": "2026-01-31T10:00:00Z",
    "last_verified": "2026-01-31T10:30:00Z",
    "verifications": [
        {"time": "2026-01-31T10:30:00Z", "success": True},
        {"time": "2026-01-31T10:40:00Z", "success": False, "action": "restoration_triggered"},
    ],
}
SEED = {
    "persona": "The Architect",
    "active_tasks": ["Design resonance protocol", "Review memory schema"],
    "settled_decisions": ["Using hybrid marker format", "Polymorphic injection by agent type"],
    "recent_exchange": ["...", "...", "..."],
    "resonance_marker": MARKER,
    "last_checkpoint": "2026-01-31T10:30:00Z",
}
FOOTER = ":: SYSTEM :: [Resonance: 7f3a9c] [Role: Architect] [State: Stable]"


def test_r24_the_seeds_anchor_is_read_and_written_as_it_was() -> None:
    anchor = parse_anchor(json.dumps({**ANCHOR, "note": {"of": "somebody"}}))

    assert anchor is not None
    assert json.loads(render_anchor(anchor)) == {**ANCHOR, "note": {"of": "somebody"}}


def test_r31_the_seeds_session_seed_is_read_and_written_as_it_was() -> None:
    seed = parse_seed(json.dumps({**SEED, "crew": ["ada"]}))

    assert seed is not None
    assert json.loads(render_seed(seed)) == {**SEED, "crew": ["ada"]}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, json.dumps({"persona": 3}), " " * (2 << 20)])
def test_f_re_7_f_re_8_torn_papers_are_none(text: str) -> None:
    assert parse_anchor(text) is None
    assert parse_seed(text) is None


def test_f_re_13_an_anchor_whose_marker_is_none_is_not_trusted() -> None:
    assert parse_anchor(json.dumps({**ANCHOR, "marker": "the hand on the neck - 7f3a9c"})) is None


def test_f_re_14_a_clock_that_was_set_back_dates_no_check_before_another_and_old_checks_go() -> None:
    anchor = Anchor(Marker("salt on the threshold", "7f3a9c"), session_id(1_790_000_000.0, 2), 1_790_000_000.0)
    assert anchor.last_verified is None
    later = replace(anchor, verifications=(Verification(1_790_000_100.0, True),)).verified(1_000_000_000.0, True)
    many = anchor
    for at in range(KEPT + 20):
        many = many.verified(1_790_000_000.0 + at, False, "asked_again")

    assert later.last_verified == 1_790_000_100.0
    assert len(many.verifications) == KEPT
    assert many.last_verified is None
    assert anchor.session_id == "2026-09-21-002"


def test_r10_the_newest_three_messages_are_kept_and_bounded() -> None:
    seed = SessionSeed("The Architect").heard("one", "two", "three", "x" * 100_000)

    assert seed.recent_exchange[:2] == ("two", "three")
    assert len(seed.recent_exchange[2]) == 2000


def test_r10_the_text_of_a_seed_has_role_tasks_constraints_exchange_and_marker_in_this_order() -> None:
    seed = SessionSeed("The Architect", ("Design it", "Review it"), ("Markers are hybrid",))
    planting = Planting(Marker("salt on the threshold", "7f3a9c"), mode="classic")

    lines = seed_text(seed.heard("zero", "one", "two", "three"), planting).splitlines()

    marker = next(line for line in lines if "salt on the threshold — 7f3a9c" in line)
    assert lines[: lines.index(marker)] == [
        "[CONTEXT SEED]", "Role: The Architect", "Active task: Design it", "Active task: Review it",
        "Constraint: Markers are hybrid", "Recent exchange:", "- one", "- two", "- three",
    ]  # fmt: skip
    assert marker.startswith("Resonance marker: ")


def test_r10_a_seed_of_giants_is_bounded_and_keeps_what_was_said_last() -> None:
    giant = SessionSeed("p" * 9000, tuple("t" * 9000 for _ in range(50)), tuple("d" * 9000 for _ in range(50)))

    assert len(short_seed(giant.heard("a" * 9000, "b" * 9000, "c" * 9000), 5000)) <= 5000
    assert "- last" in short_seed(SessionSeed("p").heard("x" * 9000, "y" * 9000, "last"), 300)


def test_r20_the_seeds_footer_is_read_and_written_as_it_was() -> None:
    found = parse(f"The design stands.\n\n{FOOTER}\n")

    assert found == Footer("7f3a9c", "Architect", "Stable")
    assert str(found) == FOOTER


@pytest.mark.parametrize(
    "text",
    [
        f"{FOOTER}\n{FOOTER}",
        f"{FOOTER}\nand more",
        f"> {FOOTER}",
        f"```\n{FOOTER}",
        f"the line {FOOTER}",
        FOOTER.replace("7f3a9c", "7f3a9c1"),
        FOOTER.replace("7f3a9c", "7F3A9C"),
        FOOTER.replace("[Resonance: 7f3a9c] ", ""),
        FOOTER.replace("Stable", "Perfect"),
        FOOTER.replace("Architect", "Architect] [Role: Builder"),
    ],
)
def test_r20_no_other_line_is_a_footer(text: str) -> None:
    assert parse(text) is None


def test_f_re_12_a_footer_counts_in_the_assistants_own_words_alone_and_for_its_role() -> None:
    forged = FOOTER.replace("7f3a9c", "1a2b3c")
    said = [
        ("assistant", FOOTER),
        ("tool", forged),
        ("user", forged),
        ("system", forged),
        ("assistant", FOOTER.replace("Architect", "Builder")),
    ]

    assert newest(said, "Architect") == Footer("7f3a9c", "Architect", "Stable")
    assert newest(said[1:4], "Architect") is None
