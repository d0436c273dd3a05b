"""From an order to a running program: fork, everything that must hold before the first instruction, exec.

The child reports through a pipe that exec closes: EXECUTING and then the end is success, anything behind it is why not.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # No stubs: it is not for everybody.
import ctypes
import errno
import os
import signal
import stat

import fence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from order import Order

EXECUTING = b"x"
MAX_SHOWN = 512
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
MAX_ARGUMENT = 131072  # The kernel's MAX_ARG_STRLEN, with the NUL at the end.
MOST_OF_A_PATH = 1000  # A pipe takes so much at once.
NOT_FOUND, NOT_EXECUTABLE, NOT_TRIED = 127, 126, 0  # The first two as a shell has them.

SYS_CLONE3 = 435  # The same number on every architecture.
CLONE_INTO_CGROUP = 0x200000000
RESETTABLE = tuple(int(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
DEFAULT, SET_MASK = int(signal.SIG_DFL), int(signal.SIG_SETMASK)
ALL_SIGNALS = signal.valid_signals()

_prctl = ctypes.CDLL(None, use_errno=True).prctl
# The interpreter's lock is kept: the child comes out of this call as well, and has nobody to take it back from.
_syscall = ctypes.PyDLL(None, use_errno=True).syscall


class _CloneArguments(ctypes.Structure):
    """struct clone_args of linux/sched.h, in its second version."""

    _names = (
        "flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls", "set_tid",
        "set_tid_size", "cgroup",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_uint64) for name in _names]  # ctypes reads it once.


def end_with_parent(number: int) -> None:
    """Have the kernel send this signal when the caller's parent is gone."""
    if _prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


class StartFailure:
    """Why a program did not start: `code` as a shell would exit, 0 where it was not the program's fault.

    stage: what the child was at, where a daemon asks for that. way: the path that stood in the way of its directory.
    """

    __slots__ = ("code", "errno_name", "message", "stage", "way")

    def __init__(self, code: int, errno_name: str, message: str, stage: str = "", way: str = "") -> None:
        self.code = code
        self.errno_name = errno_name
        self.message = message
        self.stage = stage
        self.way = way


def become_subreaper(name: bytes) -> None:
    """Make the caller the parent of every orphan below it, and give it a name that `ps` shows."""
    if _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    _prctl(PR_SET_NAME, name, 0, 0, 0)


def launch(order: Order, terminal_fd: int | None) -> tuple[int, int]:
    """Fork the agent; returns its pid and the report pipe, which the caller reads to its end. Raises OSError."""
    report_fd, child_report_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    shim = os.getpid()
    # A signal to the child before its exec would run in this program's handlers, and write into this program's pipe.
    signal.pthread_sigmask(signal.SIG_SETMASK, ALL_SIGNALS)
    try:
        pid, is_inside = _fork(order.cgroup)
        if pid == 0:
            _run_child(order, terminal_fd, child_report_fd, shim, is_inside)
    except OSError:
        os.close(report_fd)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.close(child_report_fd)
    return pid, report_fd


def explain(report: bytes, order: Order) -> StartFailure | None:
    """What the whole report says; None for success."""
    if report == EXECUTING:
        return None
    stage, _, number = report.removeprefix(EXECUTING).rpartition(b" ")
    stage, _, where = stage.partition(b" ")
    if not number:
        return StartFailure(NOT_TRIED, "EINTR", "killed before the program was started")
    code = int(number)
    name, why = errno.errorcode.get(code, "EIO"), os.strerror(code)
    program = _shown(order.argv[0])
    if stage == b"cwd":
        way = _in_the_way(order.cwd, code)
        return StartFailure(NOT_TRIED, name, _not_entered(_shown(order.cwd), code, way), "cwd", way)
    if stage == b"cgroup":
        return StartFailure(NOT_TRIED, name, f"control group {order.cgroup}: {why}; not started without its fence")
    if stage == b"fence":
        return StartFailure(NOT_EXECUTABLE, name, f"fence: {_shown(where)}: {why}; not started without it")
    if stage != b"exec":
        return StartFailure(NOT_TRIED, name, f"{stage.decode()}: {why}", stage.decode())
    if code == errno.E2BIG:
        return StartFailure(NOT_EXECUTABLE, name, f"{program}: {_what_is_too_long(order)}")
    if code in (errno.ENOENT, errno.ENOTDIR):
        if b"/" in order.argv[0] and os.path.exists(os.path.join(order.cwd, order.argv[0])):
            return StartFailure(NOT_FOUND, name, f"{program}: it is there, but the interpreter that it names is not")
        return StartFailure(NOT_FOUND, name, f"{program}: command not found")
    return StartFailure(NOT_EXECUTABLE, name, f"{program}: {why}")


def _fork(cgroup: str | None) -> tuple[int, bool]:
    """Fork, where the kernel can straight into a control group, and whether the child is in it.

    Moving a process there afterwards waits for all of the kernel's readers, 10 ms and more; to be born there takes
    none of it. Whatever is wrong with the group is found, and said, by a child that then tries to move.
    """
    if cgroup is not None:
        try:
            fd = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return os.fork(), False
        try:
            arguments = _CloneArguments(flags=CLONE_INTO_CGROUP, exit_signal=signal.SIGCHLD, cgroup=fd)
            # With one thread, and nothing but an exec to come, the child needs nothing that os.fork() puts right.
            pid = _syscall(SYS_CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
        finally:
            os.close(fd)
        if pid >= 0:
            return pid, True
    return os.fork(), False


def _run_child(order: Order, terminal_fd: int | None, report_fd: int, shim: int, is_inside: bool) -> None:
    """Never returns, and never lets an exception climb into the parent's code."""
    stage = b"setup"
    try:
        if _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        if os.getppid() != shim:  # It died before the line above could have told.
            os._exit(1)
        os.setpgid(0, 0)
        stage = b"terminal"
        if terminal_fd is not None:
            os.tcsetpgrp(terminal_fd, os.getpid())
        stage = b"cgroup"
        if order.cgroup is not None and not is_inside:
            join(order.cgroup)
        stage = b"fence"
        if order.fence is not None:
            fence.enter(order.fence)
        stage = b"cwd"
        os.chdir(order.cwd)
        stage = b"signals"
        _reset_signals()
        stage = b"exec"
        os.write(report_fd, EXECUTING)
        _execute(order)
    except OSError as error:
        if stage == b"fence":
            stage += b" " + os.fsencode(str(error.filename))[:MOST_OF_A_PATH].replace(b" ", b"_")
        os.write(report_fd, b"%s %d" % (stage, error.errno or errno.EIO))
    except BaseException:  # noqa: BLE001  # Two processes must never run the same loop.
        os.write(report_fd, b"%s %d" % (stage, errno.EINVAL))
    finally:
        os._exit(NOT_FOUND)


def join(cgroup: str) -> None:
    """Move the caller into a control group; raises OSError."""
    fd = os.open(f"{cgroup}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.write(fd, b"0")
    finally:
        os.close(fd)


def _reset_signals() -> None:
    """Default dispositions and an empty mask: an agent must not inherit what its starters ignored or blocked.

    By the functions below those of `signal`, which make enums of what they return, in memory that is copied for it.
    """
    for number in RESETTABLE:
        _signal.signal(number, DEFAULT)
    _signal.set_wakeup_fd(-1)
    _signal.pthread_sigmask(SET_MASK, ())


def _execute(order: Order) -> None:
    """Like execvpe, with the PATH of the order and, as everywhere here, bytes; raises OSError."""
    program = order.argv[0]
    if b"/" in program:
        os.execve(program, order.argv, order.environment)  # noqa: S606  # A list of arguments, and no shell.
    denied: OSError | None = None
    for directory in order.environment.get(b"PATH", os.defpath.encode()).split(b":"):
        path = os.path.join(directory or b".", program)
        try:
            os.execve(path, order.argv, order.environment)  # noqa: S606  # A list of arguments, and no shell.
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            # A directory of that name, or one on PATH that may not be searched, is no program that was found.
            if _is_file(path):
                denied = denied or error
    raise denied or FileNotFoundError(errno.ENOENT, "not on PATH")


def _is_file(path: bytes) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _what_is_too_long(order: Order) -> str:
    for index, argument in enumerate(order.argv):
        if len(argument) >= MAX_ARGUMENT:
            return f"argument {index} has {len(argument)} bytes, Linux takes at most {MAX_ARGUMENT - 1} in one"
    for name, value in order.environment.items():
        if len(name) + len(value) + 1 >= MAX_ARGUMENT:
            return f"the variable {_shown(name)} has {len(value)} bytes, Linux takes at most {MAX_ARGUMENT - 1} in one"
    return "arguments and environment together are longer than Linux takes"


def _not_entered(place: str, code: int, way: str) -> str:
    """Why a working directory could not be entered."""
    if code == errno.ENOENT:
        return f"the directory {place} is missing" + (f": the link {way} points to nothing" if way else "")
    why = f"{way} is no directory" if code == errno.ENOTDIR and way else os.strerror(code)
    return f"the directory {place} cannot be entered: {why}"


def _in_the_way(cwd: bytes, code: int) -> str:
    """The path in place of the directory, or of one above it; empty where nothing is, or the error is no such one."""
    if code not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM):
        return ""
    at = cwd
    while at.strip(b"/") and not os.path.lexists(at):
        at = os.path.dirname(at.rstrip(b"/"))
    is_closed = code in (errno.EACCES, errno.EPERM)
    if len(at) > MAX_SHOWN or (os.path.isdir(at) and not is_closed):
        return ""  # The first half of a long path is another path, and may be there.
    return _shown(at)


def _shown(text: bytes) -> str:
    return text[:MAX_SHOWN].decode("utf-8", "replace")
