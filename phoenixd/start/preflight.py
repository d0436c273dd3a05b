"""What a CLI will ask of a person before it begins, told before it is started: by its own files, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from phoenixd.core.agent import Agent
from phoenixd.errors import UnsafeFile
from phoenixd.harness import HARNESSES
from phoenixd.memory.files import Files

SIZE_LIMIT = 32 << 20


def questions_at_start(agent: Agent, environment: Mapping[str, str], files: Files) -> tuple[str, ...]:
    """The login that is missing, and what would be asked about directory and key; one sentence each, with its remedy.

    No file that holds a login is opened. Blocking.
    """
    harness = HARNESSES.get(agent.spec.harness)
    if harness is None:
        return ()
    told = []
    missing = harness.login_missing(environment)
    if missing is not None and not any(os.path.exists(path) for path in missing[0]):
        told.append(f"no login is to be found (looked for {' or '.join(missing[0])}): {missing[1]}")

    def read(path: str) -> bytes | None:
        try:
            return files.read_plain(Path(os.path.realpath(path)), SIZE_LIMIT)
        except (OSError, UnsafeFile):
            return None

    asked = harness.asks_at_start(agent.spec, environment, os.path.realpath(agent.spec.cwd), read)
    if asked is not None:
        remedy = f"answer it once, phoenixctl attach {agent.name}, or declare it with --seed-trust (seed_trust = true)"
        told.append(f"its CLI will ask {asked} before it works: {remedy}")
    return tuple(told)
