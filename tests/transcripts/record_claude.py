"""Records tests/transcripts/claude-*.jsonl anew with the real Claude Code: `python -m tests.transcripts.record_claude`.

One session with tools (one fails), a subagent, a shell line, a prompt put off, an interruption, a compaction and an API
error; then /clear, and the session after it.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.real.claude_room import Room, bash
from tests.real.installed import locate
from tests.real.terminal import Program
from tests.stub.scenario import Rejection, Step, ToolUse, Usage
from tests.waiting import eventually_sync

HERE = Path(__file__).parent
SUBAGENT = {"description": "count", "prompt": "SUB: count the files", "subagent_type": "general-purpose"}


def main() -> int:
    located = locate("claude")
    if located.binary is None:
        print(f"not run: {located.reason}")
        return 1
    with tempfile.TemporaryDirectory() as directory, Room(located.binary, Path(directory)) as room:
        before, after = play(room)
        for path, name in ((before, "claude-session.jsonl"), (after, "claude-after-clear.jsonl")):
            (HERE / name).write_text(neutral(path.read_text(), directory))
    return 0


def play(room: Room) -> tuple[Path, Path]:
    """The story; returns the transcripts before and after /clear."""
    run, fail = ({"command": c, "description": "Run"} for c in ("echo 49 failures; seq 1 5", "exit 3"))
    room.scenario.add(
        Step("I will look.", (ToolUse("Bash", run), ToolUse("Bash", fail)), usage=usage(15000)),
        Step("49 failures are left; auth-race stays open.", usage=usage(15400)),
        Step("A helper counts.", (ToolUse("Agent", SUBAGENT),), usage=usage(16000)),
        Step("Subagent counted 7.", to="subagent", usage=Usage(input_tokens=99000)),
        Step("Seven files.", usage=usage(16500)),
        Step("The shell works.", usage=usage(16600)),
        Step("I will wait.", bash("sleep 4").tool_use, usage=usage(16800)),
        Step("Both are done.", usage=usage(17000)),
        Step("Half of it\nis done", fault="hang_mid_stream"),
        Step(error=Rejection(400, "invalid_request_error", "Your credit balance is too low")),
        Step("A new leaf.", usage=usage(9000)),
    )
    program = room.fresh("Fix the login page. Loop auth-race is open.")
    number = ended(room, program, 0)
    type_line(program, "Now count the files")
    number = ended(room, program, number)
    program.type("!")
    type_line(program, "echo from the shell")
    number = ended(room, program, number)
    type_line(program, "Wait a little")
    number = room.hooks.wait_for("PreToolUse", after=number).number
    type_line(program, "and read the queue too")
    number = ended(room, program, number)
    type_line(program, "Go on")
    program.wait_screen("Half of it")
    program.type("Escape")
    program.wait_screen("Interrupted.*for shortcuts")
    type_line(program, "/compact")
    number = room.hooks.wait_for("PostCompact", after=number).number
    program.wait_screen("Compacted.*for shortcuts")
    type_line(program, "After the compaction")
    number = ended(room, program, number, "StopFailure")
    type_line(program, "/clear")
    cleared = eventually_sync(lambda: [s for s in room.starts() if s["source"] == "clear"], what="SessionStart")
    program.wait_screen("for shortcuts")
    type_line(program, "Begin anew")
    ended(room, program, number)
    new = room.transcript(cleared[0]["session_id"])
    eventually_sync(lambda: "turn_duration" in new.read_text(), what="the end of the turn in the transcript")
    return room.transcript(), new


def usage(cached: int) -> Usage:
    return Usage(input_tokens=12, output_tokens=40, cache_read_input_tokens=cached, cache_creation_input_tokens=300)


def type_line(program: Program, text: str) -> None:
    program.type(text)
    program.wait_screen(re.escape(text))
    program.type("Enter")


def ended(room: Room, program: Program, after: int, event: str = "Stop") -> int:
    number = room.hooks.wait_for(event, after=after).number
    program.wait_screen("for shortcuts")
    return number


def neutral(text: str, directory: str) -> str:
    """The transcript without this machine's paths and ports, and with long texts of the CLI's own cut."""
    text = text.replace(directory, "/home/agent").replace(directory.replace("/", "-"), "-home-agent")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:40001", text)
    lines = [json.dumps(cut(json.loads(line)), ensure_ascii=False, separators=(",", ":")) for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 300 else f"{value[:300]}..."
    if isinstance(value, dict):
        return {key: cut(one) for key, one in value.items()}
    return [cut(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
