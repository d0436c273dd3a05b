"""What the daemon runs beside the agents ends with it, also where the daemon is killed and the program hangs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.drivers.processes.proc import read_stat


def a_program(path: Path, seen: Path, *, has_detached: bool = False) -> None:
    """Write one that hangs with another one below it, and notes both. has_detached: and one in a session of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begins = ["sleep 600 &", 'echo $! >> "$seen.new"']
    if has_detached:
        begins += ["setsid sleep 600 &", 'echo $! >> "$seen.new"']
    lines = ["#!/bin/sh", f'seen="{seen}.$$"', 'echo $$ > "$seen.new"', *begins, 'mv "$seen.new" "$seen"', "wait"]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o700)


def an_alert(stage: Stage, seen: Path) -> None:
    a_program(stage.root / "tell", seen, has_detached=True)
    place = stage.root / "config" / "phoenixd"
    place.mkdir(parents=True)
    (place / "phoenixd.toml").write_text(f'[alerts]\ncommand = ["{stage.root}/tell"]\ntimeout = "5m"\n')
    stage.declare("broken", '[agent.broken]\nargv = ["/nonexistent/program"]\ncwd = "/"\n')
    stage.up()


def a_look_at_the_work(stage: Stage, seen: Path) -> None:
    a_program(stage.root / "bin" / "git", seen)
    (stage.root / "work").mkdir()
    subprocess.run(["git", "init", "-q", stage.root / "work"], check=True)
    looper = f'[agent.looper]\nkind = "loop"\nargv = ["sleep", "600"]\ncwd = "{stage.root}/work"\n'
    stage.declare("looper", looper)
    stage.up()


def a_login_shell(stage: Stage, seen: Path) -> None:
    a_program(stage.root / "shell", seen)
    stage.environ = {**stage.environ, "SHELL": str(stage.root / "shell")}
    stage.declare("a", '[agent.a]\nargv = ["sleep", "600"]\ncwd = "/"\nenv_from = "login"\n')
    stage.up()


def a_question_for_a_version(stage: Stage, seen: Path) -> None:
    a_program(stage.root / "bin" / "claude", seen)
    program = f'argv = ["{stage.root}/bin/claude"]'
    stage.declare("a", f'[agent.a]\nharness = "claude"\n{program}\ncwd = "/"\nautostart = false\n')
    stage.up()
    Thread(target=stage.ctl, args=("doctor",)).start()


@pytest.mark.parametrize(
    "begin", [an_alert, a_look_at_the_work, a_login_shell, a_question_for_a_version], ids=lambda begin: begin.__name__
)
def test_a_program_that_hangs_ends_with_the_daemon_that_is_killed_and_with_all_that_it_started(
    stage: Stage, begin: Callable[[Stage, Path], None]
) -> None:
    """A hung program of alerts outlived each daemon, and the next one began as many more beside it."""
    path = f"{stage.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    stage.environ = {**stage.environ, "PATH": path, "HOME": str(stage.root), "ANTHROPIC_API_KEY": "dummy"}
    begin(stage, stage.root / "seen")
    stage.until("it hangs", lambda: bool(list(stage.root.glob("seen.*[0-9]"))))
    began = [int(line) for file in stage.root.glob("seen.*[0-9]") for line in file.read_text().split()]
    are = {pid: stat.start_time for pid in began if (stat := read_stat(pid))}
    stage.kill()
    stage.until("all of it has ended", lambda: not [pid for pid, start in are.items() if lives(pid, start)])


def lives(pid: int, start_time: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.start_time == start_time and stat.state not in "ZX"
