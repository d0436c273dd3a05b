"""Counting processes from outside, by what they carry, never by what phoenixd says of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.waiting import PATIENCE, eventually_sync


def carrying(mark: bytes) -> dict[int, str]:
    """Living processes with `mark` in environment or command line, with their command lines."""
    found = {}
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
            command = (directory / "cmdline").read_bytes()
            environment = (directory / "environ").read_bytes()
        except OSError:
            continue
        if state not in "ZX" and (mark in environment or mark in command):
            found[int(directory.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def survivors(root: Path) -> dict[int, str]:
    """Everything that still lives and was started below a stage's directory."""
    return carrying(str(root).encode())


def all_ends(root: Path, patience: float = PATIENCE) -> None:
    """Wait until nothing lives that was started below a stage's directory; TimeoutError names what does."""
    try:
        eventually_sync(lambda: not survivors(root), patience)
    except TimeoutError:
        raise TimeoutError(f"not ended within {patience:g} s, below {root}: {survivors(root)}") from None


def runs_of(root: Path) -> set[int]:
    """Processes of any run below a stage's directory."""
    return set(survivors(root)) & set(carrying(b"PHOENIX_RUN_ID="))


def incarnations(root: Path, name: str) -> Counter[str]:
    """How many living processes each run of an agent has, by run id; the agent's own processes only."""
    counts: Counter[str] = Counter()
    for pid in survivors(root):
        try:
            pairs = dict(
                pair.split(b"=", 1) for pair in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if b"=" in pair
            )
        except OSError:
            continue
        if pairs.get(b"PHOENIX_AGENT") == name.encode():
            counts[pairs[b"PHOENIX_RUN_ID"].decode()] += 1
    return counts
