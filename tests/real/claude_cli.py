"""The real Claude Code of the tested version, and a HOME in which it starts without a dialog."""

from __future__ import annotations

import json
from pathlib import Path

from tests.real.installed import require

DUMMY_KEY = "sk-test-dummy"


def require_claude() -> Path:
    """The binary, or the calling test is reported as not run."""
    return require("claude")


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
        # What it compiles for a long life is an eighth of the processor's time of these short ones.
        "BUN_JSC_useDFGJIT": "0",
        **extra,
    }
