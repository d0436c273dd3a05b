"""An orchestrator of the open contract: it reports its turns, and acknowledges what it is handed, as a model would.

Run as a file with the prompt as its only argument. HESITATES in its directory: it says nothing until that file is gone.
ANSWERS: it acknowledges with its last words, because it may run no command. WRITES: it acknowledges by a file, and runs
no phoenixctl. LIES beside it: it quotes another word, and its turn goes on until that file is gone. SILENT beside it:
it reports nothing either. CONTINUES: once it has acknowledged it hands the first pending task of its prompt to `hand`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from phoenixd.demo.answering_agent import PACKAGE, quoted, report


def ends_turn(said: str) -> None:
    """Its turn ends, unless that is answered with more to do; then it ends with that."""
    if '"block"' in report("stop", last_assistant_message=said):
        report("stop", last_assistant_message="noted", stop_hook_active=True)


def acknowledged(package: Path) -> str:
    """Its last words."""
    said = quoted(package)
    if Path("ANSWERS").exists():
        return f"I have read it.\n{said}"
    if Path("WRITES").exists():
        writes(json.loads(said.removeprefix("HANDOFF-ACK ")), package.with_name("handoff-ack.json"))
        return "I have read it."
    done = subprocess.run(
        ["phoenixctl", "handoff", "ack", said.removeprefix("HANDOFF-ACK ")], capture_output=True, text=True, check=False
    )
    Path(f"ack-{os.getpid()}").write_text(f"{done.returncode} {done.stdout}{done.stderr}")
    return "I have read it."


def writes(proof: dict[str, object], file: Path) -> None:
    """The file that acknowledges, in the place that its first prompt names."""
    proof["run"] = os.environ["PHOENIX_RUN_ID"]
    if not Path("LIES").exists():
        file.write_text(json.dumps(proof))
        return
    file.write_text(json.dumps(proof | {"word": "stork"}))
    while Path("LIES").exists():
        time.sleep(0.05)


def continues(prompt: str) -> None:
    """It goes on with the first pending task, as its prompt says; until it holds the seat, that is refused."""
    pending = prompt.partition("\nPending tasks (")[2].splitlines()[1]
    task = pending.removeprefix("- Task ").partition(":")[0]
    argv = ["phoenixctl", "task", "run", "--project", "shop", "--agent", "hand", "--task", task, "on with it"]
    for _ in range(600):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        time.sleep(0.1)
    Path(f"went-on-{os.getpid()}").write_text(f"{done.returncode} {task}")


def main() -> None:
    prompt = sys.argv[1] if len(sys.argv) > 1 else ""
    if Path("SILENT").exists():
        package = PACKAGE.search(prompt)
        if package is not None:
            acknowledged(Path(package[1]))
        sys.stdin.read()
        return
    report("session-start", source="startup")
    report("prompt-submit", prompt=prompt)
    found = PACKAGE.search(prompt)
    last = "ready"
    if found is not None:
        Path(f"prompt-{os.getpid()}").write_text(prompt)
        while Path("HESITATES").exists():
            time.sleep(0.05)
        last = acknowledged(Path(found[1]))
    ends_turn(last)
    if found is not None and Path("CONTINUES").exists():
        continues(prompt)
    # What is typed here is a prompt, as in a CLI.
    for line in sys.stdin:
        if line.strip():
            report("prompt-submit", prompt=line.strip())
            if "handoff-ack.json" in line:
                Path(f"told-{time.time_ns()}").write_text(line)
            asked = found is not None and ("HANDOFF-ACK" in line or "handoff-ack.json" in line)
            ends_turn(acknowledged(Path(found[1])) if found and asked else "noted")


if __name__ == "__main__":
    main()
