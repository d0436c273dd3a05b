"""The story that the demo tells: what kills agents, and what becomes of them."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from phoenixd.demo.stage import AGENT, DemoFailed, Stage

GOAL = "Count the steps of the demo. Never begin again at one if you can help it."


def main(arguments: list[str]) -> int:
    """Tell the whole story; 0 when every part of it came true."""
    parser = argparse.ArgumentParser(prog="phoenixctl demo", description=__doc__)
    parser.parse_args(arguments)
    began = time.monotonic()
    stage = Stage(GOAL)
    told: list[str] = []
    try:
        for number, chapter in enumerate(CHAPTERS, 1):
            print(f"{number}. {chapter.__doc__}", flush=True)
            outcome = chapter(stage)
            told.append(outcome)
            print(f"   {outcome}\n", flush=True)
    except DemoFailed as failure:
        print(f"   FAILED: {failure}\n\n{_log_tail(stage.state / 'phoenixd.log')}")
        return 1
    finally:
        stage.down()
    print(f"All {len(told)} came true in {time.monotonic() - began:.0f} s:")
    for outcome in told:
        print(f"  ok  {outcome}")
    print("\nNext: phoenixctl up; phoenixctl run NAME -- claude      (docs/tutorial/first-agent.md)")
    return 0


def begin(stage: Stage) -> str:
    """An agent is declared and started under a fresh daemon."""
    stage.up()
    stage.ask("start", AGENT)
    row = stage.until_running(1, "fresh")
    stage.until("the agent works", lambda: stage.row()["activity"] == "working")
    return f"{AGENT} works in its own tmux session, pid {row['pid']}"


def crash(stage: Stage) -> str:
    """The agent is killed with SIGKILL in the middle of its work."""
    _live_a_while(stage)
    took = _kill(stage, 2, "resume")
    return f"killed, and back at work in the same session after {took * 1000:.0f} ms (measured from outside)"


def refused(stage: Stage) -> str:
    """Its transcript is deleted, then it is killed again: the resume will be refused."""
    _live_a_while(stage)
    stage.forget_conversations()
    _kill(stage, 4, "fresh")
    if GOAL not in stage.told():
        raise DemoFailed("the fresh session was not told the goal")
    return "resume refused, then fresh at once; the brief told the new session its goal, byte for byte"


def hang(stage: Stage) -> str:
    """It is made to hang on a child that left its process group. The limit here is 2 s instead of 15 min."""
    _live_a_while(stage)
    stage.ask("send", AGENT, "hang")
    stage.until_running(5, "resume")
    return "silence with an open turn was seen, its whole tree ended (exit 124), and it went on"


def kill_daemon(stage: Stage) -> str:
    """The daemon itself is killed with SIGKILL, and started again."""
    before = stage.row()["pid"]
    stage.kill_daemon()
    if not Path(f"/proc/{before}").exists():
        raise DemoFailed("the agent died with the daemon")
    stage.up()
    after = stage.until_running(5, "resume")["pid"]
    if before != after:
        raise DemoFailed(f"the agent was pid {before} and is {after} now")
    return f"the agent lived on as pid {after}, and the new daemon adopted it"


def clean_exit(stage: Stage) -> str:
    """The agent is told to quit, and the daemon is killed and started once more."""
    stage.ask("send", AGENT, "quit", check=False)
    stage.until("it has stopped", lambda: stage.row()["state"] == "stopped")
    stage.kill_daemon()
    stage.up()
    row = stage.row()
    if row["state"] != "stopped" or row["desired"] != "stopped":
        raise DemoFailed(f"it is {row['state']}")
    return "exit 0 is an agent's own end: it stays down, also over a restart of the daemon"


CHAPTERS: tuple[Callable[[Stage], str], ...] = (begin, crash, refused, hang, kill_daemon, clean_exit)


def _live_a_while(stage: Stage) -> None:
    """Let the run pass the second that counts as productive here."""
    stage.until("it has evidence", lambda: stage.row()["last_evidence"] is not None)
    time.sleep(1.2)


def _kill(stage: Stage, incarnation: int, mode: str) -> float:
    began = time.monotonic()
    os.kill(stage.row()["pid"], signal.SIGKILL)
    stage.until_running(incarnation, mode)
    return time.monotonic() - began


def _log_tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(["The daemon's last words:", *lines[-15:]])
