"""From an order to a program that runs exactly as ordered."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import Daemon
from tests.waiting import eventually_sync

# Writes what it was given, byte for byte as far as JSON can, then waits to be killed.
WITNESS = r"""
import fcntl, json, os, signal, sys
status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
report = {
    "argv": [os.fsencode(a).hex() for a in sys.argv[2:]],
    "env": {os.fsencode(k).hex(): os.fsencode(v).hex() for k, v in os.environ.items()},
    "cwd": os.fsencode(os.getcwd()).hex(),
    "pid": os.getpid(), "ppid": os.getppid(), "pgrp": os.getpgrp(), "foreground": os.tcgetpgrp(0), "sid": os.getsid(0),
    "tty": [os.ttyname(fd) for fd in (0, 1, 2)],
    "controlling": os.open("/dev/tty", os.O_RDWR) >= 0,
    "blocked": status["SigBlk"], "ignored": status["SigIgn"], "caught": status["SigCgt"],
    "nonblocking": [bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK) for fd in (0, 1, 2)],
    "umask": os.umask(0),
    "cgroup": open("/proc/self/cgroup").read(),
}
open(sys.argv[1] + ".new", "w").write(json.dumps(report))
os.rename(sys.argv[1] + ".new", sys.argv[1])
signal.pause()
"""
# Signals 32 and 33 are the C library's own: posix_spawn leaves them ignored in the program that it starts, and no call
# of the library, so none of Python's, can change that.
LIBRARY_SIGNALS = 1 << 31 | 1 << 32
# A shell sees descriptors without opening one: ls has its own for the directory it reads.
SHOW_DESCRIPTORS = 'ls /proc/$$/fd > "$1.new"; mv "$1.new" "$1"; exec sleep 1000'


def witness(daemon: Daemon, *arguments: str, **changes: Any) -> dict[str, Any]:
    report = daemon.pane.room / "report.json"
    report.unlink(missing_ok=True)
    # -S -E: what an interpreter adds of its own accord would blur what the shim passed on.
    daemon.start([sys.executable, "-S", "-E", "-c", WITNESS, str(report), *arguments], **changes)
    eventually_sync(report.exists, what="the agent reports")
    content: dict[str, Any] = json.loads(report.read_text())
    return content


def test_arguments_environment_and_directory_arrive_byte_for_byte(daemon: Daemon) -> None:
    directory = daemon.pane.room / os.fsdecode(b"d\xff\xfe \n x")
    directory.mkdir()
    strange = [
        "",
        " ",
        "a b",
        "q\"'`$(id)",
        "line\nfeed",
        "\x1b[31m",
        "ünïcode 🐦",
        os.fsdecode(b"\xff\xfe\x80"),
        "--",
        "x" * 100_000,
    ]
    seen = witness(
        daemon, *strange, cwd=str(directory), extra_env={"EMPTY": "", "BYTES": os.fsdecode(b"\xff\n="), "ö": "1"}
    )
    assert [bytes.fromhex(argument) for argument in seen["argv"]] == [os.fsencode(argument) for argument in strange]
    assert bytes.fromhex(seen["cwd"]) == os.fsencode(directory)
    environment = {bytes.fromhex(name): bytes.fromhex(value) for name, value in seen["env"].items()}
    environment.pop(b"LC_CTYPE", None)  # Python's own, in the C locale.
    assert environment.pop(b"BYTES") == b"\xff\n="
    assert environment.pop(b"EMPTY") == b""
    assert environment.pop("ö".encode()) == b"1"
    assert set(environment) == {
        b"PATH", b"HOME", b"TERM", b"PHOENIX_AGENT", b"PHOENIX_INCARNATION", b"PHOENIX_RUN_ID", b"PHOENIX_HOOK_DIR",
        b"PHOENIX_STATE_DIR", b"PHOENIX_TOKEN",
    }  # fmt: skip


def test_the_agent_is_the_foreground_of_the_pane_with_everything_at_its_default(daemon: Daemon) -> None:
    seen = witness(daemon)
    pane = daemon.pane
    assert seen["ppid"] == pane.pid
    assert seen["pgrp"] == seen["pid"] == seen["foreground"]
    assert seen["sid"] == os.getsid(pane.pid)
    assert seen["tty"] == [pane.terminal_path] * 3
    assert seen["controlling"]
    assert int(seen["blocked"], 16) == 0
    # The witness is a Python program, and Python itself ignores SIGPIPE and SIGXFSZ and catches SIGINT.
    assert int(seen["ignored"], 16) & ~LIBRARY_SIGNALS == 1 << 12 | 1 << 24
    assert int(seen["caught"], 16) & ~LIBRARY_SIGNALS == 1 << 1
    assert seen["nonblocking"] == [False] * 3
    assert seen["umask"] == os.umask(os.umask(0o22)) or seen["umask"] == 0o22


def test_signals_are_at_their_default_in_a_program_that_touches_none(daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    status = Path(f"/proc/{started['pid']}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert int(fields["SigIgn"], 16) & ~LIBRARY_SIGNALS == 0
    assert (int(fields["SigBlk"], 16), int(fields["SigCgt"], 16)) == (0, 0)


def test_no_descriptor_leaks_into_the_agent(daemon: Daemon) -> None:
    report = daemon.pane.room / "fds"
    daemon.start(["sh", "-c", SHOW_DESCRIPTORS, "sh", str(report)])
    eventually_sync(report.exists, what="the agent reports")
    # dash keeps 10 for itself while it redirects.
    assert set(report.read_text().split()) - {"10"} == {"0", "1", "2"}


def test_the_order_is_removed_and_run_json_names_the_run_before_started_is_told(daemon: Daemon) -> None:
    pane = daemon.pane
    order = pane.order(["sleep", "1000"])
    daemon.give(order)
    started = daemon.expect("started")
    assert list(pane.room.glob("order-*")) == []
    run = pane.record("run.json")
    assert run["child"] == {"pid": started["pid"], "start_time": started["start_time"]}
    assert run["shim"]["pid"] == pane.pid
    assert run["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    expected = {
        "agent": "a",
        "argv0": "sleep",
        "mode": "fresh",
        "session_id": "5e551011",
        "started_at": started["started_at"],
    }
    assert expected.items() <= run.items()
    assert (run["incarnation"], run["run_id"]) == (order["incarnation"], order["run_id"])
    assert stat.S_IMODE((pane.state / "run.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("argv", "code", "errno_name", "said"),
    [
        (["no-such-program"], 127, "ENOENT", "no-such-program: command not found"),
        (["/no/such/program"], 127, "ENOENT", "/no/such/program: command not found"),
        (["/etc/passwd"], 126, "EACCES", "/etc/passwd: Permission denied"),
        (["/"], 126, "EACCES", "/: Permission denied"),
        (["./broken"], 127, "ENOENT", "the interpreter that it names is not"),
        (["./text"], 126, "ENOEXEC", "Exec format error"),
        (["true", "x" * 1_000_000], 126, "E2BIG", "argument 1 has 1000000 bytes, Linux takes at most 131071"),
    ],
)
def test_a_program_that_cannot_run_is_told_as_a_shell_would(
    daemon: Daemon, argv: list[str], code: int, errno_name: str, said: str
) -> None:
    for name, content in (("broken", "#!/no/such/interpreter\n"), ("text", "no program\n")):
        path = daemon.pane.room / name
        path.write_text(content)
        path.chmod(0o755)
    failure = daemon.start_failure(argv)
    assert (failure["code"], failure["errno"]) == (code, errno_name)
    assert said in failure["message"]
    daemon.start(["true"])


def test_a_missing_directory_is_named(daemon: Daemon) -> None:
    failure = daemon.start_failure(["true"], cwd="/no/such/place")
    assert (failure["code"], failure["errno"], failure["stage"]) == (0, "ENOENT", "cwd")
    assert failure["message"] == "the directory /no/such/place is missing"
    assert not (daemon.pane.state / "exit.json").exists()


@pytest.mark.parametrize(
    ("make", "below", "errno_name", "said"),
    [
        (lambda path: path.write_text(""), "", "ENOTDIR", "cannot be entered: {path} is no directory"),
        (lambda path: path.write_text(""), "/deeper", "ENOTDIR", "cannot be entered: {path} is no directory"),
        (lambda path: path.symlink_to("gone"), "", "ENOENT", "is missing: the link {path} points to nothing"),
        (lambda path: path.symlink_to("gone"), "/deeper", "ENOENT", "is missing: the link {path} points to nothing"),
        (lambda path: path.symlink_to(path), "", "ELOOP", "cannot be entered: Too many levels of symbolic links"),
    ],
)
def test_f_res_8_what_stands_in_the_way_of_a_directory_is_named(
    daemon: Daemon, make: Callable[[Path], object], below: str, errno_name: str, said: str
) -> None:
    path = daemon.pane.room / "shop"
    make(path)
    failure = daemon.start_failure(["true"], cwd=f"{path}{below}")

    assert (failure["errno"], failure["stage"], failure["way"]) == (errno_name, "cwd", str(path))
    assert failure["message"] == f"the directory {path}{below} {said.format(path=path)}"


def test_what_stands_in_the_way_is_not_named_where_its_path_is_too_long_to_show(daemon: Daemon) -> None:
    """Its first half is another path, which may be there: who moves that aside moves a directory that is sound."""
    above = daemon.pane.room
    while len(f"{above}/") + 100 < 512:
        above /= "d" * 99
    above /= "e" * (512 - len(f"{above}/"))
    above.mkdir(parents=True)
    assert len(str(above)) == 512
    (above / "file").write_text("")
    failure = daemon.start_failure(["true"], cwd=f"{above}/file")

    assert (failure["errno"], failure["way"]) == ("ENOTDIR", "")


def test_the_path_of_the_order_finds_the_program_and_not_the_shims_own(daemon: Daemon) -> None:
    directory = daemon.pane.room / "bin"
    directory.mkdir()
    (directory / "mytool").write_text("#!/bin/sh\nexit 7\n")
    (directory / "mytool").chmod(0o755)
    assert daemon.run_to_end(["mytool"], extra_env={"PATH": f"/nowhere::{directory}"})["code"] == 7
    assert daemon.start_failure(["sleep", "1"], extra_env={"PATH": str(directory)})["code"] == 127
    (directory / "mytool").chmod(0o644)
    (directory / "subdirectory").mkdir()
    assert daemon.start_failure(["mytool"], extra_env={"PATH": str(directory)})["code"] == 126
    assert daemon.start_failure(["subdirectory"], extra_env={"PATH": str(directory)})["code"] == 127


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"argv": []}, "argv"),
        ({"argv": ["true", 1]}, "argv"),
        ({"argv": ["true", "nul\0"]}, "NUL"),
        ({"env": None}, "env"),
        ({"env": {"A=B": "x"}}, "env"),
        ({"cwd": "relative"}, "absolute"),
        ({"protocol": 3}, "protocol"),
        ({"token": "short"}, "token"),
        ({"agent": "somebody"}, "another agent"),
        ({"cgroup": "/sys/fs/cgroup/no/such/leaf"}, "not started without its fence"),
    ],
)
def test_an_order_that_cannot_be_carried_out_is_refused_by_name(
    daemon: Daemon, changes: dict[str, Any], said: str
) -> None:
    failure = daemon.start_failure(**{"argv": ["true"], **changes})
    assert failure["code"] == 0
    assert said in failure["message"]


@pytest.mark.parametrize("kind", ["link", "fifo", "directory", "missing", "garbage", "huge"])
def test_an_order_file_that_is_not_one_neither_blocks_nor_starts_anything(daemon: Daemon, kind: str) -> None:
    pane = daemon.pane
    order = pane.order(["true"])
    path = pane.room / "order.json"
    if kind == "link":
        (pane.room / "target").write_text(json.dumps(order))
        path.symlink_to("target")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "garbage":
        path.write_bytes(b'{"agent": \xff[')
    elif kind == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    daemon.send(op="start", order=str(path), incarnation=order["incarnation"], run_id=order["run_id"])
    failure = daemon.expect("start_failed")
    assert failure["code"] == 0
    assert "order" in failure["message"]
    assert kind == "directory" or not os.path.lexists(path)
    assert daemon.run_to_end(["true"])["code"] == 0


def test_a_second_start_while_one_lives_is_refused_as_busy_and_changes_nothing(daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    failure = daemon.start_failure(["true"])
    assert (failure["code"], failure["errno"], failure["leaving"]) == (0, "busy", False)
    assert daemon.hello()["run"]["pid"] == started["pid"]


def test_the_same_order_given_again_starts_nothing_and_tells_again_what_became_of_it(daemon: Daemon) -> None:
    """A daemon that was killed between the order and its record gives it again: promise 1."""
    order = daemon.pane.order(["sleep", "1000"])
    daemon.give(order)
    first = daemon.expect("started")
    daemon.give(order)
    assert daemon.receive() == first
    ended = daemon.kill(first)
    daemon.give(order)
    assert daemon.receive() == ended
    assert daemon.hello()["run"] is None
