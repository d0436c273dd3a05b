"""What doctor finds of an agent's CLI: each finding names its remedy, and no secret is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent import Activity, Agent, Desired, Mode, PromptKind, Run, Running, Stopped
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.doctor import Doctor
from phoenixd.doctor_agents import cli_findings, size_finding, version_finding
from phoenixd.errors import TerminalFailed


def agent(harness: str, cwd: Path, incarnation: int = 1, **changes: object) -> Agent:
    spec = AgentSpec("a", (harness,), str(cwd), harness=harness, **changes)  # type: ignore[arg-type]
    return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "declared", incarnation=incarnation)


def told(harness: str, home: Path, environment: Mapping[str, str] | None = None, **changes: object) -> list[str]:
    found = list(cli_findings(agent(harness, home, **changes), {"HOME": str(home), **(environment or {})}))  # type: ignore[arg-type]
    assert all(finding.remedy for finding in found)
    return [finding.title for finding in found]


@pytest.mark.parametrize(
    ("harness", "login", "key"),
    [
        ("claude", ".claude/.credentials.json", "ANTHROPIC_API_KEY"),
        ("codex", ".codex/auth.json", "OPENAI_API_KEY"),
        ("gemini", ".gemini/oauth_creds.json", "GEMINI_API_KEY"),
    ],
)
def test_a_login_is_found_by_its_file_which_is_not_opened(tmp_path: Path, harness: str, login: str, key: str) -> None:
    changes = {"seed_trust": True, "incarnation": 0}
    assert told(harness, tmp_path, **changes) == ["a: no login is to be found"]
    assert told(harness, tmp_path, {key: "k"}, **changes) == []

    path = tmp_path / login
    path.parent.mkdir()
    path.mkdir()  # a directory: whoever opened it would fail
    assert told(harness, tmp_path, **changes) == []


def test_f_proc_16_trust_that_is_missing_is_told_before_the_dialog_is(tmp_path: Path) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-test-dummy-that-is-longer-than-twenty"}

    assert told("claude", tmp_path, key) == ["a: its CLI will ask before it starts"]
    assert told("claude", tmp_path, key, seed_trust=True) == []

    seed = {
        "theme": "dark",
        "hasCompletedOnboarding": True,
        "projects": {str(tmp_path): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [key["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
    }
    (tmp_path / ".claude.json").write_text(json.dumps(seed))
    assert told("claude", tmp_path, key) == []

    (tmp_path / ".claude.json").write_text("{")
    assert told("claude", tmp_path, key) == [f"a: {tmp_path}/.claude.json cannot be read"]


def test_geminis_hooks_are_missed_once_it_was_started(tmp_path: Path) -> None:
    key = {"GEMINI_API_KEY": "k"}

    assert told("gemini", tmp_path, key, incarnation=0) == []
    assert len(told("gemini", tmp_path, key)) == 2
    assert told("command", tmp_path) == []


@pytest.mark.parametrize(
    ("said", "tested", "level"),
    [
        ("2.1.197 (Claude Code)", ("2.1.197", "2.1.330"), "ok"),
        ("2.1.330 (Claude Code)", ("2.1.197", "2.1.330"), "ok"),
        ("codex-cli 0.169.0", ("0.169.0",), "ok"),
        ("codex-cli 0.170.0", ("0.169.0",), "warning"),
        ("0.61.0-nightly", (), "ok"),
        ("no number", ("0.61.0",), "warning"),
    ],
)
def test_another_version_than_the_tested_one_is_told(said: str, tested: tuple[str, ...], level: str) -> None:
    finding = version_finding("a", "x", said, tested)

    assert finding.level == level
    assert (finding.remedy != "") == (level != "ok")


@pytest.mark.parametrize(("size", "small"), [(None, False), ((120, 40), False), ((2, 1), True), ((59, 40), True)])
def test_f_tmux_9_a_terminal_that_cannot_be_read_is_told(size: tuple[int, int] | None, small: bool) -> None:
    assert (size_finding("a", size) is not None) == small


def program(directory: Path, script: str) -> Path:
    path = directory / "claude"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


async def examined(agent: Agent, home: Path, size: tuple[int, int] | None = None) -> dict[str, str]:
    """What doctor finds of the agent, by level and title, with the remedy; the daemon's own findings are left out."""
    found = await doctor(home, size).examine(Fleet(agents={"a": agent}))
    assert all(finding.remedy for finding in found if finding.level != "ok")
    return {f"{one.level}: {one.title}": one.remedy for one in found if one.title.startswith("a")}


def doctor(home: Path, size: tuple[int, int] | None = None, panes: Sequence[tuple[str, int]] | None = ()) -> Doctor:
    """A doctor whose daemon is well. panes: those that are no agent's, None where tmux does not tell."""

    async def environment_of(agent: Agent) -> Mapping[str, str]:
        return {"PATH": f"{home}:/usr/bin:/bin", "HOME": str(home), "ANTHROPIC_API_KEY": "k"}

    async def size_of(name: str) -> tuple[int, int] | None:
        return size

    async def no_problems() -> tuple[str, ...]:
        return ()

    async def foreign_panes() -> Sequence[tuple[str, int]]:
        if panes is None:
            raise TerminalFailed("tmux did not answer within 10 s")
        return panes

    return Doctor(
        now=lambda: Moment(1000.0, 1000.0, 0.5, "n"),
        degraded=lambda: None,
        damage=lambda: None,
        tmux=lambda: "3.3a",
        tier="cgroup",
        problems=no_problems,
        environment_of=environment_of,
        size_of=size_of,
        foreign_panes=foreign_panes,
    )


def claude_agent(home: Path, **changes: object) -> Agent:
    return agent("claude", home, seed_trust=True, **changes)  # type: ignore[arg-type]


async def test_panes_that_somebody_opened_by_hand_are_told(tmp_path: Path) -> None:
    panes = [(f"%{number}", 100 + number) for number in range(7)]

    async def told(panes: Sequence[tuple[str, int]] | None) -> list[str]:
        found = await doctor(tmp_path, panes=panes).examine(Fleet())
        return [f"{one.title}: {one.detail}" for one in found if "by hand" in one.title]

    assert await told(()) == await told(None) == []
    (seven,) = await told(panes)
    assert seven.startswith("7 panes in phoenixd's tmux server opened by hand: %0 (pid 100), %1 (pid 101), ")
    assert seven.endswith("%4 (pid 104): no agent's, and left alone")


async def test_an_agent_that_is_well_is_told_so(tmp_path: Path) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")

    found = await examined(claude_agent(tmp_path), tmp_path, (120, 40))

    assert list(found) == ["ok: a: claude is 2.1.197 (Claude Code)", "ok: a is stopped"]


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("echo '3.0.0 (Claude Code)'", "warning: a: claude is 3.0.0 (Claude Code)"),
        ("echo no node >&2; exit 127", "problem: a: {home}/claude --version fails"),
        ("", "problem: a: {home}/claude --version fails"),
    ],
)
async def test_a_cli_that_is_not_the_tested_one_is_told(tmp_path: Path, script: str, title: str) -> None:
    program(tmp_path, script)

    assert title.format(home=tmp_path) in await examined(claude_agent(tmp_path), tmp_path)


async def test_a_missing_cli_and_a_missing_directory_are_told(tmp_path: Path) -> None:
    found = await examined(claude_agent(tmp_path / "shop"), tmp_path)

    assert found["problem: a: its command is not found"].startswith("install it")
    assert found["problem: a: its directory is missing"] == f"mkdir -p {tmp_path}/shop"


@pytest.mark.parametrize(("age", "seen", "missing"), [(61.0, False, True), (30.0, False, False), (61.0, True, False)])
async def test_f_hb_7_hooks_that_do_not_arrive_are_told(tmp_path: Path, age: float, seen: bool, missing: bool) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0, pid=1, exec_at=1000.0 - age)
    living = replace(claude_agent(tmp_path), state=Running(run, Activity(False, 0.0, 0.0)), hooks_seen=seen)

    found = await examined(living, tmp_path)

    assert (found.get("warning: a: its hooks are missing") == "phoenixctl hooks test") == missing


async def test_f_tmux_9_a_terminal_that_is_too_small_is_told_of_its_agent(tmp_path: Path) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")

    found = await examined(claude_agent(tmp_path), tmp_path, (2, 1))

    assert "warning: a: its terminal is 2 columns by 1 lines" in found
