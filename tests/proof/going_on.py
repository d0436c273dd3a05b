"""What came of each proof of one tree, kept so that `./dev proof --go-on` begins where the one before ended.

A tree is a commit whose work tree nobody changed. What came of any other tree is not kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.proof.mutants.lines import cache

HELD, FAILED, NOT_RUN = "held", "FAILED", "not run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one proof; `at` is the local time of its end, `load` the machine's load in the minute before."""

    name: str
    arguments: tuple[str, ...]
    verdict: str
    seconds: float
    at: str
    load: float


def tree_of(root: Path, written: Collection[str]) -> str | None:
    """Return the commit that the work tree is, or None where it is none; `written` are pages that proofs write."""
    others = [f":(exclude,top){page}" for page in sorted(written)]
    changed = _git(root, "status", "--porcelain", "--untracked-files=all", "--", ":/", *others)
    return _git(root, "rev-parse", "HEAD") if changed == "" else None


def place_of(tree: str) -> Path:
    """Return the file that keeps the outcomes of a tree on this Python."""
    return cache() / f"proofs-{tree[:16]}-{sys.version_info.major}.{sys.version_info.minor}"


def keep(place: Path, outcome: Outcome) -> None:
    """Add an outcome to a file of them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def kept(place: Path, arguments: Sequence[str]) -> dict[str, Outcome]:
    """Return the newest outcome of each proof that ran with exactly these arguments, by its name."""
    rows = [json.loads(row) for row in place.read_text().splitlines()] if place.exists() else []
    every = [Outcome(**{**row, "arguments": tuple(row["arguments"])}) for row in rows]
    return {one.name: one for one in every if one.arguments == tuple(arguments)}


def left(names: Iterable[str], known: Mapping[str, Outcome]) -> list[str]:
    """Return those that did not hold: they failed, or were not run."""
    return [name for name in names if name not in known or known[name].verdict != HELD]


def table(names: Iterable[str], known: Mapping[str, Outcome]) -> str:
    """Return a line for each proof, whether or not it ran."""
    lines = ["proof       verdict  seconds  ended             load"]
    for name in names:
        one = known.get(name)
        seen = f"{one.verdict:8} {one.seconds:7.0f}  {one.at:16} {one.load:5.1f}" if one else NOT_RUN
        lines.append(f"{name:11} {seen}")
    return "\n".join(lines)


def _git(root: Path, *words: str) -> str | None:
    asked = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else None
