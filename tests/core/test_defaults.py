"""What decisions take for granted where nobody says otherwise is what the shipped configuration shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from phoenixd.config import read_configuration
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules
from phoenixd.core.treatment.authority import Caps

SHIPPED = Path(__file__).resolve().parents[2] / "config" / "phoenixd.toml"


def test_the_defaults_of_the_core_are_those_of_the_shipped_configuration(tmp_path: Path) -> None:
    """Both are written by hand, so that a slip in one is seen in the other."""
    place = tmp_path / "phoenixd.toml"
    place.write_text(f'{SHIPPED.read_text()}\n[agent.a]\nargv = ["x"]\ncwd = "/"\n')

    read = read_configuration(place, tmp_path, {})

    assert read.problems == ()
    assert replace(read.agents["a"], source="") == AgentSpec("a", ("x",), "/")
    assert (read.limits, read.jobs, read.clinic) == (FleetLimits(), JobRules(), Caps())
