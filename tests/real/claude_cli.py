"""Where the real Claude Code of the pinned version is, and a HOME in which it starts without a dialog.

Tests take it by `require_claude()`; where it cannot be had they are skipped with "not run: <reason>", never passed.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

VERSION = "2.1.197"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
DUMMY_KEY = "sk-test-dummy"
_INSTALL_LIMIT_S = 400


@dataclass(frozen=True, slots=True)
class Located:
    """`binary` is None where the CLI cannot be had; `reason` then says why, in one line."""

    binary: Path | None
    reason: str


@functools.cache
def locate() -> Located:
    """PHOENIX_TEST_CLAUDE if set (never replaced by another one), else the cached or newly installed pinned version."""
    chosen = os.environ.get("PHOENIX_TEST_CLAUDE")
    if chosen:
        return _checked(Path(chosen), "PHOENIX_TEST_CLAUDE")
    npm = shutil.which("npm")
    if npm is None:
        return Located(None, "npm is not installed and PHOENIX_TEST_CLAUDE is not set")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phoenixd-tests" / f"claude-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    binary = cache / "node_modules" / ".bin" / "claude"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes must not install into one directory
        if not _checked(binary, "cache").binary and (problem := _install(npm, cache)):
            return Located(None, problem)
        return _checked(binary, "cache")


def require_claude() -> Path:
    """The binary, or the calling test is reported as not run."""
    located = locate()
    if located.binary is None:
        pytest.skip(f"not run: no Claude Code {VERSION}: {located.reason}")
    return located.binary


def seed_home(home: Path, *trusted: Path, key: str = DUMMY_KEY) -> None:
    """Write the ~/.claude.json that spares a test onboarding, theme, API-key and trust dialogs."""
    home.mkdir(parents=True, exist_ok=True)
    seed = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {str(path): {"hasTrustDialogAccepted": True} for path in trusted},
    }
    (home / ".claude.json").write_text(json.dumps(seed))


def environment(home: Path, base_url: str, **extra: str) -> dict[str, str]:
    """The whole environment of an agent under test: no account, no way out of loopback."""
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
        "ANTHROPIC_API_KEY": DUMMY_KEY,
        "ANTHROPIC_BASE_URL": base_url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **extra,
    }


def _install(npm: str, cache: Path) -> str:
    """Install the pinned version; an empty string, or why it did not work."""
    command = [npm, "install", "--prefix", str(cache), "--no-audit", "--no-fund", "--loglevel=error", PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, cwd=cache)
    except subprocess.TimeoutExpired:
        return f"npm install {PACKAGE} did not end within {_INSTALL_LIMIT_S} s"
    if done.returncode != 0:
        lines = re.findall(r"npm (?:error|ERR!) (.+)", done.stderr) or [done.stderr.strip()]
        return f"npm install {PACKAGE} failed: {lines[0][:200]}"
    return ""


def _checked(binary: Path, source: str) -> Located:
    if not binary.exists():
        return Located(None, f"{source}: {binary} does not exist")
    try:
        said = subprocess.run(
            [str(binary), "--version"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return Located(None, f"{source}: {binary} --version: {error}")
    if VERSION not in said:
        return Located(None, f"{source}: {binary} says {said.strip()[:60]!r}, the pinned version is {VERSION}")
    return Located(binary, "")
