"""A mute of a real daemon: nobody is told, also by the next daemon, until it ends; and a screen in its colours."""

from __future__ import annotations

import json

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_alerts import set_up, told
from tests.e2e.test_canaries import SHAPE, TELL


def ask(puppet: Puppet, text: str) -> None:
    puppet.do(f"{TELL}\ntell('permission-request', tool_name='Bash', tool_input={{'command': {text!r}}})")


def test_a_mute_outlives_kill_9_of_the_daemon_and_what_stands_is_told_when_it_is_taken_back(stage: Stage) -> None:
    alerts = set_up(stage)
    puppet = Puppet(stage.root / "c")
    stage.declare("c", f'[agent.c]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n')
    stage.up()
    stage.until_running("c", 1)
    puppet.do(f"{TELL}\ntell('session-start', session_id='s1', source='startup')")
    stage.ask("mute", "c", "--for", "2h")
    until = stage.row("c")["muted_until"]
    ask(puppet, "npm publish")
    stage.until("it waits", lambda: bool(stage.row("c")["item"]))
    assert stage.row("c")["alerts"][0]["held"]
    stage.kill()
    stage.up()
    assert stage.row("c")["muted_until"] == until
    assert "(1 muted)" in stage.ask("status").splitlines()[0]
    stage.ask("ack", str(stage.row("c")["item"]))
    ask(puppet, "npm publish --tag next")
    stage.until("it asks anew", lambda: [one["acknowledged"] for one in stage.row("c")["alerts"]] == [None])
    assert told(alerts) == []

    stage.ask("undo")
    stage.until("it is told", lambda: len(told(alerts)) == 1)
    (raised,) = told(alerts)
    assert (raised["state"], raised["agent"], raised["text"]) == ("raised", "c", "Bash npm publish --tag next")
    assert raised["id"] == stage.row("c")["item"]
    assert stage.row("c")["muted_until"] is None

    half = len(SHAPE) // 2
    words = f"'\\x1b[31mred\\x1b[0m and \\x1b[1m{SHAPE[:half]}\\x1b[32m{SHAPE[half:]}\\x1b[0m'"
    puppet.do(f"print({words}, flush=True)\nprint('\\x1b[32mgreen\\x1b[0m', flush=True)")

    def screen(ansi: int) -> str:
        return str(json.loads(stage._http("GET", f"/v1/agents/c/screen?ansi={ansi}"))["text"])

    stage.until("it is on the screen", lambda: "green" in screen(0))
    assert "\x1b[32m" in screen(1)
    assert "\x1b" not in screen(0)
    assert SHAPE[half:] not in screen(1) + screen(0)
    closed = json.loads(stage.ask("inbox", "--closed", "--json"))["closed"]
    assert [one["agent"] for one in closed] == ["c"]
