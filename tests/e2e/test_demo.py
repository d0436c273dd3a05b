"""`phoenixctl demo`, which the README shows first: each chapter of its story comes true."""

from __future__ import annotations

import subprocess
import sys

import pytest

from phoenixd.demo.story import CHAPTERS

pytestmark = pytest.mark.slow


def test_every_chapter_of_the_demo_comes_true_and_it_ends_with_what_can_be_typed_next() -> None:
    told = subprocess.run([sys.executable, "-m", "phoenixd.ctl", "demo"], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    lines = told.stdout.splitlines()
    assert len([line for line in lines if line.startswith("  ok  ")]) == len(CHAPTERS)
    assert lines[-1].startswith("Next: ")
