"""`./dev proof mutants`: plant small changes in the code that decides, and count how many the tests see.

The mutants are drawn by a seed from core, runtime, what ends processes in the shim, and the journal's writer. Each one
is tried in a copy of the tree by the tests that run its line. A survivor is a test that is missing, or a change that
changes nothing: `known.toml` names those of the second kind, each with its reason. 0 when nine of ten are killed,
1 when not, 3 when the time ended before.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path

from tests.proof.mutants.lines import Lines, cache, digest_of, measured
from tests.proof.mutants.operators import Mutant, mutants
from tests.proof.mutants.trials import Copy, Verdict

ROOT = Path(__file__).resolve().parents[3]
KNOWN = Path(__file__).with_name("known.toml")
TARGETS = (
    "phoenixd/core/**/*.py", "phoenixd/runtime/**/*.py",
    "phoenixd/shim/tree.py", "phoenixd/shim/run.py", "phoenixd/shim/procfs.py",
    "phoenixd/drivers/journal/writer.py", "phoenixd/drivers/journal/thread.py",
)  # fmt: skip
AIM = 90
LIMIT = 900.0
BUDGET = 60.0
"""Seconds that the quickest tests of one mutant may take by themselves; of the others the broadest are asked alone."""
BROADEST = 6
PATIENCE, SHORTEST = 5, 5.0
"""How many times longer than alone the tests of a mutant may take, and what they take at least."""
CONTROL, CONTROLS = -1, 3
"""The number of the trial without a mutant, and how many tests of each mutant it runs."""
STOPPED = 3
Tried = list[tuple[Mutant, Verdict]]


def main(arguments: list[str]) -> int:
    """Draw, try and count; 1 when too many survive."""
    parser = argparse.ArgumentParser(prog="./dev proof mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PATH", help="those of the files whose path begins so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are tried at once")
    parser.add_argument("--within", type=float, default=inf, metavar="SECONDS", help="stop then; run again to go on")
    given = parser.parse_args(arguments)
    until = time.monotonic() + given.within
    files = targets(ROOT)
    drawn = draw(ROOT, [name for name in files if name.startswith(given.only)], given.count, given.seed)
    if not drawn:
        parser.error(f"no mutant stands in {given.only!r}; files that may hold one: {' '.join(files)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = measured(ROOT, files, given.jobs, until)
    tree = [*ROOT.glob("phoenixd/**/*.py"), *(path for path in ROOT.glob("tests/**/*.py") if "proof" not in path.parts)]
    kept = Kept(cache() / f"tried-{digest_of(ROOT, tree)}")
    left = [mutant for mutant in drawn if kept.verdict(mutant) is None]
    if lines is not None and left:
        with tempfile.TemporaryDirectory(prefix="phx-") as room:
            try_all(left, lines, Path(room), given.jobs, kept, until)
    tried = [(mutant, verdict) for mutant in drawn if (verdict := kept.verdict(mutant)) is not None]
    if len(tried) < len(drawn):
        print(f"{len(tried)} of {len(drawn)} mutants are tried; run this again to go on")
        return STOPPED
    text, well = told(tried, known())
    print(text)
    return 0 if well else 1


def targets(root: Path) -> list[str]:
    return sorted({str(path.relative_to(root)) for pattern in TARGETS for path in root.glob(pattern)})


def draw(root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """Return `count` of all mutants of the files; the same seed draws the same ones from the same tree."""
    every = [mutant for name in files for mutant in mutants(name, (root / name).read_bytes())]
    return random.Random(seed).sample(every, min(count, len(every)))


class Kept:
    """The verdicts on mutants of one state of the tree, in a file to which each is added at once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        rows = [json.loads(row) for row in place.read_text().splitlines()] if place.exists() else []
        self._verdicts = {(path, start, end, becomes): Verdict(*said) for path, start, end, becomes, said in rows}

    def verdict(self, mutant: Mutant) -> Verdict | None:
        return self._verdicts.get((mutant.path, mutant.start, mutant.end, mutant.becomes))

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        key = (mutant.path, mutant.start, mutant.end, mutant.becomes)
        with self._lock, self._place.open("a") as file:
            self._verdicts[key] = verdict
            file.write(json.dumps([*key, [verdict.word, verdict.seconds, verdict.by]]) + "\n")


def try_all(drawn: list[Mutant], lines: Lines, room: Path, jobs: int, kept: Kept, until: float = inf) -> None:
    """Try each and keep its verdict; none goes on after `until`. Interrupted, it ends its trials, and raises on."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    every = [Copy(ROOT, room / str(number), LIMIT) for number in range(jobs)]
    for one in every:
        copies.put(one)

    def try_one(mutant: Mutant) -> None:
        copy = copies.get()
        try:
            verdict = copy.tries(mutant, within_budget(lines, mutant))
        finally:
            copies.put(copy)
        if verdict.word != "interrupted":
            keep(mutant, verdict)

    def keep(mutant: Mutant, verdict: Verdict) -> None:
        where = f"{mutant.path}:{mutant.line} {mutant.kind}"
        print(f"{verdict.word:9} {verdict.seconds:4.0f} s  {where}  {verdict.by}", flush=True)
        kept.add(mutant, verdict)

    def end() -> None:
        for one in every:
            one.end()

    watch = threading.Timer(max(0.0, until - time.monotonic()), end) if until < inf else None
    if watch is not None:
        watch.start()
    with ThreadPoolExecutor(jobs) as trials:
        try:
            list(trials.map(try_one, in_forks(every[0], drawn, lines, jobs, keep)))
        except BaseException:
            # The program that runs this one may pass on what the terminal has sent already.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            end()
            trials.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            if watch is not None:
                watch.cancel()


def within_budget(lines: Lines, mutant: Mutant) -> list[str]:
    """Return the quickest tests of the mutant's line that take no longer together than BUDGET, and the broadest others.

    A test that runs most of a file is slow, and sees more of what comes of a line than many that are quick.
    """
    seconds = dict(lines.tests)
    spent = 0.0
    every = lines.chosen(mutant)
    for place, name in enumerate(every):
        spent += seconds.get(name, 0.0)
        if place and spent > BUDGET:
            return [*every[:place], *lines.broadest(mutant.path, every[place:], BROADEST)]
    return every


def in_forks(
    copy: Copy, drawn: list[Mutant], lines: Lines, jobs: int, keep: Callable[[Mutant, Verdict], None]
) -> list[Mutant]:
    """Try what a fork can tell of; return the others."""
    chosen = {number: within_budget(lines, mutant) for number, mutant in enumerate(drawn)}
    forkable = {number: tests for number, tests in chosen.items() if any("::" in name for name in tests)}
    # Without a mutant the tests pass in a fork; else each mutant would count as killed.
    first = sorted({test for tests in forkable.values() for test in tests[:CONTROLS]})
    asked: list[tuple[int, Mutant | None, Sequence[str], float]] = [(CONTROL, None, first, LIMIT)] if first else []
    seconds = dict(lines.tests)
    asked += [
        (number, drawn[number], tests, PATIENCE * (SHORTEST + sum(seconds.get(name, 0.0) for name in tests)))
        for number, tests in forkable.items()
    ]
    left = set(range(len(drawn)))
    limits = {name: PATIENCE * (SHORTEST + one) for name, one in lines.tests}
    for number, verdict in copy.forks(asked, jobs, limits) if asked else ():
        if number == CONTROL and verdict.word != "survived":
            raise SystemExit(f"in a copy of the tree the tests fail without any mutant: {verdict.by}")
        if number != CONTROL and verdict.word != "cold":
            keep(drawn[number], verdict)
            left.discard(number)
    return [drawn[number] for number in sorted(left)]


def known() -> dict[tuple[str, str, str, str], str]:
    """Return the survivors that change nothing, with the reason of each."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return {
        (entry["file"], entry["function"], entry["was"], entry["becomes"]): entry["reason"]
        for entry in table.get("known", [])
    }


def told(tried: Tried, reasons: dict[tuple[str, str, str, str], str], root: Path = ROOT) -> tuple[str, bool]:
    """Return the closing words, and whether enough were killed of those that change something."""
    words = [verdict.word for _, verdict in tried]
    lines = [""]
    survivors = equivalent = 0
    for mutant, verdict in tried:
        if verdict.is_killed:
            continue
        source = (root / mutant.path).read_bytes()
        reason = reasons.get(mutant.key(source), "")
        equivalent += bool(reason)
        survivors += not reason
        lines.append(f"{verdict.word}: {mutant.path}:{mutant.line} in {mutant.function or 'the module'}: {verdict.by}")
        lines.append(f"  changes nothing: {reason}" if reason else mutant.diff(source))
    counted = len(tried) - equivalent
    share = 100 * (counted - survivors) / counted if counted else 0
    lines.append(
        f"{len(tried)} mutants: {words.count('killed')} killed, {words.count('timed out')} timed out, "
        f"{survivors} survived, {equivalent} change nothing; {share:.1f} % of the others killed, the aim is {AIM} %"
    )
    return "\n".join(lines), share >= AIM


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
