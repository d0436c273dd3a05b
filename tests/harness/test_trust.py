"""What each CLI will ask before it works, by its own files (F-PROC-16)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES

HOME, CWD = "/home/u", "/srv/shop"
CLAUDE, CODEX, GEMINI = f"{HOME}/.claude.json", f"{HOME}/.codex/config.toml", f"{HOME}/.gemini/trustedFolders.json"
SETTINGS, GIT = f"{HOME}/.gemini/settings.json", f"{CWD}/.git/HEAD"
TOLD: dict[str, Any] = {"hasCompletedOnboarding": True}
TRUSTED = {"hasTrustDialogAccepted": True}


def asks(harness: str, files: dict[str, str], cwd: str = CWD, *argv: str, seed: bool = False, **env: str) -> str | None:
    spec = AgentSpec("a", (harness, *argv), cwd, harness=harness, seed_trust=seed)
    kept = {path: content.encode() for path, content in files.items()}
    return HARNESSES[harness].asks_at_start(spec, {"HOME": HOME, **env}, cwd, kept.get)


def claude(**table: Any) -> dict[str, str]:
    return {CLAUDE: json.dumps({**TOLD, **table})}


@pytest.mark.parametrize(
    ("harness", "files"),
    [
        ("claude", {}),
        ("claude", {CLAUDE: "no json"}),
        ("claude", {CLAUDE: "[]"}),
        ("claude", claude()),
        ("claude", claude(projects={"/srv/other": TRUSTED})),
        ("claude", claude(projects={CWD: {"hasTrustDialogAccepted": False}})),
        ("codex", {GIT: "ref: refs/heads/main"}),
        ("codex", {f"{CWD}/.git": "gitdir: /srv/.git/worktrees/shop"}),
        ("codex", {"/srv/.git/HEAD": "ref: refs/heads/main", CODEX: 'approval_policy = "never"'}),
        ("codex", {CODEX: "= broken"}),
        ("gemini", {}),
        ("gemini", {GEMINI: json.dumps({"/srv/other": "TRUST_FOLDER"})}),
    ],
)
def test_f_proc_16_what_nobody_has_answered_is_asked_unless_the_operator_says_seed_trust(
    harness: str, files: dict[str, str]
) -> None:
    told = asks(harness, files)

    assert told is not None
    assert HOME in told
    assert CWD in told or "cannot be read" in told
    assert asks(harness, files, seed=True) is None


@pytest.mark.parametrize(
    ("harness", "files"),
    [
        ("claude", claude(projects={CWD: TRUSTED})),
        ("claude", claude(projects={"/srv": TRUSTED})),
        ("codex", {}),
        ("codex", {GIT: "ref: refs/heads/main", CODEX: f'[projects."{CWD}"]\ntrust_level = "trusted"'}),
        ("gemini", {GEMINI: json.dumps({CWD: "TRUST_FOLDER"})}),
        ("gemini", {GEMINI: json.dumps({"/srv": "TRUST_FOLDER"})}),
        ("gemini", {GEMINI: json.dumps({"/srv/other": "TRUST_PARENT"})}),
        ("gemini", {GEMINI: json.dumps({CWD: "DO_NOT_TRUST"})}),
        ("gemini", {SETTINGS: json.dumps({"security": {"folderTrust": {"enabled": False}}})}),
        ("command", {}),
    ],
)
def test_what_was_answered_is_not_asked_again(harness: str, files: dict[str, str]) -> None:
    assert asks(harness, files) is None


def test_a_key_in_the_environment_is_asked_about_too() -> None:
    files = claude(projects={CWD: TRUSTED}, customApiKeyResponses={"approved": ["k" * 20]})

    assert "API key" in (asks("claude", files, ANTHROPIC_API_KEY="x" * 30) or "")
    assert asks("claude", files, ANTHROPIC_API_KEY="k" * 30) is None
    assert asks("gemini", {}, CWD, "--skip-trust") is None
