"""What is played to Codex for the samples: each story returns the program to be killed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

from tests.real.terminal import Program
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Step, ToolUse
from tests.transcripts.other_room import PAUSE, STORE, Room, step, type_line

UPDATE_PLAN = "[tools.update_plan]\nenabled = true\n"
NEW_FILE = "*** Begin Patch\n*** Add File: {name}\n+def parse(x):\n+    return x\n*** End Patch"
CHANGE = "*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n+    return x.strip()\n*** End Patch"


def run(command: str, **more: Any) -> ToolUse:
    return ToolUse("exec_command", {"cmd": command, **more})


def patch(text: str) -> ToolUse:
    return ToolUse("apply_patch", {"input": text})


def plan(first: str, second: str) -> ToolUse:
    steps = [{"step": "Write the parser", "status": first}, {"step": "Test it", "status": second}]
    return ToolUse("update_plan", {"explanation": "as asked", "plan": steps})


def codex_work(room: Room) -> Program:
    room.configure(UPDATE_PLAN)
    room.scenario.add(
        step("I plan it.", plan("in_progress", "pending")),
        step("", run("echo '2 passed'"), run("echo '1 failed'; exit 1")),
        step("", patch(NEW_FILE.format(name="parser.py"))),
        step("", patch(CHANGE.format(name="parser.py", old="    return x"))),
        step("", patch(CHANGE.format(name="parser.py", old="no such line"))),
        step("", patch(CHANGE.format(name="nosuch.py", old="a"))),
        step("", run(f"apply_patch <<'EOF'\n{NEW_FILE.format(name='b.py')}\nEOF")),
        step("", run("sleep 2; echo late; exit 4", yield_time_ms=500)),
        step("", plan("completed", "in_progress")),
        step("The parser is written."),
        step("I wait.", run("sleep 3")),
        step("Both are read.", run("sleep 500", yield_time_ms=1000)),
        step("It runs in the background."),
        step("Again.", run("sleep 600", yield_time_ms=30_000)),
    )
    program = room.start("--no-daemon", "Write a parser.")
    program.wait_screen("The parser is written", timeout=60)
    room.written('"exit_code":4')
    type_line(program, "Wait a little")
    program.wait_screen("I wait")
    type_line(program, "and read the queue too")
    program.wait_screen("in the background", timeout=60)
    room.written("It runs in the background")
    type_line(program, "One more")
    program.wait_screen("Again")
    type_line(program, "then write the changelog")
    program.wait_screen("then write the changelog.*")
    room.written("sleep 600")
    return program


def codex_permission_open(room: Room) -> Program:
    path = room.home / ".codex" / "config.toml"
    path.write_text(path.read_text().replace('"never"', '"on-request"').replace("danger-full-access", "read-only"))
    asked = {"sandbox_permissions": "require_escalated", "justification": "It is needed."}
    room.scenario.add(
        step("It goes.", run("rm -rf old", **asked)),
        step("Allowed."),
        step("Again.", run("rm -rf build", **asked)),
        step("Third.", run("rm -rf dist", **asked)),
    )
    program = room.start("--no-daemon", "Remove what is old.")
    program.wait_screen("Would you like to run", timeout=60)
    time.sleep(PAUSE)
    program.type("Enter")
    program.wait_screen(r"Allowed\.")
    type_line(program, "Then the build")
    program.wait_screen("Again.*Would you like to run", timeout=60)
    time.sleep(PAUSE)
    program.type("Escape")
    room.written("turn_aborted")
    type_line(program, "And dist")
    program.wait_screen("Third.*Would you like to run", timeout=60)
    room.written("rm -rf dist")
    return program


def codex_question_open(room: Room) -> Program:
    room.configure("[features]\ndefault_mode_request_user_input = true\n")
    asked = {"id": "store", "header": "Store", "question": "Which store shall I take?", "options": STORE}
    asks = ToolUse("request_user_input", {"questions": [asked]})

    def polls(request: RecordedRequest) -> Step | None:
        """Whose number a command was given is known only once it runs."""
        found = re.search(r"session ID (\d+)", json.dumps(request.body.get("input", [])[-1:]))
        given = {"session_id": int(found[1]), "chars": "", "yield_time_ms": 6000} if found else {}
        return step("", ToolUse("write_stdin", given)) if found and request.kind == "main" else None

    room.stub._responder = polls
    room.scenario.add(
        step("A job.", run("sleep 2; echo late; exit 4", yield_time_ms=300)),
        step("", asks),
        step("SQLite it is."),
        step("Another.", asks),
    )
    program = room.start("--no-daemon", "Build.")
    program.wait_screen("Which store", timeout=60)
    time.sleep(PAUSE)
    program.type("Down")
    time.sleep(PAUSE)
    program.type("Enter")
    program.wait_screen("SQLite it is", timeout=30)
    room.written("task_complete")
    type_line(program, "Another")
    program.wait_screen(r"Another\..*Which store", timeout=30)
    room.written("Another.")
    return program


def codex_code_mode(room: Room) -> Program:
    path = room.home / ".codex" / "config.toml"
    path.write_text(path.read_text().replace('model = "gpt-5.5"', 'model = "gpt-6-sol"'))
    room.configure(UPDATE_PLAN)
    programs = (
        "const r = await tools.exec_command({cmd: \"echo '1 failed'; exit 1\"}); text(r.output); text(r)",
        "const r = await tools.exec_command({cmd: \"echo '2 passed'\"}); text(r)",
        "await tools.apply_patch('*** Begin Patch\\n*** Add File: parser.py\\n+x = 1\\n*** End Patch');",
        "await tools.update_plan({plan:[{step:'Write it',status:'completed'},{step:'Test it',status:'in_progress'}]});",
        "const r = await tools.exec_command({cmd: 'sleep 300', yield_time_ms: 1000}); text(r)",
    )
    room.scenario.add(*(step("I look.", ToolUse("exec", {"input": one})) for one in programs), step("It is done."))
    program = room.start("--no-daemon", "Write a parser.")
    program.wait_screen("It is done", timeout=60)
    room.written("task_complete")
    return program


STORIES: dict[str, Callable[[Room], Program]] = {
    "codex-work": codex_work,
    "codex-permission-open": codex_permission_open,
    "codex-question-open": codex_question_open,
    "codex-code-mode": codex_code_mode,
}
