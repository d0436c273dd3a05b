"""Records the newer samples of Codex and the Gemini CLI anew: `python -m tests.transcripts.record_others [NAME...]`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.installed import locate
from tests.real.terminal import Program
from tests.transcripts import codex_stories, gemini_stories
from tests.transcripts.neutral import neutral
from tests.transcripts.other_room import Room

HERE = Path(__file__).parent
STORIES = codex_stories.STORIES | gemini_stories.STORIES


def main(names: list[str]) -> int:
    for name in names or STORIES:
        harness = name.split("-", 1)[0]
        located = locate(harness)
        if located.binary is None:
            print(f"{name} not run: {located.reason}")
            return 1
        cli = CodexCli(located.binary) if harness == "codex" else GeminiCli(located.binary)
        with tempfile.TemporaryDirectory() as directory, Room(cli, Path(directory)) as room:
            kill(STORIES[name](room))
            workspace = os.path.realpath(room.workspace)
            (HERE / f"{name}.jsonl").write_text(neutral(room.transcript().read_text(), str(room.home), workspace))
        print(f"recorded {name}.jsonl")
    return 0


def kill(program: Program) -> None:
    """The program and what it runs in: a wrapper's child would go on without it."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(program.pid)], capture_output=True, text=True).stdout
    for pid in [*map(int, found.split()), program.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it ended with its parent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
