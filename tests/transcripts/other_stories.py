"""What is played to Codex and the Gemini CLI for the samples. Run it by `python -m tests.transcripts.record_others`."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.terminal import Program, Terminal
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Scenario, Step, ToolUse, Usage
from tests.waiting import eventually_sync

PAUSE = 0.7
"""Seconds: an Enter that comes sooner is taken for a part of what was typed."""
UPDATE_PLAN = "[tools.update_plan]\nenabled = true\n"
NEW_FILE = "*** Begin Patch\n*** Add File: {name}\n+def parse(x):\n+    return x\n*** End Patch"
CHANGE = "*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n+    return x.strip()\n*** End Patch"
STORE = [{"label": "Redis", "description": "fast"}, {"label": "SQLite", "description": "plain"}]


class Room:
    """One CLI with its HOME, workspace, API stub and terminal."""

    def __init__(self, cli: CodexCli | GeminiCli, directory: Path) -> None:
        self.cli, self.home, self.workspace = cli, directory / "home", directory / "shop"
        self.home.mkdir()
        self.workspace.mkdir()
        self.scenario = Scenario()
        self.stub = cli.stub(self.scenario)
        self.terminal = Terminal()

    def __enter__(self) -> Room:
        self.stub.start()
        self.cli.prepare(self.home, self.stub)
        place = os.path.realpath(self.workspace)
        if isinstance(self.cli, CodexCli):
            self.configure(f'[projects."{place}"]\ntrust_level = "trusted"\n')
        else:
            trusted = self.home / ".gemini" / "trustedFolders.json"
            trusted.write_text(json.dumps({place: "TRUST_FOLDER"}))
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.__exit__()
        self.stub.close()

    def configure(self, more: str) -> None:
        """Add to Codex's configuration."""
        path = self.home / ".codex" / "config.toml"
        path.write_text(f"{path.read_text()}\n{more}")

    def start(self, *arguments: str) -> Program:
        env = {**self.cli.variables(self.home, self.stub), "TERM": "tmux-256color", "GEMINI_CLI_NO_RELAUNCH": "true"}
        return self.terminal.run([str(self.cli.binary), *self.cli.flags(), *arguments], env, self.workspace)

    def transcript(self) -> Path:
        found = [*self.home.glob(".codex/sessions/**/*.jsonl"), *self.home.glob(".gemini/tmp/*/chats/*.jsonl")]
        return found[0]

    def written(self, words: str) -> None:
        """What the sample is to hold has to be there before the kill."""
        eventually_sync(lambda: words in self.transcript().read_text(), what=f"{words!r} in the transcript")


def step(text: str, *tools: ToolUse) -> Step:
    return Step(text, tools, usage=Usage(input_tokens=300, output_tokens=40, cache_read_input_tokens=15_000))


def type_line(program: Program, text: str) -> None:
    program.type(text)
    program.wait_screen(re.escape(text))
    time.sleep(PAUSE)
    program.type("Enter")


# Codex.


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


# The Gemini CLI.


def shell(command: str, **more: Any) -> ToolUse:
    return ToolUse("run_shell_command", {"command": command, "description": "Run it", **more})


def todos(*items: tuple[str, str]) -> ToolUse:
    return ToolUse("write_todos", {"todos": [{"description": text, "status": status} for text, status in items]})


def gemini_work(room: Room) -> Program:
    (room.workspace / "README.md").write_text("# shop\n")
    path = f"{os.path.realpath(room.workspace)}/parser.py"
    asked = {"question": "Which store shall I take?", "header": "Store", "type": "choice", "options": STORE}
    replaced = {
        "file_path": path,
        "instruction": "strip it",
        "old_string": "return x",
        "new_string": "return x.strip()",
    }
    room.scenario.add(
        step(
            "I plan it.", todos(("Write the parser", "in_progress"), ("Test it", "pending"), ("Document it", "pending"))
        ),
        step("", shell("echo '2 passed'"), shell("echo '1 failed'; exit 1")),
        step("", ToolUse("write_file", {"file_path": path, "content": "def parse(x):\n    return x\n"})),
        step("", ToolUse("replace", replaced)),
        step("", ToolUse("replace", {**replaced, "old_string": "no such text"})),
        step("", ToolUse("read_file", {"file_path": path.replace("parser.py", "README.md")})),
        step("", ToolUse("web_fetch", {"prompt": "What is the limit on http://127.0.0.1:9/rates ?"})),
        step("", shell("sleep 300", is_background=True)),
        step("", ToolUse("list_background_processes", {})),
        step("", todos(("Write the parser", "completed"), ("Test it", "in_progress"), ("Document it", "pending"))),
        step("", ToolUse("ask_user", {"questions": [asked]})),
        step("The parser is written."),
        step("I wait.", shell("sleep 4")),
        step("Both are read."),
        step("Queue is read."),
        step("Again.", shell("sleep 600")),
    )
    program = room.start("-m", "gemini-2.5-pro", "-i", "Write a parser.")
    program.wait_screen("Which store.*Redis", timeout=60)
    time.sleep(PAUSE)
    program.type("Down")
    time.sleep(PAUSE)
    program.type("Enter")
    program.wait_screen("The parser is written", timeout=60)
    type_line(program, "Wait a little")
    program.wait_screen("I wait")
    type_line(program, "and read the queue too")
    program.wait_screen("Queue is read", timeout=60)
    type_line(program, "One more")
    program.wait_screen("Again")
    type_line(program, "then write the changelog")
    program.wait_screen("Queued")
    return program


def gemini_permission_open(room: Room) -> Program:
    room.cli.asks = True
    commands = ("rm -rf old", "rm -rf build", "rm -rf dist")
    first, second, third = (step(f"It goes: {command}.", shell(command)) for command in commands)
    room.scenario.add(first, step("Allowed."), second, third)
    program = room.start("-i", "Remove what is old.")
    program.wait_screen("Allow execution", timeout=60)
    time.sleep(PAUSE)
    program.type("Enter")
    program.wait_screen(r"Allowed\.")
    type_line(program, "Then the build")
    program.wait_screen("goes: rm -rf build.*Allow execution", timeout=60)
    time.sleep(PAUSE)
    program.type("Escape")
    room.written("Request cancelled")
    time.sleep(PAUSE)
    type_line(program, "And dist")
    program.wait_screen("goes: rm -rf dist.*Allow execution", timeout=60)
    return program


def gemini_question_open(room: Room) -> Program:
    asked = {"question": "Shall I drop the old table?", "header": "Table", "type": "yesno"}
    room.scenario.add(step("I have to ask.", ToolUse("ask_user", {"questions": [asked]})))
    program = room.start("-i", "Clean the database.")
    program.wait_screen("Shall I drop", timeout=60)
    return program


def gemini_background(room: Room) -> Program:
    room.scenario.add(
        step("A job.", shell("sleep 2; echo late; exit 4", is_background=True)),
        step("", shell("sleep 3")),
        step("", ToolUse("list_background_processes", {})),
        step("It ended."),
    )
    program = room.start("-i", "Build.")
    program.wait_screen("It ended", timeout=60)
    room.written("It ended.")
    return program


STORIES: dict[str, Callable[[Room], Program]] = {
    "codex-work": codex_work,
    "codex-permission-open": codex_permission_open,
    "codex-question-open": codex_question_open,
    "codex-code-mode": codex_code_mode,
    "gemini-work": gemini_work,
    "gemini-permission-open": gemini_permission_open,
    "gemini-question-open": gemini_question_open,
    "gemini-background": gemini_background,
}
