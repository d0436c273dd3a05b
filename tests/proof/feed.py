"""`./dev proof feed`: the daemon dies between any two frames of its feed; the client then knows what a fresh look says.

10,000 cuts in one process, half of them deaths of the daemon (the play of tests/api/test_feed.py), and 100 times kill
-9 of a real one, at a frame that is drawn, while agents work, ask, are stopped, started, muted and removed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import Stage, StageFailed
from tests.api.feeding import Model, comparable, frames
from tests.api.test_feed import play
from tests.e2e.census import all_ends
from tests.e2e.puppet import Puppet
from tests.e2e.test_canaries import TELL

PATIENCE = 120.0
MOST_FRAMES = 60
"""Frames after which the daemon is killed, at the latest."""
SLEEPERS = ("shop-api", "shop-web", "docs")
STEPS = 400
DEEDS = (
    "tell('prompt-submit', session_id='s1', prompt='go')",
    "tell('tool-start', tool_name='Bash', tool_use_id='t1', tool_input={'command': 'make'})",
    "tell('tool-end', tool_name='Bash', tool_use_id='t1')",
    "tell('permission-request', tool_name='Bash', tool_input={'command': 'npm publish'})",
    "tell('stop', session_id='s1', last_assistant_message='done')",
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev proof feed", description=__doc__)
    parser.add_argument("--cuts", type=int, default=10_000, help="of the link, in one process")
    parser.add_argument("--kills", type=int, default=100, help="of a real daemon")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    try:
        cuts, deaths = asyncio.run(cut(given.cuts, given.seed))
        print(f"{cuts} cuts, {deaths} of them deaths of the daemon: 0 differences", flush=True)
        killed = kill(given.kills, random.Random(given.seed)) if given.kills else "none"
    except (AssertionError, StageFailed, TimeoutError) as failure:
        print(f"FAILED: {failure!r}", flush=True)
        return 1
    print(f"kill -9 of a real daemon: {killed}")
    return 0


async def cut(wanted: int, seed: int) -> tuple[int, int]:
    """Play seed after seed until the link was cut so often; how often, and how often the daemon died of it."""
    cuts = deaths = 0
    while cuts < wanted:
        more, died = await play(seed, STEPS)
        cuts, deaths, seed = cuts + more, deaths + died, seed + 1
    return cuts, deaths


class Bustle:
    """What happens to the fleet meanwhile, drawn; `rest` ends it, and waits until it has."""

    def __init__(self, stage: Stage, puppet: Puppet, chance: random.Random) -> None:
        self._stage, self._puppet, self._chance = stage, puppet, chance
        self._resting = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.deeds = 0

    def __enter__(self) -> Bustle:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._resting.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._resting.is_set():
            name = self._chance.choice(SLEEPERS)
            verb = self._chance.choice(("start", "stop", "mute", "unmute", "mute", "hook", "hook", "hook"))
            try:
                if verb == "hook":
                    self._puppet.do(f"{TELL}\n{self._chance.choice(DEEDS)}")
                else:
                    body = {"for": "1s"} if verb == "mute" else {}
                    self._stage._http("POST", f"/v1/agents/{name}/{verb}", json.dumps(body).encode())
                self.deeds += 1
            except StageFailed:
                self._resting.wait(0.05)  # The daemon is away, or the agent's state does not allow it.


def kill(kills: int, chance: random.Random) -> str:
    """kill -9 of the daemon so often, each at a frame of its own; what it came to."""
    began, root = time.monotonic(), Path(tempfile.mkdtemp(prefix="phx-"))
    stage = Stage(root)
    puppet = Puppet(root / "c")
    try:
        for name in SLEEPERS:
            stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
        stage.declare("c", f'[agent.c]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n')
        stage.up()
        stage.until_running("c", 1)
        puppet.do(f"{TELL}\ntell('session-start', session_id='s1', source='startup')")
        model, heard, deeds = Model(), 0, 0
        for number in range(kills):
            with Bustle(stage, puppet, chance) as bustle:
                heard += asyncio.run(_hear(stage, model, chance.randrange(1, MOST_FRAMES)))
                stage.kill()
                stage.up()
            deeds += bustle.deeds
            asyncio.run(_compare(stage, model))
            require_story(model)
            print(f"kill {number + 1}: {len(model.notes)} rows of the story, {model.resyncs} resyncs", flush=True)
        took = time.monotonic() - began
        return f"{kills} times after {heard} frames and {deeds} deeds, 0 differences, {took:.0f} s"
    finally:
        stage.down()
        all_ends(root, PATIENCE)
        shutil.rmtree(root, ignore_errors=True)


async def _hear(stage: Stage, model: Model, most: int) -> int:
    """Hear `most` frames at most, and no more of what was sent already; how many came."""
    count = 0
    async with asyncio.timeout(PATIENCE):
        async for frame in frames(stage.runtime / "api.sock", last_id=model.last_id):
            model.hear(frame)
            count += 1
            if count >= most:
                break
    return count


async def _compare(stage: Stage, model: Model) -> None:
    """Follow until the client stands where a fresh look stands, while nothing moves; then both say the same."""
    async with asyncio.timeout(PATIENCE):
        heard = frames(stage.runtime / "api.sock", last_id=model.last_id)
        told: dict[str, Any] = {}
        async for frame in heard:
            model.hear(frame)
            if frame.event != "beat":
                continue
            newest = told.get("as_of", {})
            if model.boot == newest.get("boot") and model.change == newest.get("change"):
                break
            # What the fleet still does by itself makes another look necessary.
            told = json.loads(await asyncio.to_thread(stage._http, "GET", "/v1/stream"))
    assert {name: comparable(row) for name, row in model.agents.items()} == {
        row["name"]: comparable(row) for row in told["agents"]
    }
    assert model.items == {item["id"]: item for item in told["items"]}
    assert model.alerts == {alert["id"]: alert for alert in told["alerts"]}


def require_story(model: Model) -> None:
    """No row of the story came twice, and none out of its order."""
    assert model.notes == sorted(set(model.notes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
