"""`python -m tests.core.recorded [NODEID...]`: record those stories, or all that are recorded, anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.core.recorded.keeping import AGAIN, PLACE, load

BESIDE = (
    "tests/core/test_edges.py", "tests/runtime/test_recorded_hearing.py", "tests/runtime/test_recorded_orders.py",
    "tests/simulate/test_recorded.py",
)  # fmt: skip
ROOT = Path(__file__).parents[3]


def main(names: list[str]) -> int:
    if not names:
        found = {path: load(path) for path in sorted(PLACE.glob("*.txt"))}
        names = [f"tests/core/{path.stem}.py::{name}" for path, stories in found.items() for name in stories]
        names += BESIDE
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *names]
    return subprocess.run(argv, cwd=ROOT, env={**os.environ, AGAIN: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
