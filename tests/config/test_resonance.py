"""[agent.x.resonance]: keys, presets under the seed's names, and for whom it is on (R1, X14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.config import Configuration, read_configuration
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.spec import AgentSpec, Kind


def read(tmp_path: Path, keys: str, agent: str = "") -> Configuration:
    place = tmp_path / "phoenixd.toml"
    place.write_text(f'[agent.a]\nargv = ["x"]\ncwd = "{tmp_path}"\n{agent}\n[agent.a.resonance]\n{keys}\n')
    return read_configuration(place, tmp_path, {})


def rules(tmp_path: Path, keys: str) -> ResonanceRules:
    found = read(tmp_path, keys)
    assert [str(problem) for problem in found.problems] == []
    return found.agents["a"].resonance


def test_r1_overflow_is_a_property_of_an_agent_and_says_how_the_marker_gets_in(tmp_path: Path) -> None:
    assert rules(tmp_path, "") == ResonanceRules()
    assert rules(tmp_path, 'overflow = "silent"').transport == "stateful"
    assert rules(tmp_path, 'overflow = "reject"').transport == "stateful"
    assert rules(tmp_path, 'overflow = "reject"\ntransport = "compaction"').transport == "compaction"


@pytest.mark.parametrize(
    ("preset", "overflow", "transport"),
    [("claude", "compaction", "compaction"), ("gemini", "reject", "stateful"), ("deepseek", "silent", "stateless")],
)
def test_x14_presets_carry_the_names_of_the_seed(tmp_path: Path, preset: str, overflow: str, transport: str) -> None:
    found = rules(tmp_path, f'preset = "{preset}"')

    assert (found.preset, found.overflow, found.transport) == (preset, overflow, transport)
    assert rules(tmp_path, f'preset = "{preset}"\noverflow = "compaction"').overflow == "compaction"


def test_it_is_on_for_orchestrators_and_for_what_forgets_unseen() -> None:
    def on(kind: Kind, **keys: object) -> bool:
        return AgentSpec("a", ("x",), "/", kind, resonance=ResonanceRules(**keys)).has_resonance  # type: ignore[arg-type]

    assert on(Kind.ORCHESTRATOR)
    assert not on(Kind.RESIDENT)
    assert on(Kind.RESIDENT, overflow="silent")
    assert on(Kind.LOOP, overflow="reject")
    assert on(Kind.RESIDENT, enabled="on")
    assert not on(Kind.ORCHESTRATOR, enabled="off")
    assert not on(Kind.EPHEMERAL, enabled="on")
    assert not on(Kind.RESIDENT, enabled="on", transport="stateless"), "its program checks each answer itself"


def test_a_short_form_switches_it_off(tmp_path: Path) -> None:
    place = tmp_path / "phoenixd.toml"
    place.write_text(f'[agent.a]\nargv = ["x"]\ncwd = "{tmp_path}"\nkind = "orchestrator"\nresonance = false\n')

    assert not read_configuration(place, tmp_path, {}).agents["a"].has_resonance


@pytest.mark.parametrize(
    ("keys", "agent", "said"),
    [
        ('transport = "stateless"', 'harness = "claude"', "before each request"),
        ('preset = "deepseek"', 'harness = "claude"', "before each request"),
        ('preset = "ollama"', "", "deepseek"),
        ("codes = 1", "", "2"),
        ("interval_turns = 0", "", "1"),
        ("max_per_hour = 0", "", "1"),
        ('mode = "both"', "", "classic"),
        ("enabled = 3", "", "auto"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_key(tmp_path: Path, keys: str, agent: str, said: str) -> None:
    (problem, *_) = read(tmp_path, keys, agent).problems

    assert keys.partition(" ")[0] in str(problem)
    assert said in str(problem)
