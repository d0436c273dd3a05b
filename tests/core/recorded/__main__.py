"""`python -m tests.core.recorded [NODEID...]`: record those stories, or all that are recorded, anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.core.recorded.keeping import AGAIN, PLACE, dump, load

BESIDE = (
    "tests/core/test_edges.py", "tests/core/test_handoff_edges.py", "tests/core/test_rules_of_agents.py",
    "tests/core/test_decisions_at_their_edges.py", "tests/core/test_rules_at_their_edges.py",
    "tests/core/test_loops_at_their_edges.py",    "tests/core/test_events_in_situations.py",
    "tests/runtime/test_recorded_hearing.py", "tests/runtime/test_recorded_orders.py",
    "tests/simulate/test_recorded.py",
)  # fmt: skip
ROOT = Path(__file__).parents[3]


PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0")


def main(names: list[str]) -> int:
    names = names or [*recorded(), *BESIDE]
    return subprocess.run([*PYTEST, *names], cwd=ROOT, env={**os.environ, AGAIN: "1"}, check=False).returncode


def recorded() -> list[str]:
    """Return the tests whose stories are recorded, and drop the stories of tests that are gone."""
    done = subprocess.run(
        [*PYTEST, "--collect-only", "tests/core"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    there = set(done.stdout.splitlines())
    found = []
    for path in sorted(PLACE.glob("*.txt")):
        stories = load(path)
        names = {name: f"tests/core/{path.stem}.py::{name}" for name in stories}
        found += [name for name in names.values() if name in there]
        dump(path, {name: steps for name, steps in stories.items() if names[name] in there})
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
