"""What differs between the releases of Claude Code that are pinned, under a whole daemon with the real CLI.

The first pin runs all of the other files here; each further one the rows of this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.claude_cli import environment, seed_home
from tests.real.claude_room import bash
from tests.real.claude_stage import GOAL, NAME, ClaudeStage
from tests.real.installed import require
from tests.real.terminal import Terminal
from tests.stub.scenario import Rejection, Step
from tests.typed import typed
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

PERSON = 6
OLDEST, NEWER = PINS["claude"]
AGENT_VIEW = "CLAUDE_CODE_DISABLE_AGENT_VIEW"
AWAY = "its session has moved into the background, away from this terminal"
RENDERER = "offer of another renderer"
AUTO_MODE = "offer of its auto mode"


def made(root: Path, pin: str) -> Iterator[ClaudeStage]:
    with ClaudeStage(require("claude", pin), root) as stage:
        stage.extra_env = {"CLAUDE_CODE_MAX_RETRIES": "1"}
        yield stage
    all_ends(root)


@pytest.fixture(params=[pytest.param(OLDEST, marks=pytest.mark.proof), NEWER])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[ClaudeStage]:
    yield from made(short_tmp, request.param)


@pytest.fixture
def newer(short_tmp: Path) -> Iterator[ClaudeStage]:
    yield from made(short_tmp, NEWER)


def asks(stage: ClaudeStage) -> list[tuple[str, str]]:
    return [(item["kind"], item["text"]) for item in stage.inbox()]


def until_asked(stage: ClaudeStage, *items: tuple[str, str]) -> None:
    eventually_sync(lambda: asks(stage) == list(items), 60, f"the inbox holds {items}")


def comes_back(stage: ClaudeStage) -> bool:
    """Press Enter, and say whether it helped: now and then the session draws an empty frame, and waits."""
    stage.type("Enter")
    try:
        eventually_sync(lambda: asks(stage) == [], 20, "its session is back")
    except TimeoutError:
        return False
    return True


def test_a_left_arrow_leaves_the_session_where_it_is(stage: ClaudeStage) -> None:
    """On an empty prompt it would move the session into the CLI's own daemon, under another id."""
    stage.up(prompt=None)
    stage.until_idle()
    stage.wait_screen("idle")
    session = stage.row()["session_id"]

    stage.type("Left")
    sent = stage.send("Go on.")

    assert sent.returncode == 0, sent.stderr
    assert stage.asked("Go on").session_id == session
    assert stage.until_idle()["session_id"] == session
    assert asks(stage) == []


def test_a_session_that_moved_away_all_the_same_is_an_item_until_somebody_brings_it_back(stage: ClaudeStage) -> None:
    stage.extra_env[AGENT_VIEW] = ""
    stage.up(prompt=None)
    stage.until_idle()
    stage.wait_screen("idle")
    # Its own daemon is up only some time after the first frame.
    eventually_sync(lambda: "← for agents" in stage.screen(), 60, "the arrow is offered")

    session = stage.row()["session_id"]

    stage.type("Left")

    until_asked(stage, ("dialog", AWAY))
    row = stage.row()
    assert (row["activity"], row["group"]) == ("waiting", "needs_you")
    sent = stage.send("Go on.")
    assert sent.returncode == PERSON
    assert "has moved into the background" in sent.stderr
    assert stage.stub.main_requests() == []

    eventually_sync(lambda: comes_back(stage), 120, "the session is opened again")
    # It is another session now, and that of 2.1.197 has lost the variables that say where its vendor is.
    back = stage.send("Go on.")
    assert back.returncode == 0, back.stderr
    stage.until("the row names the session that took the prompt", lambda row: row["session_id"] != session)


def test_the_newer_one_starts_asks_is_resumed_and_stops(newer: ClaudeStage) -> None:
    newer.settings = {"permissions": {"defaultMode": "default"}}
    newer.scenario.add(bash("touch made.txt"))
    newer.up()
    first = newer.asked()
    newer.until("it asks", lambda row: row["activity"] == "waiting")
    newer.wait_screen("permission")
    assert first.text == GOAL
    assert [kind for kind, _ in asks(newer)] == ["permission"]

    newer.type("Enter")
    newer.asked(after=first.number)
    assert (newer.workspace / "made.txt").exists()
    # After the first permission it offers its auto mode in a list without numbers, and Enter would take it.
    until_asked(newer, ("dialog", AUTO_MODE))
    newer.type("Escape")
    until_asked(newer)

    newer.scenario.add(Step(fault="hang"))
    assert newer.send("Now the till.").returncode == 0
    number = newer.asked("Now the till").number
    newer.wait_record(str(first.session_id), lambda record: "Now the till" in str(record.get("message")))
    newer.scenario.steps.clear()
    newer.kill_agent()
    again = newer.asked("You were interrupted", after=number)
    row = newer.until_idle(incarnation=2)
    assert (row["mode"], row["session_id"], again.session_id) == ("resume", first.session_id, first.session_id)

    newer.stage.ask("stop", NAME)
    assert newer.row()["state"] == "stopped"


def test_the_newer_ones_auto_mode_that_can_check_nothing_waits_for_a_person(newer: ClaudeStage) -> None:
    """It asks by a dialog of its own, with an open call and without a request for permission: only a notice tells."""
    newer.settings = {"permissions": {"defaultMode": "auto"}}
    newer.scenario.add(bash("curl -s http://127.0.0.1:9/x"))
    newer.up()
    newer.asked()
    eventually_sync(lambda: [kind for kind, _ in asks(newer)] == ["dialog"], 60, "it waits for a person")
    assert newer.row()["group"] == "needs_you"
    newer.type("Escape")
    until_asked(newer)


def test_what_is_sent_in_several_lines_is_told_as_delivered_though_the_newer_one_puts_it_between_tags(
    newer: ClaudeStage,
) -> None:
    newer.up()
    newer.asked()
    newer.until_idle()
    lines = "First the till.\n\nThen:\n- the shelf\n- the door"

    sent = newer.send(lines)

    assert sent.returncode == 0, sent.stderr
    assert "pasted_content" in newer.asked("First the till").text
    row = newer.until_idle()
    assert row["task"] == " ".join(lines.split())


def test_what_the_newer_one_suggests_after_a_turn_that_failed_keeps_no_text_out(newer: ClaudeStage) -> None:
    """It stands in the input line like something typed, and the agent would never be told to go on."""
    newer.scenario.add(Step(error=Rejection(529, "overloaded_error", "Overloaded"), match="docs/plan.md", times=4))
    newer.up(keys='limits = { overload_wait = "1s" }')
    newer.asked()

    row = newer.until("it went on", lambda row: (row["state"], row["activity"]) == ("running", "idle"))

    assert (row["incarnation"], row["restarts"]) == (1, 0)
    told = newer.send("And now?")
    assert told.returncode == 0, told.stderr


def test_a_home_that_an_older_one_used_is_asked_about_the_renderer_which_is_an_item_and_never_entered(
    newer: ClaudeStage,
) -> None:
    used_by_the_older_one(newer)
    newer.up()
    assert newer.asked(r"docs/plan\.md").text == GOAL

    until_asked(newer, ("dialog", RENDERER))
    waited = newer.stage.ctl("wait", NAME, "--for", "idle", "--timeout", "30s")
    assert waited.returncode == PERSON
    assert typed(newer.stage, "attach", NAME) in waited.stderr
    sent = newer.send("And now?")
    assert sent.returncode == PERSON
    newer.wait_screen("renderer")

    newer.type("Escape")
    until_asked(newer)
    assert newer.send("And now?").returncode == 0
    starts = [event["detail"] for event in newer.events() if event["detail"].get("kind") == "session-start"]
    assert [start["source"] for start in starts] == ["startup"]


@pytest.mark.parametrize("offer", [RENDERER, AUTO_MODE])
def test_where_the_operator_said_no_beforehand_the_offer_is_dismissed_and_nobody_called(
    newer: ClaudeStage, offer: str
) -> None:
    if offer == RENDERER:
        used_by_the_older_one(newer)
    else:
        newer.settings = {"permissions": {"allow": ["Bash(*)"], "defaultMode": "default"}}
    newer.up(keys=f'answers = [{{ dialog = "dialog", asks = "{offer}", answer = "deny" }}]')
    newer.asked(r"docs/plan\.md")

    eventually_sync(lambda: any("says no to it" in event["reason"] for event in newer.events()), 60, "it is dismissed")
    newer.until_idle()
    assert newer.send("And now?").returncode == 0
    # A slow disk is told too, of no agent.
    assert [event for event in newer.events() if event["event"] == "alert_raised" and event["agent"]] == []


def used_by_the_older_one(stage: ClaudeStage) -> None:
    """One session of the oldest release in the same HOME, for its own user."""
    seed_home(stage.home, stage.workspace)
    with Terminal() as terminal:
        argv = [str(require("claude", OLDEST)), "Say done."]
        program = terminal.run(argv, environment(stage.home, stage.stub.base_url), stage.workspace)
        stage.stub.wait_for_main(text="Say done")
        program.wait_screen("Done\\.")
        program.type("/exit", "Enter")
        program.wait_exit()
