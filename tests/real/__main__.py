"""Runs the contract suite with the three real CLIs, and writes its table into docs/reference/harnesses.md.

    ./dev proof contract              the tested versions; about twenty minutes
    ./dev proof contract --newest     what the registry has today: prints the table and its differences to the pins
    python -m tests.real -k codex     a part, in the virtualenv: prints the table, writes nothing

Exit 0 when every cell passed, is known not to, or could not be run because a CLI cannot be had: each says so by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real.contract_table import (
    FAILED,
    NOT_RUN,
    cells,
    differences,
    read_report,
    second_try,
    table,
    versions,
    write,
)
from tests.real.installed import NEWEST


def main(arguments: list[str]) -> int:
    if "--newest" in arguments:
        os.environ[NEWEST] = "1"
        arguments = [argument for argument in arguments if argument != "--newest"]
    results = _run(arguments)
    if failed := [f"{test}[{harness}]" for (test, harness), told in results.items() if told == FAILED]:
        # On a busy machine a CLI takes longer than anybody's patience.
        results = second_try(results, _run([*arguments, *(f"{SUITE}::{name}" for name in failed)]))
    made = table(results)
    print(made)
    if NEWEST in os.environ:
        print("\nWhat the newest versions do otherwise:")
        print("\n".join(f"  {line}" for line in differences(results, cells(), versions())))
    is_whole = not arguments and NEWEST not in os.environ
    if is_whole and not any(told.startswith(NOT_RUN) for told in results.values()):
        write(made)
    return 1 if not results or FAILED in results.values() else 0


SUITE = Path(__file__).parent / "test_contract.py"


def _run(arguments: list[str]) -> dict[tuple[str, str], str]:
    """What each cell says; pytest prints the rest."""
    chosen = arguments if any("::" in argument for argument in arguments) else [str(SUITE), *arguments]
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        # Most of a test's time is spent waiting for a CLI.
        options = ["-q", "-n", "2", "-m", "real_claude", "--timeout=600", f"--junitxml={report}"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *chosen])
        return read_report(report) if report.exists() else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
