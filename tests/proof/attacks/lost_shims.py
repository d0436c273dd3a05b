"""Twenty agents lose every shim at once. Run as a program, it plays that within a world without control groups.

`play` returns what became of them, and `main` prints it as JSON. Each run is two processes, and one of them has left
its session and its parents. Processes are counted in /proc by the marks of their runs, never by phoenixd's word.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.proof.attacks.conftest import AGENTS

PATIENCE = 300.0
NAMES = [f"a{number:02}" for number in range(AGENTS)]
OFF = NAMES[:5]
WANTED = NAMES[5:]
WAITS = "nothing of the run is seen"
AGENT = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
else:
    os.wait()
while True:
    signal.pause()
"""
Marked = tuple[int, str]
"""A process: its number, and when it began."""


class Watch:
    """Looks at /proc again and again: whose runs live, and whether any agent ever has two of them."""

    def __init__(self, root: Path) -> None:
        self.doubled: set[str] = set()
        self.risen: set[str] = set()
        self.looks = 0
        self._root = os.fsencode(root)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.005):
            self.looks += 1
            for agent, runs in self._living().items():
                if agent in OFF:
                    self.risen.add(agent)
                # One look takes a while, in which a run may end and the next begin. Two that are alive when they are
                # looked at once more were alive at once.
                if len(runs) > 1 and sum(any(map(self._bears_a_mark, ones)) for ones in runs.values()) > 1:
                    self.doubled.add(agent)

    def _living(self) -> dict[str, dict[str, set[Marked]]]:
        found: dict[str, dict[str, set[Marked]]] = defaultdict(lambda: defaultdict(set))
        for directory in Path("/proc").iterdir():
            if not directory.name.isdigit():
                continue
            try:
                pairs = dict(pair.partition("=")[::2] for pair in self._environment(int(directory.name)))
                one = int(directory.name), _began(int(directory.name))
            except OSError:
                continue
            if "PHOENIX_RUN_ID" in pairs:
                found[pairs["PHOENIX_AGENT"]][pairs["PHOENIX_RUN_ID"]].add(one)
        return found

    def _environment(self, pid: int) -> list[str]:
        """Of a process of this stage; of one on its way out, and of others, nothing."""
        content = Path(f"/proc/{pid}/environ").read_bytes()
        return content.decode(errors="replace").split("\0") if self._root in content else []

    def _bears_a_mark(self, one: Marked) -> bool:
        try:
            return bool(self._environment(one[0])) and _began(one[0]) == one[1]
        except OSError:
            return False


def _began(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def while_it_lives(stage: Stage) -> None:
    kill_every_shim(stage)


def while_it_is_down(stage: Stage) -> None:
    stage.kill()
    kill_every_shim(stage)
    up(stage)


def while_it_fences(stage: Stage) -> None:
    kill_every_shim(stage)
    stage.kill()
    up(stage)


HOW: dict[str, Callable[[Stage], None]] = {
    "while it lives": while_it_lives,
    "while it is down": while_it_is_down,
    "while it fences": while_it_fences,
}


def kill_every_shim(stage: Stage) -> None:
    for pid in [_record(stage, name)["shim"]["pid"] for name in NAMES]:
        os.kill(pid, signal.SIGKILL)


def up(stage: Stage) -> None:
    stage.up(wait=False)
    stage.until("the daemon answers", stage.answers, PATIENCE)


def play(stage: Stage, how: str) -> dict[str, object]:
    """Have all of them at work, five of them stopped again, and take every shim away."""
    argv = json.dumps([sys.executable, "-S", "-c", AGENT])
    for name in NAMES:
        stage.declare(name, f'[agent.{name}]\nargv = {argv}\ncwd = "/"\n')
    up(stage)
    stage.until("all run", lambda: all(map(_is_whole(stage), NAMES)), PATIENCE)
    for name in OFF:
        stage.ask("stop", name)
    waited: set[str] = set()

    def all_are_back() -> bool:
        if watch.doubled or watch.risen:
            return True  # It is lost, and what is left of it may never settle.
        rows = stage.rows()
        waited.update(name for name, row in rows.items() if WAITS in row["reason"])
        back = [name for name in WANTED if rows[name]["state"] == "running" and rows[name]["incarnation"] > 1]
        return len(back) == len(WANTED) and all(map(_is_whole(stage), WANTED))

    with Watch(stage.root) as watch:
        HOW[how](stage)
        stage.until("all are back", all_are_back, PATIENCE)
    rows = stage.rows()
    return {
        "tier": json.loads(stage.ask("status", "--json"))["daemon"]["tier"],
        "looked": watch.looks > 10,
        "doubled": sorted(watch.doubled),
        "risen": sorted(watch.risen),
        "waited": sorted(waited),
        "incarnations": sorted({rows[name]["incarnation"] for name in WANTED}),
        "off": sorted({rows[name]["state"] for name in OFF}),
    }


def _is_whole(stage: Stage) -> Callable[[str], bool]:
    """Whether both processes of the run that its shim wrote of live, and none of any other run."""
    return lambda name: incarnations(stage.root, name) == {_record(stage, name).get("run_id", ""): 2}


def _record(stage: Stage, name: str) -> dict[str, Any]:
    path = stage.state / "agents" / name / "run.json"
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return record


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    stage = Stage(root)
    try:
        print(json.dumps(play(stage, sys.argv[1])))
    finally:
        stage.down()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
