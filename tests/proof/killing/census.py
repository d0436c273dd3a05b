"""Which runs have living processes, in one pass over /proc: what an agent's processes carry, not what phoenixd says."""

from __future__ import annotations

from pathlib import Path

Runs = dict[str, dict[str, set[tuple[int, int]]]]
"""Agent -> run id -> (pid, start time) of its living processes."""


def runs(root: Path) -> Runs:
    """Every living process of every run below `root`; a shim is of no run."""
    found: Runs = {}
    mark = str(root).encode()
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            environment = (directory / "environ").read_bytes()
        except OSError:
            continue
        if mark not in environment or b"PHOENIX_RUN_ID=" not in environment:
            continue
        started = start_time(int(directory.name))
        if started is None:
            continue
        pairs = dict(pair.split(b"=", 1) for pair in environment.split(b"\0") if b"=" in pair)
        agent, run_id = pairs.get(b"PHOENIX_AGENT", b"").decode(), pairs[b"PHOENIX_RUN_ID"].decode()
        found.setdefault(agent, {}).setdefault(run_id, set()).add((int(directory.name), started))
    return found


def doubled(found: Runs) -> dict[str, list[str]]:
    """Agents of whom two runs live at the same time: what one pass met, and what still lives after it."""
    both = {
        agent: [run_id for run_id, members in of.items() if any(start_time(pid) == at for pid, at in members)]
        for agent, of in found.items()
        if len(of) > 1
    }
    return {agent: living for agent, living in both.items() if len(living) > 1}


def start_time(pid: int) -> int | None:
    """In clock ticks since boot; None for who is gone, a zombie among them."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
