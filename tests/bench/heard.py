"""What both floods ask of a daemon afterwards: what it heard, and how long it waited for a processor."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from phoenixd.demo.stage import Stage

DECIDES = {"UserPromptSubmit": "prompt-submit", "Stop": "stop"}


def lost(stage: Stage, sent: Mapping[str, int], patience: float = 180.0) -> int:
    """How many hooks that decide have no row in the journal, once it has had time for them; sent: how many, by agent.

    A row says for how many it stands.
    """
    give_up = time.monotonic() + patience
    while True:
        heard: Counter[str] = Counter()
        with contextlib.closing(sqlite3.connect(f"file:{stage.state}/journal.sqlite3?mode=ro", uri=True)) as journal:
            for agent, detail in journal.execute("SELECT agent, detail FROM entries WHERE event = 'hook_seen'"):
                told = json.loads(detail)
                if told.get("kind") in DECIDES.values():
                    heard[agent] += 1 + int(told.get("more") or 0)
        missing = sum(max(0, sent[name] - heard[name]) for name in sent)
        if missing == 0 or time.monotonic() > give_up:
            return missing
        time.sleep(1)


def waited(pid: int) -> float:
    """Seconds for which a process's first thread was ready to run and had no processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
