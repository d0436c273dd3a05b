"""Tasks through a real daemon, done by `command` workers: outputs, rights, timeout, cancel, kill -9 (E53 to E59)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.test_old_journal import lose

pytestmark = pytest.mark.slow

WORKER = """
import os, subprocess, sys, time
prompt, out = sys.argv[1], os.environ["PHOENIX_OUT"]
assert open(os.environ["PHOENIX_PROMPT"]).read() == prompt
verb, _, rest = prompt.partition(" ")
if verb == "write":
    os.makedirs(f"{out}/src")
    with open(f"{out}/src/a.txt", "w") as file:
        file.write(rest)
    os.symlink("/etc/passwd", f"{out}/link")
    with open(os.path.join(os.getcwd(), "done"), "a") as file:
        file.write(os.environ["PHOENIX_TASK"] + chr(10))
elif verb == "claim":
    with open(os.path.join(os.getcwd(), "real.txt"), "w") as file:
        file.write("here")
    with open(f"{out}/kept.txt", "w") as file:
        file.write("kept")
    with open(f"{out}/report.json", "w") as file:
        file.write(rest)
elif verb == "touch":
    with open(os.path.join(os.getcwd(), "settled.txt"), "w") as file:
        file.write("as before")
    with open(f"{out}/report.json", "w") as file:
        file.write(rest)
elif verb == "fail":
    sys.exit(3)
elif verb == "ask":
    ran = subprocess.run(["phoenixctl", *rest.split()], capture_output=True, text=True)
    with open(f"{out}/asked", "w") as file:
        file.write(f"{ran.returncode} {ran.stderr}{ran.stdout}")
else:
    until = os.path.join(os.getcwd(), rest or "never")
    while not os.path.exists(until):
        time.sleep(0.05)
    with open(os.path.join(os.getcwd(), "done"), "a") as file:
        file.write(os.environ["PHOENIX_TASK"] + chr(10))
"""
BOSS = """
import json, os, subprocess, sys
told = lambda kind, text: subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=text, text=True)
told("session-start", '{"session_id": "s", "source": "startup"}')
place = os.getcwd()
for line in sys.stdin:
    line = line.rstrip(chr(10))
    told("prompt-submit", json.dumps({"session_id": "s", "prompt": line}))
    if line.startswith("run "):
        ran = subprocess.run(["phoenixctl", *line.split()[1:]], capture_output=True, text=True)
        with open(f"{place}/ran", "a") as file:
            file.write(f"{ran.returncode} {' '.join((ran.stdout + ran.stderr).split())}" + chr(10))
    else:
        with open(f"{place}/heard", "a") as file:
            file.write(line + chr(10))
    told("stop", '{"session_id": "s"}')
"""
PATIENCE = 90.0
PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/hand-tasks-to-workers.md"


class Shop:
    """A stage with an orchestrator of project shop, and a declared worker of its."""

    def __init__(self, stage: Stage, room: Path) -> None:
        self.stage, self.work = stage, room / "work"
        self.work.mkdir()
        for name, source in (("worker", WORKER), ("boss", BOSS)):
            (room / f"{name}.py").write_text(source)
        self._declare("boss", room, 'kind = "orchestrator"\nproject = "shop"\nprompt_via = "paste"\n', [])
        self._declare("hand", room, 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n', ["{prompt}"], "worker")

    def _declare(self, name: str, room: Path, keys: str, more: list[str], program: str = "") -> None:
        argv = [sys.executable, "-u", str(room / f"{program or name}.py"), *more]
        self.stage.declare(
            name, f"[agent.{name}]\nargv = {json.dumps(argv)}\ncwd = {json.dumps(str(self.work))}\n{keys}"
        )

    def run(self, prompt: str, *more: str, agent: str = "hand") -> str:
        told = self.stage.ask("task", "run", "--json", "--agent", agent, *more, prompt)
        return str(json.loads(told)["task"]["id"])

    def task(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stage.ctl("task", "status", name, "--json").stdout)["task"]
        return found

    def until(self, name: str, *states: str) -> dict[str, Any]:
        self.stage.until(f"{name} is {' or '.join(states)}", lambda: self.task(name)["state"] in states, PATIENCE)
        return self.task(name)

    def lines(self, name: str) -> list[str]:
        path = self.work / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def shop(stage: Stage, short_tmp: Path) -> Shop:
    return Shop(stage, short_tmp)


def test_e58_e55_a_task_is_done_by_a_worker_and_its_outputs_stand_in_a_manifest(shop: Shop) -> None:
    shop.stage.up()
    name = shop.run("write hello", "--task", "4")
    done = shop.until(name, "done", "failed")
    assert (done["state"], done["plan_task"], done["project"], done["runs"]) == ("done", "4", "shop", 1)
    place = shop.stage.state / "tasks" / name
    manifest = json.loads((place / "manifest.json").read_text())
    digest = sha256(b"hello").hexdigest()
    assert manifest["files"] == [{"path": "src/a.txt", "size": 5, "sha256": digest, "task": name}]
    assert manifest["refused"] == [{"path": "link", "why": "it is a symbolic link"}]
    assert (place / "outputs/src/a.txt").read_text() == "hello"
    assert done["report"] == str(place / "report.md")
    report = (place / "report.md").read_text()
    assert "- verdict: done" in report
    assert "> write hello" in report
    assert set(shop.stage.rows()) == {"boss", "hand"}, "the worker is removed"
    assert shop.stage.ctl("task", "status", name).returncode == 0


LOOKS = """
import json, os, sys
seen = {name: value for name, value in os.environ.items() if name.startswith("PHOENIX_")}
place, out = os.environ["PHOENIX_STATE_DIR"], os.environ["PHOENIX_OUT"]
read = lambda path: open(path).read() if os.path.exists(path) else ""
seen["files"] = sorted(os.listdir(out))
seen["words"] = "".join(read(f"{place}/{name}") for name in os.listdir(place) if not name.endswith(".sock"))
seen["words"] += read(os.environ.get("PHOENIX_BRIEF", ""))
for where in (out, place):
    with open(f"{where}/kept.txt", "w") as file:
        file.write("KEPT-BY " + sys.argv[1])
with open(f"{out}/seen.json", "w") as file:
    json.dump(seen, file)
"""
OWN = ("PHOENIX_SESSION_ID", "PHOENIX_RUN_ID", "PHOENIX_OUT", "PHOENIX_STATE_DIR", "PHOENIX_PROMPT", "PHOENIX_TOKEN",
       "PHOENIX_TASK")  # fmt: skip


def test_e57_two_tasks_in_a_row_share_no_session_no_directory_and_no_word(shop: Shop, short_tmp: Path) -> None:
    (short_tmp / "looks.py").write_text(LOOKS)
    shop._declare("eyes", short_tmp, 'kind = "ephemeral"\nproject = "shop"\nautostart = false\n', ["{prompt}"], "looks")
    shop.stage.up()
    seen = []
    for prompt in ("the first one", "the second one"):
        name = shop.run(prompt, agent="eyes")
        assert shop.until(name, "done", "failed")["state"] == "done"
        seen.append(json.loads((shop.stage.state / "tasks" / name / "outputs/seen.json").read_text()))
    first, second = seen

    assert [name for name in OWN if not first.get(name) or first[name] == second[name]] == []
    assert second["files"] == []
    assert "KEPT-BY" not in second["words"]
    assert "the first one" not in second["words"]


def test_e59_a_task_that_fails_has_its_reason_its_tries_and_a_case_of_the_clinic(shop: Shop) -> None:
    shop.stage.up()
    name = shop.run("fail now", "--tries", "1")
    failed = shop.until(name, "done", "failed")
    assert (failed["state"], failed["runs"]) == ("failed", 1)
    assert "its worker ended with exit 3" in failed["reason"]
    told = json.loads(shop.stage.ask("clinic", "show", "c1", "--json"))["case"]
    assert [(one["occasion"], one["agent"]) for one in told["triage"]] == [("crash", failed["agent"])]
    assert told["triage"][0]["evidence"]["code"] == 3


def test_a_task_that_fails_is_given_back_with_its_reason_and_what_followed_it_as_well(shop: Shop) -> None:
    shop.stage.up()
    first = shop.run("fail", "--tries", "1", "--reads")
    failed = shop.until(first, "failed")
    assert "its worker ended with exit 3" in failed["reason"]
    assert shop.stage.ctl("task", "status", first).returncode == 3
    refused = shop.stage.ctl("task", "run", "--agent", "hand", "--after", first, "write x")
    assert (refused.returncode, "nothing can follow it" in refused.stderr) == (6, True)
    listed = shop.stage.ask("task", "status")
    assert first in listed
    assert "failed" in listed


def test_f_ph_7_timeout_and_cancel_end_the_worker(shop: Shop) -> None:
    shop.stage.up()
    late = shop.run("wait never", "--timeout", "2s", "--reads")
    held = shop.run("wait never", "--reads")
    assert shop.until(late, "failed")["reason"] == "it took longer than 2 s (--timeout)"
    shop.until(held, "running")
    shop.stage.ask("task", "cancel", held)
    assert shop.until(held, "canceled")["reason"].startswith("canceled by operator")
    assert set(shop.stage.rows()) == {"boss", "hand"}


def test_promise_3_down_agents_begins_no_task_that_waited(shop: Shop) -> None:
    shop.stage.up()
    names = [shop.run("wait never", "--reads") for _ in range(4)]
    for name in names[:2]:
        shop.until(name, "running")
    assert [shop.task(name)["state"] for name in names[2:]] == ["waiting", "waiting"]
    shop.stage.ask("down", "--agents")
    assert shop.stage.process is not None
    shop.stage.process.wait(PATIENCE)
    shop.stage.up()
    assert [shop.task(name)["state"] for name in names] == ["canceled"] * 4
    assert [shop.task(name)["runs"] for name in names] == [1, 1, 0, 0]


def test_x25_kill_9_of_the_daemon_loses_no_task_and_does_none_twice(shop: Shop) -> None:
    """Killed while one runs and others wait, once more while one has ended unseen."""
    shop.stage.up()
    first, second = shop.run("wait go"), shop.run("wait go")
    third = shop.run("write x", "--after", second)
    shop.until(first, "running")
    shop.stage.until_running(shop.task(first)["agent"], 1)
    assert "one writing worker at a time" in shop.task(second)["reason"]
    shop.stage.kill()
    shop.stage.up()
    assert shop.task(first)["state"] == "running"
    shop.stage.kill()
    (shop.work / "go").touch()
    shop.stage.until("the worker has ended while no daemon lives", lambda: shop.lines("done") == [first], PATIENCE)
    shop.stage.up()
    shop.until(third, "done", "failed")
    assert [shop.task(name)["state"] for name in (first, second, third)] == ["done"] * 3
    assert shop.lines("done") == [first, second, third]
    assert [shop.task(name)["runs"] for name in (first, second, third)] == [1, 1, 1]


def test_e15_e58_an_orchestrator_hands_out_its_own_tasks_and_is_told_in_one_line(shop: Shop) -> None:
    shop.stage.up()
    shop.stage.until_running("boss", 1)
    shop.stage.ask("send", "boss", "run task run --agent hand wait")
    shop.stage.until("it got an id", lambda: len(shop.lines("ran")) == 1, PATIENCE)
    assert shop.lines("ran")[0].startswith("0 t1 is ")
    shop.stage.ask("task", "cancel", "t1")
    shop.stage.until("it was told", lambda: len(shop.lines("heard")) == 1, PATIENCE)
    report = shop.stage.state / "tasks/t1/report.md"
    assert shop.lines("heard") == [f"phoenixd: task t1 is canceled, canceled by operator; report: {report}"]
    shop.stage.until("that is known", lambda: shop.task("t1")["told"], PATIENCE)


def test_e58_a_worker_may_ask_for_nothing_but_its_own_and_an_orchestrator_for_no_other_project(shop: Shop) -> None:
    shop.stage.up()
    name = shop.run("ask task status")
    shop.until(name, "done")
    asked = (shop.stage.state / "tasks" / name / "outputs/asked").read_text()
    assert asked.startswith("5 ")
    assert "may not task status" in asked
    shop.stage.until_running("boss", 1)
    shop.stage.ask("send", "boss", "run task run --project bank x")
    shop.stage.until("it was answered", lambda: len(shop.lines("ran")) == 1, PATIENCE)
    assert shop.lines("ran")[0].startswith("5 ")


def test_a_claim_that_the_facts_contradict_stands_beside_the_workers_words_and_is_an_alert(shop: Shop) -> None:
    files = [{"path": name, "did": "created"} for name in ("real.txt", "never.txt", "kept.txt")]
    report = {"files": files, "summary": "All is well."}
    shop.stage.up()
    shop.stage.until_running("boss", 1)

    name = shop.run(f"claim {json.dumps(report)}")

    done = shop.until(name, "done", "failed")
    claims = done["claims"]
    assert [claims[key] for key in ("source", "contradicted", "verified", "unverifiable")] == ["report.json", 1, 2, 1]
    first = claims["listed"][0]
    assert (first["verdict"], first["why"]) == ("contradicted", "there is no such file")
    assert "never.txt" in first["said"]
    words = 'contradicted: {"path":"never.txt","did":"created"} (there is no such file)'
    assert f"> {words}" in (shop.stage.state / "tasks" / name / "report.md").read_text()
    told = shop.stage.ask("task", "status", name)
    assert "claims (report.json): 1 contradicted, 2 verified, 1 unverifiable" in told
    assert "never.txt" in told
    shown = " ".join(shop.stage.ask("status", "boss").split())
    assert f"the report of task {name} claims what did not happen (1)" in shown


def test_a_change_that_is_none_is_contradicted_by_what_stood_there_before_the_task(shop: Shop) -> None:
    (shop.work / "settled.txt").write_text("as before")
    shop.stage.up()

    name = shop.run(f"touch {json.dumps({'files': [{'path': 'settled.txt'}]})}")

    claims = shop.until(name, "done", "failed")["claims"]
    assert [(one["verdict"], one["why"]) for one in claims["listed"]] == [
        ("contradicted", "it is as it was before the task")
    ]


def test_the_names_of_workers_are_refused_at_declaration(shop: Shop) -> None:
    shop.stage.up()
    refused = shop.stage.ctl("add", "shop-t1", "--", "sleep", "1")
    assert refused.returncode == 2
    assert "is a worker's" in refused.stderr


def test_the_how_to_page_does_what_it_says(shop: Shop) -> None:
    """Every command of the page, in its order, in one shell."""
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE))
    assert commands.count("phoenixctl") == 4
    shop.stage.up()
    shop.stage.until_running("boss", 1)
    phoenixctl = f"{sys.executable} -m phoenixd.ctl --socket {shop.stage.runtime / 'api.sock'}"

    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'phoenixctl() {{ {phoenixctl} "$@"; }}\n{commands}'],
        env=shop.stage.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 of 2 workers run" in ran.stdout
    assert shop.until("t1", "canceled")["agent"] == "boss-t1"


def test_promise_9_what_stands_on_the_disk_of_tasks_is_known_again_after_a_lost_journal(shop: Shop) -> None:
    shop.stage.up()
    done, failed = shop.run("write hello", "--task", "4"), shop.run("fail", "--tries", "1")
    before = {name: shop.until(name, "done", "failed") for name in (done, failed)}
    cut = shop.run("wait never")
    worker = shop.until(cut, "running")["agent"]
    shop.stage.until("its worker lives", lambda: shop.stage.row(worker)["pid"] is not None, PATIENCE)
    shop.stage.kill()
    lose(shop.stage)
    shop.stage.up()
    again = {name: shop.task(name) for name in (done, failed, cut)}
    assert {name: one["state"] for name, one in again.items()} == {done: "done", failed: "failed", cut: "unknown"}
    for name, one in before.items():
        for key in ("agent", "project", "plan_task", "runs", "asked_at", "report", "outputs"):
            assert again[name][key] == one[key]
    assert "nothing on the disk tells what became of it" in again[cut]["reason"]
    assert shop.stage.ctl("task", "status", cut).returncode == 3
    listed = json.loads(shop.stage.ask("task", "status", "--json"))["tasks"]
    assert [one["id"] for one in listed] == [cut, failed, done]
    assert f"declared by nobody: {worker}" in " ".join(shop.stage.ask("recover").split())
    # What was never begun stood in the journal alone.
    never = shop.stage.ctl("task", "status", "t4")
    assert (never.returncode, "nothing is known of a task t4" in " ".join(never.stderr.split())) == (4, True)
