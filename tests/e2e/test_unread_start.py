"""F-HB-7: a CLI that should report by hooks and sends none, with a screen that nobody knows."""

from __future__ import annotations

import json
from typing import Any

from phoenixd.demo.stage import Stage
from tests.ending import A_WHILE
from tests.typed import typed

PATIENCE = 60.0
CLAUDE = """#!/bin/sh
[ "$1" != --version ] || exec echo "2.1.197 (Claude Code)"
echo "A release of another age"
while [ ! -e {go} ] && {a_while}; do sleep 0.05; done
echo "{{\\"session_id\\": \\"$PHOENIX_SESSION_ID\\", \\"source\\": \\"startup\\"}}" | "$PHOENIX_HOOK" session-start
exec sleep 100000
"""
DECLARATION = """[agent.a]
harness = "claude"
argv = ["{cli}"]
cwd = "{cwd}"
seed_trust = true

[agent.a.resume]
window = "2s"

[agent.a.env]
HOME = "{home}"
ANTHROPIC_API_KEY = "sk-test-dummy"
"""


def inbox(stage: Stage) -> list[dict[str, Any]]:
    return list(json.loads(stage.ask("inbox", "--json"))["items"])


def test_f_hb_7_a_screen_that_nobody_knows_becomes_an_item_which_its_first_hook_closes(stage: Stage) -> None:
    """It was shown as starting for ever, with no alert and an empty inbox."""
    cli, go, home = stage.root / "claude", stage.root / "go", stage.root / "home"
    home.mkdir()
    cli.write_text(CLAUDE.format(go=go, a_while=A_WHILE))
    cli.chmod(0o755)
    stage.declare("a", DECLARATION.format(cli=cli, cwd=home, home=home))
    stage.up()

    stage.until("a person is asked", lambda: inbox(stage) != [], PATIENCE)

    (item,) = inbox(stage)
    assert (item["agent"], item["kind"]) == ("a", "dialog")
    assert "attach and look" in item["text"]
    assert stage.row("a")["activity"] == "waiting"
    assert typed(stage, "attach", "a") in stage.ask("status")

    go.touch()
    stage.until("its hook closes the item", lambda: inbox(stage) == [], PATIENCE)
    assert stage.row("a")["incarnation"] == 1
