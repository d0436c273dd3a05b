"""A user's own things in each CLI's directory: hooks, MCP servers, memory files, settings, which tell when they act."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phoenixd.harness.codex.harness import trusted_hash
from phoenixd.harness.codex.toml import inline

WORD = "PLANTED-IN-MEMORY"
MODEL = "planted-model"


class Planted:
    """What is planted in a HOME. `ran`: who acted, a word for each time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._file = home / "RAN"
        for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
            # Above every directory below: CLIs read such files upwards.
            (home / name).write_text(f"{WORD}\n")

    @property
    def ran(self) -> set[str]:
        return set(self._file.read_text().split()) if self._file.exists() else set()

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    @property
    def hook(self) -> dict[str, Any]:
        return {"type": "command", "command": f"echo hook >>{self._file}"}

    @property
    def server(self) -> dict[str, Any]:
        return {"command": "/bin/sh", "args": ["-c", f"echo server >>{self._file}; cat"]}


def in_claude(planted: Planted) -> None:
    directory = planted.home / ".claude"
    path = directory / "settings.json"
    hooks = {
        event: [{"matcher": "", "hooks": [planted.hook]}] for event in ("SessionStart", "UserPromptSubmit", "Stop")
    }
    env = {"ANTHROPIC_MODEL": MODEL}
    path.write_text(json.dumps({**json.loads(path.read_text()), "hooks": hooks, "model": MODEL, "env": env}))
    (directory / "CLAUDE.md").write_text(f"{WORD}\n")
    servers = {"planted": {"type": "stdio", **planted.server}}
    (planted.home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True, "mcpServers": servers}))


def in_codex(planted: Planted) -> None:
    directory = planted.home / ".codex"
    (directory / "AGENTS.md").write_text(f"{WORD}\n")
    hooks = directory / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [planted.hook]}]}}))
    trusted = {"trusted_hash": trusted_hash("user_prompt_submit", {**planted.hook, "timeout": 600})}
    state = {f"{hooks}:user_prompt_submit:0:0": trusted}
    with (directory / "config.toml").open("a") as file:
        file.write(f"[hooks]\nstate = {inline(state)}\n[mcp_servers]\nplanted = {inline(planted.server)}\n")


def in_gemini(planted: Planted) -> None:
    directory = planted.home / ".gemini"
    path = directory / "settings.json"
    hooks = {event: [{"hooks": [planted.hook]}] for event in ("SessionStart", "BeforeAgent")}
    added = {"hooks": hooks, "mcpServers": {"planted": planted.server}, "model": {"name": MODEL}}
    path.write_text(json.dumps({**json.loads(path.read_text()), **added}))
    (directory / "GEMINI.md").write_text(f"{WORD}\n")


PLANT: dict[str, Callable[[Planted], None]] = {"claude": in_claude, "codex": in_codex, "gemini": in_gemini}
OWN_WAY: dict[str, tuple[str, ...]] = {
    "claude": ("-p", "--output-format", "json"),
    "codex": ("exec", "--json", "--skip-git-repo-check", "-"),
    "gemini": ("--output-format", "json", "--skip-trust"),
}
"""How a person would ask each CLI once, with all that is planted."""
