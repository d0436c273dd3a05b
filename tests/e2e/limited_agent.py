"""An agent whose account is at its limit until a time: told by its hooks, and by nothing that it does of itself.

    python limited_agent.py ACCOUNT LOG

ACCOUNT holds the Unix time at which the limit ends. Every line typed into it is a turn: it fails before that time and
succeeds after it. LOG gets "<time> <agent> <what>" for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def report(kind: str, **payload: Any) -> None:
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)


def turn(account: Path, log: Path, prompt: str) -> None:
    resets_at, now = float(account.read_text()), time.time()
    with log.open("a") as lines:
        lines.write(f"{now} {os.environ['PHOENIX_AGENT']} {'early' if now < resets_at else 'done'}\n")
    report("prompt-submit", prompt=prompt)
    if now < resets_at:
        report("stop-failure", error="rate_limit", resets_at=resets_at)
    else:
        report("stop")


def main() -> None:
    account, log = Path(sys.argv[1]), Path(sys.argv[2])
    report("session-start", source="startup")
    turn(account, log, "the goal")
    for line in sys.stdin:
        turn(account, log, line.rstrip("\n"))


if __name__ == "__main__":
    main()
