"""A job: a program that runs once, outside any terminal, and of which nothing stays behind.

Run as `PYTHON -I -S DIRECTORY --job [--setup JSON] ARGV...`, with PHOENIX_AGENT and PHOENIX_RUN_ID set. The program
gets a session of its own and our standard streams. When it has ended, or we are told to (SIGTERM, or the death of
whoever started us), all that it started is killed: we are its subreaper, so whatever detached itself from it is our
child.
The setup names a control group and a fence that the program runs in, and a directory that is removed with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import fence
import launch
from tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOT_FOUND, NOT_EXECUTABLE, TOLD = 127, 126, 143


class Told(BaseException):
    """Somebody wants the job to end."""


def main(argv: list[str]) -> int:
    """Run `argv` to its end; its exit code, 128 and more for a signal."""
    started_by = os.getppid()
    signal.signal(signal.SIGTERM, _tell)
    launch.become_subreaper(b"phoenix-job")
    launch.end_with_parent(signal.SIGTERM)
    tree = Tree(os.environ.get("PHOENIX_AGENT", ""), os.environ.get("PHOENIX_RUN_ID", ""), None)
    setup: dict[str, Any] = {}
    try:
        if argv[:1] == ["--setup"]:
            setup, argv = json.loads(argv[1]), argv[2:]
        # It may have died before the line above.
        return TOLD if os.getppid() != started_by else _run(argv, setup)
    except Told:
        return TOLD
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _empty(tree)
        _remove(setup.get("directory"))


def _run(argv: list[str], setup: dict[str, Any]) -> int:
    try:
        child = _fenced(argv, setup) if setup else _spawned(argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _spawned(argv: list[str]) -> int:
    return os.posix_spawnp(argv[0], argv, os.environ, setsid=True, setsigdef=[signal.SIGPIPE], setsigmask=[])


def _fenced(argv: list[str], setup: dict[str, Any]) -> int:
    """Fork, enter the control group and the fence, and only then run the program; never without them."""
    around = fence.of(setup.get("fence"), lambda table, key: os.fsencode(table[key]))
    child = os.fork()
    if child != 0:
        return child
    code = NOT_EXECUTABLE
    try:
        os.setsid()
        if setup.get("cgroup") is not None:
            launch.join(setup["cgroup"])
        if around is not None:
            cwd = os.getcwd()
            fence.enter(around)
            os.chdir(cwd)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606  # A list of arguments, and no shell.
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        os.write(2, f"{argv[0]}: {error.filename or ''} {error.strerror}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def _empty(tree: Tree) -> None:
    """Kill and reap until nothing is left; whoever waits for us has a deadline of its own."""
    while True:
        tree.kill_descendants()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    while tree.kill_strays():
        pass


def _remove(directory: str | None) -> None:
    """Remove the job's own directory: also where the daemon that made it is gone. Links are removed, not followed."""
    if directory is None:
        return
    for root, directories, files in os.walk(directory, topdown=False):
        for name in (*files, *directories):
            path = os.path.join(root, name)
            try:
                os.rmdir(path) if name in directories and not os.path.islink(path) else os.unlink(path)
            except OSError as error:
                sys.stderr.write(f"{path}: {error.strerror}\n")
    try:
        os.rmdir(directory)
    except OSError as error:
        sys.stderr.write(f"{directory}: {error.strerror}\n")


def _tell(number: int, frame: object) -> None:
    raise Told
