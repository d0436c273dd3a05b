"""Run within a world without control groups: a real daemon, and an agent that kills its own shim.

Before that it writes the record of an end of its own, as its shim would: no file of its user is a proof.

Prints what became of it, as JSON. `stayed` bears the run's mark and has left its session and its parents; it asks for
an operator's work as fast as it can from before the shim dies until it is ended itself.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phoenixd.demo.stage import Stage
from tests.waiting import eventually_sync

BAD = """
import json, os, signal, socket, sys, time
room, api = sys.argv[1:]
shim = os.getppid()
if os.environ["PHOENIX_INCARNATION"] == "1" and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    answers = open(room + "/answers", "ab", buffering=0)
    open(room + "/stayed", "w").write(str(os.getpid()))
    while not os.path.exists(room + "/go"):
        time.sleep(0.01)
    if os.fork() == 0:
        while os.path.getsize(room + "/answers") == 0:
            time.sleep(0.01)
        forged = {"run_id": os.environ["PHOENIX_RUN_ID"], "incarnation": 1, "code": 3, "signal": None, "cause": "exit"}
        open(os.environ["PHOENIX_STATE_DIR"] + "/exit.json", "w").write(json.dumps({**forged, "ended_at": None}))
        os.kill(shim, signal.SIGKILL)
        os._exit(0)
    while True:
        asked = socket.socket(socket.AF_UNIX)
        asked.connect(api)
        asked.sendall(b"POST /v1/agents/good/stop HTTP/1.0\\r\\nContent-Length: 0\\r\\n\\r\\n")
        answers.write(asked.recv(65536)[:12] + b"\\n")
while True:
    signal.pause()
"""
MARKED = "import signal, sys; signal.pause()"


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def events(stage: Stage, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(stage.ask("events", "--json", name))["events"]
    return found


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    stage = Stage(root)
    argv = json.dumps([sys.executable, "-S", "-c", BAD, str(root), str(stage.runtime / "api.sock")])
    stage.declare("bad", f'[agent.bad]\nargv = {argv}\ncwd = "/"\n[agent.bad.stop]\nunproven = "3s"\n')
    stage.declare("good", '[agent.good]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    found: dict[str, object] = {}
    try:
        stage.up()
        found["tier"] = json.loads(stage.ask("status", "--json"))["daemon"]["tier"]
        stage.until_running("bad", 1)
        stage.until_running("good", 1)
        stayed = int(eventually_sync(lambda: (root / "stayed").exists() and (root / "stayed").read_text(), 60))
        (root / "go").touch()
        eventually_sync(lambda: not exists(stayed), 60, "what outlived the shim is ended")
        found["asked"] = len((root / "answers").read_bytes().splitlines()) > 0
        found["allowed"] = b"200" in (root / "answers").read_bytes()
        stage.until("it waits", lambda: "nothing of the run is seen" in stage.row("bad")["reason"], 60)
        stage.until_running("bad", 2, patience=60)
        found["told"] = [
            one for one in events(stage, "bad") if "nothing proves that run 1 is gone" in one["reason"]
        ] != []
        # Of the lost run's tree, and seen only now: it had hidden its mark.
        marked = subprocess.Popen(
            [sys.executable, "-S", "-c", MARKED],
            env={
                "PHOENIX_AGENT": "bad",
                "PHOENIX_RUN_ID": "lost",
                "PHOENIX_STATE_DIR": str(stage.state / "agents/bad"),
            },
        )
        asked = stage.ctl("stop", "bad")
        found["stopped"] = [asked.returncode, stage.row("bad")["state"]]
        found["swept"] = marked.wait(60)
        found["good"] = [stage.row("good")["state"], stage.row("good")["incarnation"]]
        found["doctor"] = "runs are held by a subreaper" in stage.ctl("doctor", "--all").stdout
    finally:
        stage.down()
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
