"""What decisions take for granted where nobody says otherwise is what the shipped configuration shows."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

import phoenixd.core
from phoenixd.config import Configuration, read_configuration
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules
from phoenixd.core.treatment.authority import Caps

SHIPPED = Path(__file__).resolve().parents[2] / "config" / "phoenixd.toml"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The shipped configuration with one agent that declares nothing that has a default."""
    room = tmp_path_factory.mktemp("shipped")
    place = room / "phoenixd.toml"
    place.write_text(f'{SHIPPED.read_text()}\n[agent.a]\nargv = ["x"]\ncwd = "/"\n')
    return read_configuration(place, room, {})


def test_the_shipped_configuration_has_no_problems(shipped: Configuration) -> None:
    assert shipped.problems == ()


def test_the_defaults_of_the_core_are_those_of_the_shipped_configuration(shipped: Configuration) -> None:
    """Both are written by hand, so that a slip in one is seen in the other."""
    assert replace(shipped.agents["a"], source="") == AgentSpec("a", ("x",), "/")
    assert (shipped.limits, shipped.jobs, shipped.clinic) == (FleetLimits(), JobRules(), Caps())


BEGIN_AT_ONE = frozenset({
    "UpdatePapers.attempt", "WritePackage.attempt", "Incident.number", "ArmedAnswer.times", "IncidentRecorded.number",
    "Fleet.next_item", "Handoff.rounds", "Opening.asked", "Passing.asked", "Closing.asked", "Seat.generation",
    "Tasks.next", "Case.incidents", "Patient.number", "Cases.next", "Noticed.number", "Examinations.next",
    "Entered.presses",
})  # fmt: skip
"""What is counted from the first on."""
TRUE_UNLESS_SAID = frozenset({
    "OrphanAnswer.says", "OrphanAnswer.whole", "Giving.whole", "LastExit.ran", "AlertKind.needs_person",
    "AlertKind.is_told", "Seen.is_news", "CleanedUp.looked_at_ports", "RunAdopted.unwatched", "TaskRequested.writes",
    "Ordered.taken", "View.is_news", "Challenge.spares", "Task.writes", "Traits.has_hooks", "Traits.tells_cut",
    "Traits.is_prompted", "Delivery.is_seen", "Delivery.has_hooks", "Looked.turn_open", "Look.screen",
})  # fmt: skip
OTHERWISE: dict[str, float] = {
    "Calendar.hour": 4 * 3600.0, "Calendar.stagger": 1800.0, "Episode.bad_at": -math.inf, "Episode.ended_at": -math.inf,
    "Durability.ended": -math.inf, "SendRequested.within": 60.0, "TaskRequested.timeout": 45 * 60.0,
    "TaskRequested.tries": 2, "Task.timeout": 45 * 60.0, "Task.tries": 2, "Passing.since": -1, "Moment.chance": 0.5,
    "HandOver.within": 5.0, "AwaitWord.within": 5.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def numbers() -> list[tuple[str, float]]:
    return list(of_the_core())


def of_the_core() -> Iterator[tuple[str, float]]:
    """Every field of the core that is a number or a flag where nobody says otherwise, but for what is configured."""
    for info in pkgutil.walk_packages(phoenixd.core.__path__, "phoenixd.core."):
        for kind in vars(importlib.import_module(info.name)).values():
            if not isinstance(kind, type) or not is_dataclass(kind) or kind.__module__ != info.name:
                continue
            if not kind.__name__.endswith(("Rules", "Limits", "Spec", "Caps")):
                yield from (
                    (f"{kind.__name__}.{field.name}", field.default)
                    for field in fields(kind) if isinstance(field.default, int | float)
                )  # fmt: skip


def test_what_is_named_here_is_a_number_or_a_flag_of_the_core(numbers: list[tuple[str, float]]) -> None:
    assert {*BEGIN_AT_ONE, *TRUE_UNLESS_SAID, *OTHERWISE} <= {name for name, _ in numbers}


def test_a_number_that_nobody_told_is_nothing_and_a_flag_is_down_but_for_these(
    numbers: list[tuple[str, float]],
) -> None:
    """So is what an older journal does not hold, or an older shim does not say."""
    for name, default in numbers:
        expected = OTHERWISE.get(name, name in BEGIN_AT_ONE | TRUE_UNLESS_SAID)
        assert (name, default) == (name, expected)
        assert isinstance(default, bool) or name not in TRUE_UNLESS_SAID
