"""One real CLI with a HOME, a workspace and an API of its own: driven into a fault, and what it left is a record."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.census import survivors
from tests.eval_clinic import lines
from tests.eval_clinic.home import furnish
from tests.real.clis import CONTRACTED
from tests.real.installed import locate
from tests.real.terminal import Program, Terminal
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Scenario, Step
from tests.waiting import eventually_sync

GOAL = "Work through docs/plan.md, one item after the other, and say when all is done."
PATIENCE = 120.0
WAITER = Path(__file__).with_name("waiter.py")


class Unstreamed(Scenario):
    """An API that answers no better when it is asked again for the whole answer, as Claude Code does."""

    def take(self, request: RecordedRequest) -> Step:
        step = super().take(request)
        is_cut = step.fault in ("drop_mid_stream", "end_mid_block") and step.times is None
        return replace(step, fault="drop") if is_cut and not request.body.get("stream") else step


class Room:
    """Use as a context manager. A record holds what came since the last launch."""

    def __init__(self, harness: str, pin: str, root: Path) -> None:
        located = locate(harness, pin)
        assert located.binary, located.reason
        self.harness, self.version = harness, pin
        self.root, self.home, self.workspace = root, root / "home", root / "shop"
        self.hook_files, self.hook = root / "hooks", root / "hook"
        self.cli = CONTRACTED[harness](located.binary)
        self.binary, self.cache = located.binary, located.binary.parents[2]
        self.scenario = Unstreamed() if harness == "claude" else Scenario()
        self.stub = self.cli.stub(self.scenario)
        self.terminal = Terminal(width=110, height=36)
        self.env: dict[str, str] = {}
        self.trusted = self.hooks_trusted = True
        self.session = str(uuid.uuid4())
        self.asked_to_end = False
        self.limits: dict[str, Any] = {}
        self.group: Path | None = None
        self.kind = self.mode = ""
        self.argv: list[str] = []
        self.lived: float | None = None
        self._runs = 0
        self.kept: dict[str, str] = {}
        self._program: Program | None = None
        self._process: subprocess.Popen[bytes] | None = None
        for directory in (self.home, self.workspace, self.hook_files, root / "tmp"):
            directory.mkdir()
        if harness == "gemini":
            # It asks a model which model to ask.
            routed = '{"complexity_reasoning": "One command is enough.", "complexity_score": 20}'
            self.scenario.add(Step(text=routed, to="side", times=None))

    def __enter__(self) -> Room:
        self.stub.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.terminal.__exit__()
        self.stub.close()

    def end(self) -> None:
        """End whatever was started below this room's directory."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not survivors(self.root):
                return
            for pid in survivors(self.root):
                _signal(pid, number)
            try:
                eventually_sync(lambda: not survivors(self.root), 5, "all ends")
            except TimeoutError:
                continue

    # What the API does.

    def refuse(self, rejection: Rejection, **more: Any) -> None:
        self.scenario.add(Step(error=rejection, **{"times": None, **more}))

    def answer(self, *steps: Step) -> None:
        self.scenario.add(*steps)

    def asked(self, text: str = "", **more: Any) -> RecordedRequest:
        return self.stub.wait_for_main(text=text, timeout=PATIENCE, **more)

    # What the operator or the supervisor does.

    def headless(self, prompt: str = GOAL, *flags: str, resume: str = "", wait: bool = True) -> None:
        """Ask once."""
        self._launch("headless", lines.headless(self.harness, prompt, self.session, resume), flags, resume)
        if wait:
            self.wait_exit()
            # A hook that the CLI did not wait for writes a little later.
            time.sleep(0.7)

    def in_terminal(self, prompt: str = GOAL, *flags: str, resume: str = "") -> None:
        self._launch("terminal", lines.in_terminal(self.harness, prompt, self.session, resume), flags, resume)

    def _launch(self, kind: str, arguments: list[str], flags: tuple[str, ...], resume: str) -> None:
        if not self._runs:
            furnish(self)
        self._runs += 1
        self.kind, self.mode = kind, "resume" if resume else "fresh"
        if self.harness == "codex" and self.hooks_trusted:
            flags = ("--dangerously-bypass-hook-trust", *flags)
        # The prompt is the last of the arguments; of a resume of codex the id comes before it.
        self.argv = [str(self.binary), *lines.with_flags(self.harness, arguments, [*self.cli.flags(), *flags])]
        for path in self.hook_files.iterdir():
            path.unlink()
        self._sizes = {path: path.stat().st_size for path in self._transcripts()}
        self.status, self.pid_file = self.root / f"status{self._runs}", self.root / f"pid{self._runs}"
        group = ["--group", str(self.group)] if self.group else []
        argv = [sys.executable, "-I", str(WAITER), str(self.status), str(self.pid_file), *group, "--", *self.argv]
        always = {
            "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "TMPDIR": str(self.root / "tmp"),
            "TERM": "tmux-256color",
        }
        env = {**self.cli.variables(self.home, self.stub), **self.env, **always}
        self.lived, self.began = None, time.time()
        if kind == "terminal":
            self._program, self._process = self.terminal.run(argv, env, self.workspace), None
            return
        with (self.root / "stdout").open("wb") as out, (self.root / "stderr").open("wb") as err:
            self._program, self._process = None, subprocess.Popen(
                argv, env=env, cwd=self.workspace, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )  # fmt: skip

    def type(self, *keys: str) -> None:
        assert self._program
        for key in keys:
            self._program.type(key)
            time.sleep(0.5)

    def signal(self, number: signal.Signals, *, asked: bool = False) -> None:
        """Send it to the whole tree; `asked`: by the supervisor, for the operator."""
        self.asked_to_end = asked
        pid = int(eventually_sync(lambda: self.pid_file.exists() and self.pid_file.read_text(), PATIENCE, "it runs"))
        assert not self.status.exists(), f"it ended by itself: {self.transcript()[-1000:]}"
        below = psutil.Process(pid).children(recursive=True)
        _signal(pid, number)
        for process in below if number == signal.SIGKILL else ():
            _signal(process.pid, number)

    def wait_exit(self, timeout: float = PATIENCE) -> None:
        eventually_sync(self.status.exists, timeout, f"{self.argv} ends")
        self.lived = time.time() - self.began
        if self._process:
            self._process.wait(60)

    # What can be seen.

    def until_hook(self, event: str, times: int = 1) -> None:
        def came() -> bool:
            names = [str(hook["body"].get("hook_event_name")) for hook in self.hooks()]
            return sum(re.fullmatch(event, name) is not None for name in names) >= times

        eventually_sync(came, PATIENCE, f"{event} comes {times} times")

    def until_screen(self, pattern: str, timeout: float = PATIENCE) -> None:
        assert self._program
        self._program.wait_screen(pattern, timeout)

    def until_written(self, pattern: str) -> None:
        """Until the transcript has a line with the pattern."""
        eventually_sync(lambda: re.search(pattern, self.transcript()), PATIENCE, f"{pattern} is written")

    def screen(self) -> str:
        return self._program.screen() if self._program else ""

    def hooks(self) -> list[dict[str, Any]]:
        """In the order in which they came."""
        found = []
        for path in sorted(self.hook_files.glob("*.json")):
            at = int(path.name.partition("-")[0]) / 1e9 - self.began
            found.append({"at": round(at, 2), "body": json.loads(path.read_text() or "{}")})
        return found

    def transcript(self) -> str:
        """What was written in this run, of the newest session."""
        newest = max(self._transcripts(), key=lambda path: path.stat().st_mtime_ns, default=None)
        if newest is None:
            return ""
        with newest.open("rb") as file:
            file.seek(self._sizes.get(newest, 0))
            return file.read().decode(errors="replace")

    def _transcripts(self) -> list[Path]:
        patterns = {
            "claude": ".claude/projects/*/*.jsonl",
            "codex": ".codex/sessions/**/*.jsonl",
            "gemini": ".gemini/tmp/*/chats/*.jsonl",
        }
        return list(self.home.glob(patterns[self.harness]))


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
