"""What doctor finds of an agent's CLI: each finding names its remedy, and no secret is read."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
import pytest

from phoenixd.api.finding import Finding
from phoenixd.config.problems import Problem
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Deaf, Mode, Run
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Desired, Running, Stopped
from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.meter.reading import Meter
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.rules import BriefRules, ContextRules, ResonanceRules, WriterKind
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.doctor_agents import (
    cli_findings,
    marker_findings,
    size_finding,
    window_findings,
    writer_finding,
)
from phoenixd.documents.project import layout
from phoenixd.errors import LaunchFailed
from tests.examined import agent, claude_agent, doctor, examined, program


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
    path.mkdir()  # a directory: to open it would fail
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


@pytest.mark.parametrize("above", [False, True], ids=["here", "above"])
def test_f_proc_16_trust_is_not_missed_where_the_theme_has_moved_or_a_directory_above_is_trusted(
    tmp_path: Path, above: bool
) -> None:
    """~/.claude.json as the tested versions leave it after a start: without the theme."""
    key = {"ANTHROPIC_API_KEY": "sk-test-dummy-that-is-longer-than-twenty"}
    kept = {
        "numStartups": 3,
        "hasCompletedOnboarding": True,
        "projects": {str(tmp_path.parent if above else tmp_path): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [key["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
    }
    (tmp_path / ".claude.json").write_text(json.dumps(kept))

    assert told("claude", tmp_path, key) == []


def test_geminis_hooks_are_missed_once_it_was_started(tmp_path: Path) -> None:
    key = {"GEMINI_API_KEY": "k"}

    assert told("gemini", tmp_path, key, incarnation=0, seed_trust=True) == []
    assert len(told("gemini", tmp_path, key, seed_trust=True)) == 2
    assert told("command", tmp_path) == []


@pytest.mark.parametrize(("size", "small"), [(None, False), ((120, 40), False), ((2, 1), True), ((59, 40), True)])
def test_f_tmux_9_a_terminal_that_cannot_be_read_is_told(size: tuple[int, int] | None, small: bool) -> None:
    assert (size_finding("a", size) is not None) == small


async def test_a_holder_is_named_as_its_seat_so_that_what_is_advised_can_be_typed(tmp_path: Path) -> None:
    spec = AgentSpec(
        "boss-g2", ("claude",), str(tmp_path), Kind.ORCHESTRATOR, harness="claude", project="kp", seat="boss",
        generation=2, brief=BriefRules(WriterKind.DETERMINISTIC),
    )  # fmt: skip
    holder = Agent(spec, Desired.STOPPED, Stopped(), 0.0, "declared", incarnation=1)
    seats = {"boss": Seat("boss", "kp", generation=2, fenced=1)}

    found = await doctor(tmp_path).examine(Fleet(agents={"boss-g2": holder}, seats=seats))

    said = " ".join(f"{one.title} {one.detail} {one.remedy} {one.agent}" for one in found)
    assert "boss-g2" not in said, said
    assert "[agent.boss.brief]" in said


async def test_f_ho_13_a_project_that_is_gone_is_told_before_a_handoff_fails_for_it(tmp_path: Path) -> None:
    workspace = tmp_path / "my work"
    root = workspace / layout.paths("kp").root
    root.mkdir(parents=True)
    spec = AgentSpec(
        "boss", ("claude",), str(workspace), Kind.ORCHESTRATOR, harness="claude", seat="boss", generation=1
    )
    boss = Agent(spec, Desired.STOPPED, Stopped(), 0.0, "declared", incarnation=1)

    async def told(**handoff: Any) -> dict[str, str]:
        done = Handoff("h1", "boss", "kp", 1, "meter", "full", 1.0, Step.DONE, 1.0, 1.0, **handoff)
        seats = {"boss": Seat("boss", "kp", fenced=0, handoff=done if handoff else None)}
        found = await doctor(tmp_path).examine(Fleet(agents={"boss": boss}, seats=seats))
        return {one.title: one.remedy for one in found if "its project" in one.title}

    assert await told(session="sess-2") == {}
    shutil.rmtree(workspace / layout.PROJECTS)
    command = f"phoenixctl phase init --standard --project kp --workspace '{workspace}'"
    assert await told(session="sess-2") == {"boss: its project kp is gone": command}
    assert await told() == {}, "its first handoff begins it"


async def test_a_way_that_tells_nobody_is_a_problem_with_its_cause(tmp_path: Path) -> None:
    why = "alerts are not told by the command: /usr/local/bin/tell-me ended with 3"
    fleet = Fleet(alerts=(StandingAlert(7, NOT_TOLD, why, 1000.0),))
    (found,) = (one for one in await doctor(tmp_path).examine(fleet) if one.title == NOT_TOLD)
    assert (found.level, found.detail) == ("problem", why)
    assert "it is tried again by itself" in str(found.remedy)


@pytest.mark.parametrize(("severity", "level"), [("warning", "warning"), ("error", "problem")])
async def test_a_warning_of_the_configuration_is_no_problem(
    tmp_path: Path, severity: Literal["warning", "error"], level: str
) -> None:
    problem = Problem("x", "agent.b.cwd", "c.toml", 1, severity, "b", together="y")

    told = await doctor(tmp_path, problems=(problem,)).examine(Fleet())

    assert [(one.level, one.agent, one.together) for one in told if one.title == "configuration"] == [(level, "b", "y")]


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


async def test_looks_that_hang_take_no_thread_from_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system of an agent that is gone holds each look for seconds, and agents are started from threads too."""
    hangs, mended = threading.Event(), threading.Event()

    def look(*_: object) -> list[Finding]:
        hangs.set()
        mended.wait()
        return []

    monkeypatch.setattr("phoenixd.doctor.disk_findings", look)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(examined, claude_agent(tmp_path), tmp_path)
            await anyio.to_thread.run_sync(hangs.wait, limiter=anyio.CapacityLimiter(1))
            taken = anyio.to_thread.current_default_thread_limiter().borrowed_tokens
            mended.set()
    finally:
        mended.set()
    assert taken == 0


async def test_an_agent_whose_environment_cannot_be_made_does_not_keep_the_others_from_being_looked_at(
    tmp_path: Path,
) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    looked = doctor(tmp_path)
    known = looked.environment_of

    async def environment_of(agent: Agent) -> Mapping[str, str]:
        if agent.name == "a":
            raise LaunchFailed("env.KEY: /run/key cannot be read", "make /run/key readable")
        return await known(agent)

    looked.environment_of = environment_of
    agents = {name: claude_agent(tmp_path, name=name) for name in ("a", "b")}
    found = {one.title: one.remedy for one in await looked.examine(Fleet(agents=agents))}

    assert found["a: its environment cannot be made"] == "make /run/key readable"
    assert "b: claude is 2.1.197 (Claude Code)" in found


@pytest.mark.parametrize(
    ("installed", "under_systemd", "remedy"),
    [(False, True, "apt-get install -y tmux"), (True, True, "systemctl status phoenixd-tmux"), (True, False, "log")],
)
async def test_f_tmux_7_a_terminal_server_that_is_missing_is_told_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool, under_systemd: bool, remedy: str
) -> None:
    for name in ("apt-get", *(["tmux"] if installed else [])):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    looked = replace(doctor(tmp_path), tmux=lambda: None, under_systemd=under_systemd)

    (found,) = [one for one in await looked.examine(Fleet()) if "tmux" in one.title]

    assert remedy in found.remedy
    assert ("systemctl" in found.remedy) == (installed and under_systemd)


@pytest.mark.parametrize("option", [None, "hidepid=invisible"])
async def test_hidepid_is_told_with_what_it_costs(tmp_path: Path, option: str | None) -> None:
    found = await replace(doctor(tmp_path), hidepid=lambda: option).examine(Fleet())

    told = [one for one in found if "hidepid" in one.title]
    assert len(told) == (option is not None)
    assert all("sudo" in one.detail and "gid=" in one.remedy for one in told)


@pytest.mark.parametrize(("age", "seen", "missing"), [(61.0, False, True), (30.0, False, False), (61.0, True, False)])
async def test_f_hb_7_hooks_that_do_not_arrive_are_told(tmp_path: Path, age: float, seen: bool, missing: bool) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0, pid=1, exec_at=1000.0 - age)
    living = replace(claude_agent(tmp_path), state=Running(run, Activity(False, 0.0, 0.0)), hooks_seen=seen)

    found = await examined(living, tmp_path)

    assert (found.get("warning: a: its hooks are missing") == "phoenixctl hooks test") == missing


async def test_promise_10_what_cannot_be_heard_of_an_agent_is_told_with_its_remedy(tmp_path: Path) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    deaf = Deaf(0.0, 0.0, "the shim closed it")
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0, pid=1, deaf=deaf, refused=3, strangers=40)
    living = replace(claude_agent(tmp_path), state=Running(run, Activity(False, 0.0, 0.0)), hooks_seen=True)

    found = await examined(living, tmp_path)

    lost = next(title for title in found if "nothing that it says arrives" in title)
    assert lost.startswith("problem: a: for ")
    assert found[lost] == "phoenixctl explain a"
    assert found["warning: a: its shim refused 3 of its hooks in this run"] == "phoenixctl explain a"
    assert "warning: a: 40 requests at its hooks bore no token of its, and were turned away" in found


async def test_f_tmux_9_a_terminal_that_is_too_small_is_told_of_its_agent(tmp_path: Path) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")

    found = await examined(claude_agent(tmp_path), tmp_path, (2, 1))

    assert "warning: a: its terminal is 2 columns by 1 lines" in found


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "its brief is written without a model"),
        ({"writer": WriterKind.AUTO}, "its brief is written by its own CLI (haiku), at most 500000 tokens a day"),
        ({"writer": WriterKind.COMMAND, "command": ("mine",)}, "its brief is written by mine"),
        ({"writer": WriterKind.MODEL, "model": "x:y"}, "its brief is written by the model x:y"),
    ],
)
async def test_p85_it_says_which_writer_is_in_force(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    asked = claude_agent(tmp_path)
    asked = replace(asked, spec=replace(asked.spec, brief=BriefRules(**changes)))

    found = await doctor(tmp_path).examine(Fleet(agents={"a": asked}))

    assert [one for one in found if told in f"{one.title} {one.detail}"]


def test_p85_it_says_why_the_cli_does_not_write(tmp_path: Path) -> None:
    def finding(found: Agent, environment: dict[str, str], **changes: Any) -> str:
        rules = BriefRules(writer=WriterKind.AUTO, **changes)
        said = writer_finding(replace(found, spec=replace(found.spec, brief=rules)), environment)
        assert (said.level, bool(said.remedy)) == ("warning", True)
        assert "written without a model" in said.title
        return said.detail

    claude, key = claude_agent(tmp_path), {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    codex = replace(claude, spec=replace(claude.spec, harness="codex", argv=("codex", "--oss")))
    plain = replace(claude, spec=replace(claude.spec, harness="command"))

    assert finding(claude, {"HOME": str(tmp_path)}) == "no login is to be found"
    automatic = BriefRules(writer=WriterKind.AUTO)
    later = replace(plain, spec=replace(plain.spec, name="a-g2", seat="a", generation=2, brief=automatic))
    assert writer_finding(later, key).remedy.endswith("in [agent.a.brief]"), "no table has a generation's name"
    can = replace(later, spec=replace(claude.spec, name="a-g2", seat="a", generation=2))
    assert writer_finding(can, key).detail.endswith("in [agent.a.brief]")
    assert finding(claude, key, tokens_per_day=1000).startswith("a call may take 34000 tokens")
    assert finding(codex, key).startswith("codex is started with --oss")
    assert finding(plain, key) == "command cannot write one"


def test_f_re_13_a_marker_that_cannot_be_checked_is_told_with_its_remedy(tmp_path: Path) -> None:
    rules = ResonanceRules(enabled="on")
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.GOAL, 0.0, 0.0)
    bearing = replace(
        agent("command", tmp_path, resonance=rules), state=Running(run, Activity(False, 0.0, 0.0)),
    )  # fmt: skip

    def found(known: Resonance | None) -> list[tuple[str, str, str]]:
        said = marker_findings(replace(bearing, resonance=known))
        return [(one.level, one.title, one.remedy) for one in said]

    assert found(None) == [("warning", "a bears no marker", "phoenixctl restart a --fresh")]
    assert found(Resonance(note="its CLI takes no answer"))[0][0] == "warning"
    assert found(Resonance(lost="two misses"))[0][0] == "problem"
    assert found(Resonance(state="intact")) == [("ok", "a: its marker is intact", "")]
    assert list(marker_findings(agent("command", tmp_path))) == []


def test_e80_doctor_says_whether_a_window_is_known_and_whether_context_limit_counts(tmp_path: Path) -> None:
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.GOAL, 0.0, 0.0)
    up = Running(run, Activity(False, 0.0, 0.0))

    def found(kind: Kind, limit: int | None, **meter: Any) -> list[tuple[str, str, str]]:
        named = agent("command", tmp_path, kind=kind, context=ContextRules(limit=limit))
        told = window_findings(replace(named, state=up, meter=Meter(1, **meter)))
        return [(one.level, one.title, one.remedy) for one in told]

    unheard = "correct limit in [agent.a.context]"
    told = "a: its window has 200,000 tokens, and not the 1,000,000 of context.limit"
    for kind in (Kind.ORCHESTRATOR, Kind.RESIDENT):
        assert found(kind, 1_000_000, status_line=200_000) == [("warning", told, unheard)]
    assert found(Kind.ORCHESTRATOR, 1_000_000) == [
        ("ok", "a: its window has 1,000,000 tokens, by its configuration", "")
    ]
    assert found(Kind.ORCHESTRATOR, None, by_model=200_000)[0][0] == "ok"
    assert found(Kind.ORCHESTRATOR, None)[0][0] == "ok"
    level, title, remedy = found(Kind.ORCHESTRATOR, None, tokens=90_000)[0]
    assert (level, remedy) == ("warning", "write limit = TOKENS into [agent.a.context]")
    assert "nobody knows how large its window is" in title
    assert found(Kind.RESIDENT, None, tokens=90_000) == []
