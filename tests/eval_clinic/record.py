"""Drives the real CLIs into every end of recipes.py and writes what each left. By hand, never in CI.

    python -m tests.eval_clinic.record OUT [PATTERN [MODULE]]     one directory for each recipe whose id has the pattern
    python -m tests.eval_clinic.record --list [PATTERN [MODULE]]

The recipes are those of `recipes.py`, or of the module that is named. A record that is there already is left alone.
What is right to say of a record (expected.json) is written by hand.
The disk that is full needs root, and so does the memory that is short.
"""

from __future__ import annotations

import importlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.eval_clinic.recipes import Recipe
from tests.eval_clinic.room import Room
from tests.eval_clinic.written import write


def main(arguments: list[str]) -> int:
    pattern = arguments[1] if len(arguments) > 1 else ""
    source = importlib.import_module(arguments[2] if len(arguments) > 2 else "tests.eval_clinic.recipes")
    chosen = [recipe for recipe in source.recipes() if re.search(pattern, recipe.id)]
    if arguments[:1] == ["--list"]:
        print("\n".join(recipe.id for recipe in chosen))
        return 0
    # A room that is left ends what was started in it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    out = Path(arguments[0])
    failed = 0
    for recipe in chosen:
        if (out / recipe.id / "record.json").exists():
            continue
        began = time.monotonic()
        try:
            _record(recipe, out / recipe.id)
            told = "recorded"
        except (TimeoutError, OSError, AssertionError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            told = f"FAILED: {type(error).__name__}: {str(error)[:1500]}"
        print(f"{time.monotonic() - began:6.1f} s  {recipe.id}: {told}", flush=True)
    return 1 if failed else 0


def _record(recipe: Recipe, directory: Path) -> None:
    root = Path(tempfile.mkdtemp(prefix="phx-rec-"))
    try:
        with Room(recipe.harness, recipe.pin, root) as room:
            recipe.drive(room)
            write(room, directory, {"id": recipe.id, "fault": recipe.fault})
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
