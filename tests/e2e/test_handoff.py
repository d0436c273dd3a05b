"""A real daemon hands a seat over between agents of the open contract, also where it is killed on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.answering_agent import quoted
from phoenixd.demo.stage import Stage

pytestmark = pytest.mark.slow

PATIENCE = 90.0
AGENT = Path(__file__).with_name("orchestrator.py")
PLAN = """# Phase 1: Work

## Tasks

### Task 1: Lay the ground
- **Status**: completed

### Task 2: Build the shop
- **Status**: pending
"""


def begun(stage: Stage, keys: str = "") -> Path:
    """The orchestrator `boss`, at rest, with a project of one phase; its workspace."""
    work = stage.root / "work"
    phase = work / ".claude/projects/shop/phase-01-work"
    phase.mkdir(parents=True)
    (phase / "plan.md").write_text(PLAN)
    (phase / "claude.md").write_text("# phase-01-work\n")
    (phase / "artifacts").mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    stage.declare(
        "boss",
        '[agent.boss]\nkind = "orchestrator"\nproject = "shop"\nprompt = "Lead the shop."\n'
        f'cwd = "{work}"\nargv = ["{sys.executable}", "{AGENT}", "{{prompt}}"]\nresume = {{ enabled = false }}\n'
        f'[agent.boss.env]\nPATH = "{path}"\n[agent.boss.handoff]\n{keys}',
    )
    stage.up()
    until(stage, "it rests", lambda: stage.row("boss")["activity"] == "idle")
    return work


def until(stage: Stage, what: str, condition: Callable[[], bool]) -> None:
    stage.until(what, condition, PATIENCE)


def status(stage: Stage) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(stage.ctl("handoff", "status", "boss", "--json").stdout)
    return told


def step(stage: Stage) -> str:
    handoff = status(stage)["handoff"]
    return str(handoff["step"]) if handoff is not None else "none"


def test_e5_a_seat_passes_to_a_fresh_session_that_has_proved_what_it_knows(stage: Stage) -> None:
    """P20: a handoff is a significant change, and the brief is written for it."""
    work = begun(stage)
    old = stage.row("boss")
    began = time.time()
    done = stage.ctl("handoff", "start", "boss", "--project", "shop")
    assert done.returncode == 0, done.stderr
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    told, new = status(stage), stage.row("boss")
    assert told["generation"] == 2
    assert [one["step"] for one in told["handoff"]["times"]] == [
        "freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown",
    ]  # fmt: skip
    assert told["handoff"]["degraded"] == []
    assert (new["state"], new["pid"] != old["pid"], new["session_id"] != old["session_id"]) == ("running", True, True)
    (prompt,) = [path.read_text() for path in work.glob("prompt-*")]
    sessions = sorted((work / ".claude/orchestrators").iterdir())
    packages = [json.loads((one / "handoff-package.json").read_text()) for one in sessions]
    assert packages[0] == packages[1]
    assert packages[0]["hash"] not in prompt, "the hash stands in the package alone"
    assert packages[0]["word"] not in prompt
    assert "Lay the ground" in prompt
    until(stage, "both records are written", lambda: sorted(records(work)) == ["running", "shutdown"])
    record = json.loads((stage.state / "agents" / "boss" / "brief.json").read_text())
    assert record["ledger"]["last_run"] >= began
    assert stage.ctl("handoff", "rollback", "boss").returncode == 6


def test_e25_e92_ops_jsonl_has_the_update_before_the_package_and_how_long_each_step_took(stage: Stage) -> None:
    begun(stage)
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    lines = stage.state / "agents/boss/ops.jsonl"

    def told() -> list[dict[str, Any]]:
        return [json.loads(line) for line in lines.read_text().splitlines()]

    until(stage, "its end stands there", lambda: "handoff_ended" in [one["event"] for one in told()])
    events = [one["event"] for one in told()]
    assert events.index("papers_updated") < events.index("package_written") < events.index("handoff_ended")
    assert events.count("handoff_ended") == 1
    over = told()[events.index("handoff_ended")]
    took = {key: value for key, value in over["meta"].items() if key.endswith("_seconds")}
    assert (over["status"], over["meta"]["outcome"]) == ("ok", "done")
    assert took == {f"{one['step']}_seconds": one["seconds"] for one in status(stage)["handoff"]["times"]}
    assert list(took) == [
        f"{one}_seconds" for one in ("freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown")
    ]


TITLES = [f"Task {number}: Lay row {number}" for number in range(1, 6)]


def test_e1_e9_five_handoffs_in_a_row_keep_the_tasks_in_order_and_publish_what_their_workers_left(stage: Stage) -> None:
    """`./dev proof everlasting` is the same with the real Claude Code, at the very token."""
    work = begun(stage)
    phase = work / ".claude/projects/shop/phase-01-work"
    (phase / "plan.md").write_text("# Phase 1: Work\n\n## Tasks\n\n" + "".join(f"### {one}\n\n" for one in TITLES))
    program = "import os, sys; open(os.path.join(os.environ['PHOENIX_OUT'], 'row.txt'), 'w').write(sys.argv[1][:9])"
    argv = json.dumps([sys.executable, "-c", program, "{prompt}"])
    keys = 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n'
    stage.declare("hand", f'[agent.hand]\nargv = {argv}\ncwd = "{work}"\n{keys}')
    stage.ask("apply")
    for number in range(1, 6):
        done_by_hand(stage, number)
        handed_over(stage, number + 1)

    state = json.loads((phase.parent / "orchestrator-state.json").read_text())
    assert (state["completedTasks"], state["pendingTasks"], state["currentStep"]) == (TITLES, [], 5)
    listed = json.loads((phase / "artifacts/manifest.json").read_text())["files"]
    root = ".claude/projects/shop/phase-01-work/artifacts"
    wanted = [(f"{root}/task-{number}/t{number}-TIME/row.txt", str(number)) for number in range(1, 6)]
    assert [(re.sub(r"-\d{8}T\d{6}Z/", "-TIME/", one["path"]), one["task"]) for one in listed] == wanted
    assert [(work / one["path"]).read_text() for one in listed] == [f"Lay row {number}" for number in range(1, 6)]
    packages = [json.loads(path.read_text()) for path in work.glob(".claude/orchestrators/*/handoff-package.json")]
    newest = max(packages, key=lambda one: one["projectState"]["currentStep"])
    assert newest["artifacts"] == [one["path"] for one in listed]


def test_e10_e55_e58_e67_a_worker_that_is_done_changes_plan_state_and_artifacts_without_any_handoff(
    stage: Stage,
) -> None:
    work = begun(stage)
    phase = work / ".claude/projects/shop/phase-01-work"
    program = "import os; open(os.path.join(os.environ['PHOENIX_OUT'], 'till.txt'), 'w').write('till')"
    argv = json.dumps([sys.executable, "-c", program, "{prompt}"])
    keys = 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n'
    stage.declare("hand", f'[agent.hand]\nargv = {argv}\ncwd = "{work}"\n{keys}')
    stage.ask("apply")
    before = (phase / "plan.md").read_bytes()

    done_by_hand(stage, 2, "t1")

    state, manifest = phase.parent / "orchestrator-state.json", phase / "artifacts/manifest.json"
    until(stage, "the state is written", state.exists)
    told = json.loads(state.read_text())
    assert (phase / "plan.md").read_bytes() == before.replace(b"pending", b"completed")
    assert told["completedTasks"] == ["Task 1: Lay the ground", "Task 2: Build the shop"]
    assert (told["pendingTasks"], told["phases"]["phase-01-work"]["status"]) == ([], "completed")
    (entry,) = json.loads(manifest.read_text())["files"]
    assert (entry["task"], (work / entry["path"]).read_text()) == ("2", "till")
    assert status(stage)["handoff"] is None


def test_e10_the_plan_and_the_state_say_that_a_task_is_in_hand_from_when_its_worker_began(stage: Stage) -> None:
    work = begun(stage)
    project = work / ".claude/projects/shop"
    plan, state = project / "phase-01-work/plan.md", project / "orchestrator-state.json"
    program = "import os, sys, time\nwhile not os.path.exists(sys.argv[2]): time.sleep(0.05)"
    argv = json.dumps([sys.executable, "-c", program, "{prompt}", str(work / "GO")])
    keys = 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n'
    stage.declare("hand", f'[agent.hand]\nargv = {argv}\ncwd = "{work}"\n{keys}')
    stage.ask("apply")
    before = plan.read_bytes()

    stage.ask("task", "run", "--project", "shop", "--agent", "hand", "--task", "2", "Build the shop")
    until(stage, "the plan says so", lambda: b"in_progress" in plan.read_bytes())
    until(stage, "the state says so", state.exists)
    told = json.loads(state.read_text())
    assert plan.read_bytes() == before.replace(b"pending", b"in_progress")
    assert told["pendingTasks"] == ["Task 2: Build the shop"]
    assert told["phases"]["phase-01-work"]["status"] == "in_progress"
    assert "startedAt" in told["phases"]["phase-01-work"]

    (work / "GO").touch()
    until(stage, "the plan says that it is done", lambda: plan.read_bytes() == before.replace(b"pending", b"completed"))


INTERRUPTED = """# Phase 1: Work

## Tasks

### Task 1: Lay the ground
- **Status**: completed

### Task 2: Build the shop
- **Status**: in_progress

### Task 3: Open the shop
- **Status**: pending

### Task 4: Paint the shop
- **Status**: pending
"""


def test_e5_e52_the_successor_begins_with_the_first_pending_task_and_none_is_lost_or_done_twice(stage: Stage) -> None:
    """What the predecessor had begun itself is pending again with a note; what a worker has in hand stays with it."""
    work = begun(stage)
    plan = work / ".claude/projects/shop/phase-01-work/plan.md"
    plan.write_text(INTERRUPTED)
    (work / "CONTINUES").touch()
    program = (
        "import os, sys, time\n"
        "while 'Wait' in sys.argv[1] and not os.path.exists(sys.argv[2]): time.sleep(0.05)\n"
        "open(os.path.join(os.getcwd(), 'done'), 'a').write(os.environ['PHOENIX_TASK'] + chr(10))"
    )
    argv = json.dumps([sys.executable, "-c", program, "{prompt}", str(work / "GO")])
    keys = 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n'
    stage.declare("hand", f'[agent.hand]\nargv = {argv}\ncwd = "{work}"\n{keys}')
    stage.ask("apply")
    # It only reads, so that another worker may write beside it.
    stage.ask("task", "run", "--project", "shop", "--agent", "hand", "--reads", "--task", "4", "Wait for paint")
    until(stage, "a worker has it", lambda: plan.read_text().count("in_progress") == 2)

    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    package = json.loads(next(work.glob(".claude/orchestrators/*/handoff-package.json")).read_text())
    assert package["projectState"]["pendingTasks"] == [
        "Task 2: Build the shop", "Task 3: Open the shop", "Task 4: Paint the shop"
    ]  # fmt: skip
    until(stage, "the successor has gone on", lambda: len(list(work.glob("went-on-*"))) == 1)
    (went_on,) = [path.read_text() for path in work.glob("went-on-*")]
    assert went_on == "0 2", "the first pending task"
    until(stage, "it is done", lambda: tasks_of(stage).get("t2") == "done")
    assert tasks_of(stage) == {"t1": "running", "t2": "done"}
    assert "interrupted by a handoff" in plan.read_text()
    twice = stage.ctl("task", "run", "--project", "shop", "--agent", "hand", "--task", "4", "Wait for more paint")
    assert twice.returncode == 6
    assert "in hand already: t1" in twice.stderr

    (work / "GO").touch()
    until(stage, "the worker has ended", lambda: tasks_of(stage) == {"t1": "done", "t2": "done"})
    stands = lambda: [line[14:] for line in plan.read_text().splitlines() if line.startswith("- **Status**: ")]  # noqa: E731
    until(stage, "the plan says so", lambda: stands() == ["completed", "completed", "pending", "completed"])
    assert sorted((work / "done").read_text().splitlines()) == ["t1", "t2"]
    found = [json.loads(path.read_text()) for path in (work / ".claude/orchestrators").glob("*/session.json")]
    assert {one["generation"]: one["status"] for one in found} == {1: "shutdown", 2: "running"}


def tasks_of(stage: Stage) -> dict[str, str]:
    return {one["id"]: one["state"] for one in json.loads(stage.ask("task", "status", "--json"))["tasks"]}


def done_by_hand(stage: Stage, number: int, name: str = "") -> None:
    """The worker of the plan's task of that number has done it. name: phoenixd's id of it, by itself that number's."""
    stage.ask("task", "run", "--project", "shop", "--agent", "hand", "--task", str(number), f"Lay row {number}")
    asked = ("task", "status", name or f"t{number}", "--json")
    until(stage, "it is done", lambda: json.loads(stage.ctl(*asked).stdout)["task"]["state"] == "done")


def handed_over(stage: Stage, generation: int) -> None:
    """The seat has passed to this generation, with all that it is to know."""
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "it holds the seat", lambda: (status(stage)["generation"], step(stage)) == (generation, "done"))
    assert status(stage)["handoff"]["degraded"] == []


def records(work: Path) -> list[str]:
    found = (work / ".claude/orchestrators").glob("*/session.json")
    return [json.loads(path.read_text())["status"] for path in found]


def test_e47_last_words_that_end_in_an_ack_do_as_well(stage: Stage) -> None:
    work = begun(stage)
    (work / "ANSWERS").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    assert status(stage)["generation"] == 2


def test_e47_a_program_that_reports_nothing_and_runs_no_phoenixctl_acknowledges_by_its_file(stage: Stage) -> None:
    work = begun(stage)
    for name in ("WRITES", "SILENT"):
        (work / name).touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    assert status(stage)["generation"] == 2
    assert [path.parent.name for path in work.glob(".claude/orchestrators/*/handoff-ack.json")] == [
        sorted((work / ".claude/orchestrators").iterdir())[-1].name
    ]


def test_e47_a_file_that_proves_nothing_is_told_to_its_writer_and_the_next_one_counts(stage: Stage) -> None:
    work = begun(stage)
    for name in ("WRITES", "LIES"):
        (work / name).touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    why = "its word is not the one that stands in the package"
    until(stage, "it is refused", lambda: any(why in one["what"] for one in status(stage)["checks"]))
    (work / "LIES").unlink()
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    (told,) = [path.read_text() for path in work.glob("told-*")]
    assert f"refused your handoff-ack.json: {why}." in told
    assert status(stage)["handoff"]["tries"] == 1


def test_f_ho_9_a_successor_that_never_confirms_is_tried_twice_and_the_predecessor_goes_on(stage: Stage) -> None:
    work = begun(stage, 'ack = "1s"\n')
    old = stage.row("boss")
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "it is rolled back", lambda: step(stage) == "rolled_back")
    told = status(stage)["handoff"]
    assert told["tries"] == 2
    row = stage.row("boss")
    assert (row["state"], row["pid"]) == ("running", old["pid"])
    assert any(one["kind"] == "handoff" for one in row["alerts"])
    lines = (stage.state / "agents/boss/ops.jsonl").read_text
    until(stage, "it is on record", lambda: "handoff_ended" in lines())
    (over,) = [one for one in map(json.loads, lines().splitlines()) if one["event"] == "handoff_ended"]
    assert (over["status"], over["meta"]["outcome"]) == ("warn", "rolled_back")
    assert "did not acknowledge" in over["meta"]["why_back"]


def test_promise_3_a_stop_in_mid_handoff_leaves_nothing_running(stage: Stage) -> None:
    work = begun(stage)
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "a successor waits", lambda: step(stage) == "await_ack")
    assert stage.ctl("stop", "boss").returncode == 0
    until(stage, "it is rolled back", lambda: step(stage) == "rolled_back")
    assert stage.row("boss")["state"] == "stopped"
    assert status(stage)["generation"] == 1


def test_x13_an_ack_with_a_wrong_hash_and_a_second_start_are_refused(stage: Stage) -> None:
    work = begun(stage)
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "a successor waits", lambda: step(stage) == "await_ack")
    again = stage.ctl("handoff", "start", "boss")
    assert again.returncode == 6
    assert status(stage)["handoff"]["id"] in again.stderr
    wrong = stage.ctl("handoff", "ack", '{"package": "00", "word": "x"}', "--agent", "boss")
    assert wrong.returncode == 6
    assert "hash" in wrong.stderr
    assert stage.ctl("handoff", "ack", "[]", "--agent", "boss").returncode == 2
    assert stage.ctl("handoff", "start", "nobody").returncode == 4
    (work / "HESITATES").unlink()
    until(stage, "the handoff is done", lambda: step(stage) == "done")


def test_e35_f_ho_7_a_plan_that_goes_before_the_ack_has_the_package_written_again_and_the_successor_rests_on_that(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = begun(stage)
    second = work / ".claude/projects/shop/phase-02-api"
    second.mkdir()
    (second / "plan.md").write_text(PLAN)
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "a successor waits", lambda: step(stage) == "await_ack")
    first = status(stage)["handoff"]["package"]
    found = max(work.glob(".claude/orchestrators/*/handoff-package.json"))
    monkeypatch.chdir(work)
    (second / "plan.md").unlink()

    early = stage.ctl("handoff", "ack", quoted(found).removeprefix("HANDOFF-ACK "), "--agent", "boss")
    assert early.returncode == 6
    assert "phase-02-api/plan.md is not there: the package is being written again" in early.stderr
    until(stage, "it is written again", lambda: status(stage)["handoff"]["package"] != first)
    (work / "HESITATES").unlink()
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    assert list(json.loads(found.read_text())["planFiles"]) == ["phase-01-work"]
    assert status(stage)["generation"] == 2


OTHERS = [pytest.param(one, marks=pytest.mark.proof) for one in ("drain", "spawn", "shutdown")]


@pytest.mark.parametrize("at", ["freeze", "await_ack", *OTHERS])
def test_f_ho_6_kill_9_of_the_daemon_in_mid_handoff_ends_in_one_holder(stage: Stage, at: str) -> None:
    work = begun(stage)
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    if at in ("await_ack", "shutdown"):
        until(stage, "a successor waits", lambda: step(stage) == "await_ack")
    if at == "shutdown":
        (work / "HESITATES").unlink()
        until(stage, "it is past the ack", lambda: step(stage) in ("shutdown", "done"))
    stage.kill()
    (work / "HESITATES").unlink(missing_ok=True)
    stage.up()
    until(stage, "the handoff is over", lambda: step(stage) in ("done", "rolled_back"))
    until(stage, "the holder runs", lambda: stage.row("boss")["state"] == "running")
    agents = json.loads(stage.ctl("status", "--json").stdout)["agents"]
    assert [one["name"] for one in agents] == ["boss"]


def terminals(stage: Stage) -> dict[str, str]:
    """The terminals of the seat, and the process of each: that of the agent's shim."""
    tmux = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "list-panes", "-a", "-F", "#{session_name} #{pane_pid}"]
    found = subprocess.run(tmux, check=True, capture_output=True, text=True).stdout.splitlines()
    return dict(line.split() for line in found if line.startswith("phx-boss"))


def lives(pid: int | str) -> bool:
    """Whether a process runs: tmux may leave the end of a pane's process unread for a while."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_e51_process_and_terminal_of_the_predecessor_are_gone_and_neither_a_daemon_nor_a_start_brings_it_back(
    stage: Stage,
) -> None:
    begun(stage)
    old, before = stage.row("boss")["pid"], terminals(stage)
    assert list(before) == ["phx-boss"]
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    until(stage, "its process is gone", lambda: not lives(old))
    until(stage, "its terminal is the successor's", lambda: list(terminals(stage)) == ["phx-boss"])
    until(stage, "and its shim is gone", lambda: not lives(before["phx-boss"]))
    new, after = stage.row("boss")["pid"], terminals(stage)
    assert after != before

    stage.kill()
    stage.up()
    until(stage, "the successor is adopted", lambda: stage.row("boss")["state"] == "running")
    stage.ask("watchdog", "--once")
    assert stage.ctl("start", "boss").returncode == 0
    assert stage.ctl("start", "boss-g1").returncode == 4
    assert (stage.row("boss")["pid"], terminals(stage)) == (new, after)


class DiesBeforeRecords(Stage):
    """A stage whose daemon is killed after a handoff's last commit, before it writes the records of both sessions."""

    def up(self, *, wait: bool = True) -> None:
        places = ["--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with self.log.open("ab") as log:
            self.process = self.popen(
                [sys.executable, "-m", "tests.e2e.dying_before_records", *places],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=self.environ,
            )  # fmt: skip
        self.until("the daemon answers", self.answers, PATIENCE)


def test_e50_the_record_of_a_predecessor_that_is_down_says_so_also_where_the_daemon_died_before_it_wrote_it(
    stage: Stage, request: pytest.FixtureRequest
) -> None:
    dying = DiesBeforeRecords(stage.root)
    request.addfinalizer(dying.down)
    work = begun(dying)
    assert dying.ctl("handoff", "start", "boss").returncode == 0
    assert dying.process is not None
    assert dying.process.wait(PATIENCE) == -signal.SIGKILL
    assert sorted(records(work)) == ["handoff_pending", "running"], "the end of the handoff is committed, and no more"
    stage.up()
    assert step(stage) == "done"
    until(stage, "the record says so", lambda: sorted(records(work)) == ["running", "shutdown"])


def typed_at(stage: Stage, text: str) -> None:
    """Somebody types at the predecessor's own terminal."""
    tmux = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "send-keys", "-t", "=phx-boss:", text, "Enter"]
    subprocess.run(tmux, check=True, capture_output=True)


def test_f_ho_11_what_comes_too_late_for_the_package_stands_in_an_addendum_that_the_successor_is_told_of(
    stage: Stage,
) -> None:
    work = begun(stage)
    (work / "HESITATES").touch()
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "a successor waits", lambda: step(stage) == "await_ack")
    (work / "late.txt").write_text("by a job in the background")
    typed_at(stage, "Mind the till.")
    said = "what was submitted goes into the addendum"
    until(stage, "the prompt is heard", lambda: said in stage.ctl("events", "--all", "--json").stdout)
    (work / "HESITATES").unlink()
    until(stage, "the handoff is done", lambda: step(stage) == "done")

    places = sorted((work / ".claude/orchestrators").glob("*/handoff-addendum.json"))
    assert len(places) == 2
    found = json.loads(places[0].read_text())
    changes = {one["path"]: one["change"] for one in found["changes"]}
    assert (changes["late.txt"], changes["HESITATES"]) == ("created", "deleted")
    assert [one["text"] for one in found["submitted"]] == ["Mind the till."]
    until(stage, "the successor has read of it", lambda: status(stage)["handoff"]["letters"] == 0)
    until(stage, "it stands on its screen", lambda: "addendum" in stage.ctl("logs", "boss").stdout)
    (past,) = status(stage)["history"]
    assert (past["outcome"], past["predecessor"]) == ("done", 1)
    assert [one["step"] for one in past["times"]][-2:] == ["fence", "shutdown"]


WRITER = """
import json, sys
told = json.load(sys.stdin)
path = next(one for one in told["files"] if one.endswith("claude.md"))
print(json.dumps({"files": {path: "# Work\\n\\nVAT is odd.\\n"}}))
"""


def test_writer_command_a_program_of_the_operators_words_the_papers(stage: Stage) -> None:
    program = stage.root / "writer.py"
    program.write_text(WRITER)
    work = begun(stage, f'writer = "command"\ncommand = ["{sys.executable}", "{program}"]\n')
    assert stage.ctl("handoff", "start", "boss").returncode == 0
    until(stage, "the handoff is done", lambda: step(stage) == "done")
    context = (work / ".claude/projects/shop/phase-01-work/claude.md").read_text()
    assert context.startswith("# Work\n\nVAT is odd.\n")
    assert "## Current State" in context
