"""An operator sits at the agent's terminal by `phoenixctl attach` while another one answers from afar: who wins, and
what each sees. The two say the opposite, so that it shows whose word counted."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.e2e.inbox import Inbox
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.clis import Claude
from tests.real.installed import require
from tests.real.terminal import Program, Terminal
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

LATER = 0.8
"""Seconds for which a person reads; Claude Code takes no key of the first 0.2."""
ROUNDS = [(key, verdict, ahead) for key, verdict in (("Enter", "deny"), ("Escape", "allow")) for ahead in (-1, 0, 0, 1)]
"""The key at the terminal, the answer from afar, and which of them is given first; 0: both at once."""


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[AgentStage]:
    cli = Claude(require("claude"))
    cli.ask_first()
    with AgentStage(cli, short_tmp) as made:
        yield made
    all_ends(short_tmp)


@pytest.fixture
def seat(stage: AgentStage) -> Iterator[Program]:
    """The operator's own terminal, with the agent's in it."""
    assert isinstance(stage.cli, Claude)
    for number in range(len(ROUNDS)):
        stage.scenario.add(replace(stage.cli.shell(f"touch file-{number}"), match=f"deed {number}\\b"))
    stage.up(flags=("--permission-mode", "default"))
    stage.until_idle()
    socket = str(stage.stage.runtime / "api.sock")
    command = [sys.executable, "-m", "phoenixd.ctl", "--socket", socket, "attach", NAME]
    with Terminal() as terminal:
        attached = terminal.run(command, {**stage.variables, "TERM": "xterm-256color"}, Path.cwd())
        attached.wait_screen(f"phx-{NAME}.*detach")
        yield attached


def test_promise_11_one_answer_counts_and_both_operators_are_told(stage: AgentStage, seat: Program) -> None:
    inbox, tally = Inbox(stage.stage.runtime), {"terminal": 0, "afar": 0}
    for number, (key, verdict, ahead) in enumerate(ROUNDS):
        assert stage.send(f"Do deed {number} now.").returncode == 0
        item = eventually_sync(lambda: next(iter(inbox.items()), None), PATIENCE, "it asks")
        assert item is not None
        stage.wait_screen("permission")
        time.sleep(LATER)
        words = (verdict,) if verdict == "allow" else (verdict, "not now")
        if ahead == 0:
            keyboard = threading.Timer(0.02 * number, seat.type, [key])
            keyboard.start()
        elif ahead > 0:
            seat.type(key)
            eventually_sync(lambda: not inbox.items(), PATIENCE, "the item goes with its dialog")
        told = stage.stage.ctl("answer", str(item["id"]), *words)
        if ahead == 0:
            keyboard.join()
        elif ahead < 0:
            seat.wait_screen(f"phoenixctl answered item {item['id']}: {verdict}")
            seat.type(key)
        stage.until_idle()
        eventually_sync(lambda: not inbox.items(), PATIENCE, "nothing waits")
        made = (stage.workspace / f"file-{number}").exists()
        by_afar = made == (verdict == "allow")
        tally["afar" if by_afar else "terminal"] += 1
        said = f"{key} at the terminal, {verdict} from afar: {told.returncode} {told.stdout} {told.stderr}"
        assert told.returncode == (0 if by_afar else 6), said
        assert ahead == 0 or by_afar == (ahead < 0), said
        if ahead > 0:
            assert f"#{item['id']} waits no more; nobody answered it from afar: " in told.stderr
        elif not by_afar:
            assert "the terminal was first: " in told.stderr
        # A key that came second answers nothing else, and stands nowhere.
        assert stage.harness.input_line(stage.screen()) == ""
    print(f"the terminal won {tally['terminal']}, the answer from afar {tally['afar']}")
