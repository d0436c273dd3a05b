"""What lives below a stage's directory is counted by what it carries, and named where it does not end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.census import all_ends, survivors


def test_what_outlives_a_stage_is_named_and_waited_for(short_tmp: Path) -> None:
    with subprocess.Popen(["sleep", "600"], env={"PHOENIX_STATE_DIR": str(short_tmp / "a")}) as left:
        assert survivors(short_tmp) == {left.pid: "sleep 600"}
        with pytest.raises(TimeoutError, match="sleep 600"):
            all_ends(short_tmp, 0.0)
        left.kill()
    all_ends(short_tmp)
