"""What the shim reads of /proc about processes, of real ones: their names, their kin, their environment, their ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.shim.test_pure import load

procfs = load("procfs")


@contextmanager
def living(*argv: str, env: dict[str, str] | None = None) -> Iterator[int]:
    """A process that runs its program already, until the end of the block."""
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"+"
        try:
            yield child.pid
        finally:
            child.kill()


def ended() -> int:
    """The pid of a process that is gone."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


SAYS = ("sh", "-c", "printf +; read line")


def test_a_name_with_brackets_and_spaces_is_not_taken_for_the_fields_after_it(tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    hostile = tmp_path / "a) R 1 (b"
    shutil.copy(os.path.realpath(shell), hostile)
    with living(str(hostile), "-c", "printf +; read line") as pid:
        told = procfs.status(pid)
        assert procfs.command(pid) == "a) R 1 (b"
        assert (told.state in "SR", told.parent) == (True, os.getpid())
        began = procfs.status(os.getpid()).start_time
        assert began <= told.start_time <= procfs.ticks_now()


def test_what_a_process_calls_itself_is_safe_to_print(tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    hostile = tmp_path / "a\x1b[2J"
    shutil.copy(os.path.realpath(shell), hostile)
    with living(str(hostile), "-c", "printf +; read line") as pid:
        assert procfs.command(pid) == "a?[2J"


def test_of_a_process_that_is_gone_nothing_is_told_and_it_is_not_hidden() -> None:
    pid = ended()
    assert procfs.status(pid) is None
    assert procfs.is_hidden(pid) is False
    assert procfs.command(pid) == ""
    assert procfs.children(pid) == []
    assert procfs.environment_has(pid, (b"PATH=/",)) is False


def test_the_line_upwards_is_the_process_itself_and_all_above_it_and_no_other() -> None:
    with living(*SAYS) as pid:
        line = procfs.ancestors(pid)
        assert {pid, os.getpid(), os.getppid()} - {0} <= line
        assert line - {pid} == procfs.ancestors(os.getpid())
        above = {one: procfs.status(one) for one in line}
        assert all(told is None or told.parent in {0, *line} for told in above.values()), "it ends at the first process"
    pid = ended()
    assert procfs.ancestors(pid) == {pid}


def test_who_descends_from_whom_is_known_and_of_one_that_is_gone_it_is_not() -> None:
    with living("sh", "-c", "sh -c 'printf +; read line'; :") as pid, living(*SAYS) as other:
        (grandchild,) = procfs.children(pid)
        assert {pid, other} <= set(procfs.children(os.getpid()))
        assert procfs.descends_from(grandchild, os.getpid()) is True
        assert procfs.descends_from(grandchild, pid) is True
        assert procfs.descends_from(pid, pid) is True
        assert procfs.descends_from(other, pid) is False
        assert procfs.descends_from(pid, grandchild) is False
        assert {pid, other, grandchild} <= set(procfs.all_pids())
    assert procfs.descends_from(ended(), os.getpid()) is None


def test_of_one_that_proc_hides_those_that_list_it_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    with living("sh", "-c", "sh -c 'printf +; read line'; :") as pid, living(*SAYS) as other:
        (grandchild,) = procfs.children(pid)
        shown, hidden = procfs.status, {grandchild, other}
        monkeypatch.setattr(procfs, "status", lambda one: None if one in hidden else shown(one))
        assert procfs.is_hidden(grandchild) is True
        assert procfs.descends_from(grandchild, pid) is True
        assert procfs.descends_from(grandchild, os.getpid()) is True
        assert procfs.descends_from(other, pid) is False


@pytest.mark.parametrize(
    ("entries", "stand"),
    [
        ((b"PHX_A=1",), True),
        ((b"PHX_A=1", b"PHX_B=12"), True),
        ((b"PHX_B=12", b"PHX_C=3"), False),
        ((b"PHX_B=1",), False),
        ((b"HX_A=1",), False),
        ((b"PHX_A",), False),
        ((b"PHX_LAST=9",), True),
    ],
)
def test_only_whole_entries_of_an_environment_match(entries: tuple[bytes, ...], stand: bool) -> None:
    env = {"PHX_A": "1", "PHX_B": "12", "PATH": os.environ["PATH"], "PHX_LAST": "9"}
    with living(*SAYS, env=env) as pid:
        assert procfs.environment_has(pid, entries) is stand


def test_each_start_is_counted_and_pids_stay_below_their_limit() -> None:
    before = procfs.forks()
    pid = ended()
    assert procfs.forks() > before > 0
    assert 0 < pid <= procfs.pid_limit()
    assert 0 < procfs.last_pid() <= procfs.pid_limit()


def test_ticks_are_those_of_start_times_and_count_backwards_by_the_second() -> None:
    before = procfs.ticks_now()
    with living(*SAYS) as pid:
        began = procfs.status(pid).start_time
        assert before - 1 <= began <= procfs.ticks_now()
    per_second = os.sysconf("SC_CLK_TCK")
    early = procfs.ticks_now(10.0)
    assert before - 10 * per_second <= early <= procfs.ticks_now() - 10 * per_second


def test_a_file_is_read_up_to_its_limit_and_one_that_is_not_there_is_empty(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 200_000)
    assert len(procfs.read(str(large))) == 200_000
    assert len(procfs.read(str(large), 70_000)) == 70_000
    assert procfs.read(str(tmp_path / "none")) == b""
    assert procfs.read(str(tmp_path)) == b"", "a directory is opened, and cannot be read"


def test_the_boot_is_named_as_the_kernel_names_it() -> None:
    said = subprocess.run([sys.executable, "-c", "print(open('/proc/sys/kernel/random/boot_id').read().strip())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert procfs.boot_id() == said.stdout.strip() != ""
