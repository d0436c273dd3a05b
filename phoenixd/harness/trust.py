"""Whether a CLI will ask about a directory before it starts, by what its own files hold. Pure: files come by `Read`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

Read: TypeAlias = Callable[[str], bytes | None]
"""The content of a file, None where there is none."""


def claude_asks(path: str, cwd: str, key_tail: str | None, read: Read) -> str | None:
    """What Claude Code will ask, and the file that holds the answers; None for nothing. Trust is inherited downwards.

    key_tail: what that file would hold of the API key in the environment.
    """
    kept = _table(read(path))
    projects = _in(kept, "projects")
    trusted = any(_in(projects, place).get("hasTrustDialogAccepted") is True for place in _upwards(cwd))
    answers = _in(kept, "customApiKeyResponses")
    approved = answers.get("approved")
    is_known = key_tail is None or (isinstance(approved, list) and key_tail in approved)
    asked = [
        *([] if kept.get("hasCompletedOnboarding") is True else ["how it is set up"]),
        *([] if trusted else [f"whether it may trust {cwd}"]),
        *([] if is_known else ["whether to use the API key of its environment"]),
    ]
    return f"{' and '.join(asked)} ({path})" if asked else None


def codex_asks(path: str, cwd: str, read: Read) -> str | None:
    """The same of Codex, which asks only in a repository, whatever it may do there."""
    content = read(path)
    try:
        kept: Mapping[str, Any] = tomllib.loads(content.decode()) if content is not None else {}
    except (ValueError, RecursionError):
        return f"what its configuration means, which cannot be read ({path})"
    projects = _in(kept, "projects")
    if any("trust_level" in _in(projects, place) for place in _upwards(cwd)):
        return None
    # In a worktree .git is a file.
    if all(read(f"{place}/.git/HEAD") is None and read(f"{place}/.git") is None for place in _upwards(cwd)):
        return None
    return f"whether it may trust {cwd} ({path})"


def gemini_asks(home: str, cwd: str, argv: Sequence[str], read: Read) -> str | None:
    """The same of the Gemini CLI."""
    settings = _table(read(f"{home}/settings.json"))
    if _in(_in(settings, "security"), "folderTrust").get("enabled") is False or "--skip-trust" in argv:
        return None
    path = f"{home}/trustedFolders.json"
    kept = _table(read(path))
    here = kept.get(cwd)
    if here in ("TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"):
        return None
    above = any(kept.get(place) == "TRUST_FOLDER" for place in _upwards(cwd))
    beside = any(
        word == "TRUST_PARENT" and str(PurePosixPath(place).parent) in _upwards(cwd) for place, word in kept.items()
    )
    return None if above or beside else f"whether it may trust {cwd} ({path})"


def _upwards(cwd: str) -> tuple[str, ...]:
    """The directory and all above it."""
    place = PurePosixPath(cwd)
    return (str(place), *map(str, place.parents))


def _table(content: bytes | None) -> Mapping[str, Any]:
    """A JSON object; what is none holds no answer."""
    try:
        found = json.loads(content) if content is not None else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _in(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = parent.get(key)
    return found if isinstance(found, dict) else {}
