"""kill -9 of the daemon: 300 times under twenty agents, in shards, with orders, tmux and shims in between.

`python -m tests.proof.kills [SHARD...] [--rounds N] [--seed S]`; N rounds of all shards are N times 300 kills.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from phoenixd.demo.stage import Stage, StageFailed
from tests.e2e.census import survivors
from tests.proof.killing.calls import TracedStage
from tests.proof.killing.fleet import Broken, Fleet
from tests.proof.killing.shards import SHARDS, NotRun
from tests.waiting import eventually_sync


def main(arguments: list[str]) -> int:
    """Run the shards that are named, or all; print a line for each, and the sum."""
    parser = argparse.ArgumentParser(prog="./dev proof kills", description=__doc__)
    parser.add_argument("shards", nargs="*", choices=[*SHARDS, []], metavar="SHARD", help=", ".join(SHARDS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--kills", type=int, help="so many in each shard, in place of its own number")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args(arguments)
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _interrupted)
    sums, failed, not_run = Counter[str](), 0, []
    print(f"seed {given.seed}", flush=True)
    for number in range(given.rounds):
        for name in given.shards or SHARDS:
            verdict = _run(name, f"{given.seed}-{number}-{name}", given.kills, sums)
            failed += verdict is False
            not_run += [name] if verdict is None else []
    kills = sum(count for what, count in sums.items() if what.startswith("kills: "))
    told = ", ".join(f"{count} {what.removeprefix('kills: ')}" for what, count in sorted(sums.items()))
    print(f"{kills} kills, seed {given.seed}: {told}")
    if not_run:
        print(f"not run: {', '.join(not_run)}")
    print(f"{failed} shards failed" if failed else "0 lost, 0 doubled, 0 orders lost, 0 stopped ones running")
    return 1 if failed else 0


def _interrupted(number: int, frame: object) -> None:
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _run(name: str, seed: str, kills: int | None, sums: Counter[str]) -> bool | None:
    """One shard on a stage of its own; True where all held, None where it could not run here."""
    stage = TracedStage(Path(tempfile.mkdtemp(prefix="phx-")))
    try:
        return _played(stage, name, seed, kills, sums)
    except SystemExit:
        _clear(stage)
        raise


def _clear(stage: Stage) -> None:
    """End all that was started below a stage's directory, and remove it: nobody looks at it any more."""
    if stage.process is not None and stage.process.poll() is None:
        stage.kill()
    # The server takes the shims with it, and each shim its run.
    stage.down()
    with contextlib.suppress(TimeoutError):
        eventually_sync(lambda: not survivors(stage.root), 20)
    for pid in survivors(stage.root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(stage.root, ignore_errors=True)


def _played(stage: TracedStage, name: str, seed: str, kills: int | None, sums: Counter[str]) -> bool | None:
    play, count = SHARDS[name]
    began, root = time.monotonic(), stage.root
    dice = random.Random(seed)
    fleet = Fleet(stage, dice)
    try:
        play(fleet, stage, kills or count, dice)
        verdict = "held"
    except NotRun as lack:
        print(f"{name:11} not run: {lack}", flush=True)
        stage.down()
        return None
    except (Broken, StageFailed, AssertionError) as failure:
        verdict = f"FAILED: {failure}\nleft as it is: {stage.log}"
    sums.update(fleet.tally)
    stage.down()
    try:
        eventually_sync(lambda: not survivors(root), 60)
    except TimeoutError:
        verdict = f"FAILED: with the stage all ends, but not {survivors(root)}\n{verdict}"
    told = ", ".join(f"{count} {what.removeprefix('kills: ')}" for what, count in sorted(fleet.tally.items()))
    print(f"{name:11} {time.monotonic() - began:4.0f} s  {told}\n{'':11} {verdict}", flush=True)
    if verdict == "held":
        shutil.rmtree(root, ignore_errors=True)
    return verdict == "held"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
