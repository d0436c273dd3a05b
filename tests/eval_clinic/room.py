"""One real CLI with a HOME, a workspace and an API of its own: driven into a fault, and what it left is a record."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.census import survivors
from tests.eval_clinic import lines, normal
from tests.eval_clinic.normal import Names
from tests.real.claude_cli import seed_home
from tests.real.clis import CONTRACTED
from tests.real.installed import locate
from tests.real.terminal import Program, Terminal
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Scenario, Step
from tests.waiting import eventually_sync

GOAL = "Work through docs/plan.md, one item after the other, and say when all is done."
PATIENCE = 120.0
WAITER = Path(__file__).with_name("waiter.py")
HOOK = """#!/bin/sh
at=$(date +%s%N)
cat > "{directory}/$at-$$.new"
mv "{directory}/$at-$$.new" "{directory}/$at-$$.json"
"""


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
        self.binary = located.binary
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
        self._kept: dict[str, str] = {}
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

    def prepare(self) -> None:
        """The settings that a user of the CLI would have, and hooks that are written down."""
        self.hook.write_text(HOOK.format(directory=self.hook_files))
        self.hook.chmod(0o755)
        command = {"type": "command", "command": str(self.hook)}
        hooks = {"hooks": {event: [{"hooks": [command]}] for event in lines.EVENTS[self.harness].split()}}
        self.cli.prepare(self.home, self.stub)
        if self.harness == "claude":
            for matchers in hooks["hooks"].values():
                matchers[0] = {"matcher": "", **matchers[0]}  # type: ignore[assignment, dict-item]
            seed_home(self.home, *([self.workspace] if self.trusted else []))
            _merge(self.home / ".claude" / "settings.json", {**hooks, "promptSuggestionEnabled": False})
        elif self.harness == "codex":
            (self.home / ".codex" / "hooks.json").write_text(json.dumps(hooks))
            if self.trusted:
                with (self.home / ".codex" / "config.toml").open("a") as file:
                    file.write(f'[projects."{os.path.realpath(self.workspace)}"]\ntrust_level = "trusted"\n')
        else:
            _merge(self.home / ".gemini" / "settings.json", hooks)
            settings = self.home / ".gemini" / "settings.json"
            made = json.loads(settings.read_text())
            made["general"]["maxAttempts"] = 2
            settings.write_text(json.dumps(made))
            if self.trusted:
                folders = {os.path.realpath(self.workspace): "TRUST_FOLDER"}
                (self.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(folders))

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
            self.prepare()
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
        assert not self.status.exists(), f"it ended by itself: {self._files()}"
        below = psutil.Process(pid).children(recursive=True)
        _signal(pid, number)
        for process in below if number == signal.SIGKILL else ():
            _signal(process.pid, number)

    def wait_exit(self, timeout: float = PATIENCE) -> None:
        eventually_sync(self.status.exists, timeout, f"{self.argv} ends")
        self.lived = time.time() - self.began
        if self._process:
            self._process.wait(10)

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

    def keep(self) -> None:
        """Take what is to be seen now for the record: the disk that it is on will be gone."""
        self._kept = self._files()

    def write(self, directory: Path, told: Mapping[str, Any]) -> None:
        """The record, as it is now."""
        names = self._names()
        ended = json.loads(self.status.read_text()) if self.status.exists() else None
        lived = time.time() - self.began if self.lived is None else self.lived
        record = {
            **told,
            "harness": self.harness,
            "version": self.version,
            "kind": self.kind,
            "mode": self.mode,
            "argv": self.argv,
            "lived_s": round(lived, 1),
            "exit": ended,
            "asked_to_end": self.asked_to_end,
            "limits": self.limits,
        }
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "record.json").write_text(_pretty(normal.trimmed(record), names))
        for name, text in (self._kept or self._files()).items():
            if text.strip():
                (directory / name).write_text(normal.renamed(text, names))

    def _files(self) -> dict[str, str]:
        out, err = (_read(self.root / name) if self.kind == "headless" else "" for name in ("stdout", "stderr"))
        return {
            "hooks.jsonl": "".join(
                f"{json.dumps(normal.trimmed(hook), ensure_ascii=False)}\n" for hook in self.hooks()
            ),
            "transcript.jsonl": normal.trimmed_lines(self.transcript()),
            "screen.txt": re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in self.screen().splitlines())),
            "stdout.txt": normal.trimmed_lines(out) if out.startswith("{") else normal.shortened(out, normal.TEXT),
            "stderr.txt": normal.shortened(err, normal.TEXT),
        }

    def _names(self) -> Names:
        root, cache = os.path.realpath(self.root), self.binary.parents[2]
        vendor = lines.VENDORS[self.harness]
        return (
            (str(self.binary), f"/usr/local/bin/{self.harness}"),
            (str(cache), "/usr/local/lib"),
            (f"{root}/home", "/home/dev"), (f"{root}/hook", "/usr/local/bin/hook"), (f"{root}/shop", "/work/shop"),
            (f"{root}/tmp", "/tmp"), (root, "/work"), (re.sub(r"[^A-Za-z0-9]", "-", root) + "-shop", "-work-shop"),
            (f"http://127.0.0.1:{self.stub.port}", vendor), (f"127.0.0.1:{self.stub.port}", vendor.partition("//")[2]),
            (str(Path.home()), "/home/dev"), (socket.gethostname(), "workstation"),
        )  # fmt: skip


def _merge(path: Path, more: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def _pretty(value: object, names: Names) -> str:
    return normal.renamed(json.dumps(value, indent=1, ensure_ascii=False), names) + "\n"


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
