"""`phoenixctl answer` on the real Claude Code: answers count once, and the keyboard stays usable (P9)."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.e2e.inbox import Inbox
from tests.real.agent_stage import PATIENCE
from tests.real.claude_cli import require_claude
from tests.real.claude_room import bash
from tests.real.claude_stage import NAME, ClaudeStage
from tests.real.installed import require
from tests.stub.scenario import Step, ToolUse
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

YES, NO = "Enter", "3"
"""Keys that do no harm where there is no dialog any more."""


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require_claude(), short_tmp) as made:
        made.settings = {}
        yield made
    all_ends(short_tmp)


@pytest.fixture
def inbox(stage: ClaudeStage) -> Inbox:
    return Inbox(stage.stage.runtime)


def asked(inbox: Inbox, text: str) -> dict[str, Any]:
    """The item that asks for exactly this."""

    def found() -> dict[str, Any] | None:
        return next((item for item in inbox.items() if item["text"] == text), None)

    item = eventually_sync(found, PATIENCE, f"the inbox has {text}, and not {inbox.items()}")
    assert item is not None
    assert (item["kind"], item["answer_by"]) == ("permission", "answer")
    return item


def quiet(inbox: Inbox) -> None:
    eventually_sync(lambda: inbox.items() == [], PATIENCE, f"nothing waits, but {inbox.items()}")


def test_promise_11_an_answer_allows_once_and_a_denial_reaches_the_model(stage: ClaudeStage, inbox: Inbox) -> None:
    stage.scenario.add(bash("touch one.txt"), bash("touch one.txt again.txt"), bash("touch two.txt"))
    stage.up()

    assert "touch one.txt" in stage.stage.ask("answer", str(asked(inbox, "Bash touch one.txt")["id"]), "allow")
    # Once: a command that begins alike is asked for again.
    stage.stage.ask("answer", str(asked(inbox, "Bash touch one.txt again.txt")["id"]), "allow")
    stage.stage.ask("answer", str(asked(inbox, "Bash touch two.txt")["id"]), "deny", "Not before the release.")

    assert "Not before the release." in stage.asked("Not before the release").text
    stage.until_idle()
    quiet(inbox)
    assert sorted(path.name for path in stage.workspace.glob("*.txt")) == ["again.txt", "one.txt"]
    assert not (stage.workspace / ".claude").exists(), "nothing is allowed for ever"


QUESTIONS = {
    "questions": [
        {
            "question": "Which database?",
            "header": "DB",
            "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}],
            "multiSelect": False,
        },
        {
            "question": "Which caches \u2014 \u00e9?",
            "header": "Cache",
            "options": [{"label": "Redis", "description": "one"}, {"label": "Memcached", "description": "two"}],
            "multiSelect": True,
        },
    ]
}


def test_p14_the_model_is_told_the_answers_to_its_questions_and_what_becomes_of_its_plan(
    stage: ClaudeStage, inbox: Inbox
) -> None:
    plan = {"plan": "# Plan\n\n1. Build \u00e9\n2. Ship"}
    stage.scenario.add(
        Step(text="I ask.", tool_use=(ToolUse("AskUserQuestion", QUESTIONS),)),
        Step(text="I plan.", tool_use=(ToolUse("ExitPlanMode", plan),)),
        Step(text="I plan again.", tool_use=(ToolUse("ExitPlanMode", plan),)),
    )
    stage.up(flags=("--permission-mode", "plan"))

    item = waiting(inbox, "question")
    assert "  1. SQLite - a file" in item["shown"]
    # An allowance would be swallowed: the model would read that nobody answered.
    refused = stage.stage.ctl("answer", str(item["id"]), "allow")
    assert (refused.returncode, "Which database?" in refused.stderr) == (2, True)
    assert "1 answer is missing" in stage.stage.ctl("answer", NAME, "Postgres").stderr
    stage.stage.ask("answer", NAME, "Postgres", "1,2")
    told = stage.asked("Redis, Memcached").text
    assert "Postgres" in told

    assert waiting(inbox, "plan")["shown"][1:] == ["  # Plan", "  ", "  1. Build \u00e9", "  2. Ship"]
    stage.stage.ask("answer", NAME, "deny", "Split step 2.")
    assert "Split step 2." in stage.asked("Split step 2").text
    waiting(inbox, "plan")
    stage.stage.ask("answer", NAME, "approve")
    assert "approved" in stage.asked("approved").text
    stage.until_idle()
    quiet(inbox)


@pytest.mark.proof
def test_p14_a_question_that_was_open_at_kill_9_is_told_again_and_its_answer_reaches_the_model(
    stage: ClaudeStage, inbox: Inbox
) -> None:
    one = {"questions": QUESTIONS["questions"][:1]}
    stage.scenario.add(Step(text="I ask.", tool_use=(ToolUse("AskUserQuestion", one),)))
    stage.up()
    item = waiting(inbox, "question")

    row = stage.row()
    # A session whose transcript holds no message yet is not resumed: the run after the next one is told.
    stage.wait_record(row["session_id"], lambda record: record.get("type") == "assistant")
    os.kill(row["pid"], signal.SIGKILL)
    reminded = stage.asked("you had asked a person: Which database\\? Nobody has answered yet").text
    assert "You were interrupted" in reminded
    stage.until_idle(row["incarnation"] + 1)
    left = waiting(inbox, "question")
    assert (left["id"], left["left"], left["incarnation"]) == (item["id"], True, row["incarnation"])
    stage.stage.ask("answer", NAME, "SQLite")

    assert "The answer is: SQLite" in stage.asked("The answer is: SQLite").text
    quiet(inbox)


def waiting(inbox: Inbox, kind: str) -> dict[str, Any]:
    """The item of this kind that can be answered from afar."""

    def found() -> dict[str, Any] | None:
        return next((one for one in inbox.items() if (one["kind"], one["answer_by"]) == (kind, "answer")), None)

    item = eventually_sync(found, PATIENCE, f"the inbox has a {kind}, and not {inbox.items()}")
    assert item is not None
    return item


@pytest.mark.proof
def test_promise_11_two_tools_in_one_message_are_two_items_each_with_its_own_answer(
    stage: ClaudeStage, inbox: Inbox
) -> None:
    commands = ("touch one.txt", "touch two.txt")
    uses = tuple(ToolUse("Bash", {"command": command, "description": "Run"}) for command in commands)
    stage.scenario.add(Step(text="Both.", tool_use=uses))
    stage.up()

    first = asked(inbox, "Bash touch one.txt")
    assert inbox.answer(first["id"], "deny") is True, inbox.said
    second = asked(inbox, "Bash touch two.txt")
    assert inbox.answer(first["id"], "allow") is False, inbox.said
    assert inbox.answer(second["id"], "allow") is True, inbox.said

    stage.until_idle()
    quiet(inbox)
    assert [path.name for path in stage.workspace.glob("*.txt")] == ["two.txt"]


def is_watched(stage: ClaudeStage) -> bool:
    """Whether the daemon is told by the kernel when the agent's program reads its terminal."""
    tty = os.stat(f"/proc/{stage.row()['pid']}/fd/0").st_ino
    told = ""
    assert stage.stage.process is not None
    for descriptor in Path(f"/proc/{stage.stage.process.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            told += descriptor.read_text()
    return any(
        int(inode, 16) == tty for inode in re.findall(r"^inotify wd:\S+ ino:(\S+) .* mask:1 ", told, re.MULTILINE)
    )


def pressed_until(stage: ClaudeStage, begun: Path) -> None:
    """Press Enter until the command has begun: in its first moments a dialog takes no key."""

    def has_begun() -> bool:
        if not begun.exists():
            stage.type(YES)
        return begun.exists()

    eventually_sync(has_begun, PATIENCE, f"{begun.name} is there")


@pytest.mark.proof
@pytest.mark.parametrize("pin", PINS["claude"])
def test_promise_11_a_yes_clears_the_item_while_its_command_runs_wherever_it_was_given(
    short_tmp: Path, pin: str
) -> None:
    """Claude Code keeps our request open at a Yes, and no hook comes before the command ends."""
    with ClaudeStage(require("claude", pin), short_tmp) as stage:
        stage.settings = {}
        inbox = Inbox(stage.stage.runtime)
        commands = [f"touch begun{one}; until [ -e go{one} ]; do sleep 0.1; done" for one in (1, 2)]
        stage.scenario.add(*map(bash, commands))
        stage.up(flags=("--permission-mode", "default"))
        for number, command in enumerate(commands, 1):
            item = asked(inbox, f"Bash {command}")
            eventually_sync(lambda: is_watched(stage), PATIENCE, "its terminal is watched while it asks")
            if number == 2:
                assert inbox.answer(item["id"], "allow") is True, inbox.said
            else:
                stage.wait_screen("permission")
                pressed_until(stage, stage.workspace / f"begun{number}")
            quiet(inbox)
            eventually_sync(lambda: not is_watched(stage), PATIENCE, "its terminal is watched no longer")
            stage.until("it works", lambda row: row["activity"] == "working")
            assert not (stage.workspace / f"go{number}").exists()
            (stage.workspace / f"go{number}").touch()
        stage.until_idle()


@pytest.mark.proof
def test_promise_11_a_yes_at_the_keyboard_withdraws_the_item_while_the_tool_runs(
    stage: ClaudeStage, inbox: Inbox
) -> None:
    """Claude Code keeps our request open then, and no hook comes before the tool ends."""
    stage.scenario.add(bash("touch begun.txt; until [ -e go.txt ]; do sleep 0.1; done"))
    stage.up()
    item = asked(inbox, "Bash touch begun.txt; until [ -e go.txt ]; do sleep 0.1; done")
    stage.wait_screen("permission")
    stage.until("it waits", lambda row: row["activity"] == "waiting")

    stage.type("Enter")
    eventually_sync((stage.workspace / "begun.txt").exists, PATIENCE, "the tool runs")

    assert inbox.answer(item["id"], "deny") is False, inbox.said
    quiet(inbox)
    stage.until("it works", lambda row: row["activity"] == "working")
    (stage.workspace / "go.txt").touch()
    stage.until_idle()


@pytest.mark.proof
def test_promise_11_the_item_outlives_kill_9_of_the_daemon_and_the_dialog_hears_the_next_one(
    stage: ClaudeStage, inbox: Inbox
) -> None:
    stage.scenario.add(bash("touch one.txt"))
    stage.up()
    item = asked(inbox, "Bash touch one.txt")

    stage.stage.kill()
    stage.stage.up()

    again = asked(inbox, "Bash touch one.txt")
    assert (again["id"], again["text_hash"]) == (item["id"], item["text_hash"])
    assert inbox.answer(item["id"], "allow") is True, inbox.said
    stage.until_idle()
    assert (stage.workspace / "one.txt").exists()


@pytest.mark.proof
@pytest.mark.parametrize("meanwhile", ["nobody", "keyboard"])
def test_promise_11_an_answer_that_was_not_given_when_the_daemon_died_is_given_once_unless_the_keyboard_was_first(
    stage: ClaudeStage, inbox: Inbox, meanwhile: str
) -> None:
    """The daemon dies before it sees the dialog: tmux stands still when it looks for it."""
    stage.scenario.add(bash("echo once >> one.txt"))
    stage.up()
    item = asked(inbox, "Bash echo once >> one.txt")
    stage.wait_screen("permission")
    tmux = ["tmux", "-S", str(stage.stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    server = int(subprocess.run(tmux, check=True, capture_output=True, text=True).stdout)
    said: list[bool | None] = []
    operator = threading.Thread(target=lambda: said.append(inbox.answer(item["id"], "allow")))
    try:
        os.kill(server, signal.SIGSTOP)
        operator.start()
        eventually_sync(lambda: f"answers #{item['id']} (permission): allow" in story(stage), PATIENCE, "it is decided")
        stage.stage.kill()
    finally:
        os.kill(server, signal.SIGCONT)
    operator.join()
    assert said == [None]
    assert not (stage.workspace / "one.txt").exists()
    if meanwhile == "keyboard":
        stage.type(NO)
        stage.wait_screen("idle")

    stage.stage.up()

    quiet(inbox)
    stage.until_idle()
    told = f"#{item['id']} was being answered (allow) when phoenixd was restarted"
    eventually_sync(lambda: told in story(stage), PATIENCE, "the story tells of it")
    if meanwhile == "nobody":
        eventually_sync(lambda: f"#{item['id']}: its answer was taken" in story(stage), PATIENCE, "it is told")
        assert (stage.workspace / "one.txt").read_text() == "once\n"
    else:
        eventually_sync(lambda: "too late: the terminal was first" in story(stage), PATIENCE, "it is told")
        assert not (stage.workspace / "one.txt").exists()


def story(stage: ClaudeStage) -> str:
    """Why everything was done."""
    return (stage.stage.state / "agents" / NAME / "ops.jsonl").read_text()


@pytest.mark.proof
def test_promise_11_thirty_races_of_keyboard_and_answer(stage: ClaudeStage, inbox: Inbox) -> None:
    """The operator says the opposite of the keyboard, so that it shows whose word counted."""
    dice, races, lost = random.Random(9), 32, 0
    stage.up(prompt=None, keys='liveness = { check_interval = "1s" }')
    stage.until_idle()
    for number in range(races):
        name, key = f"r{number}.txt", dice.choice([YES, NO])
        stage.scenario.add(bash(f"touch {name}"))
        assert stage.send(f"Make {name}.").returncode == 0
        item = asked(inbox, f"Bash touch {name}")
        assert f"{NO}. No" in stage.wait_screen("permission")
        keyboard = threading.Timer(dice.uniform(0.0, 0.1), stage.type, [key])
        keyboard.start()
        time.sleep(dice.uniform(0.0, 0.1))
        taken = inbox.answer(item["id"], "deny" if key == YES else "allow")
        keyboard.join()
        stage.until_idle()
        quiet(inbox)
        # A No that came too late stands in the input line.
        stage.type("BSpace")
        stage.wait_screen("idle")
        made = (stage.workspace / name).exists()
        lost += not taken
        # Whose word counted is what became of it, and that is what the operator was told.
        assert taken is (made == (key == NO)), (name, key, taken, made)
    print(f"{races} races on the real Claude Code: the keyboard won {lost}, the operator {races - lost}")
