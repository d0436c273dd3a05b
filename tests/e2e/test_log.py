"""The log of a daemon that lives for months."""

from __future__ import annotations

from phoenixd.demo.stage import Stage


def test_f_st_13_a_living_daemon_begins_its_log_anew_where_it_was_moved_away(stage: Stage) -> None:
    stage.up()
    moved = stage.log.rename(stage.log.with_name("moved.log"))
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.ask("apply")
    stage.until("the log is begun anew", lambda: "its program began" in stage.log_tail(100))
    assert "ready" in moved.read_text()
