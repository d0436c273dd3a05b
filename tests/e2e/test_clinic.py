"""The clinic of a living daemon: a crash has a Case, a readable copy without secrets, and an outcome that survives."""

from __future__ import annotations

import json
import sys
from typing import Any

from phoenixd.demo.stage import Stage
from tests.full_disk import fill, small_disk

SECRET = "sk-ant-api03-" + "q7Zx81" * 8
DIES = """
import json, os, subprocess, sys
def report(kind, **payload):
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)
report("session-start", source="startup")
report("prompt-submit", prompt="go on")
if os.path.exists(sys.argv[1]):
    report("stop")
    sys.stdin.read()
report("stop-failure", error="invalid_request", error_details="the key " + "".join(sys.argv[2:]) + " asks for too much")
open(sys.argv[1], "w").close()
sys.exit(1)
"""


def case(stage: Stage, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.ask("clinic", "show", name, "--json"))["case"]
    return found


def test_c2_c10_c36_a_crash_has_a_case_a_copy_without_secrets_and_a_treatment(stage: Stage) -> None:
    stage.up()
    # In parts, for an operator's command stands in the journal as it is.
    told = (str(stage.root / "been"), SECRET[:14], SECRET[14:])
    stage.ask("add", "dies", "--cwd", str(stage.root), "--", sys.executable, "-c", DIES, *told)
    stage.ask("start", "dies")
    stage.until_running("dies", 2)

    incidents = stage.state / "agents" / "dies" / "incidents"
    stage.until("the copies are written", lambda: len(list(incidents.glob("1-*.json"))) == 2)
    copies = "".join(path.read_text() for path in incidents.iterdir())
    stage.kill()
    stage.up()
    shown, replayed = case(stage, "c1"), json.loads(stage.ask("clinic", "replay", "c1", "--json"))

    assert [one["occasion"] for one in shown["triage"]] == ["failed_turn", "crash"]
    assert shown["rehabilitation"][-1]["prescription"]["treatment"] in ("resume", "fresh")
    assert not replayed["differs"]
    assert "c1" in stage.ask("clinic", "list")
    journal = b"".join(path.read_bytes() for path in stage.state.glob("journal*"))
    assert "[redacted]" in json.dumps(shown)
    assert SECRET not in copies + json.dumps(shown) + stage.ask("clinic", "show", "c1")
    assert SECRET.encode() not in journal


def test_c40_diagnosis_prescription_and_outcome_of_a_failure_stand_in_ops_jsonl(stage: Stage) -> None:
    stage.up()
    told = (str(stage.root / "been"), SECRET[:14], SECRET[14:])
    stage.ask("add", "dies", "--cwd", str(stage.root), "--", sys.executable, "-c", DIES, *told)
    stage.ask("start", "dies")
    stage.until_running("dies", 2)
    log = stage.state / "agents" / "dies" / "ops.jsonl"

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in log.read_text().splitlines()]

    def told(name: str) -> list[dict[str, Any]]:
        return [one["meta"] for one in lines() if one["event"] == f"clinic.{name}"]

    stage.until("what is done about its end stands there", lambda: len(told("prescription")) == 2)
    stage.ask("stop", "dies")
    stage.until("what came of that stands there", lambda: len(told("outcome")) == 2)
    shown = case(stage, "c1")
    done = shown["rehabilitation"]
    assert [(one["case"], one["failure"], one["cause"]) for one in told("diagnosis")] == [
        ("c1", occasion, shown["diagnosis"]["root_cause"]) for occasion in ("failed_turn", "crash")
    ]
    assert [one["treatment"] for one in told("prescription")] == [one["prescription"]["treatment"] for one in done]
    assert [one["action"] for one in told("prescription")] == [one["prescription"]["action"] for one in done]
    came = {one["number"]: (one["outcome"], one["why"]) for one in told("outcome")}
    assert [came[number] for number in (1, 2)] == [(one["outcome"], one["why"]) for one in done]
    names = [one["event"] for one in lines()]
    assert names.index("stop_failure") < names.index("clinic.diagnosis") < names.index("clinic.prescription")
    assert SECRET not in log.read_text()


DIES_FULL = """
import os, sys
print("nothing of this is about a disk", flush=True)
sys.exit(3 if os.environ["PHOENIX_INCARNATION"] == "1" else sys.stdin.read())
"""


def test_a_run_that_dies_on_a_full_disk_has_a_case_that_says_which(stage: Stage) -> None:
    """By what the kernel counts: it printed no word of that."""
    with small_disk(stage.root / "disk", "8M") as disk:
        stage.declare("dies", f"[agent.dies]\nargv = {json.dumps([sys.executable, '-c', DIES_FULL])}\ncwd = '{disk}'\n")
        fill(disk)
        stage.up()
        stage.until_running("dies", 2)
        shown = case(stage, "c1")
        stage.ask("stop", "dies")

    assert (shown["diagnosis"]["root_cause"], shown["diagnosis"]["detail"]) == ("logic_error", "disk_full")
    assert shown["triage"][0]["evidence"]["disks"] == "cwd"


CRASHES = """
import json, os, subprocess, sys
def report(kind, **payload):
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)
report("session-start", source="startup")
if os.environ["PHOENIX_INCARNATION"] == "3":
    report("prompt-submit", prompt="go on")
    report("stop")
    sys.stdin.read()
secrets = "".join(sys.argv[1:]) + " and " + os.environ["SHOP_PASSWORD"]
report("prompt-submit", prompt="go on with " + secrets)
report("tool-start", tool_name="Bash", tool_use_id="t", tool_input={"command": "curl -H " + secrets})
print("the maximum context length was " + os.environ["SHOP_PASSWORD"])
print("x" * 100 + " " + secrets, flush=True)
sys.exit(1)
"""
READS = """
import json, sys
with open(sys.argv[1], "a") as file:
    file.write(sys.stdin.read())
says = {"root_cause": "context_length_exceeded", "explanation": "Its terminal says so.", "confidence": 0.8}
prescribed = {"action": "modify_prompt", "modified_system_prompt": "Read less at once."}
print(json.dumps({"diagnosis": says, "prescription": prescribed}))
"""


def test_c36_c41_the_end_of_the_terminal_is_read_by_a_program_without_secrets_and_the_run_after_is_told(
    stage: Stage,
) -> None:
    """It decides nothing: the restarts go on meanwhile, and what it says stands in the Case.

    Secrets stand in the prompt, in the arguments of the open call, in the error and in the environment.
    """
    program, read = stage.root / "reader.py", stage.root / "read"
    program.write_text(READS)
    words = json.dumps([sys.executable, "-I", str(program), str(read)])
    stage.declare("phoenixd", f"[clinic]\ncommand = {words}\nquestions_per_day = 5\n")
    stage.up()
    secret = "battery-staple-7"
    told = (sys.executable, "-c", CRASHES, SECRET[:14], SECRET[14:])
    stage.ask("add", "dies", "--cwd", str(stage.root), "--env", f"SHOP_PASSWORD={secret}", "--", *told)
    stage.ask("start", "dies")
    stage.until("its third run works", lambda: stage.row("dies")["incarnation"] == 3)
    stage.until("the answer is there", lambda: (case(stage, "c1")["reading"] or {}).get("diagnosis") is not None)

    shown = json.loads(stage.ask("clinic", "show", "c1", "--json"))
    reading, panes = shown["case"]["reading"], [one["evidence"].get("pane") for one in shown["case"]["triage"]]
    assert reading["diagnosis"]["root_cause"] == "context_length_exceeded"
    assert shown["case"]["diagnosis"] is None, "the rules say what they said"
    assert (shown["reader"]["questions_today"], shown["reader"]["questions_per_day"]) == (1, 5)
    assert "the maximum context length was [redacted]" in (panes[0] or [])
    page, doctor = stage.ask("clinic", "show", "c1"), stage.ask("doctor", "--all")
    assert "prescribes modify prompt: Its terminal says so. It would add: Read less at once." in " ".join(page.split())
    assert "the maximum context length was [redacted]" in page
    assert f"failures that no rule knows are read by the command {sys.executable}" in " ".join(doctor.split())
    asked = read.read_text()
    assert "the maximum context length was [redacted]" in asked
    assert "Bash(curl -H [redacted] and [redacted])" in asked
    incidents = list((stage.state / "agents" / "dies" / "incidents").iterdir())
    assert incidents
    written = [path.read_bytes() for path in (*incidents, *stage.state.glob("journal*"))]
    for one in (secret, SECRET):
        assert one not in asked + page + json.dumps(shown)
        assert not [text for text in written if one.encode() in text]
