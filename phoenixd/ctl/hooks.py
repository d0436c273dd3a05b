"""`hooks print|install|test`: report to phoenixd from Claude Code sessions that phoenixd does not start itself.

An agent with `harness = "claude"` gets its hooks at every launch and needs none of this. It is for a wrapper around the
CLI, run as harness `command`. Without PHOENIX_HOOK in the environment the hooks do nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

from phoenixd.api import exits
from phoenixd.clis import HTTP_EVENTS
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.directories import make_private

EVENTS = ("SessionStart", *HTTP_EVENTS)
MARK = "PHOENIX_HOOK"
"""What tells our hooks from other people's."""
TIMEOUT = 5


def settings() -> dict[str, Any]:
    """The hooks part of Claude Code's settings: every event, whatever the tool (G24)."""
    return {"hooks": {event: [_group(event)] for event in EVENTS}}


def merged(present: Any) -> dict[str, Any]:
    """Present settings with our hooks in them once, all else as it is. Raises ValueError for odd shapes."""
    hooks = present.get("hooks", {}) if isinstance(present, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ValueError("it is no JSON object whose hooks are a table of lists")
    kept = {event: [group for group in groups if not _is_ours(group)] for event, groups in hooks.items()}
    ours = {event: [*kept.get(event, []), _group(event)] for event in EVENTS}
    others = {event: groups for event, groups in kept.items() if groups}
    return {**present, "hooks": {**others, **ours}}


def print_settings(command: Command) -> int:
    """Print what `install` would merge."""
    print(json.dumps(settings(), indent=None if command.as_json else 2))
    return 0


def install(command: Command) -> int:
    """Merge into the user's or a project's settings, atomically, as often as one likes."""
    user, project = command.given.get("user"), command.given.get("project")
    if bool(user) == bool(project):
        return refuse(exits.USAGE, "say where: --user, or --project DIR", "phoenixctl hooks install --user")
    root = Path.home() if user else Path(project or "")
    if not root.is_dir():
        return refuse(exits.USAGE, f"{root} is no directory", "phoenixctl hooks install --project DIR")
    path = root / ".claude" / "settings.json"
    try:
        before = path.read_bytes() if path.exists() else b""
        present = json.loads(before) if before.strip() else {}
        text = json.dumps(merged(present), indent=2, ensure_ascii=False) + "\n"
        if text.encode() == before:
            print(f"{path} has the hooks already")
            return 0
        _replace(path, text.encode())
    except ValueError as error:
        return refuse(exits.FAILED, f"{path} was not touched: {error}", f"fix it: {path}")
    except OSError as error:
        return refuse(exits.FAILED, f"{path} was not changed: {error.strerror}", "check who owns it")
    print(f"{path} has the hooks now; in an agent they run the program that ${MARK} names")
    print("next: phoenixctl hooks test")
    return 0


def test(command: Command) -> int:
    """Call the hook program for each event, as an agent would, into a directory that is thrown away (G29)."""
    with tempfile.TemporaryDirectory(prefix="phx-hooks-") as directory:
        place = Path(directory)
        program = place / "phoenix-hook"
        source = os.environ.get(MARK)
        program.write_bytes(Path(source).read_bytes() if source else _shipped())
        program.chmod(0o700)
        outcomes = [_try(program, place, event) for event in EVENTS]
    if command.as_json:
        print(json.dumps({"hooks": outcomes}))
    else:
        for outcome in outcomes:
            words = "ok" if outcome["ok"] else f"FAILED: {outcome['why']}"
            print(f"{outcome['event']:<20} {outcome['milliseconds']:>6.1f} ms  {words}")
    if all(outcome["ok"] for outcome in outcomes):
        return 0
    return refuse(exits.FAILED, "the hook program does not do its part here", "phoenixctl doctor")


def _try(program: Path, place: Path, event: str) -> dict[str, Any]:
    drop = place / "hooks"
    shutil.rmtree(drop, ignore_errors=True)
    drop.mkdir(mode=0o700)
    fifo = place / "hook.fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    environ = {
        **os.environ, "PHOENIX_AGENT": "test", "PHOENIX_INCARNATION": "1", "PHOENIX_HOOK_DIR": str(place),
        "PHOENIX_STATE_DIR": str(place), MARK: str(program),
    }  # fmt: skip
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    began = time.monotonic()
    try:
        sent = json.dumps({"hook_event_name": event, "session_id": "test"})
        ran = subprocess.run(
            ["/bin/sh", "-c", _command(event)],  # As Claude Code runs it.
            input=sent,
            env=environ,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        took = (time.monotonic() - began) * 1000
        arrived = [path.read_text() for path in drop.iterdir()] == [sent]
        line = os.read(reader, 4096).decode() if arrived else ""
        why = _complaint(ran.returncode, ran.stdout + ran.stderr, arrived, line)
    except subprocess.TimeoutExpired:
        took, why = 10_000.0, "it did not return within 10 s"
    finally:
        os.close(reader)
    return {"event": event, "ok": not why, "why": why, "milliseconds": round(took, 1)}


def _complaint(code: int, output: str, arrived: bool, line: str) -> str:
    if code != 0:
        return f"exit code {code}"
    if output:
        return f"it said {output[:80]!r}"
    if not arrived:
        return "the event did not arrive"
    return "" if len(line.split()) == 2 else f"it reported {line[:80]!r}"


def _group(event: str) -> dict[str, Any]:
    return {"matcher": "", "hooks": [{"type": "command", "command": _command(event), "timeout": TIMEOUT}]}


def _command(event: str) -> str:
    # PHOENIX_HOOKS=settings: this session has its hooks from the launch, and would report everything twice.
    return f'[ -z "${MARK}" ] || [ "$PHOENIX_HOOKS" = settings ] || "${MARK}" {event}'


def _is_ours(group: object) -> bool:
    if not isinstance(group, dict):
        return False
    hooks = group.get("hooks")
    return isinstance(hooks, list) and any(
        isinstance(hook, dict) and MARK in str(hook.get("command")) for hook in hooks
    )


def _shipped() -> bytes:
    return resources.files("phoenixd.shim").joinpath("phoenix-hook").read_bytes()


def _replace(path: Path, content: bytes) -> None:
    path = path.resolve()  # Settings are often a link into a repository of dotfiles; the link is to stay.
    make_private(path.parent)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".settings-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
