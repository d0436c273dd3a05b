"""The clinic of a living daemon: a crash has a Case, a readable copy without secrets, and an outcome that survives."""

from __future__ import annotations

import json
import sys
from typing import Any

from phoenixd.demo.stage import Stage

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
    stage.until("it runs again", lambda: stage.row("dies")["incarnation"] == 2)

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
