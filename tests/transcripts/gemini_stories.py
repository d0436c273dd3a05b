"""What is played to the Gemini CLI for the samples: each story returns the program to be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tests.real.terminal import Program
from tests.stub.scenario import ToolUse
from tests.transcripts.other_room import PAUSE, STORE, Room, step, type_line


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
    "gemini-work": gemini_work,
    "gemini-permission-open": gemini_permission_open,
    "gemini-question-open": gemini_question_open,
    "gemini-background": gemini_background,
}
