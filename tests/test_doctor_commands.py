"""What doctor finds of an agent whose command or directory is missing: one finding, and what to type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Quarantined, State, Stopped
from phoenixd.core.causes import Obstacle
from phoenixd.core.fleet import Fleet
from phoenixd.core.rules import BriefRules, WriterKind
from tests.examined import agent, claude_agent, doctor, examined, program

INSTALL = (
    "install claude; where your shell alone finds it, write the path that this prints as the first word of argv: "
    "command -v claude, or have the daemon take up that shell's PATH there: phoenixctl down; phoenixctl up"
)


@pytest.mark.parametrize(
    ("state", "ran", "found"),
    [
        (Stopped(), None, {"problem: a: its command is not found": INSTALL}),
        (
            Quarantined("the command cannot run"), False,
            {"problem: a is quarantined": f"{INSTALL}; then: phoenixctl start a"},
        ),
        (
            Quarantined("5 crashes"), True,
            {
                "problem: a is quarantined": "phoenixctl explain a",
                "problem: a: its command is not found": INSTALL,
            },
        ),
    ],
)  # fmt: skip
async def test_a_program_that_is_missing_is_told_once(
    tmp_path: Path, state: State, ran: bool | None, found: dict[str, str]
) -> None:
    """That it cannot write the agent's brief either follows from it, and so does the quarantine that it led to."""
    end = LastExit(1, 127, None, "exit", 0.0, 0.0, ran=ran) if ran is not None else None

    for tokens in (0, 1):
        missing = claude_agent(tmp_path, brief=BriefRules(writer=WriterKind.AUTO, tokens_per_day=tokens))
        assert await examined(replace(missing, state=state, last_exit=end), tmp_path) == found


@pytest.mark.parametrize("changes", [{"env_from": "login"}, {"env": (("PATH", "/opt"),)}])
async def test_another_path_of_the_daemon_is_no_remedy_for_an_agent_that_does_not_have_it(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    missing = claude_agent(tmp_path, source="/etc/phoenixd/a.toml", **changes)
    found = await examined(missing, tmp_path)
    told = "install claude; where your shell alone finds it, write the path that this prints as the first word of argv"
    assert found["problem: a: its command is not found"] == f"{told} in /etc/phoenixd/a.toml: command -v claude"


async def test_a_missing_cli_and_a_missing_directory_are_told(tmp_path: Path) -> None:
    found = await examined(claude_agent(tmp_path / "shop"), tmp_path)

    assert found["problem: a: its command is not found"].startswith("install claude")
    assert found["problem: a: its directory is missing"] == f"mkdir -p {tmp_path}/shop"


@pytest.mark.parametrize("below", ["", "/deeper"])
async def test_a_file_in_place_of_the_directory_is_not_told_to_be_made_a_directory(tmp_path: Path, below: str) -> None:
    (tmp_path / "worker.sh").write_text("")

    found = await examined(claude_agent(tmp_path / f"worker.sh{below}"), tmp_path)

    assert "problem: a: its directory is missing" not in found


@pytest.mark.parametrize(
    ("state", "title", "end"),
    [
        (Stopped(), "problem: a: its command is not found", ""),
        (Quarantined("the command cannot run"), "problem: a is quarantined", "phoenixctl start a"),
    ],
)
async def test_a_whole_path_that_is_not_there_is_not_asked_for_once_more(
    tmp_path: Path, state: State, title: str, end: str
) -> None:
    ended, path = LastExit(1, 127, None, "not started", 0.0, 0.0, ran=False), f"{tmp_path}/nothere.sh"
    absent = replace(agent("command", tmp_path, argv=(path,)), state=state, last_exit=ended)

    found = await examined(absent, tmp_path)
    assert (
        found[title] == f"put a program that can be run at {path}, or name another one as the first word of argv"
        f"{end and f'; then: {end}'}"
    )

    Path(path).write_text("")
    assert (await examined(absent, tmp_path))[title] == f"chmod +x {path}{end and f' && {end}'}"


@pytest.mark.parametrize("command", ["sh", "a-program-that-nobody-has"])
@pytest.mark.parametrize(("stands", "remedy"), [("", "mkdir -p {0}"), ("file", "mv {0} {0}.aside && mkdir -p {0} && ")])
async def test_a_quarantine_for_a_directory_says_what_to_type_and_how_it_is_started_again(
    tmp_path: Path, stands: str, remedy: str, command: str
) -> None:
    path = tmp_path / "shop"
    if stands:
        path.write_text("")
    ended = LastExit(1, 1, None, "not started", 0.0, 0.0, ran=False, obstacle="directory closed")
    given_up = replace(agent("command", path, argv=(command,)), state=Quarantined("x"), last_exit=ended)

    found = await examined(given_up, tmp_path)
    assert found["problem: a is quarantined"].startswith(remedy.format(path))
    assert found["problem: a is quarantined"].endswith(f"mkdir -p {path} && phoenixctl start a")
    assert ("problem: a: its command is not found" in found) == (command != "sh")


@pytest.mark.parametrize(
    ("code", "obstacle", "told"),
    [
        (1, "no directory", "x; its directory is there now"),
        (127, "other", "x; its command is there now"),
        (1, "other", "x"),
    ],
)
async def test_a_quarantine_whose_cause_is_gone_says_so_and_offers_a_start(
    tmp_path: Path, code: int, obstacle: Obstacle, told: str
) -> None:
    program(tmp_path, "echo '2.1.197 (Claude Code)'")
    ended = LastExit(1, code, None, "not started", 0.0, 0.0, ran=False, obstacle=obstacle)
    given_up = replace(claude_agent(tmp_path), state=Quarantined("x"), last_exit=ended)

    found = await doctor(tmp_path).examine(Fleet(agents={"a": given_up}))

    (one,) = [finding for finding in found if finding.title == "a is quarantined"]
    assert (one.detail, one.remedy) == (told, "phoenixctl explain a" if told == "x" else "phoenixctl start a")


async def test_a_command_that_only_the_shell_of_who_asks_finds_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "claude"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    agents = {"a": claude_agent(tmp_path, source="/etc/phoenixd/a.toml", env=(("PATH", "/opt"),))}
    for path in (str(tmp_path / "bin"), f":relative:{tmp_path / 'bin'}"):
        found = await doctor(tmp_path).examine(Fleet(agents=agents), path)
        (remedy,) = [one.remedy for one in found if one.title == "a: its command is not found"]
        assert (
            remedy == f"your shell finds it at {command}: write that as the first word of argv in /etc/phoenixd/a.toml"
        )
    for path in ("", "relative", str(tmp_path)):
        found = await doctor(tmp_path).examine(Fleet(agents=agents), path)
        (remedy,) = [one.remedy for one in found if one.title == "a: its command is not found"]
        assert remedy.startswith("install claude")
