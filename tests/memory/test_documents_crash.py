"""An agent's documents whose writer is killed, or whose disk fails, are the old version or the new one, never half."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from phoenixd.documents.brief.record import BriefRecord
from phoenixd.documents.state import render_state
from phoenixd.documents.state_reading import read_state
from phoenixd.drivers.files import plain as files
from phoenixd.errors import FileUnreadable
from phoenixd.memory.brief.switch import Switch
from phoenixd.memory.files import Location
from tests.memory.documents_script import LINES, PID, TODAY, WHOLE, a_desk, an_agent, digest, first_state, write
from tests.start.places import NOW

ROOT = Path(__file__).resolve().parents[2]
COUNT = 2
"""Rounds of one run. Each of them writes every document, some of them several times."""
OBSERVERS = {"fstat", "newfstatat", "fcntl", "pread64", "read", "lseek", "getdents64", "ioctl", "statx", "access"}
"""Calls that change nothing: a kill at one of them is a kill at the call before."""
WORD = re.compile(r"^(doc|line) (\S+) (\w+)$", re.M)

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="not run: strace is not installed")


class Documents:
    """The directory of an agent, written by a process under strace, which looks at nothing else."""

    def __init__(self, root: Path) -> None:
        self.root, self.directory = root, root / "a"
        self.versions: dict[str, list[str]] = {}
        self.lines: dict[str, list[str]] = {}

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """One life of the writer, on documents that were begun by hand."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(mode=0o700)
        (self.directory / "state.json").write_bytes(render_state(first_state(COUNT)))
        names = [*WHOLE, *LINES, ".brief-switch.json"]
        names += [f".{name}.{PID}.new" for name in names]
        watched = [word for name in names for word in ("-P", str(self.directory / name))]
        strace = ["strace", "-f", "-qq", "-P", str(self.directory), *watched, *options]
        script = [sys.executable, "-m", "tests.memory.documents_script", str(self.directory), str(COUNT)]
        return subprocess.run([*strace, *script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    def learn(self) -> Counter[str]:
        """An undisturbed run: every version of every document, in order; and how often each system call is made."""
        log = self.root / "calls"
        finished = self.run("-o", str(log))
        assert finished.returncode == 0, finished.stderr
        begun = digest(render_state(first_state(COUNT)))
        self.versions = {"state.json": [begun]}
        for sort, name, sum_ in WORD.findall(finished.stdout):
            (self.versions if sort == "doc" else self.lines).setdefault(name, []).append(sum_)
        self.check(finished.stdout)
        return Counter(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.M))

    def check(self, said: str) -> None:
        """Old or new: what was said to be done is there, at most one step more, nothing in between; and it goes on."""
        done = WORD.findall(said)
        for name, versions in self.versions.items():
            steps = sum(1 for sort, other, _ in done if (sort, other) == ("doc", name)) + (name == "state.json")
            path = self.directory / name
            if not path.exists():
                assert steps == 0 or name.startswith("."), name
                continue
            assert digest(path.read_bytes()) in versions[max(0, steps - 1) : steps + 1], (name, steps)
        for name, lines in self.lines.items():
            steps = sum(1 for sort, other, _ in done if (sort, other) == ("line", name))
            path = self.directory / name
            found = path.read_bytes().split(b"\n") if path.exists() else [b""]
            assert found[-1] == b"", "a torn line"
            assert [digest(line) for line in found[:-1]] in (lines[:steps], lines[: steps + 1])
        self._recover(said)

    def _recover(self, said: str) -> None:
        desk = a_desk(self.directory, files)
        known = desk.consult(0.0)
        for number in map(int, re.findall(r"^resolved (\d+)$", said, re.M)):
            assert known.loop(f"loop-{number}") is None, "acknowledged, and lost"
        switched = [int(number) for number in re.findall(r"^switched (\d+)$", said, re.M)]
        assert int(known.numbers["tests"].partition("/")[0]) >= max(switched, default=0)
        for number in range(len(switched), COUNT):
            write(desk, number)
        desk = a_desk(self.directory, files)
        reading = read_state((self.directory / "state.json").read_bytes(), "a", TODAY)
        assert (reading.broken, reading.notes) == (None, ())
        assert desk.consult(0.0).open_loops == ()
        assert (desk.take_notes(), desk.take_alarms()) == ([], [])
        left = {path.name for path in self.directory.iterdir()} - {*WHOLE, *LINES}
        assert left == set(), "nothing is left lying about"


def test_f_st_3_what_cannot_be_read_for_want_of_descriptors_is_neither_moved_aside_nor_written_over(
    tmp_path: Path,
) -> None:
    content = render_state(first_state(5))
    (tmp_path / "state.json").write_bytes(content)
    desk = a_desk(tmp_path, Starved())
    with pytest.raises(FileUnreadable):
        write(desk, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
    assert (tmp_path / "state.json").read_bytes() == content


class Starved:
    """The file driver of a process without a descriptor left."""

    replace = staticmethod(files.replace)
    append = staticmethod(files.append)
    replace_unchanged = staticmethod(files.replace_unchanged)
    ensure_private_dir = staticmethod(files.ensure_private_dir)

    def read_plain(self, path: Location, limit: int) -> bytes:
        raise FileUnreadable("too many open files")


@needs_strace
@pytest.mark.slow
def test_f_st_1_documents_whose_writer_is_killed_at_some_renames(tmp_path: Path) -> None:
    documents = Documents(tmp_path)
    calls = documents.learn()
    for index in range(4, calls["rename"], 17):
        finished = documents.run("-e", "trace=rename", "-e", f"inject=rename:signal=SIGKILL:when={index}")
        assert finished.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), finished.stderr
        documents.check(finished.stdout)


@needs_strace
@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_f_st_1_documents_whose_writer_is_killed_at_every_system_call(tmp_path: Path) -> None:
    documents = Documents(tmp_path)
    calls = documents.learn()
    runs = 0
    for call in sorted(calls.keys() - OBSERVERS):
        for index in range(1, calls[call] + 1):
            finished = documents.run("-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={index}")
            assert finished.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), (call, index, finished.stderr)
            documents.check(finished.stdout)
            runs += 1
    print(f"{runs} kills, one at every call: {dict(calls)}")


ERRORS = {
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC"),
    "openat": ("ENOSPC", "EMFILE", "EIO"),
    "rename": ("EIO", "ENOSPC"),
    "fchmod": ("EIO",),
    "unlink": ("EIO",),
}


@needs_strace
@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lasting", ["", "+"], ids=["once", "for good"])
def test_f_st_3_documents_of_which_every_system_call_fails(tmp_path: Path, lasting: str) -> None:
    """The writer says that it failed; what it had said to be done is there, and the next daemon goes on from it."""
    documents = Documents(tmp_path)
    calls = documents.learn()
    runs = refused = 0
    for call, error in [(call, error) for call, errors in ERRORS.items() for error in errors]:
        for index in range(1, calls[call] + 1):
            inject = f"inject={call}:error={error}:when={index}{lasting}"
            finished = documents.run("-e", f"trace={call}", "-e", inject)
            where = (inject, finished.stdout, finished.stderr)
            assert "Traceback" not in finished.stderr, where
            assert finished.returncode in (0, 3), where
            documents.check(finished.stdout)
            refused += finished.returncode == 3
            runs += 1
    print(f"{runs} injected errors {lasting or 'once'}: {refused} orderly refusals")


def test_f_st_5_an_edit_in_the_moment_of_a_switch_is_merged_with_what_the_brief_found(tmp_path: Path) -> None:
    desk, agent = a_desk(tmp_path / "a"), an_agent(1)
    desk.settle(agent, NOW)
    base = desk.consult(NOW)
    ours = base.model_copy(update={"numbers": {"ours": "1/99"}})
    edited = base.model_copy(update={"numbers": {"theirs": "5"}})
    (tmp_path / "a" / "state.json").write_bytes(render_state(edited))

    desk.switch_brief(agent, Switch(agent="a", base=base, ours=ours, documents={}), BriefRecord(agent="a"), NOW)

    assert json.loads((tmp_path / "a" / "state.json").read_bytes())["numbers"] == {"theirs": "5"}, "their edit stands"
    desk.settle(agent, NOW)
    held = json.loads((tmp_path / "a" / "state.json").read_bytes())["numbers"]
    assert held == {"ours": "1/99", "theirs": "5"}
