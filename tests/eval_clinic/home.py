"""The HOME of a CLI under record: settings without a dialog, and hooks that write down what they are given."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.eval_clinic import lines
from tests.real.claude_cli import seed_home

if TYPE_CHECKING:
    from tests.eval_clinic.room import Room

HOOK = """#!/bin/sh
at=$(date +%s%N)
cat > "{directory}/$at-$$.new"
mv "{directory}/$at-$$.new" "{directory}/$at-$$.json"
"""


def furnish(room: Room) -> None:
    """The settings that a user of the CLI would have, and hooks that are written down."""
    room.hook.write_text(HOOK.format(directory=room.hook_files))
    room.hook.chmod(0o755)
    command = {"type": "command", "command": str(room.hook)}
    hooks = {"hooks": {event: [{"hooks": [command]}] for event in lines.EVENTS[room.harness].split()}}
    room.cli.prepare(room.home, room.stub)
    if room.harness == "claude":
        for matchers in hooks["hooks"].values():
            matchers[0] = {"matcher": "", **matchers[0]}  # type: ignore[dict-item]
        seed_home(room.home, *([room.workspace] if room.trusted else []))
        _merge(room.home / ".claude" / "settings.json", {**hooks, "promptSuggestionEnabled": False})
    elif room.harness == "codex":
        (room.home / ".codex" / "hooks.json").write_text(json.dumps(hooks))
        if room.trusted:
            with (room.home / ".codex" / "config.toml").open("a") as file:
                file.write(f'[projects."{os.path.realpath(room.workspace)}"]\ntrust_level = "trusted"\n')
    else:
        _merge(room.home / ".gemini" / "settings.json", hooks)
        settings = room.home / ".gemini" / "settings.json"
        made = json.loads(settings.read_text())
        made["general"]["maxAttempts"] = 2
        settings.write_text(json.dumps(made))
        if room.trusted:
            folders = {os.path.realpath(room.workspace): "TRUST_FOLDER"}
            (room.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(folders))


def _merge(path: Path, more: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
