"""An orchestrator of the open contract: it reports its turns, and acknowledges what it is handed, as a model would.

Run as a file with the prompt as its only argument. HESITATES in its directory: it says nothing until that file is gone.
ANSWERS: it acknowledges with its last words, because it may run no command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


def report(event: str, **payload: object) -> str:
    """Tell of an event; what the hook program prints."""
    told = json.dumps({"session_id": os.environ["PHOENIX_SESSION_ID"], **payload})
    hook = [os.environ["PHOENIX_HOOK"], event]
    return subprocess.run(hook, input=told, text=True, check=False, stdout=subprocess.PIPE).stdout


def ends_turn(said: str) -> None:
    """Its turn ends, unless that is answered with more to do; then it ends with that."""
    if '"block"' in report("stop", last_assistant_message=said):
        report("stop", last_assistant_message="noted", stop_hook_active=True)


def quoted(package: Path) -> str:
    """What it quotes: from the package, and the last task from the plan as it stands."""
    told = json.loads(package.read_text())
    state = told["projectState"]
    said = {
        "package": told["hash"],
        "word": told["word"],
        "phase": told.get("currentPhase") or "none",
        "step": state["currentStep"],
        "pending": len(state["pendingTasks"]),
    }
    plan = told.get("planFiles", {}).get(told.get("currentPhase"))
    tasks = re.findall(r"^#+ (Task .*)$", Path(plan).read_text(), re.MULTILINE) if plan else []
    return json.dumps(said | ({"plan": tasks[-1]} if tasks else {}))


def acknowledged(package: Path) -> str:
    """Its last words."""
    said = quoted(package)
    if Path("ANSWERS").exists():
        return f"I have read it.\nHANDOFF-ACK {said}"
    done = subprocess.run(["phoenixctl", "handoff", "ack", said], capture_output=True, text=True, check=False)
    Path(f"ack-{os.getpid()}").write_text(f"{done.returncode} {done.stdout}{done.stderr}")
    return "I have read it."


def main() -> None:
    prompt = sys.argv[1] if len(sys.argv) > 1 else ""
    report("session-start", source="startup")
    report("prompt-submit", prompt=prompt)
    found = re.search(r"^Handoff package: (\S+)$", prompt, re.MULTILINE)
    last = "ready"
    if found is not None:
        Path(f"prompt-{os.getpid()}").write_text(prompt)
        while Path("HESITATES").exists():
            time.sleep(0.05)
        last = acknowledged(Path(found[1]))
    ends_turn(last)
    # What is typed here is a prompt, as in a CLI.
    for line in sys.stdin:
        if line.strip():
            report("prompt-submit", prompt=line.strip())
            asked = found is not None and "HANDOFF-ACK" in line
            ends_turn(acknowledged(Path(found[1])) if found and asked else "noted")


if __name__ == "__main__":
    main()
