"""What an operator is told of a real fleet is true now: deaths, failed starts, orders, and what undo takes back."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from phoenixd.demo.stage import Stage
from tests.e2e import asking_agent
from tests.e2e.inbox import Inbox

GIVES_UP = ("sh", "-c", "if [ -e mended ]; then exec sleep 100000; fi; exit 3")
"""Dies at once until somebody has repaired it."""


def since(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ask("since", "1h", "--json"))
    return found


def classes(stage: Stage) -> dict[str, int]:
    told = since(stage)["deaths"]
    names = ("healed", "repeated", "running_again", "healing", "quarantined", "returned", "released", "ended")
    assert told["total"] == sum(told[name] for name in names)
    return {name: told[name] for name in names if told[name]}


def second_line(stage: Stage) -> str:
    return stage.ask("status").splitlines()[1]


def given_up(stage: Stage, name: str) -> None:
    stage.ask("add", name, "--cwd", str(stage.root), "--", *GIVES_UP)
    stage.ask("start", name)
    stage.until(f"{name} is given up", lambda: stage.row(name)["state"] == "quarantined")


def test_a_quarantine_that_is_over_is_in_no_count_of_those_that_are_not(stage: Stage) -> None:
    stage.up()
    given_up(stage, "docs")
    assert classes(stage) == {"quarantined": 5}
    assert "5 quarantined (docs)" in second_line(stage)

    stage.ask("stop", "docs")
    assert classes(stage) == {"ended": 5}
    assert "5 stopped (docs)" in second_line(stage)
    stage.ask("undo")
    assert classes(stage) == {"quarantined": 5}

    (stage.root / "mended").touch()
    stage.ask("start", "docs", "--wait")
    assert classes(stage) == {"released": 5}
    assert "5 were down, started since" in second_line(stage)
    stage.kill()
    stage.up()
    assert classes(stage) == {"released": 5}, "the next daemon counts the same"


def test_failed_starts_stay_counted_and_each_order_of_a_person_is(stage: Stage) -> None:
    stage.up()
    program = stage.root / "program"
    stage.ask("add", "noexec", "--cwd", str(stage.root), "--", str(program))
    stage.ask("start", "noexec")
    stage.until("it is given up", lambda: stage.row("noexec")["state"] == "quarantined")
    failed = since(stage)["failed_starts"]
    assert failed > 0
    assert since(stage)["unstarted"] == ["noexec"]

    program.write_text("#!/bin/sh\nexec sleep 100000\n")
    program.chmod(0o755)
    stage.ask("start", "noexec", "--wait")
    stage.ask("restart", "noexec", "--wait")
    stage.ask("mute", "noexec")
    stage.ask("undo")
    stage.ask("remove", "noexec")

    found = since(stage)
    assert (found["failed_starts"], found["unstarted"]) == (failed, [])
    assert {verb: count for verb, count in found["orders"].items() if count} == {
        "declare": 1, "start": 2, "restart": 1, "mute": 1, "undo": 1, "remove": 1,
    }  # fmt: skip


def test_a_stop_of_what_was_down_by_itself_is_what_undo_takes_back(stage: Stage) -> None:
    """A newcomer stopped what had ended by itself; `undo` then took back the older act of somebody else."""
    stage.up()
    stage.ask("add", "once", "--cwd", "/", "--", "sh", "-c", "sleep 11")
    stage.ask("add", "other", "--cwd", "/", "--", "sleep", "100000")
    for name in ("once", "other"):
        stage.ask("start", name, "--wait")
    stage.ask("mute", "other")
    stage.until("it has ended by itself", lambda: stage.row("once")["state"] == "stopped")
    stage.ask("stop", "once")

    assert "once is declared as it was" in stage.ask("undo")
    assert stage.row("once")["state"] == "stopped"
    assert stage.row("other")["muted_until"] is not None
    assert "other" in stage.ask("undo"), "the older act is the next one"
    assert stage.row("other")["muted_until"] is None


def loops(stage: Stage, agent: str) -> list[str]:
    return [one["text"] for one in json.loads(stage.ask("loops", agent, "--json"))["loops"]]


def test_loops_follow_the_stop_of_what_waited_for_a_person(stage: Stage) -> None:
    """A newcomer read "Waits for a person" for more than a minute after the stop."""
    stage.up()
    given_up(stage, "docs")
    stage.ask("brief", "generate", "docs")
    assert any("Waits for a person, quarantined" in text for text in loops(stage, "docs"))

    stage.ask("stop", "docs")

    stage.until("nothing waits for a person", lambda: not loops(stage, "docs"))


def test_loops_follow_the_answer_to_a_question_also_a_denied_one(stage: Stage) -> None:
    room = stage.root / "asks"
    room.mkdir()
    os.mkfifo(room / "asks.fifo")
    fifo = os.open(room / "asks.fifo", os.O_RDWR)
    argv = json.dumps([sys.executable, "-I", "-S", asking_agent.__file__, str(room)])
    words = f'cwd = "{os.getcwd()}"\nhold_permissions = true\nenv = {{TRANSCRIPT = "{room}/transcript.jsonl"}}\n'
    stage.declare("asks", f"[agent.asks]\nargv = {argv}\n{words}")
    stage.up()
    inbox = Inbox(stage.runtime)
    try:
        for name, verdict in (("one", "deny"), ("two", "allow")):
            os.write(fifo, f"{name}\n".encode())
            stage.until(f"{name} is asked", lambda: bool(inbox.items()))
            stage.ask("brief", "generate", "asks")
            assert any("Asked, not answered" in text for text in loops(stage, "asks"))
            assert inbox.answer(inbox.items()[0]["id"], verdict)
            stage.until(f"{name} is no open loop", lambda: not loops(stage, "asks"))
    finally:
        os.close(fifo)
