"""From a decision to spawn to everything that a run needs: documents, environment, command line, order."""

from __future__ import annotations

from phoenixd.launch.launcher import Launch

__all__ = ["Launch"]
