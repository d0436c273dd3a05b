"""The version of a CLI by where it lies, and what a run's settings and environment get of the status line by that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.rules import ContextRules
from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.files import plain as files
from phoenixd.harness import HARNESSES
from phoenixd.start.status_line import VARIABLE, add_status_line, program_version

HOOK = "/lib/phoenix-hook"


@pytest.fixture
def spec(tmp_path: Path) -> AgentSpec:
    """An agent whose CLI is installed from npm."""
    program = tmp_path / "node_modules" / "claude-code" / "bin" / "claude.exe"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (program.parent.parent / "package.json").write_text('{"version": "2.1.330"}')
    (tmp_path / "claude").symlink_to(program)
    (tmp_path / "work").mkdir()
    return AgentSpec("a", (str(tmp_path / "claude"),), str(tmp_path / "work"), harness="claude")


def added(spec: AgentSpec, home: Path) -> tuple[dict[str, Any], dict[str, str]]:
    settings: dict[str, Any] = {"hooks": {}}
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    add_status_line(spec, HARNESSES[spec.harness], settings, environment, HOOK, files)
    return settings, environment


def test_a_package_says_its_version_and_so_does_the_installers_directory(spec: AgentSpec, tmp_path: Path) -> None:
    assert program_version(spec, {}, files) == "2.1.330"
    native = tmp_path / "share" / "claude" / "versions" / "2.1.401"
    native.parent.mkdir(parents=True)
    native.write_text("#!/bin/sh\n")
    native.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(native)
    assert program_version(replace(spec, argv=("claude",)), {"PATH": str(tmp_path / "bin")}, files) == "2.1.401"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 5}', b"{}"])
def test_a_package_that_says_none_is_not_guessed_at(spec: AgentSpec, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "node_modules" / "claude-code" / "package.json").write_bytes(content)

    assert program_version(spec, {}, files) is None
    assert added(spec, tmp_path) == ({"hooks": {}}, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})


def test_a_program_that_is_not_there_has_no_version(spec: AgentSpec) -> None:
    assert program_version(replace(spec, argv=("no-such-program",)), {"PATH": "/nowhere"}, files) is None


def test_the_operators_own_status_line_goes_along(spec: AgentSpec, tmp_path: Path) -> None:
    own = {"statusLine": {"type": "command", "command": "show me"}}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(own))

    settings, environment = added(spec, tmp_path)
    assert settings["statusLine"]["command"] == "/lib/phoenix-hook status-line"
    assert environment[VARIABLE] == "show me"


def test_without_one_of_his_own_the_environment_says_nothing(spec: AgentSpec, tmp_path: Path) -> None:
    settings, environment = added(spec, tmp_path)
    assert "statusLine" in settings
    assert VARIABLE not in environment
    assert added(replace(spec, context=ContextRules(status_line=False)), tmp_path)[0] == {"hooks": {}}
