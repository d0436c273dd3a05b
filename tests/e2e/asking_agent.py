"""An agent that asks before it acts, as Claude Code does: by a held request, with a keyboard beside it.

    python asking_agent.py ROOM

ROOM/asks.fifo takes one ask a line: "NAME", or "NAME NAME..." for several tools in one message, asked for one after
the other. For each it posts a PermissionRequest for `touch NAME` and waits for whichever comes first: the answer to the
request, or a line "yes" or "no" on its terminal. A no at the keyboard hangs up; a yes leaves the request open until the
call is over, as Claude Code does. A NAME that begins with "question" is asked as a question with two options, and what
was answered stands in ROOM/NAME. The call of a NAME that ends with "lingers" is over once ROOM/NAME.over is there.
ROOM/log gets one line for each ask: "NAME keyboard|answer yes|no".
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

EXPIRES = 0.8
"""Seconds that the request of a NAME which ends with "expires" is open; its dialog stays."""


class Held:
    """One connection of the run, kept alive as an HTTP agent keeps it."""

    def __init__(self) -> None:
        self.answers: dict[str, str] | None = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{os.environ['PHOENIX_HOOK_DIR']}/hook.sock")

    def post(self, kind: str, **payload: Any) -> None:
        body = json.dumps({"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}).encode()
        head = f"POST /hook/{kind} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        self.socket.sendall(f"{head}Authorization: Bearer {os.environ['PHOENIX_TOKEN']}\r\n\r\n".encode() + body)

    def answer(self) -> str | None:
        """allow or deny, which is written down; None when the request was let go of."""
        _, _, body = self.socket.recv(65536).partition(b"\r\n\r\n")
        decision = json.loads(body or b"{}").get("hookSpecificOutput", {}).get("decision", {})
        if decision.get("behavior") == "deny":
            with Path(os.environ["TRANSCRIPT"]).open("a") as transcript:
                transcript.write(json.dumps({"denied": decision["message"]}) + "\n")
        self.answers = decision.get("updatedInput", {}).get("answers")
        found: str | None = decision.get("behavior")
        return found


def report(kind: str, **payload: Any) -> None:
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)


def call(name: str) -> tuple[str, dict[str, Any]]:
    """What is asked for under this name."""
    if not name.startswith("question"):
        return "Bash", {"command": f"touch {name}"}
    options = [{"label": "SQLite", "description": "a file"}, {"label": "größer", "description": "a server"}]
    return "AskUserQuestion", {"questions": [{"question": f"{name}: welche?", "header": "DB", "options": options}]}


def decide(held: Held, patience: float | None) -> tuple[str, bool]:
    """Who was first, and what they said: exactly one key or one answer closes a dialog.

    patience: seconds after which it waits for the answer no more, but for the keyboard alone.
    """
    ready, _, _ = select.select([held.socket, sys.stdin], [], [], patience)
    if not ready:
        held.socket.close()
    elif sys.stdin not in ready and (said := held.answer()) is not None:
        return "answer", said == "allow"
    # Also where the request was let go of: from then on the keyboard alone can answer.
    return "keyboard", sys.stdin.readline().strip() == "yes"


def main() -> None:
    room = Path(sys.argv[1])
    asks = os.open(room / "asks.fifo", os.O_RDWR)
    report("session-start", source="startup")
    report("prompt-submit", prompt="ask")
    buffered, left_open = b"", []
    while True:
        while b"\n" not in buffered:
            ready, _, _ = select.select([asks, sys.stdin], [], [])
            if asks in ready:
                buffered += os.read(asks, 4096)
            elif len(typed := sys.stdin.readline().strip()) > len("yes"):
                # Anything shorter is an answer that came too late for its dialog.
                report("prompt-submit", prompt=typed)
        line, _, buffered = buffered.partition(b"\n")
        for name in line.decode().split():
            for old in left_open:
                old.socket.close()
            left_open.clear()
            # What was typed for a dialog that is gone is no answer to this one.
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            held = Held()
            tool, tool_input = call(name)
            held.post("permission-request", tool_name=tool, tool_input=tool_input)
            print(f"allow {name}? ", end="", flush=True)
            by, yes = decide(held, EXPIRES if name.endswith("expires") else None)
            if by == "keyboard" and not yes:
                held.socket.close()
            if by == "answer":
                left_open.append(held)
            if yes:
                (room / name).write_text(json.dumps(held.answers, ensure_ascii=False) if held.answers else "")
            with (room / "log").open("a") as log:
                log.write(f"{name} {by} {'yes' if yes else 'no'}\n")
            while name.endswith("lingers") and not (room / f"{name}.over").exists():
                time.sleep(0.02)
            over = "tool-end" if yes else "tool-failure"
            if by == "answer":
                held.post(over, tool_name=tool)
            else:
                report(over, tool_name=tool)
                held.socket.close()


if __name__ == "__main__":
    main()
