"""How a stage's daemon is started with marks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import Stage


def mark(stage: Stage, program: str, marks: Path) -> None:
    """Have the stage's daemon begin as this program of `tests.bench.marked`, which writes its marks into that file."""

    def popen(argv: list[str], **named: Any) -> subprocess.Popen[bytes]:
        assert argv[:4] == [sys.executable, "-P", "-m", "phoenixd"]
        module = f"tests.bench.marked.{program}"
        return subprocess.Popen([sys.executable, "-m", module, str(marks), *argv[4:]], **named)

    stage.popen = popen  # type: ignore[misc]
