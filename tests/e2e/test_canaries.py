"""P79, F-ST-12: what an agent knows of secrets stands in no file of the daemon's and in none of its answers.

A puppet tells planted values by every way that an agent has. Where they may stand, and why:
- agents.d/NAME.toml, the goal and argv in the journal's snapshot: the operator's own declaration, kept as it was given
- order.json, which the shim takes away at once, and the environment of the run: the agent has to get them
- what the agent's own side writes into its directory, until the daemon has taken it over: spool.jsonl, heartbeat.json
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.documents.plain_text import plain
from tests.e2e.puppet import Puppet

VALUE = "plain-words-of-a-secret-0451"
FROM_FILE = "second.plain.secret.of.a.file"
SHAPE = "ghp_" + "c4N4ry" * 6
CANARIES = (VALUE, FROM_FILE, SHAPE)
OWN_SIDE = {"spool.jsonl", "heartbeat.json", "c.toml"}

TELL = """
import json, os, socket
def tell(kind, **fields):
    hooks = socket.socket(socket.AF_UNIX)
    hooks.connect(os.environ["PHOENIX_HOOK_DIR"] + "/hook.sock")
    body = json.dumps(fields).encode()
    head = f"POST /hook/{kind} HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: {len(body)}\\r\\n"
    hooks.sendall((head + "Authorization: Bearer " + os.environ["PHOENIX_TOKEN"] + "\\r\\n\\r\\n").encode() + body)
    assert b" 200 " in hooks.recv(65536)
"""


def tell_all(puppet: Puppet, secret: str) -> None:
    """By prompt, tool input, question, error, last words, exit text and files of its own."""
    said = f"the secret is {secret} and nothing else"
    cut = "x" * (1024 - len(secret) + 3) + secret
    puppet.do(
        f"{TELL}\n"
        f"tell('session-start', session_id='s1', source='startup')\n"
        f"tell('prompt-submit', session_id='s1', prompt={said!r})\n"
        f"tell('tool-start', tool_name='Bash', tool_input={{'command': {said!r}}})\n"
        f"tell('permission-request', tool_name='Bash', tool_input={{'command': {said!r}}})\n"
        f"tell('notification', message={cut!r}, notification_type='permission_prompt')\n"
        f"tell('stop', last_assistant_message={said!r})\n"
        f"tell('stop-failure', error='authentication_failed', error_details={said!r})\n"
        f"tell('session-end', reason={secret!r})\n"
        f"print({said!r}, flush=True)\n"
        f"state = os.environ['PHOENIX_STATE_DIR'] + '/state.json'\n"
        f"found = json.load(open(state))\n"
        f"found.update(note={{'deep': [{said!r}]}}, numbers={{'n': {secret!r}}})\n"
        f"found['open_loops'] = [{{'id': 'x', 'text': {said!r}, 'added': '2026-11-20'}}]\n"
        f"json.dump(found, open(state, 'w'))\n"
    )


def places_of(stage: Stage, secret: str) -> list[str]:
    """Files below the state directory that hold it, or show it once what shows nothing is taken out of them."""
    return [
        str(path.relative_to(stage.state))
        for path in sorted(stage.state.rglob("*"))
        if path.is_file() and not path.is_symlink() and _holds(path.read_bytes(), secret)
    ]


def _holds(content: bytes, secret: str) -> bool:
    text = content.decode("utf-8", "replace")
    return any(secret in one for one in (text, plain(text), plain(text.replace("\\u200b", ""))))


@pytest.mark.slow
def test_p79_planted_secrets_stand_in_no_file_and_no_answer(stage: Stage) -> None:
    (stage.root / "credential").write_text(f"{FROM_FILE}\n")
    stage.environ = {**stage.environ, "DAEMON_TOKEN": "the.daemons.own.secret.77"}
    canaries = (*CANARIES, "the.daemons.own.secret.77")
    puppet = Puppet(stage.root / "c")
    env = f'{{ MY_TOKEN = "{VALUE}", OTHER = {{ file = "{stage.root / "credential"}" }} }}'
    stage.declare("c", f'[agent.c]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\nenv = {env}\n')
    stage.up()
    stage.until_running("c", 1)
    for secret in canaries:
        tell_all(puppet, secret)
        if secret == FROM_FILE:
            stage.kill()
            stage.up()
    tell_all(puppet, "\u200b".join(VALUE))
    for secret in canaries:
        tell_all(puppet, secret)
        stage.ctl("resolve", "x", f"done with {secret}", "--agent", "c")
    stage.ctl("send", "c", f"use {' and '.join(canaries)}")
    stage.ask("restart", "c")
    stage.until_running("c", 2)
    stage.until("the documents tell of it", lambda: "redacted" in (stage.state / "agents/c/ops.jsonl").read_text())
    said = [
        stage.ctl(*words, "--json").stdout
        for words in (
            ["status"], ["status", "c"], ["inbox"], ["events", "--since", "1h"], ["explain", "c"], ["logs", "c"],
            ["heartbeat", "show", "c"], ["loops", "c"], ["doctor"], ["since", "1h"],
        )
    ]  # fmt: skip
    stage.ctl("down", "--agents")
    assert stage.process is not None
    stage.process.wait(60)
    for secret in canaries:
        assert [place for place in places_of(stage, secret) if Path(place).name not in OWN_SIDE] == []
        assert not [answer for answer in said if _holds(answer.encode(), secret)]
    cut_off = VALUE[: len(VALUE) - 3].encode()
    assert [path.name for path in stage.state.rglob("*") if path.is_file() and cut_off in path.read_bytes()] == [
        "c.toml"
    ]


def test_the_canary_would_be_found(stage: Stage) -> None:
    (stage.state / "x").mkdir()
    (stage.state / "x" / "y").write_text(f"a {VALUE} b")
    assert places_of(stage, VALUE) == ["x/y"]
    assert subprocess.run(["grep", "-rl", VALUE, str(stage.state)], capture_output=True, check=True).stdout
