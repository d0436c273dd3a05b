"""How a run ends: exact status, records before words, the handshake of a clean exit, and what the pane's end does."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ending import A_WHILE, ALARM
from tests.shim.pane import DEADLINE, Daemon, Pane, is_running
from tests.waiting import eventually_sync

IGNORES_HANG_UPS = "trap '' HUP TERM INT; while :; do sleep 1000; done"


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 42", 42, None),
        ("exit 137", 137, None),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("kill -SEGV $$", None, signal.SIGSEGV),
        ("kill -TERM $$", None, signal.SIGTERM),
    ],
)
def test_the_status_is_exact(daemon: Daemon, script: str, code: int | None, number: int | None) -> None:
    """F-TMUX-1: the exit record has it, whatever tmux lost."""
    exited = daemon.run_to_end(["sh", "-c", script])
    assert (exited["code"], exited["signal"], exited["cause"], exited["killed"]) == (code, number, "exit", [])
    record = daemon.pane.record("exit.json")
    assert {name: exited[name] for name in ("incarnation", "run_id", "code", "signal", "cause", "killed")} == {
        name: record[name] for name in ("incarnation", "run_id", "code", "signal", "cause", "killed")
    }
    assert (record["agent"], record["ended_at"]) == ("a", exited["at"])


def test_p53_the_record_says_how_long_the_run_lived_by_a_clock_that_nobody_can_set(daemon: Daemon) -> None:
    began = time.monotonic()
    exited = daemon.run_to_end(["sh", "-c", "exit 0"])
    assert 0 < exited["lived"] <= time.monotonic() - began
    assert daemon.pane.record("exit.json")["lived"] == exited["lived"]


def test_a_program_that_ends_at_once_is_told_as_started_and_then_as_ended(daemon: Daemon) -> None:
    for _ in range(50):
        daemon.events.clear()
        daemon.run_to_end(["true"])
        assert [event["event"] for event in daemon.events] == ["started", "exited"]


def test_a_stopped_agent_is_continued(daemon: Daemon) -> None:
    """SIGSTOP, Ctrl-Z and reading from the background would leave it standing for ever, and nobody would tell."""
    started = daemon.start(["sh", "-c", "kill -STOP $$; kill -TSTP $$; kill -TTIN $$; exit 3"])
    assert daemon.expect("exited", lambda event: event["run_id"] == started["run_id"])["code"] == 3


# Two processes in one group; the second is stopped, and the first one, when asked, waits for the second's word.
GROUP = r"""
import os, signal, sys, time
def say(*_):
    open("second-was-asked", "w").close()
    os._exit(0)
def wait_for_second(*_):
    while not os.path.exists("second-was-asked"): time.sleep(0.005)
    os._exit(5)
second = os.fork()
signal.signal(signal.SIGTERM, wait_for_second if second else say)
if second:
    os.waitpid(second, os.WUNTRACED)
    open("ready", "w").close()
else:
    os.kill(os.getpid(), signal.SIGSTOP)
while True: signal.pause()
"""


def test_terminate_asks_the_whole_group_and_continues_who_is_stopped(daemon: Daemon) -> None:
    started = daemon.start([sys.executable, "-S", "-c", GROUP])
    eventually_sync((daemon.pane.room / "ready").exists)
    daemon.send(op="terminate", incarnation=started["incarnation"])
    assert daemon.expect("exited")["code"] == 5


@pytest.mark.parametrize(("code", "clean"), [(0, True), (130, True), (1, False), (137, False)])
def test_p53_only_a_clean_exit_leaves_the_marker_bound_to_its_run(daemon: Daemon, code: int, clean: bool) -> None:
    """P30, P47: a clean exit is told from a crash by this handshake."""
    exited = daemon.run_to_end(["sh", "-c", f"exit {code}"])
    marker = daemon.pane.state / ".clean-exit"
    assert marker.exists() == clean
    if clean:
        expected = {"run_id": exited["run_id"], "incarnation": exited["incarnation"], "ended_at": exited["at"]}
        assert daemon.pane.record(".clean-exit") == expected


def test_p53_no_marker_where_the_order_does_not_ask_for_one(daemon: Daemon) -> None:
    daemon.run_to_end(["true"], interpret_exit_zero_as_clean=False)
    assert not (daemon.pane.state / ".clean-exit").exists()


def test_f_proc_2_no_marker_for_an_exit_zero_that_the_lost_terminal_forced(open_pane: Callable[..., Pane]) -> None:
    """Gemini exits 0 when it is hung up: that is no wish to stay down."""
    pane = open_pane()
    daemon = pane.daemon()
    started = daemon.start(["sh", "-c", f"while [ ! -e go ] && {A_WHILE}; do sleep 0.01; done"])
    # Agent and terminal are both gone by the time the shim looks; the hang-up itself makes it go on.
    pane.process.send_signal(signal.SIGSTOP)
    (pane.room / "go").touch()
    eventually_sync(lambda: not is_running(started["pid"]))
    pane.hang_up()
    assert pane.process.wait(DEADLINE) == 0
    record = pane.record("exit.json")
    assert (record["cause"], record["code"]) == ("terminal_lost", 0)
    assert not (pane.state / ".clean-exit").exists()


@pytest.mark.parametrize(
    ("way", "cause"),
    [
        ("hang-up", "terminal_lost"),
        ("SIGHUP", "terminal_lost"),
        ("SIGTERM", "shim_terminated"),
        ("quit", "shim_terminated"),
    ],
)
def test_the_end_of_the_pane_is_the_end_of_the_tree(open_pane: Callable[..., Pane], way: str, cause: str) -> None:
    """tmux's death leaves a process that ignores SIGHUP alive, and a second incarnation beside it: not here."""
    pane = open_pane()
    daemon = pane.daemon()
    leftover = f'(exec setsid sh -c "{IGNORES_HANG_UPS}" & echo $! > leftover); '
    started = daemon.start(["sh", "-c", leftover + "echo ready > ready; " + IGNORES_HANG_UPS])
    eventually_sync((pane.room / "ready").exists)
    if way == "hang-up":
        pane.hang_up()
    elif way == "quit":
        daemon.send(op="quit")
    else:
        pane.process.send_signal(signal.Signals[way])
    exited = daemon.expect("exited")
    with pytest.raises(EOFError):
        daemon.receive()
    assert pane.process.wait(DEADLINE) == 0
    assert (exited["cause"], exited["signal"]) == (cause, signal.SIGKILL)
    assert pane.record("exit.json")["cause"] == cause
    assert not is_running(started["pid"])
    assert not is_running(int((pane.room / "leftover").read_text()))
    assert sorted(os.listdir(pane.run)) == ["hooks"]


def test_a_signal_that_means_nothing_ends_neither_the_shim_nor_its_agent(daemon: Daemon) -> None:
    """USR1, USR2, ALRM and their like ended the shim, and by its death the agent."""
    started = daemon.start(["sh", "-c", "kill -USR1 $$; echo survived > survived; sleep 1000"])
    exited = daemon.expect("exited")
    assert exited["signal"] == signal.SIGUSR1, "an agent does not inherit that they are ignored"
    started = daemon.start(["sleep", "1000"])

    ends_by_default = set(signal.Signals) - {
        signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE,
        signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS,
    }  # fmt: skip
    for number in sorted(ends_by_default):
        daemon.pane.process.send_signal(number)

    # What is asked after them is answered after them.
    daemon.send(op="terminate", incarnation=started["incarnation"], run_id=started["run_id"])
    assert daemon.expect("exited")["signal"] == signal.SIGTERM
    assert daemon.pane.process.poll() is None


@pytest.mark.parametrize("way", ["hang-up", "SIGTERM", "quit"])
def test_an_idle_shim_leaves_too_and_keeps_the_last_record(open_pane: Callable[..., Pane], way: str) -> None:
    pane = open_pane()
    daemon = pane.daemon()
    daemon.run_to_end(["sh", "-c", "exit 9"])
    if way == "hang-up":
        pane.hang_up()
    elif way == "quit":
        daemon.send(op="quit")
    else:
        pane.process.terminate()
    assert pane.process.wait(DEADLINE) == 0
    assert pane.record("exit.json")["code"] == 9


def test_f_tmux_2_a_start_that_the_end_of_the_pane_cuts_short_is_told_with_the_word_that_the_shim_goes(
    open_pane: Callable[..., Pane],
) -> None:
    """However far it had come: the order is read before the hang-up or after it, and its program is executed or not."""
    pane = open_pane()
    daemon = pane.daemon()
    pane.process.send_signal(signal.SIGSTOP)
    daemon.give(pane.order(["sleep", "1000"]))
    # The kernel has the leader of a session go on whose terminal hangs up.
    pane.hang_up()
    told = daemon.receive()
    while told["event"] not in ("start_failed", "exited"):
        told = daemon.receive()
    assert pane.process.wait(DEADLINE) == 0
    if told["event"] == "start_failed":
        assert told["leaving"] is True
        assert (told["errno"], told.get("stage")) in [("busy", None), ("EINTR", ""), ("ENOTTY", "terminal")]
    else:
        assert told["cause"] == "terminal_lost"


def test_a_killed_shim_takes_its_agent_with_it(open_pane: Callable[..., Pane]) -> None:
    """PR_SET_PDEATHSIG: an agent without a shim could be run twice."""
    pane = open_pane()
    # One process: what it had started would have to wait for the fence that the daemon puts up after a lost shim.
    deaf = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; signal.pause()"
    started = pane.daemon().start([sys.executable, "-S", "-c", deaf])
    pane.process.kill()
    eventually_sync(lambda: not is_running(started["pid"]), DEADLINE, "the agent dies with its shim")


def test_a_successor_tells_the_last_exit_of_its_predecessor(open_pane: Callable[..., Pane], short_tmp: Path) -> None:
    first = open_pane(room=short_tmp / "a")
    first.daemon().run_to_end(["sh", "-c", "exit 9"])
    first.process.kill()
    first.process.wait()
    hello = open_pane(room=short_tmp / "a").connect().hello()
    assert (hello["run"], hello["exit"]["code"]) == (None, 9)


def test_one_shim_for_each_agent(pane: Pane, daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    second = subprocess.run(pane.command(), capture_output=True, timeout=DEADLINE, check=False)
    assert (second.returncode, second.stderr) == (75, b"phoenixd: another shim serves a\n")
    assert daemon.hello()["run"]["pid"] == started["pid"]


LOOKS = f"""{ALARM}
import sys
from phoenixd.runs import is_locked
print(flush=True)
while True: is_locked(sys.argv[1])"""


def test_a_shim_gets_its_directory_however_often_somebody_looks_whether_one_lives(
    open_pane: Callable[..., Pane], short_tmp: Path
) -> None:
    """A process that looks holds the lock for an instant, and an agent's start is not to fail by that."""
    room = short_tmp / "a"
    (room / "run").mkdir(parents=True)
    lookers = [
        subprocess.Popen([sys.executable, "-c", LOOKS, str(room / "run")], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for looker in lookers:
            assert looker.stdout is not None
            assert looker.stdout.readline() == b"\n"
        for _ in range(5):
            pane = open_pane(room=room)
            pane.connect().hello()
            pane.process.kill()
            pane.process.wait()
    finally:
        for looker in lookers:
            looker.kill()
            looker.communicate()


def test_nothing_of_the_package_is_needed_once_the_shim_runs(
    open_pane: Callable[..., Pane], library: Path, short_tmp: Path
) -> None:
    """An upgrade removes the files of the version that living shims were started from."""
    copy = short_tmp / "lib"
    shutil.copytree(library, copy)
    room = short_tmp / "room"
    room.mkdir()
    pane = Pane(copy, room)
    try:
        daemon = pane.daemon()
        shutil.rmtree(copy)
        assert daemon.run_to_end(["sh", "-c", "exit 4"])["code"] == 4
        assert daemon.start_failure(["no-such-program"])["code"] == 127
        pane.process.terminate()
        assert pane.process.wait(DEADLINE) == 0
    finally:
        pane.end()


def test_a_shim_that_cannot_go_on_leaves_nothing_running(
    open_pane: Callable[..., Pane], library: Path, short_tmp: Path
) -> None:
    """A bug of ours must end the run and be seen, not leave an agent that nobody watches."""
    copy = short_tmp / "lib"
    shutil.copytree(library, copy)
    with (copy / "shim" / "shim.py").open("a") as source:
        source.write(
            "\ndef break_down(self, message):\n    raise RuntimeError('planted')\n\nShim._take_notice = break_down\n"
        )
    room = short_tmp / "room"
    room.mkdir()
    pane = Pane(copy, room)
    try:
        daemon = pane.daemon()
        started = daemon.start(["sh", "-c", IGNORES_HANG_UPS])
        daemon.send(op="notice", lines=[])
        assert daemon.expect("exited")["cause"] == "shim_terminated"
        assert pane.process.wait(DEADLINE) == 1
        assert not is_running(started["pid"])
        pane.shows("planted")
    finally:
        pane.end()


def test_a_full_disk_costs_the_records_but_not_the_news(daemon: Daemon, short_tmp: Path) -> None:
    """The exit is told all the same, and the daemon hears why there is no record of it."""
    if os.geteuid() != 0:
        pytest.skip("not run: needs root to mount a tmpfs")
    state = daemon.pane.state
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "none", str(state)], check=False)
    if mounted.returncode != 0:
        pytest.skip("not run: no mount is possible here")
    try:
        started = daemon.start(["sh", "-c", "exit 6"])
        exited = daemon.expect("exited")
        assert (exited["run_id"], exited["code"]) == (started["run_id"], 6)
        assert any("exit.json could not be written" in event.get("message", "") for event in daemon.events)
    finally:
        subprocess.run(["umount", str(state)], check=True)
    assert daemon.run_to_end([sys.executable, "-c", "raise SystemExit(7)"])["code"] == 7
    assert daemon.pane.record("exit.json")["code"] == 7


@pytest.mark.parametrize("argv", [["true"], ["false"]])
def test_records_are_there_before_their_events_are_told(daemon: Daemon, argv: list[str]) -> None:
    """run.json before `started`, exit.json before `exited`: a daemon may die on the very event.

    An end that the agent meant outlasts the machine before it is told (both fsyncs of both files). Any other is told
    first, and on the disk right after.
    """
    if shutil.which("strace") is None:
        pytest.skip("not run: no strace here")
    trace = daemon.pane.room / "trace"
    calls = "trace=fsync,rename,renameat,renameat2,sendto"
    strace = subprocess.Popen(
        ["strace", "-s", "200", "-e", calls, "-o", str(trace), "-p", str(daemon.pane.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert strace.stderr is not None
    assert "attached" in strace.stderr.readline()
    daemon.run_to_end(argv)
    eventually_sync(
        lambda: trace.read_text().count("fsync(") >= (4 if argv == ["true"] else 2), what="the disk was asked"
    )
    strace.send_signal(signal.SIGINT)
    strace.communicate(timeout=DEADLINE)
    told = re.findall(
        r"^(fsync|rename\w*\(.*?(?:run|exit|clean-exit)\b|sendto\(.*?(?:started|exited))", trace.read_text(), re.M
    )
    words = [re.split(r"\W+", call)[0] + ":" + re.split(r"\W+", call)[-1] for call in told]
    durable = ["fsync:fsync", "rename:exit", "fsync:fsync"]
    ends = {
        "true": [*durable, *durable, "sendto:exited"],
        "false": ["rename:exit", "sendto:exited", "fsync:fsync", "fsync:fsync"],
    }
    assert words == ["rename:run", "sendto:started", *ends[argv[0]]]
