"""`./dev proof restoring`: kill -9 of the daemon 20 times at each of the seven steps of a restoration, for real."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from phoenixd.core.resonance.state import STEPS
from phoenixd.demo.stage import StageFailed
from tests.e2e.census import all_ends
from tests.proof.restoring.kills import PATIENCE, StepStage, kills


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev proof restoring", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="at each step")
    parser.add_argument("--step", type=int, choices=range(1, len(STEPS) + 1), help="at this one alone")
    given = parser.parse_args(arguments)
    root, began = Path(tempfile.mkdtemp(prefix="phx-")), time.monotonic()
    stage = StepStage(root)
    try:
        ended = kills(stage, given.kills, STEPS if given.step is None else (STEPS[given.step - 1],))
    except (AssertionError, StageFailed, TimeoutError) as failure:
        print(f"FAILED: {failure}\n(kept in {root})", flush=True)
        return 1
    finally:
        stage.down()
        all_ends(root, PATIENCE)
    shutil.rmtree(root, ignore_errors=True)
    told = ", ".join(f"{count} {how}" for how, count in ended.items())
    print(f"{ended.total()} kills: {told}; none twice, no work lost, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
