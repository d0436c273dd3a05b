"""Ten agents on one account meet its limit: parked together, asked nothing before it resets, resumed one by one."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from itertools import pairwise

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e import limited_agent

pytestmark = pytest.mark.slow

AGENTS = [f"a{number}" for number in range(10)]
LIMIT, EVERY = 25.0, 0.6
"""Seconds. The limit has to outlast two starts of the daemon and of ten agents, also on a busy machine."""


def test_f_proc_26_g60_a_limit_is_a_pause_for_the_whole_account_also_over_kill_9_of_the_daemon(stage: Stage) -> None:
    account, log = stage.root / "account", stage.root / "log"
    argv = json.dumps([sys.executable, "-I", "-S", limited_agent.__file__, str(account), str(log)])
    config = stage.state / "agents.d" / "00.toml"
    config.write_text(
        f'[fleet]\nresume_every = "{EVERY}s"\nmax_starting = 10\n[defaults]\ncwd = "{os.getcwd()}"\naccount = "team"\n'
        '[defaults.limits]\nmargin = "500ms"\nreprompt = true\n'
    )
    for name in AGENTS:
        stage.declare(name, f"[agent.{name}]\nargv = {argv}\n")
    resets_at = time.time() + LIMIT
    account.write_text(str(resets_at))
    stage.up()
    stage.until("all are parked", lambda: {row["state"] for row in stage.rows().values()} == {"parked"})

    stage.kill()
    os.kill(json.loads((stage.state / "agents" / "a9" / "run.json").read_text())["child"]["pid"], signal.SIGKILL)
    stage.up()

    rows = stage.rows()
    assert {row["state"] for row in rows.values()} == {"parked"}
    assert all(row["parked_until"] is not None for row in rows.values())
    assert "limit" in stage.ask("explain", "a0")
    refused = stage.ctl("send", "a0", "now?")
    assert refused.returncode == 6
    assert "parked" in refused.stderr

    def told() -> list[tuple[float, str]]:
        lines = [line.split() for line in log.read_text().splitlines()]
        return [(float(at), name) for at, name, what in lines if what == "done"]

    stage.until("all go on", lambda: len(told()) == len(AGENTS), patience=LIMIT + 60)
    stage.until("none is parked", lambda: {row["state"] for row in stage.rows().values()} == {"running"})
    early = [line.split()[1] for line in log.read_text().splitlines() if line.endswith("early")]
    assert sorted(early) == AGENTS, "asked once at the start, and not before the reset"
    assert sorted(name for _, name in told()) == AGENTS, "told to go on once"
    times = sorted(at for at, _ in told())
    assert times[0] >= resets_at
    # Slots are 0.3 to 0.9 s apart; what happens in between takes some of that.
    assert sum(later - earlier > EVERY / 10 for earlier, later in pairwise(times)) >= 8, times
    for name, row in stage.rows().items():
        assert row["restarts"] == (1 if name == "a9" else 0)
        assert row["breaker"]["no_progress_count"] == 0
