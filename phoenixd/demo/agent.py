"""The demo's agent: a small worker that keeps to the open contract of the `command` harness.

It works one step every quarter of a second and reports each as a tool call, keeps its conversation in a file of its
own, resumes it by session id, refuses a session whose file is gone, and obeys three words typed into its terminal:
`hang`, `quit`, or any other prompt, which it takes as its task.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

STEP = 0.25


def report(event: str, **facts: Any) -> str:
    """Tell phoenixd by its hook program; returns what that prints (the brief, at session-start)."""
    facts["session_id"] = os.environ["PHOENIX_SESSION_ID"]
    done = subprocess.run(
        [os.environ["PHOENIX_HOOK"], event, *(["--text"] if event == "session-start" else [])],
        input=json.dumps(facts).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    return done.stdout.decode(errors="replace")


def open_conversation(session_id: str, mode: str) -> Path:
    """Return the file that holds the conversation; a resume of one that is gone ends the program with 1."""
    conversation = Path(os.environ["PHOENIX_STATE_DIR"]) / f"demo-conversation-{session_id}.txt"
    if mode == "resume" and not conversation.exists():
        print(f"No conversation found with session ID: {session_id}", file=sys.stderr)
        raise SystemExit(1)
    if mode == "fresh":
        conversation.write_text("")
    return conversation


def hang() -> None:
    """Wait for a child that never ends and has left the process group, as a hung test run does."""
    report("tool-start", tool_name="Bash", tool_use_id="hang", tool_input={"command": "sleep 3600"})
    subprocess.run(["sleep", "3600"], start_new_session=True, check=False)


def work(conversation: Path) -> None:
    """Step for ever, or until somebody types."""
    step = sum(1 for _ in conversation.open())
    file = conversation.open("a", buffering=1)
    while True:
        typed, _, _ = select.select([sys.stdin], [], [], STEP)
        if typed:
            prompt = sys.stdin.readline().strip()
            report("prompt-submit", prompt=prompt)
            if prompt == "quit":
                report("stop")
                raise SystemExit(0)
            if prompt == "hang":
                hang()
        step += 1
        report("tool-start", tool_name="Count", tool_use_id=str(step))
        file.write(f"step {step}\n")
        report("tool-end", tool_name="Count", tool_use_id=str(step))
        print(f"\rstep {step}", end="", flush=True)


def main() -> None:
    """Begin or resume, say what the brief told, and work."""
    session_id, mode = os.environ["PHOENIX_SESSION_ID"], os.environ["PHOENIX_MODE"]
    conversation = open_conversation(session_id, mode)
    brief = report("session-start", source="resume" if mode == "resume" else "startup")
    told = Path(os.environ["PHOENIX_STATE_DIR"]) / "demo-told.txt"
    told.write_text(brief)
    report("prompt-submit", prompt="count")
    print(f"incarnation {os.environ['PHOENIX_INCARNATION']}, {mode}; the brief has {len(brief)} characters", flush=True)
    work(conversation)


if __name__ == "__main__":
    main()
