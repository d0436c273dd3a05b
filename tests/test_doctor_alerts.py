"""What doctor finds of the programs and addresses that the configuration names: a way that is no way is a problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.config.tables.daemon import AlertsTable
from phoenixd.core.rules import BriefRules, HandoffRules, WriterKind
from phoenixd.core.spec import Kind
from phoenixd.doctor_alerts import alert_findings, named_findings
from tests.agents import an_agent


def program(path: Path, mode: int = 0o755) -> str:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def found(tmp_path: Path, **alerts: object) -> list[tuple[str, str, str]]:
    table = AlertsTable.model_validate(alerts)
    return [(one.level, one.title, one.remedy) for one in alert_findings(table, {"PATH": str(tmp_path)})]


def test_p84_a_command_that_cannot_be_run_tells_nobody_and_is_a_problem(tmp_path: Path) -> None:
    well, closed = program(tmp_path / "tell.sh"), program(tmp_path / "closed.sh", 0o644)
    problem = "alerts are told to a command that cannot be run"

    assert found(tmp_path, command=[well]) == [("ok", f"alerts are told by {well}", "")]
    assert found(tmp_path, command=["tell.sh"]) == [("ok", "alerts are told by tell.sh", "")]
    assert found(tmp_path, command=[closed]) == [("problem", problem, f"chmod +x {closed}")]
    for named, told in (
        ("nowhere", "install nowhere, or give its whole path as command in [alerts]"),
        ("/no/where", "put a program that can be run at /no/where, or name another one as command in [alerts]"),
    ):
        assert found(tmp_path, command=[named]) == [("problem", problem, told)], "where the reader finds the key"


def test_p84_a_webhooks_address_and_secret_are_read_and_never_shown(tmp_path: Path) -> None:
    address, token, missing = tmp_path / "url", tmp_path / "token", tmp_path / "missing"
    address.write_text("https://hooks.example/SECRET\n")
    token.write_text("Bearer SECRET\n")
    files = {"webhook": {"file": str(address)}, "webhook_authorization": {"file": str(token)}}

    assert found(tmp_path, **files) == [("ok", "alerts are told by a webhook", "")]
    address.write_text("ftp://hooks.example/SECRET")
    token.write_text("\n")
    told = found(tmp_path, **files)
    assert [one[:2] for one in told] == [
        ("problem", "the webhook's address is no http or https address"),
        ("problem", "the webhook's authorization is empty"),
    ]
    assert "SECRET" not in repr(told)
    gone = found(tmp_path, webhook={"file": str(missing)})
    assert gone == [("problem", "the webhook's address cannot be read", f"ls -l {missing}")]


def test_without_a_way_doctor_says_that_nobody_is_told(tmp_path: Path) -> None:
    ((level, title, _),) = found(tmp_path)
    assert (level, title) == ("ok", "alerts are told by nobody: log, status and inbox have them")


@pytest.mark.parametrize("mode", [0o755, 0o644, None])
def test_the_commands_that_write_briefs_and_papers_are_looked_for(tmp_path: Path, mode: int | None) -> None:
    writer = program(tmp_path / "writer", mode) if mode is not None else str(tmp_path / "writer")
    agent = an_agent()
    spec = replace(
        agent.spec,
        kind=Kind.ORCHESTRATOR,
        brief=BriefRules(writer=WriterKind.COMMAND, command=(writer,)),
        handoff=HandoffRules(writer="command", command=("writer", "--json")),
    )
    told = list(named_findings(replace(agent, spec=spec), {"PATH": str(tmp_path)}))

    assert [(one.level, one.detail) for one in told] == (
        [] if mode == 0o755 else [("problem", f"brief.command: {writer}"), ("problem", "handoff.command: writer")]
    )
    if mode is None:
        brief, handoff = (one.remedy for one in told)
        assert brief.endswith("or name another one as command in [agent.a.brief]")
        assert handoff == "install writer, or give its whole path as command in [agent.a.handoff]"
    others = replace(spec, kind=Kind.RESIDENT, brief=BriefRules())
    assert not list(named_findings(replace(agent, spec=others), {"PATH": ""}))
