"""The environment that the user's login shell makes: node version managers and the like put themselves there only."""

from __future__ import annotations

import contextlib
import os
import pwd
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping

from phoenixd.lifeline import Lifeline

TIME_LIMIT = 5.0
REAPED_WITHIN = 1.0
CANNOT_RUN = (126, 127)
"""How a shell ends that cannot execute what it is to become."""
OUTPUT_LIMIT = 1 << 20
CHUNK = 1 << 16
_MARK = b"\0phoenixd-environment\0"


class LoginShellFailed(Exception):
    """The shell did not tell its environment; the message says why."""


def login_environment(environ: Mapping[str, str], time_limit: float = TIME_LIMIT) -> dict[str, str]:
    """Run `$SHELL -lic 'env -0'` once, in a session of its own; raises LoginShellFailed."""
    shell = environ.get("SHELL") or _users_shell()
    # The mark tells the variables from whatever the start-up files print. A shell on a mount that does not answer is
    # waited for by the one that becomes it: until a program is executed, all threads of this process stand still.
    becomes = ["/bin/sh", "-c", 'exec "$0" "$@"', shell]
    command = [*becomes, "-lic", "printf '\\0phoenixd-environment\\0'; exec env -0"]
    with contextlib.ExitStack() as until_over:
        try:
            lifeline = until_over.enter_context(Lifeline())
            process = subprocess.Popen(
                command,
                env=dict(environ),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(lifeline.theirs,),
            )
        except OSError as error:
            raise LoginShellFailed(f"{shell} cannot be run: {error.strerror}") from error
        try:
            lifeline.hold(process.pid)
            output = _end_of_output(process, time.monotonic() + time_limit)
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            raise LoginShellFailed(f"{shell} -lic did not answer within {time_limit:g} s") from error
        finally:
            # What a start-up file left in the background would hold the pipe, and has no business here.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            _let_go(process)
    _, marked, variables = output.rpartition(_MARK)
    if not marked and process.returncode in CANNOT_RUN:
        raise LoginShellFailed(f"{shell} cannot be run (exit {process.returncode})")
    if not marked:
        raise LoginShellFailed(f"{shell} -lic 'env -0' told no environment (exit {process.returncode})")
    return _read(variables)


def _users_shell() -> str:
    """The shell that the host has for this user, whom it may not know."""
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of one that was killed, but not for one that a mount holds; a later start reaps that."""
    assert process.stdout is not None
    process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAPED_WITHIN)


def _end_of_output(process: subprocess.Popen[bytes], until: float) -> bytes:
    """The last bytes that it prints; raises TimeoutError and TimeoutExpired. What comes before is not kept.

    A start-up file may print for ever, and as fast as a pipe takes it.
    """
    assert process.stdout is not None
    kept = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, until - time.monotonic())) and time.monotonic() < until:
            chunk = os.read(process.stdout.fileno(), CHUNK)
            if not chunk:
                process.wait(max(0.0, until - time.monotonic()))
                return bytes(kept[-OUTPUT_LIMIT:])
            kept += chunk
            if len(kept) > 2 * OUTPUT_LIMIT:
                del kept[:-OUTPUT_LIMIT]
    raise TimeoutError


def _read(variables: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable in variables.split(b"\0"):
        name, equals, value = variable.partition(b"=")
        if equals and name:
            found[os.fsdecode(name)] = os.fsdecode(value)
    return found
