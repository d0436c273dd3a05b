"""The three real CLIs as workers: headless, their answers read from their transcripts (E53, E55, E58, E59, F-PH-7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.clis import CONTRACTED, Contracted, contracted
from tests.real.installed import require
from tests.stub.scenario import Step

pytestmark = pytest.mark.real_claude

PROMPT = 'Write "hello" into $PHOENIX_OUT; `never` $(push) --force.\n-- and tell the number.'


class Worker:
    """One CLI that hands are lent by: it never runs itself."""

    def __init__(self, stage: AgentStage) -> None:
        self.stage = stage
        assert isinstance(stage.cli, Contracted)
        self.cli = stage.cli

    def up(self) -> None:
        self.stage.up(prompt=None, keys='kind = "ephemeral"\nautostart = false')

    def run(self, *more: str, prompt: str = PROMPT) -> str:
        told = self.stage.stage.ask("task", "run", "--json", "--agent", NAME, "--tries", "1", *more, prompt)
        return str(json.loads(told)["task"]["id"])

    def until(self, task: str, *states: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def reached() -> bool:
            found.update(self.stage.get(f"/v1/tasks/{task}")["task"])
            return found["state"] in states

        self.stage.stage.until(f"{task} is {' or '.join(states)}", reached, PATIENCE)
        return found

    def place(self, task: str) -> Path:
        return self.stage.stage.state / "tasks" / task


@pytest.fixture(params=CONTRACTED)
def worker(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Worker]:
    with AgentStage(CONTRACTED[request.param](require(request.param)), short_tmp) as made:
        yield Worker(made)
    all_ends(short_tmp)


def test_e55_e58_a_worker_does_its_task_and_its_answer_is_read_from_its_transcript(worker: Worker) -> None:
    worker.stage.scenario.add(worker.cli.shell("printf hello > $PHOENIX_OUT/made.txt"), Step("The number is 42."))
    worker.up()

    task = worker.run()
    done = worker.until(task, "done", "failed")

    assert (done["state"], done["stop"], done["runs"], done["outputs"]) == ("done", "done", 1, 1), done
    assert PROMPT in worker.stage.stub.wait_for_main().whole_text, "byte for byte, and never through a shell"
    report = (worker.place(task) / "report.md").read_text()
    assert "> The number is 42." in report
    manifest = json.loads((worker.place(task) / "manifest.json").read_text())
    assert [(one["path"], one["size"], one["task"]) for one in manifest["files"]] == [("made.txt", 5, task)]
    assert manifest["session_id"]
    assert [row["name"] for row in worker.stage.get("/v1/agents")["agents"]] == [NAME]


REMEMBERED = "KEPT-BY-AN-EARLIER-TASK"


# A CLI that keeps something by itself for its next session is Claude Code.
@pytest.mark.parametrize("worker", contracted("claude"), indirect=True)
def test_e57_two_tasks_in_a_row_share_neither_session_nor_memory(worker: Worker) -> None:
    """Also what a CLI keeps by itself for all its sessions in one directory is not told to the next worker."""
    worker.stage.scenario.add(Step("The number is forty-two."), Step("The number is 43."))
    worker.up()
    sessions = []
    for prompt in ("Tell a number.", "Tell another."):
        task = worker.run(prompt=prompt)
        assert worker.until(task, "done", "failed")["state"] == "done"
        sessions.append(json.loads((worker.place(task) / "manifest.json").read_text())["session_id"])
        for directory in (worker.stage.home / ".claude/projects").glob("*"):
            (directory / "memory").mkdir(exist_ok=True)
            (directory / "memory/MEMORY.md").write_text(f"- {REMEMBERED}\n")

    assert len(set(sessions)) == 2
    asked = [one.whole_text for one in worker.stage.stub.main_requests()]
    assert ["Tell another." in text for text in asked] == [False, True]
    assert "forty-two" not in asked[1]
    assert "Tell a number." not in asked[1]
    assert REMEMBERED not in asked[1]


@pytest.mark.parametrize("worker", contracted("claude", "codex"), indirect=True)
def test_e59_a_turn_that_the_api_refuses_is_a_failure_with_its_words(worker: Worker) -> None:
    for _ in range(12):
        worker.stage.scenario.add(Step(error=worker.cli.refused))
    worker.up()

    failed = worker.until(worker.run(), "done", "failed")

    assert failed["state"] == "failed", failed
    assert failed["report"]


# Of the CLIs that tell no failure by a hook, one tells it at its transcript's end, and one by its exit code.
LIMITED = {"codex": ("exit 1 ", 6900, 7500), "gemini": ("exit 173", 600, 1500)}
"""The code of an end at a limit, and for how many seconds it is waited out: until the reset, where that is told, else
15 minutes and up to half as long again."""


@pytest.mark.parametrize("worker", contracted("codex", "gemini")[1:], indirect=True)
def test_f_proc_26_g60_a_quota_that_ends_a_worker_is_waited_out_and_counts_nothing_against_the_task(
    worker: Worker,
) -> None:
    worker.stage.scenario.add(Step(error=worker.cli.limited, times=None))
    worker.up()

    task, found = worker.run(), {}

    def is_judged() -> bool:
        found.update(worker.stage.get(f"/v1/tasks/{task}")["task"])
        return found["state"] in ("done", "failed") or found["runs_spared"] == 1

    worker.stage.stage.until(f"{task} is judged", is_judged, PATIENCE)

    assert (found["state"], found["runs"]) == ("waiting", 1), f"one try is all that it has, and that is left: {found}"
    code, least, most = LIMITED[worker.cli.harness]
    assert code in found["reason"], found
    assert least < found["due_in"] < most, found
    assert "which does not count" in found["reason"]


# What the daemon does of it hangs on no CLI.
@pytest.mark.parametrize("worker", contracted("claude"), indirect=True)
def test_f_ph_7_x25_timeout_cancel_and_kill_9_of_the_daemon_meanwhile(worker: Worker) -> None:
    worker.stage.scenario.add(Step("The number is 42.", hold="go"), Step(fault="hang"), Step(fault="hang"))
    worker.up()
    first = worker.run("--reads")
    worker.until(first, "running")
    worker.stage.stub.wait_for_main()
    worker.stage.stage.kill()
    worker.stage.stage.up()
    assert worker.until(first, "running", "done", "failed")["state"] == "running"
    worker.stage.stage.kill()
    worker.stage.stub.open_gate("go")
    worker.stage.stage.up()
    assert worker.until(first, "done", "failed")["state"] == "done"
    late = worker.run("--reads", "--timeout", "5s")
    held = worker.run("--reads")
    assert worker.until(late, "done", "failed")["reason"] == "it took longer than 5 s (--timeout)"
    worker.until(held, "running")
    worker.stage.stage.ask("task", "cancel", held)
    assert worker.until(held, "canceled")["runs"] == 1


@pytest.mark.proof
def test_an_answer_without_its_seal_is_kept_where_the_cli_can_tell_and_is_cut_where_it_cannot(worker: Worker) -> None:
    worker.stage.scenario.seals = False
    worker.stage.scenario.add(Step("The number is 42."))
    worker.up()

    ended = worker.until(worker.run("--reads"), "done", "failed")

    can_tell = worker.stage.cli.harness != "gemini"
    assert ended["state"] == ("done" if can_tell else "failed"), ended
    why = (
        "has no seal, also after it was asked for that" if can_tell else "the end of its answer is missing, or was not"
    )
    assert why in ended["reason"]
    asked = worker.stage.stub.wait_for_main().whole_text
    assert "Seal your report" in asked


@pytest.mark.proof
@pytest.mark.parametrize("worker", [name for name in CONTRACTED if name != "gemini"], indirect=True)
def test_a_worker_that_forgot_its_seal_is_asked_for_that_alone_in_its_session(worker: Worker) -> None:
    """The Gemini CLI cannot tell that an answer was cut: there one without its seal is asked for anew."""
    worker.stage.scenario.seals, worker.stage.scenario.seals_late = False, True
    worker.stage.scenario.add(worker.cli.shell("printf hello > $PHOENIX_OUT/made.txt"), Step("The number is 42."))
    worker.up()

    task = worker.run()
    ended = worker.until(task, "done", "failed")

    assert (ended["state"], ended["runs"], ended["outputs"]) == ("done", 1, 1), ended
    assert ended["reason"] == "its worker ended with 0, and sealed its answer when it was asked to"
    report = (worker.place(task) / "report.md").read_text()
    assert "> The number is 42." in report
    assert "- its seal: the answer is whole" in report
