"""The lines and small documents beside state.json: ops.jsonl, resolved.jsonl, session.json."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.ops import Occurrence, happenings, read_happenings, render_occurrence
from phoenixd.documents.redact import redact
from phoenixd.documents.resolved import apply_resolutions, read_resolutions, render_resolution, resolution
from phoenixd.documents.session import Bookkeeping, read_bookkeeping, render_session
from phoenixd.documents.state import OpenLoop, StateDocument

NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC).timestamp()


def seen(event: str, state: str | None = "running", reason: str = "", **detail: Any) -> Occurrence:
    return Occurrence(NOW, event, 3, detail, state, reason)


@pytest.mark.parametrize(
    ("occurrence", "name", "verdict"),
    [
        (seen("hook_seen", kind="session-start"), "session_start", "ok"),
        (seen("hook_seen", kind="session-end"), "session_end", "ok"),
        (seen("hook_seen", kind="prompt-submit"), "task_started", "ok"),
        (seen("hook_seen", kind="stop-failure"), "stop_failure", "error"),
        (seen("agent_started"), "run_start", "ok"),
        (seen("agent_exited", "stopped", code=0), "run_end", "ok"),
        (seen("agent_exited", "stopped", signal=15), "run_end", "ok"),
        (seen("agent_exited", "backing_off", signal=9), "run_end", "error"),
        (seen("agent_exited", "backing_off", code=0), "run_end", "ok"),
        (seen("tick", "quarantined"), "tick", "error"),
        (seen("start_failed", "backing_off"), "start_failed", "error"),
        (seen("not_delivered"), "not_delivered", "warn"),
    ],
)
def test_p72_each_line_has_the_seeds_four_keys(occurrence: Occurrence, name: str, verdict: str) -> None:
    line = json.loads(render_occurrence(occurrence, redact))

    assert (line["ts"], line["event"], line["status"]) == ("2026-11-21T10:00:00Z", name, verdict)
    assert line["meta"]["incarnation"] == 3


def test_an_ops_line_holds_no_secret_no_escape_and_no_second_line() -> None:
    secret = "ghp_" + "a1" * 18
    hostile = f"{secret}\n\x1b[2J" + "x" * 10_000

    line = render_occurrence(seen("hook_seen", kind="stop", text=hostile, reason="r", pids=[hostile, 1]), redact)

    assert b"\n" not in line
    assert secret.encode() not in line
    assert b"\\u001b" not in line
    assert len(line) < 2000


def test_what_happened_last_is_read_back_from_the_log() -> None:
    lines = b"\n".join(
        [
            b'{"ts": torn',
            render_occurrence(seen("agent_exited", "backing_off", "signal 9, restarting", signal=9), redact),
            render_occurrence(seen("hook_seen", kind="stop"), redact),
            b'{"ts": "2026-11-21T10:00:00Z", "event": 3, "meta": {"reason": 4}}',
            b"[]",
        ]
    )

    assert list(read_happenings(lines)) == list(
        happenings([seen("agent_exited", "backing_off", "signal 9, restarting", signal=9)], redact)
    )


def test_a_run_that_goes_on_under_another_daemon_is_no_happening_of_its_brief() -> None:
    adopted = seen("run_adopted", reason="adopted, pid 7", pid=7)
    ended = seen("run_adopted", "stopping", reason="adopted while being stopped: an operator asked for it")

    assert [one.text for one in happenings([adopted, ended], redact)] == [
        "run adopted: adopted while being stopped: an operator asked for it"
    ]
    lines = b"\n".join(render_occurrence(one, redact) for one in (adopted, ended))
    assert list(read_happenings(lines)) == list(happenings([ended], redact))


def test_p50_a_resolution_is_one_line_of_id_reason_ts_and_domain() -> None:
    secret = "password=hunter2"
    line = render_resolution(resolution("auth-flow", f"tested\nwell {secret}", NOW, "builder"))

    assert json.loads(line) == {
        "id": "auth-flow",
        "reason": "tested well password=[redacted]",
        "ts": "2026-11-21T10:00:00Z",
        "domain": "builder",
    }
    assert [made.id for made in read_resolutions(b"torn\n" + line + b"\n{}\n")] == ["auth-flow"]


def test_f_st_10_resolutions_made_while_the_daemon_was_down_are_applied() -> None:
    state = StateDocument(
        agent="a", open_loops=tuple(OpenLoop(id=name, text=name, added="2026-11-01") for name in ("one", "two"))
    )
    lines = render_resolution(resolution("one", "done", NOW, "a")) + b'\n{"id": "unknown"}\n{"id": "tw'

    applied = apply_resolutions(state, lines, date(2026, 11, 22))

    assert [loop.id for loop in applied.open_loops] == ["two"]
    assert [(item.id, item.resolved_date) for item in applied.resolved] == [("one", "2026-11-21")]


def test_session_json_names_the_session_and_remembers_the_bookkeeping() -> None:
    spec = AgentSpec(name="a", argv=("x",), cwd="/")
    agent = Agent(spec, Desired.STOPPED, Stopped(), NOW, "", session=Session("s-1", NOW, NOW, "refused"), restarts=2)

    content = render_session(agent, Bookkeeping("goal", 120))

    found = json.loads(content)
    assert (found["session_id"], found["spoiled"], found["restarts"]) == ("s-1", "refused", 2)
    assert found["expires"] == "2026-11-22T10:00:00Z"
    assert read_bookkeeping(content) == Bookkeeping("goal", 120)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"documents": 3}', b"\xff"])
def test_f_res_4_a_corrupt_session_json_is_ignored(content: bytes) -> None:
    assert read_bookkeeping(content) is None


def test_odd_bookkeeping_counts_as_nothing_remembered() -> None:
    assert read_bookkeeping(b'{"documents": {"task": 3, "resolved_bytes": -1}}') == Bookkeeping()
