"""A job: a program that runs once, outside any terminal, and leaves nothing behind.

Run as `PYTHON -I -S DIRECTORY --job [--parent PID] [--cwd DIRECTORY] [--setup JSON] ARGV...`, with PHOENIX_AGENT and
PHOENIX_RUN_ID set. The program gets a session of its own and our standard streams. When it has ended, or we are told to
(SIGTERM, or the death of our parent), all that it started is killed: we are its subreaper, so whatever detached itself
from it is our child. PID is the daemon's, which may have died before we asked the kernel to tell us of its end.
The program's process enters the directory, and the daemon does not ask for that when it starts us: until the disk of
the directory answered, all threads of the daemon would stand still.
The setup names a control group and a fence that the program runs in, and a directory that is removed with it. A group
that cannot be entered is gone without, unless it is `required`: the kernel lets nobody but root move a process from one
systemd unit into another. The tree ends with it or without it. `failure` is a descriptor that takes the number of the
error where the program cannot be run. `keeps_rank`: memory is taken from the program no sooner than from the daemon.
`spares`: what the program leaves behind lives on where the program ended by itself. A daemon may run the job of a newer
package: what is said here is added to, and not changed.
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
FIRST_TO_GO = 1000
"""The most that a process can say of itself for the kernel's choice of whom it kills for want of memory."""


class Told(BaseException):
    """Somebody wants the job to end."""


def main(argv: list[str]) -> int:
    """Run `argv` to its end; its exit code, 128 and more for a signal."""
    started_by, is_spared = os.getppid(), False
    signal.signal(signal.SIGTERM, _tell)
    launch.become_subreaper(b"phoenix-job")
    launch.end_with_parent(signal.SIGTERM)
    setup: dict[str, Any] = {}
    if argv[:1] == ["--parent"]:
        started_by, argv = int(argv[1]), argv[2:]
    cwd = None
    if argv[:1] == ["--cwd"]:
        cwd, argv = argv[1], argv[2:]
    if argv[:1] == ["--setup"]:
        setup, argv = json.loads(argv[1]), argv[2:]
    tree = Tree(os.environ.get("PHOENIX_AGENT", ""), os.environ.get("PHOENIX_RUN_ID", ""), setup.get("cgroup"))
    try:
        # It may have died before the line above.
        if os.getppid() != started_by:
            return TOLD
        code = _run(argv, setup, cwd)
        is_spared = setup.get("spares") is True
        return code
    except Told:
        return TOLD
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if not is_spared:
            _empty(tree)
        _remove(setup.get("directory"))


def _run(argv: list[str], setup: dict[str, Any], cwd: str | None) -> int:
    child = _started(argv, setup, cwd)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _started(argv: list[str], setup: dict[str, Any], cwd: str | None) -> int:
    """Fork, enter control group, fence and directory, and only then run the program; never without the fence."""
    around = fence.of(setup.get("fence"), lambda table, key: os.fsencode(table[key]))
    runner, failure = os.getpid(), setup.get("failure")
    if failure is not None:
        os.set_inheritable(failure, False)
    child = os.fork()
    if child != 0:
        return child
    code, is_inside = NOT_EXECUTABLE, False
    try:
        os.setsid()
        # Where the runner is killed, nobody is left to end the program.
        launch.end_with_parent(signal.SIGKILL)
        if os.getppid() != runner:
            os._exit(TOLD)
        if setup.get("keeps_rank") is not True:
            _go_first()
        if setup.get("cgroup") is not None:
            _join(setup["cgroup"], setup.get("required") is True)
        place = cwd or os.getcwd()
        if around is not None:
            fence.enter(around)
        os.chdir(place)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # The interpreter ignores them.
            signal.signal(number, signal.SIG_DFL)
        is_inside = True
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606  # A list of arguments, and no shell.
    except OSError as error:
        code = NOT_FOUND if is_inside and isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        where = f"{error.filename}: " if error.filename and not is_inside else ""
        os.write(2, f"{argv[0]}: {where}{error.strerror}\n".encode("utf-8", "replace"))
        if failure is not None:
            os.write(failure, str(error.errno).encode())
    finally:
        os._exit(code)


def _join(cgroup: str, is_required: bool) -> None:
    try:
        launch.join(cgroup)
    except OSError as error:
        if is_required:
            raise OSError(error.errno, error.strerror, cgroup) from error


def _go_first() -> None:
    """Where memory runs out, a job goes before any agent, and before the daemon whose rank it would inherit."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(FIRST_TO_GO))
    except OSError as error:
        # Some containers forbid it: then it is killed in its turn.
        os.write(2, f"oom_score_adj: {error.strerror}\n".encode())


def _empty(tree: Tree) -> None:
    """Kill and reap until nothing is left; our parent has a deadline of its own."""
    while True:
        tree.kill_group()
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
