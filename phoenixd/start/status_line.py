"""The status line of a run: ours where the CLI's release can be read with it, and the operator's own, shown by ours."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phoenixd.command_search import find_command
from phoenixd.core.spec import AgentSpec
from phoenixd.errors import UnsafeFile
from phoenixd.harness import Harness
from phoenixd.memory.files import Files
from phoenixd.start.users_files import reader

VARIABLE = "PHOENIX_STATUS_LINE"
SIZE_LIMIT = 1 << 20
MOST_ABOVE = 4
"""Directories above a program in which its package is looked for."""


def add_status_line(
    spec: AgentSpec, harness: Harness, settings: dict[str, Any], environment: dict[str, str], hook: str, files: Files
) -> None:
    """Put ours into a run's settings, and the operator's command into its environment. Blocking."""
    ours = harness.status_line(spec, hook, program_version(spec, environment, files))
    if not ours:
        return
    settings.update(ours)
    found = harness.own_status_line(environment, os.path.realpath(spec.cwd), reader(files, SIZE_LIMIT))
    if found is not None:
        environment[VARIABLE] = found


def program_version(spec: AgentSpec, environment: Mapping[str, str], files: Files) -> str | None:
    """The version of the agent's program by where it lies, without running it; None where that does not tell."""
    found = find_command(spec.argv[0], environment.get("PATH", os.defpath), spec.cwd)
    if found is None:
        return None
    program = Path(os.path.realpath(found))
    # The CLI's own installer keeps each version in a file of that name.
    if (named := re.search(r"/versions/(\d+\.\d+\.\d+)(?:/|$)", str(program))) is not None:
        return named[1]
    for directory in program.parents[:MOST_ABOVE]:
        try:
            package = json.loads(files.read_plain(directory / "package.json", SIZE_LIMIT))
        except (OSError, UnsafeFile, ValueError, RecursionError):
            continue
        version = package.get("version") if isinstance(package, dict) else None
        return version if isinstance(version, str) else None
    return None
