"""What may hang runs where it holds up nobody else: which threads read, and in which directory programs begin."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "phoenixd"

OURS, BOUNDED, NO_DISK, MAY_HANG = (
    "reads and writes phoenixd's own directories, without which no daemon works, or /proc and terminals",
    "what it looks at may hang, and it bounds that itself: by TERRAIN, or by killing the program that it asks",
    "reads no file: it is long work, or an import, that must not keep the loop",
    "may hold a thread for as long as a workspace or a home hangs: to be moved to a BoundedReads",
)
SHARED_THREADS = {
    OURS: {
        "daemon.py": 2,
        "drivers/journal/sqlite.py": 1,
        "drivers/tmux/keyboard.py": 2,
        "drivers/writers/job.py": 3,
        "jobs/cleared.py": 1,
        "jobs/collection.py": 4,
        "memory/breakers.py": 4,
        "memory/papers.py": 1,
        "memory/report/workers.py": 4,
        "memory/resonance/keeping.py": 11,
        "memory/watch.py": 1,
        "runtime/world.py": 5,
        "service/daemon_service.py": 3,
        "start/coexistence.py": 1,
        "start/starter.py": 2,
    },
    BOUNDED: {
        "service/declarations.py": 11,
        "start/variables.py": 2,
        "wiring/face.py": 1,
    },
    NO_DISK: {
        "api/application.py": 1,
        "api/handlers/past.py": 1,
        "api/handlers/queries.py": 1,
        "api/handlers/streams.py": 1,
        "api/handlers/tasks.py": 2,
        "drivers/tmux/terminal.py": 1,
        "drivers/writers/model.py": 1,
        "drivers/writers/reader.py": 1,
        "memory/brief/writing.py": 2,
        "memory/drafts.py": 3,
        "memory/report/verification.py": 2,
    },
    MAY_HANG: {
        "drivers/writers/cli.py": 2,
        "memory/addenda.py": 1,
        "memory/handover.py": 5,
        "wiring/outside.py": 1,
    },
}
"""The calls that borrow a thread of the pool that all share, by why they may and by file."""

OF_PHOENIXCTL = ("ctl/", "demo/", "top/", "service_install.py")
"""Code that a person's terminal runs, which waits for that person's own directory and for nothing of the daemon's."""
PROGRAMS = {
    "subprocess": ("Popen", "run", "call", "check_call", "check_output"),
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
    "anyio": ("open_process", "run_process"),
    "os": ("system", "popen", "posix_spawn", "posix_spawnp"),
}


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Each call with its full name, whatever the name was imported as."""
    tree, known = ast.parse(source), dict[str, str]()
    for one in ast.walk(tree):
        if isinstance(one, ast.Import | ast.ImportFrom):
            known |= {
                name.asname or name.name: f"{one.module}.{name.name}" if isinstance(one, ast.ImportFrom) else name.name
                for name in one.names
            }
    for one in ast.walk(tree):
        if isinstance(one, ast.Call):
            first, dot, rest = ast.unparse(one.func).partition(".")
            yield known.get(first, first) + dot + rest, one


def given(call: ast.Call, keyword: str) -> str | None:
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == keyword), None)


def shared_threads(source: str) -> int:
    """How many calls borrow a thread of the pool that all share."""
    found = 0
    for name, call in calls(source):
        if name == "anyio.to_thread.run_sync":
            found += given(call, "limiter") in (None, "None")
        else:
            found += name == "asyncio.to_thread" or name.endswith(".run_in_executor")
    return found


def begun_elsewhere(source: str) -> list[int]:
    """The lines that begin a program in another directory than the root."""
    names = {f"{module}.{name}" for module, several in PROGRAMS.items() for name in several}
    return [call.lineno for name, call in calls(source) if name in names and given(call, "cwd") != "'/'"]


def sources(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files that have one of these words: to parse all takes seconds."""
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if any(word in source for word in words):
            yield path.relative_to(PACKAGE).as_posix(), source


def test_the_threads_that_all_share_are_borrowed_only_by_those_listed_with_their_reason() -> None:
    """Forty calls that hang take all of them, and then nothing of the daemon's own is read any more."""
    found = Counter({path: shared_threads(source) for path, source in sources(("to_thread", "run_in_executor"))})
    assert {path: number for path, number in found.items() if number} == {
        path: number for files in SHARED_THREADS.values() for path, number in files.items()
    }


def test_each_program_of_the_daemon_begins_at_the_root() -> None:
    """Who begins one elsewhere waits, with all threads, until that directory answers."""
    several = sources([name for names in PROGRAMS.values() for name in names])
    found = {path: begun_elsewhere(source) for path, source in several if not path.startswith(OF_PHOENIXCTL)}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from anyio import to_thread\nto_thread.run_sync(look)",
        "import anyio\nanyio.to_thread.run_sync(look, abandon_on_cancel=True)",
        "import anyio.to_thread\nanyio.to_thread.run_sync(look, limiter=None)",
        "from anyio.to_thread import run_sync as aside\naside(look)",
        "import asyncio\nasyncio.to_thread(look)",
        "loop.run_in_executor(None, look)",
    ],
)
def test_a_call_that_borrows_a_shared_thread_is_found_however_it_is_written(line: str) -> None:
    assert shared_threads(line) == 1
    assert shared_threads("from anyio import to_thread\nto_thread.run_sync(look, limiter=self._threads)") == 0


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess\nsubprocess.Popen(argv, cwd=workspace)",
        "import subprocess\nsubprocess.run(argv)",
        "from subprocess import Popen\nPopen(argv, cwd='/tmp')",
        "import asyncio\nasyncio.create_subprocess_exec(*argv, cwd=None)",
        "import anyio\nanyio.open_process(argv)",
    ],
)
def test_a_program_that_begins_elsewhere_is_found_however_it_is_written(line: str) -> None:
    assert begun_elsewhere(line) == [2]
    assert begun_elsewhere("import subprocess\nsubprocess.run(argv, cwd='/')") == []
