"""`./dev proof mutants`: plant small changes in the code that decides, and count how many the tests see.

The mutants are drawn by a seed from core, runtime, what ends processes in the shim, and the journal's writer. Each one
is tried in a copy of the tree by the tests that run its line. A survivor is a test that is missing, or a change that
changes nothing: `known.toml` names those of the second kind, each with its reason. 0 when nine of ten are killed.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import signal
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.proof.mutants.lines import Lines, measured
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
Tried = list[tuple[Mutant, Verdict]]


def main(arguments: list[str]) -> int:
    """Draw, try and count; 1 when too many survive."""
    parser = argparse.ArgumentParser(prog="./dev proof mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PATH", help="those of the files whose path begins so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are tried at once")
    given = parser.parse_args(arguments)
    files = targets(ROOT)
    drawn = draw(ROOT, [name for name in files if name.startswith(given.only)], given.count, given.seed)
    if not drawn:
        parser.error(f"no mutant stands in {given.only!r}; files that may hold one: {' '.join(files)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = measured(ROOT, files, given.jobs)
    with tempfile.TemporaryDirectory(prefix="phx-") as room:
        tried = try_all(drawn, lines, Path(room), given.jobs)
    text, well = told(tried, known())
    print(text)
    return 0 if well else 1


def targets(root: Path) -> list[str]:
    return sorted({str(path.relative_to(root)) for pattern in TARGETS for path in root.glob(pattern)})


def draw(root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """Return `count` of all mutants of the files; the same seed draws the same ones from the same tree."""
    every = [mutant for name in files for mutant in mutants(name, (root / name).read_bytes())]
    return random.Random(seed).sample(every, min(count, len(every)))


def try_all(drawn: list[Mutant], lines: Lines, room: Path, jobs: int) -> Tried:
    """Interrupted, it ends the processes of its trials, and raises on."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    every = [Copy(ROOT, room / str(number), LIMIT) for number in range(jobs)]
    for one in every:
        copies.put(one)

    def try_one(mutant: Mutant) -> tuple[Mutant, Verdict]:
        copy = copies.get()
        try:
            verdict = copy.tries(mutant, lines.chosen(mutant))
        finally:
            copies.put(copy)
        where = f"{mutant.path}:{mutant.line} {mutant.kind}"
        print(f"{verdict.word:9} {verdict.seconds:4.0f} s  {where}  {verdict.by}", flush=True)
        return mutant, verdict

    with ThreadPoolExecutor(jobs) as trials:
        try:
            control(copies, drawn, lines)
            return list(trials.map(try_one, drawn))
        except BaseException:
            # Whoever runs this one may pass on what the terminal has sent already.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            for one in every:
                one.end()
            trials.shutdown(wait=False, cancel_futures=True)
            raise


def control(copies: queue.SimpleQueue[Copy], drawn: list[Mutant], lines: Lines) -> None:
    """Without a mutant the tests pass in a copy; else each mutant would count as killed."""
    tests = sorted({test for mutant in drawn for test in lines.chosen(mutant)[:3]})
    copy = copies.get()
    word, by = copy.ask(tests) if tests else ("survived", "")
    copies.put(copy)
    if word != "survived":
        raise SystemExit(f"in a copy of the tree the tests fail without any mutant: {by}")


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
