"""A daemon that is there and answers nobody is named, with what ends it, and nobody waits for it in silence."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from phoenixd.ctl import absence, calls, daemon_start, follow, local_doctor, wire
from phoenixd.ctl import listener as ctl_listener
from phoenixd.ctl.__main__ import main
from phoenixd.ctl.grammar import Command
from phoenixd.drivers.files.lock import DirectoryLock
from phoenixd.drivers.files.ownership import examine
from phoenixd.errors import AlreadyRunning
from tests.ctl.conftest import environment
from tests.ctl.forked import run_forked
from tests.waiting import eventually_sync


@pytest.fixture
def hung(runtime: Path) -> Iterator[Path]:
    """A daemon that takes everybody in, as the kernel does for a stopped process, and says nothing."""
    with DirectoryLock(runtime), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.fspath(runtime / "api.sock"))
        listener.listen(16)
        yield runtime / "api.sock"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    monkeypatch.setattr(wire, "LOOK", 0.05)
    monkeypatch.setattr(wire, "TIMEOUT", 0.3)
    monkeypatch.setattr(wire._Shown, "silent", False)


def test_a_hung_daemon_is_named_with_what_ends_it(hung: Path, hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "environment", lambda: {b"PHOENIX_RUNTIME_DIR": os.fsencode(hung.parent)})
    monkeypatch.setenv("PHOENIX_RUNTIME_DIR", os.fspath(hung.parent))

    code, why, remedy, _ = absence.absence([os.fsencode(hung)])

    assert code == 7
    assert f"phoenixd (pid {os.getpid()}) is there, and answers nothing; its agents live on" in why
    assert why.endswith(f"its log after: kill -USR2 {os.getpid()}")
    assert remedy == f"kill -9 {os.getpid()} && phoenixctl up"


def test_no_question_waits_longer_for_a_daemon_that_answers_nobody(hung: Path, hurried: None) -> None:
    """However long the verb itself may take; and the next question waits no more."""
    places = [os.fsencode(hung)]

    assert wire.ask(places, "POST", "/v1/anything", timeout=100_000.0) is None
    assert wire._Shown.silent
    assert wire.ask(places, "POST", "/v1/anything", timeout=100_000.0) is None


def asked(place: Path, name: str) -> Command:
    return Command((name,), calls.operation(name), {}, os.fspath(place), False)


def test_doctor_does_not_send_to_doctor(hung: Path, hurried: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert local_doctor.doctor(asked(hung, "doctor")) == 7

    said = " ".join(capsys.readouterr().out.split())
    assert f"kill -9 {os.getpid()} && phoenixctl up" in said
    assert "do: phoenixctl doctor" not in said


def test_up_names_the_daemon_that_answers_nothing(
    hung: Path, hurried: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert daemon_start.up(asked(hung, "up")) == 7

    remedy = capsys.readouterr().err.splitlines()[-1]
    assert remedy.startswith(f"do: kill -9 {os.getpid()} && phoenixctl up")


def test_who_waits_at_a_terminal_is_told_for_what(
    hung: Path, hurried: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("posix.isatty", lambda descriptor: descriptor == 2)

    assert wire.ask([os.fsencode(hung)], "GET", "/v1/agents", timeout=100_000.0) is None
    monkeypatch.undo()
    assert capfd.readouterr().err.count("phoenixd has not answered for ") == 1


async def test_a_shells_prompt_is_there_whatever_the_daemon_does(hung: Path, home: Path) -> None:
    ran = await run_forked("prompt", env=environment(home, PHOENIX_RUNTIME_DIR=os.fspath(hung.parent)))

    assert (ran.code, ran.out, ran.err) == (7, "?\n", "")


LISTENS = """
import socket, sys
from pathlib import Path
from phoenixd.drivers.files.lock import DirectoryLock
place, holds, backlog = sys.argv[1:]
if holds == "holds":
    lock = DirectoryLock(Path(place).parent)
    lock.sign()
listener = socket.socket(socket.AF_UNIX)
if backlog != "none":
    listener.bind(place)
    listener.listen(int(backlog))
print(".", flush=True)
input()
"""


@contextmanager
def listening(runtime: Path, holds: str = "holds", backlog: str = "16") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the daemon's directory, if need be, and listens at its socket."""
    argv = [sys.executable, "-c", LISTENS, os.fspath(runtime / "api.sock"), holds, backlog]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == ".\n"
            yield process
        finally:
            process.kill()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)


@pytest.fixture
def stopped(runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """A daemon that was stopped."""
    with listening(runtime) as process:
        stop(process)
        yield process


@contextmanager
def full(place: Path) -> Iterator[None]:
    """The queue of who waits to be let in is full."""
    with ExitStack() as waiting:
        while True:
            client = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
            try:
                client.connect(os.fspath(place))
            except BlockingIOError:
                break
        yield


def test_a_stopped_daemon_is_waited_for_no_longer_than_it_takes_to_see_that_and_is_let_go_on(
    stopped: subprocess.Popen[str], runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told to kill what somebody holds in a debugger, and no text is typed anew for half a minute."""
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    monkeypatch.setattr(wire, "LOOK", 0.05)
    monkeypatch.setattr(wire, "TIMEOUT", 100_000.0)
    monkeypatch.setattr(calls, "COMES_BACK", 100_000.0)
    monkeypatch.setattr(wire._Shown, "silent", False)
    place = runtime / "api.sock"

    assert (
        calls.insist(asked(place, "send_text"), calls.operation("send_text"), {"name": "a", "text": "x"}, "k") is None
    )

    code, why, remedy, _ = absence.absence([os.fsencode(place)])
    assert (code, remedy) == (7, f"kill -CONT {stopped.pid}")
    assert f"phoenixd (pid {stopped.pid}) was stopped, by SIGSTOP or a debugger" in why


@pytest.fixture
def named(runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """phoenixctl in this process means the daemon of this test."""
    environ = {"PHOENIX_RUNTIME_DIR": os.fspath(runtime), "PHOENIX_STATE_DIR": os.fspath(home / "state")}
    monkeypatch.setattr(wire, "environment", lambda: {os.fsencode(k): os.fsencode(v) for k, v in environ.items()})
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(wire._Shown, "silent", False)
    monkeypatch.setattr(wire._Shown, "waited", False, raising=False)


VERBS = ("events", "undo --dry-run", "events -f", "send a x", "down", "stop a", "status", "up", "wait a --for idle")


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_gives_up_at_once_where_a_stopped_daemon_has_a_full_queue(
    words: str, stopped: subprocess.Popen[str], runtime: Path, named: None, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """An act waited for 80 s, for each question had as long to get in as its answer may take."""
    # Who does not see that the daemon was stopped waits for longer than the test.
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    monkeypatch.setattr(wire, "TIMEOUT", 100_000.0)
    monkeypatch.setattr(calls, "ORDER", 100_000.0)
    monkeypatch.setattr(follow, "SILENCE", 100_000.0)
    with full(runtime / "api.sock"):
        assert main(words.split()) == 7

    said = capfd.readouterr().err
    assert f"phoenixd (pid {stopped.pid}) was stopped, by SIGSTOP or a debugger" in said
    assert said.splitlines()[-1].startswith(f"do: kill -CONT {stopped.pid}")


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("holder", ["nobody", "a dead daemon", "another daemon"])
def test_what_is_no_daemon_is_called_so_and_nobody_is_told_to_end_it(
    holder: str, is_full: bool, runtime: Path, hurried: None, named: None
) -> None:
    """Any program could listen there; its pid stood in a line with kill -9, and its end is not ours to propose."""
    place = runtime / "api.sock"
    with listening(runtime, "holds" if holder == "another daemon" else "", "none") as owner, ExitStack() as more:
        if holder == "a dead daemon":
            (runtime / "phoenixd.lock").write_text(f"{owner.pid}\n")
        strange = more.enter_context(listening(runtime, "", "0"))
        if is_full:
            more.enter_context(full(place))

        code, why, remedy, _ = absence.absence([os.fsencode(place)])

    assert code == 7
    assert f"another program listens at {place} (pid {strange.pid}, {sys.executable} -c import socket" in why
    assert "\n" not in why.partition("asked at")[0].rstrip()
    assert "kill" not in f"{why}{remedy}"
    if holder == "another daemon":
        assert f"phoenixd (pid {owner.pid}) lives" in why
        assert remedy == "the same again"
    else:
        assert remedy == f"mv {place} {place}.strange && phoenixctl up"


def test_who_looks_for_the_daemon_of_a_full_queue_touches_no_other_programs_socket(
    hung: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theirs may be on a disk that hangs, and phoenixctl with it."""
    looked, real = [], os.path.realpath

    def noted(path: str) -> str:
        looked.append(path)
        return real(path)

    monkeypatch.setattr(os.path, "realpath", noted)
    (short_tmp / "alias").symlink_to(hung.parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other, full(hung):
        other.bind(os.fspath(short_tmp / "other"))
        other.listen()
        for place in (hung, short_tmp / "alias" / hung.name):
            assert ctl_listener.of_full_queue(os.fsencode(place), None).is_daemon
    assert os.fspath(short_tmp / "other") not in looked


def test_who_looks_where_no_socket_bears_the_name_resolves_the_names_of_the_daemon_alone(
    runtime: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It resolved every name on the machine at which somebody listens."""
    looked, real = [], os.path.realpath

    def noted(path: str) -> str:
        looked.append(path)
        return real(path)

    bound, asked_at = short_tmp / "bound", short_tmp / "asked"
    bound.symlink_to(runtime)
    asked_at.symlink_to(runtime)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other, listening(runtime, "holds", "none"):
        other.bind(os.fspath(short_tmp / "api.sock"))
        other.listen()
        monkeypatch.setattr(os.path, "realpath", noted)
        assert ctl_listener.of_full_queue(os.fsencode(asked_at / "api.sock"), None).pid == 0
        assert looked == [os.fspath(asked_at / "api.sock")]

    with DirectoryLock(runtime), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
        own.bind(os.fspath(bound / "api.sock"))
        own.listen()
        assert ctl_listener.of_full_queue(os.fsencode(asked_at / "api.sock"), None).is_daemon


def test_up_does_not_take_a_program_for_another_phoenixd(runtime: Path, tmp_path: Path) -> None:
    with listening(runtime, "") as strange, pytest.raises(AlreadyRunning) as refused:
        examine(tmp_path / "state", runtime)

    assert f"another program listens at {runtime}/api.sock (pid {strange.pid}, " in refused.value.message
    assert refused.value.remedy == f"mv {runtime}/api.sock {runtime}/api.sock.strange"


def test_a_daemon_whose_socket_is_gone_is_waited_for_and_asked_then(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It puts the socket back within seconds; phoenixctl said `phoenixctl up`, and that refused."""
    place = runtime / "api.sock"
    looks: list[float] = []

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            server.bind(os.fspath(place))
            server.listen(4)

    monkeypatch.setattr(wire._Shown, "waited", False, raising=False)
    monkeypatch.setattr("time.sleep", look)
    with DirectoryLock(runtime), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        assert wire.connect([os.fsencode(place)]) is None
        connection = wire.reach([os.fsencode(place)])
        assert connection is not None
        connection.close()
    assert len(looks) == 3


@pytest.mark.parametrize("verb", ["status", "up"])
def test_a_daemon_whose_socket_stays_away_is_named_and_not_to_be_begun_again(
    verb: str, runtime: Path, named: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wire, "RETURNS", 0.2)
    with listening(runtime, "holds", "none") as daemon:
        assert main([verb]) == 7
        said = capsys.readouterr().err
        stop(daemon)
        assert main([verb]) == 7
        said_of_a_stopped_one = capsys.readouterr().err

    assert f"phoenixd (pid {daemon.pid}) lives, and its socket is not there" in said
    assert said.splitlines()[-1].startswith("do: the same again")
    assert said_of_a_stopped_one.splitlines()[-1] == f"do: kill -CONT {daemon.pid}"


BUSY = "import os, sys\nprint(os.getpid(), flush=True)\nwhile True:\n    os.getppid()"


def test_promise_10_a_daemon_under_strace_is_held_at_each_call_and_is_not_called_stopped() -> None:
    if shutil.which("strace") is None:
        pytest.skip("not run: strace is not installed")
    argv = ["strace", "-o", os.devnull, sys.executable, "-S", "-c", BUSY]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tracer:
        assert tracer.stdout is not None
        traced = tracer.stdout.readline()
        if not traced:
            pytest.skip("not run: strace can trace nothing here")
        try:
            eventually_sync(lambda: wire._state(int(traced)) == b"t", 60, "it is seen held")
            assert not any(wire.is_stopped(int(traced)) for _ in range(50))
        finally:
            os.kill(int(traced), signal.SIGKILL)
