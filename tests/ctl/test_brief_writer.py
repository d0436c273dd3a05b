"""Who writes the brief is asked once, of a person at a terminal; without a yes no model does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phoenixd.config import load_configuration, write_agent
from phoenixd.core.rules import WriterKind
from phoenixd.ctl import calls, declare, wire
from phoenixd.ctl.grammar import Command
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

ADD = calls.operation("add_agent")


def command(*, as_json: bool = False) -> Command:
    return Command(("add",), ADD, {}, None, as_json)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declare, "at_a_terminal", lambda: True)


def never(prompt: str) -> str:
    raise AssertionError("nobody is to be asked")


@pytest.mark.parametrize(("typed", "chosen"), [("y", "cli"), ("YES ", "cli"), ("", "plain"), ("n", "plain")])
def test_a_person_at_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: None, typed: str, chosen: str
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: typed)

    told = declare.with_writer(command(), {"name": "a", "harness": "claude"})

    assert told == {"name": "a", "harness": "claude", "brief_writer": chosen}
    asked = capsys.readouterr().err
    assert "tokens" in asked
    assert "once a is declared, phoenixctl brief show a." in " ".join(asked.split())


def test_the_question_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: None
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    monkeypatch.setattr(wire, "width", lambda: 60)

    declare.with_writer(command(), {"name": "a", "harness": "claude"})

    assert max(map(len, capsys.readouterr().err.splitlines())) <= 60


def test_the_end_of_the_input_is_a_no(monkeypatch: pytest.MonkeyPatch, terminal: None) -> None:
    def left(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", left)

    assert declare.with_writer(command(), {"harness": "codex"}) == {"harness": "codex", "brief_writer": "plain"}


@pytest.mark.parametrize(
    ("given", "as_json"),
    [
        ({"harness": "command"}, False),
        ({"harness": "claude", "brief_writer": "plain"}, False),
        ({"harness": "gemini", "brief_writer": "cli"}, False),
        ({"harness": "claude"}, True),
    ],
)
def test_who_has_said_it_or_cannot_choose_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, terminal: None, given: dict[str, Any], as_json: bool
) -> None:
    monkeypatch.setattr("builtins.input", never)

    assert declare.with_writer(command(as_json=as_json), given) == given


def test_of_a_program_that_is_not_there_nobody_is_asked_whether_it_may_write(
    monkeypatch: pytest.MonkeyPatch, terminal: None
) -> None:
    monkeypatch.setattr("builtins.input", never)
    given = {"harness": "claude", "argv": ["no-such-program-here"]}

    assert declare.with_writer(command(), given) == given


def test_without_a_terminal_nobody_is_asked_and_nothing_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", never)

    assert declare.with_writer(command(), {"harness": "claude"}) == {"harness": "claude"}


def test_a_program_that_cannot_write_is_refused_with_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert declare.with_writer(command(), {"harness": "command", "brief_writer": "cli"}) is None

    assert "--brief-writer plain" in capsys.readouterr().err


async def test_the_yes_is_declared_with_the_agent(live: Live, daemon: FakeDaemon, tmp_path: Path) -> None:
    for name, said in (("yes", "cli"), ("no", "plain"), ("nothing", None)):
        body = {"name": name, "harness": "claude", "cwd": str(tmp_path), "argv": ["claude"]}
        added = await live.ask("POST", "/v1/agents", {**body, **({"brief_writer": said} if said else {})})
        assert added.exit == 0

    assert daemon.tables["yes"]["brief"] == {"writer": "auto"}
    assert daemon.tables["no"]["brief"] == {"writer": "deterministic"}
    assert "brief" not in daemon.tables["nothing"]
    for name, table in daemon.tables.items():
        write_agent(tmp_path, name, table)
    agents = load_configuration(None, tmp_path, {}).agents
    assert {name: spec.brief.writer for name, spec in agents.items()} == {
        "yes": WriterKind.AUTO,
        "no": WriterKind.DETERMINISTIC,
        "nothing": WriterKind.DETERMINISTIC,
    }
