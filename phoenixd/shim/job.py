"""A job: a program that runs once, outside any terminal, and of which nothing stays behind.

Run as `PYTHON -I -S DIRECTORY --job ARGV...`, with PHOENIX_AGENT and PHOENIX_RUN_ID set. The program gets a session of
its own and our standard streams. When it has ended, or we are told to (SIGTERM, or the death of whoever started us),
all that it started is killed: we are its subreaper, so whatever detached itself from it is our child.
"""

from __future__ import annotations

import os
import signal
import sys

import launch
from tree import Tree

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
    try:
        # It may have died before the line above.
        return TOLD if os.getppid() != started_by else _run(argv)
    except Told:
        return TOLD
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _empty(tree)


def _run(argv: list[str]) -> int:
    try:
        child = os.posix_spawnp(argv[0], argv, os.environ, setsid=True, setsigdef=[signal.SIGPIPE], setsigmask=[])
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


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


def _tell(number: int, frame: object) -> None:
    raise Told
