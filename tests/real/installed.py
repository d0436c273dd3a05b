"""Where the real agent CLIs of the tested versions are: installed from npm, cached outside the repository.

The versions stand in phoenixd.harness.pins: what is tested is what `phoenixctl doctor` knows. opencode, which has no
harness, has its version in OTHERS. Tests take a CLI by `require(...)`, in the first version of its pins unless they
name another; where it cannot be had they are skipped with "not run: <reason>", never passed. PHOENIX_TEST_NEWEST=1
takes the newest ones instead.
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

from phoenixd.harness.pins import PINS

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
}
"""By the command's name, which is the harness's as well."""

OTHERS = {"opencode": "1.18.33"}

NEWEST = "PHOENIX_TEST_NEWEST"
_INSTALL_LIMIT_S = 400


@dataclass(frozen=True, slots=True)
class Located:
    """`binary` is None where the CLI cannot be had; `reason` then says why, in one line."""

    binary: Path | None
    reason: str


def version(harness: str, pin: str | None = None) -> str:
    """The version that is wanted; `pin` is one of several."""
    if os.environ.get(NEWEST):
        return "latest"
    return pin or (OTHERS[harness] if harness in OTHERS else PINS[harness][0])


@functools.cache
def locate(harness: str, pin: str | None = None) -> Located:
    """PHOENIX_TEST_<NAME> if set (never replaced by another one), else the cached or newly installed version."""
    wanted = version(harness, pin)
    variable = f"PHOENIX_TEST_{harness.upper()}"
    if pin is not None and pin != PINS[harness][0]:
        variable += f"_{pin.replace('.', '_')}"
    chosen = os.environ.get(variable)
    if chosen:
        return _checked(wanted, Path(chosen), variable)
    npm = shutil.which("npm")
    if npm is None:
        return Located(None, f"npm is not installed and {variable} is not set")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phoenixd-tests"
    cache = caches / f"{harness}-{wanted}"
    cache.mkdir(parents=True, exist_ok=True)
    binary = cache / "node_modules" / ".bin" / harness
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes must not install into one directory
        is_missing = wanted == "latest" or not _checked(wanted, binary, "cache", cache / "said").binary
        if is_missing and (problem := _install(npm, cache, f"{PACKAGES[harness]}@{wanted}")):
            return Located(None, problem)
        return _checked(wanted, binary, "cache", cache / "said")


def require(harness: str, pin: str | None = None) -> Path:
    """The binary, or the calling test is reported as not run."""
    located = locate(harness, pin)
    if located.binary is None:
        pytest.skip(f"not run: no {harness} {version(harness, pin)}: {located.reason}")
    return located.binary


def _install(npm: str, cache: Path, package: str) -> str:
    """Install the pinned version; an empty string, or why it did not work."""
    command = [npm, "install", "--prefix", str(cache), "--no-audit", "--no-fund", "--loglevel=error", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, cwd=cache)
    except subprocess.TimeoutExpired:
        return f"npm install {package} did not end within {_INSTALL_LIMIT_S} s"
    if done.returncode != 0:
        lines = re.findall(r"npm (?:error|ERR!) (.+)", done.stderr) or [done.stderr.strip()]
        return f"npm install {package} failed: {lines[0][:200]}"
    return ""


def says(binary: Path) -> str:
    """What it answers to --version, on one line; raises OSError or TimeoutExpired."""
    command = [str(binary), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL).stdout
    return " ".join(said.split())


def _checked(wanted: str, binary: Path, source: str, kept: Path | None = None) -> Located:
    if not binary.exists():
        return Located(None, f"{source}: {binary} does not exist")
    try:
        said = says(binary) if kept is None else _said_before(binary, kept)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Located(None, f"{source}: {binary} --version: {error}")
    if not said or (wanted != "latest" and wanted not in said):
        return Located(None, f"{source}: {binary} says {said[:60]!r}, the pinned version is {wanted}")
    return Located(binary, "")


def _said_before(binary: Path, kept: Path) -> str:
    """What it says, asked once for each state of the file: each of many test processes would start it anew."""
    status = binary.stat()
    state = [str(binary.resolve()), status.st_ino, status.st_size, status.st_mtime_ns]
    try:
        known, said = json.loads(kept.read_text())
        if known == state:
            return str(said)
    except (FileNotFoundError, ValueError):
        pass
    said = says(binary)
    kept.write_text(json.dumps([state, said]))
    return said
