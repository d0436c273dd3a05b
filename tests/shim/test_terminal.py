"""The pane: the agent's while it lives, usable after any death, and inert while nothing runs (P61)."""

from __future__ import annotations

import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phoenixd.documents.incident import as_left, of_last_run
from phoenixd.runtime.post_mortem import HISTORY
from tests.ending import A_WHILE
from tests.shim.pane import DEADLINE, Daemon, Pane, sleeps_without_a_deadline
from tests.waiting import eventually_sync


class TmuxPane(Pane):
    """The same shim in a pane of a private tmux server: a real terminal emulator to look at."""

    def open(self) -> None:
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "--", *self.command())

    def connect(self) -> Daemon:
        return self.connected(lambda: Daemon.try_to_connect(self))

    def read_screen(self) -> bytes:
        return self.tmux("capture-pane", "-p").encode()

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.room / "tmux.sock"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE).stdout

    def flags(self) -> str:
        names = (
            "alternate_on",
            "mouse_any_flag",
            "keypad_cursor_flag",
            "cursor_flag",
            "insert_flag",
            "wrap_flag",
            "origin_flag",
        )
        return self.tmux("display-message", "-p", " ".join(f"{name}=#{{{name}}}" for name in names)).strip()

    def end(self) -> None:
        for daemon in self._daemons:
            daemon.close()
        self.tmux("kill-server")


@pytest.fixture
def tmux_pane(library: Path, short_tmp: Path) -> Iterator[TmuxPane]:
    pane = TmuxPane(library, short_tmp)
    yield pane
    pane.end()


# A full-screen program that is killed in the middle of everything, even of an escape sequence.
WRECK = r"""
import os, signal, sys, tty
tty.setraw(0)
sys.stdout.write("\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=\x1b[?25l\x1b[4h\x1b[?7l\x1b[5;9r")
sys.stdout.write("\x1b[31mWRECKAGE\x1bPunfinished")
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
CLEAN_FLAGS = (
    "alternate_on=0 mouse_any_flag=0 keypad_cursor_flag=0 cursor_flag=1 insert_flag=0 wrap_flag=1 origin_flag=0"
)

WRECKED_FLAGS = (
    "alternate_on=1 mouse_any_flag=1 keypad_cursor_flag=1 cursor_flag=0 insert_flag=1 wrap_flag=0 origin_flag=0"
)


def test_a_pane_is_usable_again_after_a_full_screen_program_was_killed(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    assert tmux_pane.flags() == CLEAN_FLAGS
    daemon.run_to_end([sys.executable, "-S", "-c", WRECK])
    eventually_sync(lambda: tmux_pane.flags() == CLEAN_FLAGS, what="the terminal is as it was")
    tmux_pane.shows("ended by SIGKILL")
    assert b"WRECKAGE" not in tmux_pane.read_screen()
    assert tmux_pane.tmux("display-message", "-p", "#{scroll_region_upper},#{scroll_region_lower}").strip() == "0,23"
    daemon.run_to_end(["sh", "-c", "stty -a > modes"])
    modes = (tmux_pane.room / "modes").read_text().replace(";", " ").split()
    assert {"icanon", "echo", "isig", "icrnl", "opost"} <= set(modes)


def test_the_wreck_is_one_without_the_shim(tmux_pane: TmuxPane) -> None:
    """The test above would pass against a terminal that forgives everything: this one does not."""
    daemon = tmux_pane.daemon()
    daemon.start([sys.executable, "-S", "-c", WRECK.replace("os.kill(os.getpid(), signal.SIGKILL)", "signal.pause()")])
    eventually_sync(lambda: tmux_pane.flags() == WRECKED_FLAGS, what="every mode is set")


@pytest.mark.parametrize("after", ["before any run", "after a run"])
def test_p61_what_is_typed_at_an_inert_pane_runs_nothing_and_is_swallowed(daemon: Daemon, after: str) -> None:
    pane = daemon.pane
    pane.shows("[phoenixd] a has not been started.")
    if after == "after a run":
        daemon.run_to_end(["sh", "-c", "exit 3"])
        pane.shows("[phoenixd] a ended with exit status 3")
    eventually_sync(lambda: pane.read_screen().rstrip().endswith(b"phoenixctl start a"), what="the notice is whole")
    shown = pane.read_screen()
    pane.type(b"touch ran; exit\n\x03\x1c\x1a\x04`touch ran`\n$(touch ran)\n\x1b[201~touch ran\n" + b"y\n" * 200_000)
    eventually_sync(lambda: sleeps_without_a_deadline(pane.pid), what="all of it is swallowed")
    assert pane.read_screen() == shown
    assert not (pane.room / "ran").exists()
    # None of it waits for the next agent either, though its shell would run it.
    daemon.give(pane.order(["sh", "-c", "stty -icanon min 0 time 1; cat > typed; exit 4"]))
    assert daemon.expect("exited")["code"] == 4
    assert (pane.room / "typed").read_bytes() == b""
    assert pane.process.poll() is None


def test_the_agent_gets_what_is_typed_while_it_lives(daemon: Daemon) -> None:
    daemon.give(daemon.pane.order(["sh", "-c", "echo now; read line; test \"$line\" = 'a word'"]))
    daemon.pane.shows("now\r\n")
    daemon.pane.type(b"a word\n")
    assert daemon.expect("exited")["code"] == 0


def test_no_notice_that_nothing_was_started_stands_above_the_agent_that_was(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    tmux_pane.shows("has not been started")
    daemon.start(["sh", "-c", "echo here I am; exec sleep 1000"])
    tmux_pane.shows("here I am")
    assert tmux_pane.read_screen().split() == b"here I am".split()
    assert tmux_pane.tmux("display-message", "-p", "#{history_size}").strip() == "0", "nor does it stand behind"


def test_a_start_that_failed_says_so_where_nothing_has_run(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    daemon.start_failure(["/no/such/program"])
    tmux_pane.shows("[phoenixd] a could not be started: ")
    tmux_pane.shows("Why: phoenixctl explain a")
    assert b"has not been started" not in tmux_pane.read_screen()
    daemon.start(["sh", "-c", "echo here I am; exec sleep 1000"])
    tmux_pane.shows("here I am")
    assert tmux_pane.read_screen().split() == b"here I am".split()


def test_what_a_past_run_left_stays_above_the_next_one(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    daemon.run_to_end(["sh", "-c", "echo the first; exit 3"])
    tmux_pane.shows("ended with exit status 3")
    daemon.start(["sh", "-c", "echo the second; exec sleep 1000"])
    tmux_pane.shows("the second")
    assert b"the first" in tmux_pane.read_screen()


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (30, 24), (80, 4), (30, 3)])
def test_a_run_that_begins_takes_away_that_nothing_runs_and_nothing_else(
    tmux_pane: TmuxPane, columns: int, lines: int
) -> None:
    daemon = tmux_pane.daemon()
    tmux_pane.tmux("resize-window", "-x", str(columns), "-y", str(lines))
    for number in range(3):
        daemon.run_to_end(["sh", "-c", f"seq -f 'run {number} line %g' 12; exit 3"])
    daemon.start(["sleep", "1000"])

    eventually_sync(lambda: b"Nothing typed" not in tmux_pane.read_screen(), what="the notice is gone")
    whole = tmux_pane.tmux("capture-pane", "-p", "-J", "-S", "-")
    kept = [line.strip() for line in whole.splitlines() if line.strip() and not line.startswith("[phoenixd] a ended")]
    assert kept[kept.index("run 0 line 1") :] == [
        f"run {number} line {line}" for number in range(3) for line in range(1, 13)
    ]
    assert whole.count("[phoenixd] a ended with exit status 3") == 3


@pytest.mark.parametrize(("columns", "lines"), [(120, 24), (40, 24), (12, 24), (30, 3)])
def test_c41_what_a_run_left_is_found_above_the_notice_and_below_that_of_the_run_before(
    tmux_pane: TmuxPane, columns: int, lines: int
) -> None:
    daemon = tmux_pane.daemon()
    tmux_pane.tmux("resize-window", "-x", str(columns), "-y", str(lines))
    daemon.run_to_end(["sh", "-c", "echo no network; exit 3"])
    daemon.run_to_end(["sh", "-c", "echo bad key, which is so long that it takes rows; exit 4"])

    def seen() -> str:
        whole = tmux_pane.tmux("capture-pane", "-p", "-J", "-S", f"-{HISTORY}")
        return "\n".join(line.rstrip() for line in whole.rstrip().splitlines())

    eventually_sync(
        lambda: "exit status 4" in seen() and seen().endswith("phoenixctl start a"), what="the notice is whole"
    )
    left = as_left(seen(), "a")

    assert "no network" in left
    assert "exit status 4" not in left
    assert of_last_run(left, "a").strip() == "bad key, which is so long that it takes rows"


def test_a_notice_is_left_alone_where_the_terminal_is_of_another_width_by_then(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    daemon.run_to_end(["sh", "-c", "echo the first; exit 3"])
    tmux_pane.shows("phoenixctl start a")
    tmux_pane.tmux("resize-window", "-x", "20", "-y", "24")
    daemon.start(["sh", "-c", "echo the second; exec sleep 1000"])
    tmux_pane.shows("the second")
    assert "the first" in tmux_pane.tmux("capture-pane", "-p", "-J", "-S", "-")


def test_ctrl_c_reaches_the_agent_and_not_the_shim(daemon: Daemon) -> None:
    daemon.give(daemon.pane.order(["sh", "-c", f"trap 'exit 130' INT; echo now; while {A_WHILE}; do sleep 0.01; done"]))
    daemon.pane.shows("now\r\n")
    daemon.pane.type(b"\x03")
    assert daemon.expect("exited")["code"] == 130
    assert (daemon.pane.state / ".clean-exit").exists()


def test_ctrl_z_does_not_leave_the_agent_standing(daemon: Daemon) -> None:
    daemon.give(daemon.pane.order(["sh", "-c", "echo now; read line; exit 11"]))
    daemon.pane.shows("now\r\n")
    daemon.pane.type(b"\x1a")
    daemon.pane.shows("^Z")
    daemon.pane.type(b"x\n")
    assert daemon.expect("exited")["code"] == 11


def test_an_agent_with_jobs_of_its_own_gets_the_terminal_back(daemon: Daemon) -> None:
    """Its foreground job was killed together with its memory of it: reading would stop the agent for ever."""
    script = (
        "import os, signal\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.setpgid(0, 0)\n"
        "    signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "    os.tcsetpgrp(0, os.getpid())\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print('now', flush=True)\n"
        "raise SystemExit(12 if input() == 'a word' else 1)\n"
    )
    daemon.give(daemon.pane.order([sys.executable, "-S", "-c", script]))
    daemon.pane.shows("now\r\n")
    daemon.pane.type(b"a word\n")
    assert daemon.expect("exited")["code"] == 12


def test_the_daemons_notice_is_shown_without_a_byte_that_a_terminal_obeys(daemon: Daemon) -> None:
    evil = "stopped\x1b]0;title\x07 \x9b31m \u202e by\r\n rm -rf \x00/ " + "x" * 1000
    daemon.send(op="notice", lines=[evil, "second line"] + ["more"] * 500)
    daemon.pane.shows("second line")
    shown = daemon.pane.read_screen().partition(b"stopped")[2]
    assert not any((byte < 0x20 and byte not in b"\r\n") or byte == 0x7F for byte in shown)
    text = shown.decode()
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert max(len(line) for line in text.splitlines()) <= 400
    assert text.count("more") < 50


def test_a_notice_waits_until_the_agent_is_gone(daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    daemon.send(op="notice", lines=["stopped by the operator"])
    assert daemon.hello()["run"]["pid"] == started["pid"]
    assert b"stopped by" not in daemon.pane.read_screen()
    daemon.kill(started)
    daemon.pane.shows("stopped by the operator")


def test_a_stopped_terminal_stops_nobody(daemon: Daemon) -> None:
    """Ctrl-S, or a tmux that hangs: whatever the shim writes then must not make it wait."""
    pane = daemon.pane
    daemon.give(pane.order(["sh", "-c", "echo now; read line"]))
    pane.shows("now\r\n")
    pane.type(b"\x13")
    for _ in range(50):
        daemon.send(op="notice", lines=["x" * 400] * 40)
    exited = daemon.kill(daemon.expect("started"))
    for _ in range(50):
        daemon.send(op="notice", lines=["x" * 400] * 40)
    assert daemon.hello()["exit"]["run_id"] == exited["run_id"]
    daemon.run_to_end([sys.executable, "-c", "import termios; termios.tcflow(0, termios.TCOOFF)"])
    daemon.run_to_end(["echo", "it flows again"])
    pane.shows("it flows again")


def test_a_pane_that_an_agent_left_non_blocking_is_not_so_for_the_next(daemon: Daemon) -> None:
    daemon.run_to_end([sys.executable, "-c", "import os; os.set_blocking(0, False); os.set_blocking(1, False)"])
    daemon.give(daemon.pane.order([sys.executable, "-c", "import os; raise SystemExit(20 + os.get_blocking(0))"]))
    assert daemon.expect("exited")["code"] == 21


def test_a_shim_without_a_terminal_serves_all_the_same(
    open_pane: Callable[..., Pane], library: Path, short_tmp: Path
) -> None:
    class Bare(Pane):
        def command(self) -> list[str]:
            return ["sh", "-c", 'exec "$@" </dev/null >/dev/null 2>&1', "sh", *super().command()]

    pane = Bare(library, short_tmp)
    try:
        daemon = pane.daemon()
        assert daemon.run_to_end(["sh", "-c", "exit 5"])["code"] == 5
        daemon.send(op="notice", lines=["x"])
        daemon.kill(daemon.start(["sleep", "1000"]))
    finally:
        pane.end()


def test_the_modes_are_those_that_the_pane_had_at_first(daemon: Daemon) -> None:
    """While the agent lives and after it: what was there before the shim came is what the agent gets."""
    daemon.give(daemon.pane.order(["sh", "-c", "stty raw -echo; echo now; exec sleep 1000"]))
    daemon.pane.shows("now")
    assert not termios.tcgetattr(daemon.pane.master)[3] & termios.ICANON
    daemon.kill(daemon.expect("started"))
    daemon.start(["sleep", "1000"])
    assert termios.tcgetattr(daemon.pane.master)[3] & termios.ICANON
