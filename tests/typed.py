"""How a page names a command to a test: with the socket of its stage, for `Stage.ctl` names that socket too."""

from __future__ import annotations

import shlex

from phoenixd.demo.stage import Stage


def typed(stage: Stage, *words: str) -> str:
    """The command as it stands on a page: typed like that, it reaches this stage's daemon."""
    return shlex.join(["phoenixctl", "--socket", str(stage.runtime / "api.sock"), *words])
