"""Answers a CLI's first questions about a directory in the CLI's own file, where the operator said `seed_trust`."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phoenixd.core.spec import AgentSpec
from phoenixd.directories import make_private
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.harness import Harness
from phoenixd.memory.files import Files
from phoenixd.start.users_files import read_only_remedy

SIZE_LIMIT = 32 << 20


def seed_trust(files: Files, harness: Harness, spec: AgentSpec, environment: Mapping[str, str]) -> bool:
    """Merge the trust into the file, keeping all else of it; False when nothing had to change. Raises LaunchFailed."""
    named = harness.trust_file(environment)
    if not spec.seed_trust or named is None:
        return False
    # Dotfiles may be links into a repository of their own; the file itself is what is replaced.
    path = Path(os.path.realpath(named))
    try:
        existing = _read(files, path)
        wanted = harness.trusted(existing, os.path.realpath(spec.cwd), environment)
        if wanted == existing:
            return False
        make_private(path.parent)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        files.replace(path, (json.dumps(wanted, indent=2, ensure_ascii=False) + "\n").encode(), mode=mode)
    except (OSError, UnsafeFile, ValueError) as error:
        remedy = read_only_remedy(path, error) or "answer the dialogs once by hand"
        raise LaunchFailed(f"seed_trust: {path} was not changed: {error}", remedy) from error
    return True


def _read(files: Files, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(files.read_plain(path, SIZE_LIMIT))
    except FileNotFoundError:
        return {}
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - a fault of the file, not of the caller
    return found
