"""Daemons that begin warm: forked from one process that has imported phoenixd, which is nine tenths of a start's cost.

`popen` takes the place of subprocess.Popen for `Stage`, and `run` that of subprocess.run, for phoenixctl. A process so
begun has its own session, directory, umask, environment (but in /proc, where its parent's stands), files and command
line, and runs its module as `python -m` does. What only an interpreter's start reads cannot be given to a fork: where
it differs, the process begins cold. Run as a program, this is the process that forks. Where the tests have workers, it
is begun before them, and each worker has a fork of it.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import errno
import importlib
import json
import os
import py_compile
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import IO, NoReturn

READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC_", "GLIBC_")
"""How the names of variables begin that an interpreter, or the libraries below it, read once."""
ROOM = 4096
"""Bytes for a command line, which a fork writes over its parent's."""
MESSAGE = 1 << 20
SOON_IMPORTED = (
    "phoenixd.ctl.command_line",
    "anyio._backends._asyncio",
    "anyio._core._signals",
    "libtmux",
    "uvicorn.lifespan.off",
)
"""What every daemon imports in its first second, and phoenixctl before its verb."""
PAUSE = 0.05
"""Seconds for which one that waits keeps the link from the others."""


def popen(
    argv: Sequence[str],
    *,
    stdin: int | IO[bytes],
    stdout: IO[bytes],
    stderr: IO[bytes],
    start_new_session: bool,
    env: Mapping[str, str],
    cwd: Path | None = None,
) -> subprocess.Popen[bytes] | Forked:
    """Start `python -m MODULE ...` in a session of its own, warm where that makes no difference; stdin: also a file."""
    assert start_new_session
    # A fork imports nothing from where it stands, with -P or without.
    plain = [argv[0], *argv[2:]] if argv[1] == "-P" else list(argv)
    is_plain = plain[:2] == [sys.executable, "-m"] and len("\0".join(plain).encode()) < ROOM
    forker = _forker()
    if not is_plain or sys.flags.safe_path or _read_at_start(env) != forker.begun_with:
        return subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, env=env, cwd=cwd
        )
    files = [stdout.fileno(), stderr.fileno(), *([] if isinstance(stdin, int) else [stdin.fileno()])]
    return forker.fork(plain, files, dict(env), os.fspath(cwd or Path.cwd()))


def begin(module: str, *arguments: str, files: list[int], env: Mapping[str, str], cwd: Path | None) -> Forked:
    """Start `python -m MODULE ...` warm, whatever it would read at its start; files: its output, errors and input."""
    argv = [sys.executable, "-m", module, *arguments]
    return _forker().fork(argv, files, dict(env), os.fspath(cwd or Path.cwd()))


def run(
    argv: Sequence[str], *, capture_output: bool, text: bool, check: bool, input: str | None, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ...` to its end, warm where that makes no difference."""
    assert capture_output
    assert text
    assert not check
    if any(name.startswith("PHOENIX_") for name in env):  # Whom it speaks for, the daemon may read in /proc.
        return subprocess.run(argv, capture_output=True, text=True, check=False, input=input, env=env)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((input or "").encode())
        given.seek(0)
        process = popen(argv, stdin=given, stdout=out, stderr=err, start_new_session=True, env=env)
        code = process.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read().decode(), err.read().decode())


def prepare() -> None:
    """Begin the two that fork before the workers are, for an import in each of them would cost as much again."""
    while len(_both) < 2:
        _both.append(Forker())


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


class Forked:
    """A forked daemon with the part of subprocess.Popen that tests use."""

    def __init__(self, forker: Forker, pid: int, pidfd: int | None) -> None:
        self.pid, self._forker, self._pidfd = pid, forker, pidfd
        self.returncode: int | None = None

    async def ended(self) -> int:
        """The same as `wait`, for who has an event loop to go on with."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        if self._pidfd is not None:
            loop.add_reader(self._pidfd, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(self._pidfd)
        return self.wait()

    def poll(self) -> int | None:
        if self.returncode is None:
            self._forker.hear(0)
            self._settle()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(f"daemon {self.pid}", timeout or 0)
            self._forker.hear(PAUSE if left is None else min(PAUSE, left))
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None and self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                return

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _settle(self) -> None:
        self.returncode = self._forker.ended.pop(self.pid, None)
        if self.returncode is not None and self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


class Forker:
    """The test's end of the process that forks. `ended` has the exit codes that nobody has asked for yet."""

    def __init__(self, trunk: Forker | None = None) -> None:
        self.owner = os.getpid()
        self.ended: dict[int, int] = {}
        self._born: list[int] = []
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            if trunk is None:
                self.begun_with = _read_at_start(os.environ)
                self._process = self._begin(theirs)
                self._pidfd = os.pidfd_open(self._process.pid)
            else:
                self.begun_with = trunk.begun_with
                socket.send_fds(trunk._link, [b"{}"], [theirs.fileno()])
        if trunk is not None:
            self._pidfd = os.pidfd_open(json.loads(self._link.recv(MESSAGE))["pid"])
        atexit.register(self.close)

    def _begin(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        # None of a test's own variables: what looks for a test's processes would find this one.
        env = {**self.begun_with, "PATH": os.environ.get("PATH", os.defpath)}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno()), "-" * ROOM],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=env,
            cwd=Path(__file__).parents[1], start_new_session=True,
        )  # fmt: skip

    def fork(self, argv: Sequence[str], files: list[int], env: dict[str, str], cwd: str) -> Forked:
        order = {"argv": list(argv), "env": env, "cwd": cwd, "umask": _umask()}
        with self._lock:
            socket.send_fds(self._link, [json.dumps(order).encode()], files)
            while not self._born:
                self.hear(None)
            pid = self._born.pop()
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        try:
            return Forked(self, pid, os.pidfd_open(pid))
        except ProcessLookupError:  # It has ended at once, and what it ended with is on its way.
            return Forked(self, pid, None)

    def hear(self, timeout: float | None) -> None:
        """Take what the process tells: all of it that is there, after at most `timeout` seconds."""
        with self._lock:
            while select.select([self._link], [], [], timeout)[0]:
                said = self._link.recv(MESSAGE)
                if not said:
                    raise RuntimeError("the process that forks daemons has ended; its reason is on standard error")
                told = json.loads(said)
                if "code" in told:
                    self.ended[told["pid"]] = told["code"]
                else:
                    # A number comes again: what another daemon ended with is no word of this one.
                    self.ended.pop(told["pid"], None)
                    self._born.append(told["pid"])
                timeout = 0

    @property
    def lives(self) -> bool:
        return not select.select([self._pidfd], [], [], 0)[0]

    def close(self) -> None:
        if os.getpid() == self.owner:
            self._link.close()
            select.select([self._pidfd], [], [])
            os.close(self._pidfd)
            if self._process is not None:
                self._process.wait()


_both: list[Forker] = []
"""By turns: each has a hash seed of its own, so that the daemon after a daemon orders its sets otherwise."""


def _forker() -> Forker:
    """One of two for each process of tests; a worker has a fork of those that it inherits, and none that is gone."""
    trunks = [one for one in _both if one.owner != os.getpid()]
    _both[:] = [one for one in _both if one.owner == os.getpid() and one.lives]
    _both.extend(Forker(trunk) for trunk in trunks if trunk.lives)
    _both.append(Forker() if len(_both) < 2 else _both.pop(0))
    return _both[-1]


def _umask() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Umask:")), 8)


# --- The process that forks ------------------------------------------------------------------------------------------


def serve(link: socket.socket) -> list[str] | None:
    """Fork as it is told, and tell how each ends; return its argv in each fork.

    None when the tests are over, or were killed: then what it forked is ended.
    """
    children: dict[int, int] = {}
    branches: list[int] = []
    while True:
        for ready in select.select([link, *children], [], [])[0]:
            if ready is not link:
                _, status = os.waitpid(children[ready], 0)
                pid = children.pop(ready)
                os.close(ready)
                if pid in branches:
                    branches.remove(pid)
                else:
                    _tell(link, pid=pid, code=os.waitstatus_to_exitcode(status))
                continue
            said, files, _, _ = socket.recv_fds(link, MESSAGE, 3)
            if not said:
                # Nobody is left to end them: a daemon would keep its agents at work for ever.
                for child, pid in children.items():
                    if pid not in branches:
                        signal.pidfd_send_signal(child, signal.SIGKILL)
                return None
            order = json.loads(said)
            try:
                pid = os.fork()
            except OSError as error:
                pid = -(error.errno or errno.EAGAIN)
            if pid == 0:
                for child in children:
                    os.close(child)
                if order:
                    return become(order, files)
                os.dup2(files[0], link.fileno(), inheritable=False)
                os.close(files[0])
                children, branches = {}, []
                os.setsid()
                _tell(link, pid=os.getpid())
                break
            for file in files:
                os.close(file)
            if pid > 0:
                children[os.pidfd_open(pid)] = pid
            if order:
                _tell(link, pid=pid)
            elif pid > 0:
                branches.append(pid)


def _tell(link: socket.socket, **told: int) -> None:
    try:
        link.send(json.dumps(told).encode())
    except BrokenPipeError:
        return  # The tests are over: the next look at the link says so.


def become(order: Mapping[str, object], files: Sequence[int]) -> list[str]:
    """Make this fork the process that was ordered; return its argv."""
    os.setsid()
    for number, file in zip((1, 2, 0), files, strict=False):
        os.dup2(file, number)
        os.close(file)
    argv, env = order["argv"], order["env"]
    assert isinstance(argv, list)
    assert isinstance(env, dict)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(str(order["cwd"]))
    sys.path[0] = os.getcwd()
    os.umask(int(str(order["umask"])))
    _show(argv)
    return argv


def _show(argv: list[str]) -> None:
    """Write a command line over this process's own, as ps and /proc show it."""
    begin, end = (int(field) for field in Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    line = b"\0".join(word.encode() for word in argv)
    ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)


def make_ready() -> None:
    """Make what every daemon makes at its start, and all alike: what becomes of types, tables and paths."""
    from starlette.routing import compile_path

    from phoenixd.api.operations import served
    from phoenixd.config.configuration import read_configuration
    from phoenixd.core.agent import Agent
    from phoenixd.core.tasks.state import Tasks
    from phoenixd.core.treatment.case import Cases
    from phoenixd.documents import codec

    for kind in (Agent, Tasks, Cases):
        codec._decoder(kind)
    for operation in served():
        compile_path(str(operation.path))
    read_configuration(None, Path(os.devnull), {})


def compile_shims() -> None:
    """Have each copy of the shim that a fork makes hold its compiled modules, which its first shim would write there.

    The interpreter takes each only for the source that it was made of.
    """
    from phoenixd.installed import SOURCE, Installed

    compiled: dict[str, bytes] = {}
    for source in SOURCE.glob("*.py"):
        with tempfile.NamedTemporaryFile() as made:
            py_compile.compile(
                str(source), made.name, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
            )
            compiled[cache_from_source(source.name)] = Path(made.name).read_bytes()
    stand = Installed.stand

    def stand_compiled(copy: Installed) -> bool:
        is_made = stand(copy)
        for name, content in compiled.items() if is_made else ():
            (copy.shim / name).touch(mode=0o600)
            (copy.shim / name).write_bytes(content)
        return is_made

    Installed.stand = stand_compiled  # type: ignore[method-assign]


def end(code: int) -> NoReturn:
    """End as an interpreter does, but for freeing what was imported, which takes a fork longer than its start did."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    for module in ("phoenixd.__main__", *SOON_IMPORTED):
        importlib.import_module(module)
    make_ready()
    compile_shims()
    # It is about to run, and runpy would warn of what is imported already.
    del sys.modules["phoenixd.__main__"]
    with socket.socket(fileno=int(sys.argv[1])) as link:
        argv = serve(link)
    if argv is None:
        return
    sys.argv = argv[2:]
    del argv
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        if not isinstance(ending.code, int | None):
            raise
        code = ending.code or 0
    else:
        code = 0
    end(code)


if __name__ == "__main__":
    main()
