"""An orchestrator of the open contract: it reports its turns, and acknowledges what it is handed, as a model would.

Run as a file with the prompt as its only argument. HESITATES in its directory: it says nothing until that file is gone.
ANSWERS: it acknowledges with its last words, because it may run no command.
"""

from __future__ import annotations

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
    done = subprocess.run(
        ["phoenixctl", "handoff", "ack", said.removeprefix("HANDOFF-ACK ")], capture_output=True, text=True, check=False
    )
    Path(f"ack-{os.getpid()}").write_text(f"{done.returncode} {done.stdout}{done.stderr}")
    return "I have read it."


def main() -> None:
    prompt = sys.argv[1] if len(sys.argv) > 1 else ""
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
    # What is typed here is a prompt, as in a CLI.
    for line in sys.stdin:
        if line.strip():
            report("prompt-submit", prompt=line.strip())
            asked = found is not None and "HANDOFF-ACK" in line
            ends_turn(acknowledged(Path(found[1])) if found and asked else "noted")


if __name__ == "__main__":
    main()
