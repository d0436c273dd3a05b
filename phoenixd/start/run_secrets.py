"""The secrets of runs: a token for each, and the seal that a worker is asked to frame its answer with.

All are derived from one key, so that none need be kept: the daemon that asks may be another one.
"""

from __future__ import annotations

import hmac
import itertools
import secrets
from pathlib import Path

from phoenixd.core.agent import Agent
from phoenixd.documents.seal import Seal, mint
from phoenixd.harness.screens import harness_of
from phoenixd.memory.files import Files

KEY_BYTES = 32


class RunSecrets:
    """Derives them."""

    def __init__(self, files: Files, path: Path) -> None:
        """path: the key's file, which is made where there is none; raises OSError."""
        self._key = _key(files, path)

    def token(self, run_id: str) -> str:
        """What the run alone is told, by which it proves who it is."""
        return hmac.new(self._key, run_id.encode(), "sha256").hexdigest()

    def seal(self, agent: Agent, incarnation: int) -> Seal | None:
        """The words that this run of a worker is asked to frame its answer with; None where it is not asked."""
        spec = agent.spec
        if not spec.task or not spec.reports.seal or harness_of(spec).transcript_form is None:
            return None
        drawn = itertools.count()

        def draw(count: int) -> str:
            told = f"seal {spec.task} {incarnation} {next(drawn)}".encode()
            return hmac.new(self._key, told, "sha256").hexdigest()[: 2 * count]

        return mint(draw, spec.prompt or "")


def _key(files: Files, path: Path) -> bytes:
    """The key of all; a lost one only makes living agents' tokens void until their next start."""
    try:
        key = files.read_plain(path, 2 * KEY_BYTES)
        if len(key) == KEY_BYTES:
            return key
    except FileNotFoundError:
        pass
    key = secrets.token_bytes(KEY_BYTES)
    files.replace(path, key)
    return key
