"""`add` and `remove`: one file for each agent, and nobody else's agents."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.config import forget_removed, load_configuration, plan, remove_agent, restore_agent, write_agent
from phoenixd.core.fleet import Fleet
from phoenixd.errors import ConfigurationError
from phoenixd.service.changes import changes_of
from phoenixd.service.declarations import _twice

TABLE: dict[str, Any] = {"argv": ["sleep", "1"], "cwd": "/", "prompt": 'say "hi"\nand\tgo\u0001', "env": {"K": "v=é"}}


def test_a_declared_agent_is_part_of_the_configuration(tmp_path: Path) -> None:
    path = write_agent(tmp_path, "a", TABLE)

    spec = load_configuration(None, tmp_path, {}).agents["a"]
    assert (spec.argv, spec.prompt, dict(spec.env)) == (("sleep", "1"), TABLE["prompt"], TABLE["env"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["a.toml"]


def test_a_second_declaration_replaces_the_first(tmp_path: Path) -> None:
    write_agent(tmp_path, "a", TABLE)
    write_agent(tmp_path, "a", {"argv": ["true"], "cwd": "/tmp"}, load_configuration(None, tmp_path, {}))

    assert load_configuration(None, tmp_path, {}).agents["a"].cwd == "/tmp"


def test_a_removed_agent_is_gone_and_a_second_removal_says_so(tmp_path: Path) -> None:
    write_agent(tmp_path, "a", TABLE)

    assert remove_agent(tmp_path, "a") is True
    assert load_configuration(None, tmp_path, {}).agents == {}
    assert remove_agent(tmp_path, "a") is False


def test_an_agent_of_another_layer_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    place = tmp_path / "etc"
    place.mkdir()
    (place / "phoenixd.toml").write_text('[agent.a]\nargv = ["x"]\ncwd = "/"\n')
    configuration = load_configuration(place, tmp_path, {})

    with pytest.raises(ConfigurationError, match=r"declared in .*phoenixd\.toml"):
        write_agent(tmp_path, "a", TABLE, configuration)
    with pytest.raises(ConfigurationError, match=r"declared in .*phoenixd\.toml") as refused:
        remove_agent(tmp_path, "a", configuration)
    file = place / "phoenixd.toml"
    told = f"take [agent.a] out of {file}, or delete that file, then run: phoenixctl apply"
    assert refused.value.remedy == told
    assert not (tmp_path / "agents.d").exists()


def test_an_agent_that_a_file_and_add_declare_is_warned_of_with_the_one_that_wins(tmp_path: Path) -> None:
    place = tmp_path / "etc"
    place.mkdir()
    path = write_agent(tmp_path, "a", TABLE)
    write_agent(tmp_path, "b", TABLE)
    assert not any(one.is_twice for one in load_configuration(place, tmp_path, {}).problems)
    of_file = 'argv = ["x"]\ncwd = "/"\n'
    (place / "phoenixd.toml").write_text(f"[fleet]\n\n[agent.a]\n{of_file}[agent.c]\n{of_file}")

    configuration = load_configuration(place, tmp_path, {})

    (twice,) = [one for one in configuration.problems if one.is_twice]
    assert (twice.severity, twice.key, twice.place) == ("warning", "agent.a", f"{place}/phoenixd.toml:3")
    assert f"of what both say {path} wins" in twice.message
    assert f"rm {path} && phoenixctl apply" in twice.message
    assert configuration.agents["a"].argv == ("sleep", "1")
    changes = changes_of(plan({}, configuration.agents), Fleet(), _twice(configuration))
    (change,) = [one for one in changes if one.agent == "a"]
    assert f"{path} wins" in change.detail


@pytest.mark.parametrize("name", ["", "A", "../a", "a/b", "a.b", "-a", "a" * 33, "a\n"])
def test_a_name_that_is_none_reaches_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="no agent name"):
        write_agent(tmp_path, name, TABLE)
    assert list(tmp_path.iterdir()) == []


def test_what_toml_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_agent(tmp_path, "a", {**TABLE, "prompt": None})


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(prompt=TEXT, argv=st.lists(TEXT, min_size=1, max_size=4).filter(lambda words: words[0].strip()), value=TEXT)
def test_every_declaration_is_read_back_as_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, prompt: str, argv: list[str], value: str
) -> None:
    state = tmp_path_factory.mktemp("state")
    write_agent(state, "a", {"cwd": "/", "argv": argv, "prompt": prompt, "env": {"K": value}})

    spec = load_configuration(None, state, {}).agents["a"]
    assert (spec.prompt, spec.argv, dict(spec.env)) == (prompt, tuple(argv), {"K": value})


def test_what_an_act_removed_comes_back_as_it_was_and_only_once(tmp_path: Path) -> None:
    path = write_agent(tmp_path, "a", TABLE)
    before = path.read_bytes()
    assert remove_agent(tmp_path, "a", act="1f")
    assert load_configuration(None, tmp_path, {}).agents == {}
    (kept,) = (tmp_path / "removed").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700

    assert restore_agent(tmp_path, "a", "1f") is True
    assert path.read_bytes() == before
    assert restore_agent(tmp_path, "a", "1f") is False
    assert list((tmp_path / "removed").iterdir()) == []


def test_what_comes_back_takes_no_other_agents_place(tmp_path: Path) -> None:
    write_agent(tmp_path, "a", TABLE)
    remove_agent(tmp_path, "a", act="1f")
    write_agent(tmp_path, "a", {"argv": ["true"], "cwd": "/tmp"})

    with pytest.raises(ConfigurationError, match="stands in the place of its declaration"):
        restore_agent(tmp_path, "a", "1f")

    assert load_configuration(None, tmp_path, {}).agents["a"].cwd == "/tmp"


def test_what_can_no_longer_come_back_is_deleted(tmp_path: Path) -> None:
    forget_removed(tmp_path, 1e12)
    for name in ("a", "b"):
        write_agent(tmp_path, name, TABLE)
        remove_agent(tmp_path, name, act="1f")
    os.utime(tmp_path / "removed" / "a.1f.toml", (1000, 1000))

    forget_removed(tmp_path, 2000)

    assert [path.name for path in (tmp_path / "removed").iterdir()] == ["b.1f.toml"]
