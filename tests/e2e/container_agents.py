"""Run within a pid namespace of its own, as a container's first start and its second: a real daemon and its agents.

Prints what it finds, as JSON, and leaves everything running: what ends it is the end of the namespace.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phoenixd.demo.stage import Stage

NAMES = ("a", "b", "c")


def main() -> None:
    root, life = Path(sys.argv[1]), int(sys.argv[2])
    stage = Stage(root)
    agent = json.dumps([sys.executable, "-S", "-c", "import signal; signal.pause()"])
    for name in NAMES:
        stage.declare(name, f'[agent.{name}]\nargv = {agent}\ncwd = "/"\n')
    stage.up()
    if life == 1:
        rows = [stage.until_running(name, 1, patience=60) for name in NAMES]
        stage.ask("stop", "c")
    else:
        rows = [stage.until_running(name, 2, patience=60) for name in ("a", "b")]
    explained = [row["reason"] for row in json.loads(stage.ask("events", "--json", "a")).get("events", [])]
    found = {
        "pids": [row["pid"] for row in rows],
        "incarnations": {name: row["incarnation"] for name, row in stage.rows().items()},
        "states": {name: row["state"] for name, row in stage.rows().items()},
        "restarts": [row["restarts"] for row in rows],
        "told": [one for one in explained if "reboot" in one or "boot" in one],
        "alerts": json.loads(stage.ask("inbox", "--json")),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
