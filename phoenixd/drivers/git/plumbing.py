"""git's plumbing, one command at a time: disarmed, bounded in time, memory and output, killed with all it started."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from phoenixd.lifeline import Lifeline

OUTPUT_LIMIT = 32 << 20
ERROR_LIMIT = 4096
GIVEN_LIMIT = 60_000
"""Bytes that a command may be given: less than a pipe holds."""
FATAL = "fatal: "
"""At the front of the line in which git says why it failed."""
REAPED_WITHIN = 1.0
"""Seconds for which one that was killed is waited for; a later process's start reaps it else."""
MEMORY_LIMIT = 1 << 30
"""Bytes of memory that a command may take. A repository can ask for any number: by a small object that unpacks to
gigabytes, or by a ref that is a link to /dev/zero."""

# The command line's settings win over the repository's, and environment variables over both.
DISARMED = {
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "i18n.logOutputEncoding": "UTF-8",
}
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # An empty list: no transport at all, whatever protocol.*.allow says. A missing object is not fetched.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # In one piece; what all pieces may come to is the limit of the process.
    "GIT_ALLOC_LIMIT": str(MEMORY_LIMIT),
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}

_TREE_RECORD = re.compile(rb"([0-7]{6}) [a-z]+ ([0-9a-f]{40,64})\t([^\0]*)\0")


class PlumbingFailed(Exception):
    """git did not answer; the message is for people. no_repository: because there is none. bare: no worktree is here.

    too_much: it said more than is read.
    """

    def __init__(self, message: str, no_repository: bool = False, bare: bool = False, too_much: bool = False) -> None:
        super().__init__(message)
        self.no_repository = no_repository
        self.bare = bare
        self.too_much = too_much


@dataclass(frozen=True, slots=True)
class Plumbing:
    """git in one directory, with one deadline (monotonic seconds) for all commands together."""

    directory: str
    deadline: float

    def lines(self, *arguments: str, accepted: Sequence[int] = (0,)) -> list[str]:
        return self.output(*arguments, accepted=accepted).decode("utf-8", "replace").split("\n")[:-1]

    def answers(self, count: int, *arguments: str) -> list[str]:
        """One line for each of `count` questions; raises PlumbingFailed where a path holds a line break."""
        told = self.lines(*arguments)
        if len(told) != count:
            raise PlumbingFailed("a path of the repository holds a line break, so git does not tell where it is")
        return told

    def fields(self, *arguments: str, cwd: str | None = None) -> list[bytes]:
        return self.output(*arguments, cwd=cwd).split(b"\0")[:-1]

    def output(
        self,
        *arguments: str,
        accepted: Sequence[int] = (0,),
        cwd: str | None = None,
        limit: int | None = None,
        given: bytes = b"",
    ) -> bytes:
        """Run one command and return what it wrote; raises PlumbingFailed. given: its input, at most GIVEN_LIMIT."""
        assert len(given) <= GIVEN_LIMIT
        settings = [part for name, value in DISARMED.items() for part in ("-c", f"{name}={value}")]
        # git enters the directory itself: until a program is executed all threads of this process stand still, and on a
        # disk that does not answer they would stand still for good.
        place = ("-C", cwd or self.directory)
        command = ["git", *place, "--no-pager", "--literal-pathspecs", *settings, *arguments]
        environment = {"PATH": _search_path(), **ENVIRONMENT}
        with contextlib.ExitStack() as until_over:
            try:
                lifeline = until_over.enter_context(Lifeline())
                process = subprocess.Popen(
                    command,
                    cwd="/",
                    env=environment,
                    stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=(lifeline.theirs,),
                )
            except OSError as error:
                raise PlumbingFailed(f"git cannot be run: {error.strerror}") from error
            until_over.callback(_let_go, process)
            try:
                lifeline.hold(process.pid)
                # Where that is not allowed git's own limit holds alone, and one that has ended needs none.
                with contextlib.suppress(OSError):
                    resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
                if process.stdin is not None:
                    _give(process.stdin, given)
                written, complaint = self._read(process, OUTPUT_LIMIT if limit is None else limit)
            except BaseException:
                _kill(process)
                raise
        if process.returncode in accepted:
            return written
        raise _failure(arguments[0], process.returncode, complaint.decode("utf-8", "replace"))

    def require_time(self) -> float:
        """The seconds that are left; raises PlumbingFailed when none is."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise PlumbingFailed("git did not answer in time")
        return left

    def _read(self, process: subprocess.Popen[bytes], limit: int) -> tuple[bytes, bytes]:
        assert process.stdout is not None
        assert process.stderr is not None
        written, complaint = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, (written, limit))
            selector.register(process.stderr, selectors.EVENT_READ, (complaint, ERROR_LIMIT))
            while selector.get_map():
                for key, _ in selector.select(self.require_time()):
                    file: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    sink, most = key.data
                    chunk = os.read(file.fileno(), 1 << 16)
                    if not chunk:
                        selector.unregister(file)
                    elif len(sink) + len(chunk) > most and sink is written:
                        raise PlumbingFailed("the repository has more files than can be counted", too_much=True)
                    elif len(sink) < most:
                        sink += chunk
        try:
            process.wait(self.require_time())
        except subprocess.TimeoutExpired as error:
            raise PlumbingFailed("git did not answer in time") from error
        return bytes(written), bytes(complaint)


def tree_entries(content: bytes) -> dict[bytes, tuple[int, bytes]]:
    """Read `ls-tree -r -z`: path -> mode and blob."""
    return {path: (int(mode, 8), bytes.fromhex(blob.decode())) for mode, blob, path in _TREE_RECORD.findall(content)}


def _search_path() -> str:
    """Where git is looked for: an entry that is no whole path, or empty, means the directory of the repository."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry)) or os.defpath


def _failure(command: str, code: int, complaint: str) -> PlumbingFailed:
    # At the front of its line alone: further on may stand the name of a directory, which an agent chose.
    fatal = next((line for line in complaint.splitlines() if line.startswith(FATAL)), "").removeprefix(FATAL)
    if fatal.startswith("not a git repository"):
        return PlumbingFailed("there is no git repository", no_repository=True)
    if fatal.startswith("detected dubious ownership"):
        return PlumbingFailed(
            "the repository belongs to another user, so git is not asked about it; run the daemon as its owner"
        )
    if fatal.startswith("this operation must be run in a work tree"):
        return PlumbingFailed("this is no worktree, but a repository's own directory", bare=True)
    first = next(iter(complaint.strip().splitlines()), f"exit {code}")
    return PlumbingFailed(f"git {command} failed: {first[:200]}")


def _give(file: IO[bytes], given: bytes) -> None:
    # A pipe takes this much at once, so nobody waits; a git that is gone by now says why by its exit.
    with contextlib.suppress(BrokenPipeError), file:
        file.write(given)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Close its pipes, and wait for the end of one that was killed, but not for one that a mount holds."""
    for file in (process.stdin, process.stdout, process.stderr):
        if file is not None:
            file.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAPED_WITHIN)


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The session is of its own, so the group is all that git started and that did not leave on purpose.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
