"""Every attack is run on a daemon of its own, in a directory of its own."""

from __future__ import annotations

from tests.e2e.conftest import stage

AGENTS = 20

__all__ = ["AGENTS", "stage"]
