"""The list of what is well with an agent's marker: well, not well, or nothing to say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.resonance.checklist import checks
from phoenixd.core.resonance.state import STEPS, Resonance, Restoration, Step
from phoenixd.planting import Marker, Planting
from tests.core.resonating import resonant
from tests.core.story import Story

CODES = ("100001", "100002", "100003")
PLANTED = Resonance(Planting(Marker("The Architect", "100000"), CODES), told=True, proven=True)
GOING = Restoration(Step.SESSION, "two checks were missed", 0.0, 0.0, 1)


@pytest.mark.parametrize(
    ("name", "changes", "well", "words"),
    [
        ("marker", {"planting": None}, None, "being planted"),
        ("marker", {"planting": None, "note": "no anchor"}, False, "no anchor"),
        ("marker", {}, True, "stands in the session's context"),
        ("marker", {"proven": False}, True, "nothing shows it yet"),
        ("marker", {"told": False}, True, "told it at its turn's end"),
        ("codes", {"planting": None}, None, "none"),
        ("codes", {}, True, "3 of 3"),
        ("codes", {"planting": replace(PLANTED.planting, burnt=frozenset(CODES[:1]))}, True, "2 of 3"),  # type: ignore[type-var]
        ("codes", {"planting": replace(PLANTED.planting, burnt=frozenset(CODES[:2]))}, False, "1 of 3"),  # type: ignore[type-var]
        ("check", {"note": "no hooks"}, None, "no hooks"),
        ("check", {"due": "the context was compacted"}, None, "the context was compacted"),
        ("check", {"turns": 3}, None, "due in 7 turns"),
        ("check", {"turns": 12}, None, "due in 0 turns"),
        ("check", {"turns": 3, "last_verified_wall": 5.0}, True, "due in 7 turns"),
        ("check", {"turns": 3, "last_verified_wall": 5.0, "misses": 1}, False, "1 missed in a row"),
        ("footer", {}, None, "none was seen"),
        ("footer", {"footer": ("The Architect", "Stable")}, True, "state Stable"),
        ("footer", {"footer": ("The Architect", "Degraded")}, False, "state Degraded"),
        ("footer", {"footer": ("The Architect", "Stable"), "persona": "The Architect"}, True, "state Stable"),
        ("footer", {"footer": ("A Cook", "Stable"), "persona": "The Architect"}, False, "and it is The Architect"),
        ("restoration", {}, True, "none was needed"),
        ("restoration", {"lost": "the seed is gone"}, False, "the seed is gone"),
        ("restoration", {"restoration": GOING}, False, f"step 3 of {len(STEPS)}"),
        ("restoration", {"restoration": replace(GOING, step=Step.RESUME)}, True, "resume"),
    ],
)
def test_the_list_says_of_each_part_of_the_marker_whether_it_is_well(
    name: str, changes: dict[str, Any], well: bool | None, words: str
) -> None:
    agent = replace(Story(resonant()).agent, resonance=replace(PLANTED, **changes))

    (found,) = [one for one in checks(agent) if one.name == name]

    assert found.well is well
    assert words in found.what


def test_the_marker_of_the_classic_mode_is_asked_for_by_its_own_code() -> None:
    agent = replace(Story(resonant(mode="classic")).agent, resonance=PLANTED)

    assert [(one.well, "own code" in one.what) for one in checks(agent) if one.name == "codes"] == [(True, True)]


def test_of_an_agent_without_a_marker_the_list_says_that_alone() -> None:
    (found,) = checks(replace(Story(resonant()).agent, resonance=None))

    assert (found.name, found.well) == ("marker", None)
