"""What a CLI will ask of a person before it begins, told before it is started: by its own files, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from phoenixd.core.agent import Agent
from phoenixd.harness import HARNESSES
from phoenixd.memory.files import Files
from phoenixd.start.users_files import reader

SIZE_LIMIT = 32 << 20


def questions_at_start(agent: Agent, environment: Mapping[str, str], files: Files) -> tuple[str, ...]:
    """The login that is missing, and what would be asked about directory and key; one sentence each, with its remedy.

    No file that holds a login is opened. Blocking.
    """
    harness = HARNESSES.get(agent.spec.harness)
    if harness is None:
        return ()
    told = []
    login = harness.needed_login(environment)
    if login is not None and login.is_missing(os.path.exists):
        told.append(f"no login is to be found (looked for {' or '.join(login.files)}): {login.remedy}")
    cwd = os.path.realpath(agent.spec.cwd)
    asked = harness.asks_at_start(agent.spec, environment, cwd, reader(files, SIZE_LIMIT))
    if asked is not None:
        remedy = f"answer it once, phoenixctl attach {agent.name}, or declare it with --seed-trust (seed_trust = true)"
        told.append(f"its CLI will ask {asked} before it works: {remedy}")
    return tuple(told)
