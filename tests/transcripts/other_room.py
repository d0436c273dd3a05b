"""A real Codex or Gemini CLI with all that it needs: HOME, workspace, API stub, terminal."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.terminal import Program, Terminal
from tests.stub.scenario import Scenario, Step, ToolUse, Usage
from tests.waiting import eventually_sync

PAUSE = 0.7
"""Seconds: an Enter that comes sooner is taken for a part of what was typed."""
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
