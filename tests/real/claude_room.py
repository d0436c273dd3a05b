"""One real Claude Code with all that it needs: HOME, workspace, API stub, hook endpoint, hook program, terminal."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from phoenixd.harness.claude import launch as claude
from tests.real.claude_cli import environment, seed_home
from tests.real.terminal import Program, Terminal
from tests.stub.hooks import Answer, HookRecorder
from tests.stub.messages import MessagesStub
from tests.stub.scenario import Scenario, Step, ToolUse
from tests.waiting import eventually_sync

TOKEN = "t0ken-of-this-run"
BRIEF = "The brief says that the till is half done."

HOOK_PROGRAM = f"""#!/bin/sh
cat >> "$PHOENIX_TEST_LOG"
echo >> "$PHOENIX_TEST_LOG"
echo '{json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": BRIEF}})}'
"""


class Room:
    """Use as a context manager; `start` as often as a test needs, one run at a time."""

    def __init__(self, binary: Path, directory: Path) -> None:
        self.binary, self.home, self.workspace = binary, directory / "home", directory / "shop"
        self.session_id = str(uuid.uuid4())
        self.scenario = Scenario()
        self.stub = MessagesStub(self.scenario)
        self.hooks = HookRecorder()
        self.terminal = Terminal()
        self.extra_settings: dict[str, Any] = {"permissions": {"allow": ["Bash(*)"]}}
        self.extra_env: dict[str, str] = {}
        self._settings = directory / "settings.json"
        self._program = directory / "hook-program"
        self._started = directory / "session-start.jsonl"
        self.workspace.mkdir()
        seed_home(self.home, self.workspace)
        self._program.write_text(HOOK_PROGRAM)
        self._program.chmod(0o755)

    def __enter__(self) -> Room:
        self.stub.start()
        self.hooks.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.__exit__()
        self.hooks.__exit__()
        self.stub.close()

    def answer_hooks(self, answer: Answer) -> None:
        self.hooks.answer = answer

    def settings(self) -> dict[str, Any]:
        return {**claude.settings(self.hooks.url, TOKEN, str(self._program), {}), **self.extra_settings}

    def fresh(self, prompt: str | None, *base: str, cwd: Path | None = None) -> Program:
        argv = claude.fresh_argv([str(self.binary), *base], self.session_id, prompt, str(self._settings))
        return self.start(argv, cwd)

    def resume(self, prompt: str | None, *, cwd: Path | None = None) -> Program:
        return self.start(claude.resume_argv([str(self.binary)], self.session_id, prompt, str(self._settings)), cwd)

    def start(self, argv: Sequence[str], cwd: Path | None = None) -> Program:
        self._settings.write_text(json.dumps(self.settings()))
        env = environment(self.home, self.stub.base_url, PHOENIX_TEST_LOG=str(self._started), **self.extra_env)
        return self.terminal.run(list(argv), env, cwd or self.workspace)

    def starts(self) -> list[dict[str, Any]]:
        """What the hook program was given, one SessionStart each."""
        text = self._started.read_text() if self._started.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line]

    def transcript(self, session_id: str | None = None) -> Path:
        cwd = os.path.realpath(self.workspace)
        return Path(claude.transcript_path(str(self.home), cwd, session_id or self.session_id))

    def wait_record(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first transcript record that meets the condition; the CLI writes in batches, some 0.1 s late."""

        found = eventually_sync(
            lambda: find_record(self.transcript(), condition), timeout=60, what="such a record in the transcript"
        )
        assert found is not None
        return found


def find_record(transcript: Path, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    """The first record of a transcript that meets the condition; None if there is none, or no transcript."""
    lines = transcript.read_text().splitlines() if transcript.exists() else []
    return next((record for record in map(_parsed, lines) if condition(record)), None)


def bash(command: str, **more: Any) -> Step:
    """A reply that runs a command."""
    return Step(text="I will run it.", tool_use=(ToolUse("Bash", {"command": command, "description": "Run", **more}),))


def _parsed(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
