"""Orchestrators in files: reserved names, names that are too long, and one orchestrator for a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.config import Configuration, read_configuration
from phoenixd.config.seats import require_seats
from phoenixd.errors import ConfigurationError


def read(tmp_path: Path, *tables: str) -> Configuration:
    (tmp_path / "phoenixd.toml").write_text("".join(tables))
    return read_configuration(tmp_path, tmp_path / "state", {})


def table(name: str, **keys: str) -> str:
    lines = {"kind": "orchestrator", "cwd": "/", **keys}
    return f'[agent.{name}]\nargv = ["true"]\n' + "".join(f'{key} = "{value}"\n' for key, value in lines.items())


@pytest.mark.parametrize("kind", ["resident", "orchestrator"])
def test_a_reserved_name_is_refused_with_file_and_key(tmp_path: Path, kind: str) -> None:
    configuration = read(tmp_path, table("shop-g2", kind=kind), table("shop"))
    (problem,) = configuration.errors

    assert problem.file == str(tmp_path / "phoenixd.toml")
    assert problem.key == "agent.shop-g2"
    assert "reserved" in problem.message
    assert set(configuration.agents) == {"shop"}


@pytest.mark.parametrize(
    ("first", "second"),
    [({"project": "shop"}, {"project": "shop"}), ({"project": "b"}, {}), ({}, {"project": "a", "cwd": "/usr/.."})],
)
def test_e52_a_second_orchestrator_of_a_project_is_refused_with_file_and_key(
    tmp_path: Path, first: dict[str, str], second: dict[str, str]
) -> None:
    configuration = read(tmp_path, table("a", **first), table("b", **second))
    (problem,) = configuration.errors

    assert problem.file == str(tmp_path / "phoenixd.toml")
    assert problem.key.startswith("agent.b")
    assert problem.is_conflict
    assert "a leads" in problem.message


def test_other_projects_directories_and_kinds_go_together(tmp_path: Path) -> None:
    tables = (
        table("a", project="shop"), table("b", project="site"), table("c", project="shop", cwd="/usr"),
        table("d", project="shop", kind="resident"), table("e"),
    )  # fmt: skip

    assert not read(tmp_path, *tables).errors


def test_a_long_name_of_an_orchestrator_is_a_warning_and_a_new_one_is_refused(tmp_path: Path) -> None:
    name = "a" * 27
    configuration = read(tmp_path, table(name), table("b" * 26), table("c" * 32, kind="resident"))

    assert not configuration.errors
    assert [(one.key, one.severity) for one in configuration.problems] == [(f"agent.{name}", "warning")]
    with pytest.raises(ConfigurationError, match="26") as refused:
        require_seats(configuration.agents.values())
    assert name in refused.value.message
    assert str(tmp_path / "phoenixd.toml") in refused.value.message
    assert refused.value.remedy
