"""The feed of a real daemon: what an agent does is there at once, and a client outlives the daemon's death."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.api.feeding import Model, frames
from tests.e2e.puppet import Puppet
from tests.e2e.test_canaries import SHAPE, TELL

PATIENCE = 90.0


async def follow(socket: Path, model: Model, met: str, value: object) -> None:
    """Hear the stream until the agent's row has that."""
    async with asyncio.timeout(PATIENCE):
        async for frame in frames(socket, last_id=model.last_id):
            model.hear(frame)
            row = model.agents.get("c")
            if row is not None and model.change >= 0 and (row[met] == value or (value is ... and row[met])):
                return
    raise AssertionError(f"{met} was never {value}")


def test_a_client_follows_over_kill_9_of_the_daemon_and_no_secret_goes_out(stage: Stage) -> None:
    puppet = Puppet(stage.root / "c")
    stage.declare("c", f'[agent.c]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n')
    stage.up()
    stage.until_running("c", 1)
    socket, model = stage.runtime / "api.sock", Model()
    puppet.do(
        f"{TELL}\n"
        "tell('session-start', session_id='s1', source='startup', model='opus')\n"
        "tell('prompt-submit', session_id='s1', prompt='go')\n"
        f"tell('tool-start', tool_name='Bash', tool_use_id='t1', tool_input={{'command': 'curl {SHAPE} and more'}})\n"
    )
    asyncio.run(follow(socket, model, "doing", ...))
    doing = model.agents["c"]["doing"]
    assert (doing["tool"], doing["argument"]) == ("Bash", "curl [redacted] and more")
    assert model.agents["c"]["model"] == "opus"
    assert model.agents["c"]["why"]["row"]
    puppet.do(f"{TELL}\ntell('tool-end', tool_name='Bash', tool_use_id='t1')\n")
    asyncio.run(follow(socket, model, "doing", None))
    boot = model.boot
    stage.kill()
    stage.up()
    asyncio.run(follow(socket, model, "state", "running"))
    assert model.boot != boot
    assert model.notes == sorted(set(model.notes))
    assert model.agents["c"]["why"]["row"], "the journal is asked which row opened the state"
    told = stage.rows()
    assert told.keys() == model.agents.keys()
    for key in ("state", "incarnation", "pid", "why", "cwd", "goal", "session_id"):
        assert told["c"][key] == model.agents["c"][key]
