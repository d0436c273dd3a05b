"""The real Claude Code under a real daemon: it starts, works, dies, comes back, and never twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import PATIENCE
from tests.real.claude_cli import require_claude
from tests.real.claude_room import bash
from tests.real.claude_stage import GOAL, NAME, ClaudeStage
from tests.stub.scenario import Rejection, Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

CONFLICT = 6
HANG = Step(fault="hang")
LOOP = {"id": "till-rounding", "text": "The till rounds 0.5 ct the wrong way, see €-table", "added": "2026-11-20"}
# A heartbeat is written once a second at most, so that of the tool may be late.
COPY_BEAT = "until grep Bash $PHOENIX_STATE_DIR/heartbeat.json > made.json; do sleep 0.1; done"
TEXT = "\n".join(f'{number}. line with `code`, "quotes", $HOME, \\n, ; and 日本 {"·" * 40}' for number in range(200))


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def is_user(record: dict[str, Any]) -> bool:
    return record.get("type") == "user"


def in_mid_turn(stage: ClaudeStage, **declared: Any) -> tuple[int, str]:
    """Bring the agent into its first turn, to which no answer comes; returns request number and session id."""
    stage.scenario.add(HANG)
    stage.up(**declared)
    request = stage.asked()
    assert request.session_id is not None
    stage.wait_record(request.session_id, is_user)
    return request.number, request.session_id


def test_it_starts_unattended_works_a_turn_that_its_hooks_tell_and_reads_what_is_sent_busy_or_long(
    stage: ClaudeStage,
) -> None:
    stage.scenario.add(bash(COPY_BEAT), Step(hold="the end"))
    stage.up()

    first = stage.asked()
    stage.until("it works", lambda row: row["activity"] == "working")
    eventually_sync((stage.workspace / "made.json").exists, PATIENCE, "its tool has run")
    sent = stage.send("Close the till as well.")
    stage.stub.open_gate("the end")
    assert sent.returncode == 0, sent.stderr
    assert "queued" in sent.stdout
    # What was queued goes to the model as a prompt of its own, or in a reminder beside a tool's result.
    stage.stub.wait_for(
        lambda one: one.kind == "main" and "Close the till as well" in one.whole_text, after=first.number,
        timeout=PATIENCE,
    )  # fmt: skip
    row = stage.until_idle()

    assert first.text == GOAL
    assert (row["hooks"], row["mode"], row["session_id"]) == ("ok", "fresh", first.session_id)
    beat = json.loads((stage.workspace / "made.json").read_text())
    assert (beat["agent"], beat["pid"], beat["tool"]) == (NAME, row["pid"], "Bash")
    assert beat["timestamp"]

    assert len(TEXT.encode()) > 20_000
    sent = stage.send(TEXT)
    assert sent.returncode == 0, sent.stderr
    assert "delivered" in sent.stdout
    assert stage.asked("line with").text == TEXT


def test_p34_f_tmux_2_killed_in_mid_turn_alone_or_with_its_tmux_server_it_resumes_the_session_and_is_back_at_work(
    stage: ClaudeStage,
) -> None:
    number, session = in_mid_turn(stage)

    stage.kill_agent()

    again = stage.asked("You were interrupted", after=number)
    assert again.session_id == session
    assert GOAL in again.whole_text
    row = stage.until_idle(incarnation=2)
    assert (row["mode"], row["session_id"]) == ("resume", session)

    stage.scenario.add(HANG)
    assert stage.send("Now the till.").returncode == 0
    number = stage.asked("Now the till", after=again.number).number
    stage.wait_record(session, lambda record: is_user(record) and "Now the till" in str(record.get("message")))
    asked = ["tmux", "-N", "-S", str(stage.stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    os.kill(int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout), signal.SIGKILL)

    again = stage.asked("You were interrupted", after=number)
    assert again.session_id == session
    assert "Now the till" in again.whole_text
    row = stage.until_idle(incarnation=3)
    assert (row["mode"], row["session_id"]) == ("resume", session)
    assert stage.inbox() == []


def test_p45_two_kills_within_seconds_leave_it_the_session_and_the_log_tells_of_a_fresh_one_after_that(
    stage: ClaudeStage,
) -> None:
    """`log --since` has both sessions, each behind a line that names its beginning."""
    number, session = in_mid_turn(stage)
    for incarnation in (2, 3):
        stage.kill_agent()
        row = stage.until(
            "it is resumed", lambda row, n=incarnation: row["incarnation"] == n and row["state"] == "running"
        )
        assert (row["mode"], row["session_id"]) == ("resume", session), row["reason"]
    stage.asked("You were interrupted", after=number)
    stage.until_idle(incarnation=3)

    stage.stage.ask("restart", NAME, "--fresh")
    anew = stage.until("it runs fresh", lambda row: row["mode"] == "fresh" and row["session_id"] != session)
    names = [f"session {one} begins" for one in (session, anew["session_id"])]

    def told_since() -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = json.loads(stage.stage.ask("log", NAME, "--since", "1h", "--json"))["lines"]
        return lines

    eventually_sync(lambda: any(one["text"] == names[1] for one in told_since()), PATIENCE, "the new one has lines")
    told = told_since()
    begun = [number for number, one in enumerate(told) if one["kind"] == "session"]
    assert [told[number]["text"] for number in begun] == names
    assert any(one["kind"] == "prompt" for one in told[begun[0] : begun[1]])
    assert any(one["kind"] == "prompt" for one in told[begun[1] :])


@pytest.mark.parametrize(
    "transcript",
    [
        pytest.param(None, id="deleted"),
        pytest.param(b"", id="empty", marks=pytest.mark.proof),
        pytest.param(b"\xff\xfe no record \x00\n" * 50, id="garbled", marks=pytest.mark.proof),
    ],
)
def test_p45_without_its_transcript_it_begins_anew_with_loops_and_goal(
    stage: ClaudeStage, transcript: bytes | None
) -> None:
    number, session = in_mid_turn(stage)
    state = stage.document("state.json")
    (stage.directory / "state.json").write_text(json.dumps({**state, "open_loops": [LOOP]}))

    def damage() -> None:
        stage.transcript(session).unlink()
        if transcript is not None:
            stage.transcript(session).write_bytes(transcript)

    stage.kill_agent(damage)

    anew = stage.asked(after=number)
    assert anew.session_id != session
    assert anew.text.startswith(GOAL)
    assert LOOP["text"] in anew.whole_text
    stage.until("it runs fresh", lambda row: row["session_id"] == anew.session_id and row["activity"] == "idle")
    assert stage.row()["mode"] == "fresh"
    assert [loop["id"] for loop in stage.document("state.json")["open_loops"]] == [LOOP["id"]]


@pytest.mark.parametrize("by", [pytest.param("phoenixctl", marks=pytest.mark.proof), "keyboard"])
def test_f_sy_1_p53_kill_9_of_the_daemon_leaves_the_turn_alone_loses_no_hook_and_starts_nothing_after_exit(
    stage: ClaudeStage, by: str
) -> None:
    stage.scenario.add(Step(hold="on"), bash("touch made.txt"))
    stage.up()
    stage.asked()
    before = stage.until("it works", lambda row: row["activity"] == "working")

    stage.stage.kill()
    stage.stub.open_gate("on")
    stage.wait_screen("idle")
    stage.stage.up()

    after = stage.until_idle()
    assert [after[key] for key in ("pid", "session_id", "incarnation", "mode")] == [
        before[key] for key in ("pid", "session_id", "incarnation", "mode")
    ]
    kinds = [event["detail"].get("kind") for event in stage.events() if event["event"] == "hook_seen"]
    assert kinds == ["session-start", "prompt-submit", "stop"]

    if by == "phoenixctl":
        assert (sent := stage.send("/exit\n")).returncode == 0, (sent.stdout, sent.stderr)
    else:
        stage.type("/exit", "Enter")

    down = stage.until("it is down", lambda row: row["state"] == "stopped")
    assert (down["desired"], down["incarnation"]) == ("stopped", 1)
    stage.stage.kill()
    stage.stage.up()
    stays = stage.row()
    assert (stays["state"], stays["desired"], stays["incarnation"]) == ("stopped", "stopped", 1)


def asking(stage: ClaudeStage) -> dict[str, Any]:
    """The agent's row once it stands at a permission dialog."""
    row = stage.until("it asks", lambda row: row["activity"] == "waiting")
    stage.wait_screen("permission")
    return row


def test_f_proc_16_a_permission_dialog_is_told_no_text_answers_it_and_a_person_may_refuse(stage: ClaudeStage) -> None:
    """No hook tells of a dialog that is answered by No."""
    stage.settings = {}
    stage.scenario.add(bash("touch made.txt"), Step(text="Done."), bash("touch refused.txt"))
    stage.up()
    row = asking(stage)

    assert row["waiting_for"] == "permission (Bash touch made.txt)"
    assert [(item["agent"], item["kind"]) for item in stage.inbox()] == [(NAME, "permission")]
    assert stage.send("Go on.").returncode == CONFLICT
    stage.wait_screen("permission")
    assert not (stage.workspace / "made.txt").exists()

    stage.type("Enter")
    stage.until_idle()
    assert (stage.workspace / "made.txt").exists()
    assert stage.inbox() == []

    assert stage.send("And the other one.").returncode == 0
    assert asking(stage)["waiting_for"] == "permission (Bash touch refused.txt)"
    stage.type("Escape")

    stage.until_idle()
    assert stage.inbox() == []
    assert not (stage.workspace / "refused.txt").exists()


def test_f_res_5_after_clear_the_new_session_has_the_brief_and_is_the_one_resumed(stage: ClaudeStage) -> None:
    stage.up(prompt="\n".join(f"{number}. Work through docs/plan.md." for number in range(600)))
    old = stage.until_idle()["session_id"]

    assert stage.send("/clear").returncode == 0
    new = stage.until("the session changes", lambda row: row["session_id"] != old)["session_id"]
    assert stage.send("What now?").returncode == 0
    request = stage.asked("What now")
    stage.until_idle()
    stage.kill_agent()
    row = stage.until_idle(incarnation=2)
    assert stage.send("And now?").returncode == 0
    resumed = stage.asked("And now")

    assert request.session_id == new
    assert "Facts that phoenixd recorded about this agent" in request.whole_text
    assert f"The whole page: {stage.directory / 'brief.md'}\n" in request.whole_text
    assert (row["mode"], row["session_id"], resumed.session_id) == ("resume", new, new)
    assert "What now?" in resumed.whole_text


def test_a_turn_that_a_person_broke_off_is_no_hang_and_is_not_gone_on_with(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(text="Half of it\nis done", fault="hang_mid_stream"))
    stage.up(keys='liveness = { stale = "8s", check_interval = "1s" }')
    stage.asked()
    stage.wait_screen("working")
    stage.until("it works", lambda row: row["activity"] == "working")

    stage.type("Escape")

    stage.until_idle()
    asked = len(stage.stub.main_requests())
    stage.kill_agent()
    assert stage.until_idle(incarnation=2)["mode"] == "resume"
    assert len(stage.stub.main_requests()) == asked


def test_f_hb_a_turn_that_hangs_is_ended_and_the_next_run_is_told(stage: ClaudeStage) -> None:
    stage.scenario.add(HANG)
    stage.up(keys='liveness = { stale = "8s", check_interval = "8s" }')
    first = stage.asked()

    again = stage.asked("You were interrupted", after=first.number, timeout=90)

    assert "hung" in again.text
    assert again.session_id == first.session_id
    assert stage.get(f"/v1/agents/{NAME}/explain")["last_exit"]["code"] == 124


def test_g7_a_bash_call_that_never_returns_is_ended_with_its_tree_and_the_next_run_is_told(stage: ClaudeStage) -> None:
    """While it waits for a program it makes no tool call, and to a program that declared nothing it waits for ever."""
    stage.scenario.add(bash("setsid tail -f /dev/null & echo $! > pid.txt; exec tail -f /dev/null"))
    stage.up(keys='liveness = { stale = "8s", check_interval = "8s" }')
    first = stage.asked()
    noted = stage.workspace / "pid.txt"
    left = eventually_sync(lambda: noted.exists() and noted.read_text().strip(), 60, "the call has begun")

    again = stage.asked("You were interrupted", after=first.number, timeout=90)

    assert "hung" in again.text
    assert again.session_id == first.session_id
    assert "Run 1 was ended by phoenixd" in again.whole_text
    assert not Path(f"/proc/{left}").exists()
    told = stage.get(f"/v1/agents/{NAME}/explain")
    assert (told["last_exit"]["code"], told["incident"]["kind"]) == (124, "hung")
    assert "Run 1 was ended by phoenixd" in (stage.directory / "brief.md").read_text()
    assert stage.document(told["incident"]["file"])["readings"]["turn_open"] == 1


def test_a_refused_key_waits_for_a_person_restarts_nothing_and_ends_with_the_next_answer(stage: ClaudeStage) -> None:
    stage.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
    stage.scenario.add(
        Step(error=Rejection(401, "authentication_error", "invalid x-api-key"), match="docs/plan.md", times=2)
    )
    stage.up()

    row = stage.until("it waits", lambda row: row["activity"] == "waiting")

    assert row["waiting_for"].startswith("login")
    assert [item["kind"] for item in stage.inbox()] == ["login"]
    assert (row["incarnation"], row["restarts"]) == (1, 0)
    assert stage.send("Try again.").returncode == 0
    assert stage.until_idle()["restarts"] == 0
    assert stage.inbox() == []
