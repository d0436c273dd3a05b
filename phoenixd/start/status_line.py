"""The operator's own status line, which the hook program shows in the place of ours: found when a run begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from phoenixd.core.spec import AgentSpec
from phoenixd.errors import UnsafeFile
from phoenixd.harness import Harness
from phoenixd.memory.files import Files

VARIABLE = "PHOENIX_STATUS_LINE"
SIZE_LIMIT = 1 << 20


def with_status_line(spec: AgentSpec, harness: Harness, environment: Mapping[str, str], files: Files) -> dict[str, str]:
    """The environment with the command of the operator's status line, where there is one to be shown. Blocking."""

    def read(path: str) -> bytes | None:
        try:
            return files.read_plain(Path(os.path.realpath(path)), SIZE_LIMIT)
        except (OSError, UnsafeFile):
            return None

    found = None
    if spec.context.status_line:
        found = harness.own_status_line(environment, os.path.realpath(spec.cwd), read)
    return {**environment, VARIABLE: found} if found is not None else dict(environment)
