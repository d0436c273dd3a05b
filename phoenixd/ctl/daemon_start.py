"""`up` and `down`: start a daemon that outlives this terminal, and end it."""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from phoenixd import log_file
from phoenixd.api import exits
from phoenixd.ctl import absence, calls, holders, local_doctor, second_daemon, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.directories import Directories, are_named, check_socket_paths, find_directories, make_private, start_again
from phoenixd.drivers.files.ownership import ending, examine
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError
from phoenixd.remedies import then
from phoenixd.runs import ASK, forbids_daemon

START_TIMEOUT = 30.0
END_TIMEOUT = 90.0
LOOK_EVERY = 0.02
LOG_TAIL = 4096
PATIENCE = 1.0
"""Seconds for which a daemon that ends just now is waited for."""
OF_ANOTHER = "phoenixctl --socket RUNTIME_DIR/api.sock down"
"""How a daemon is ended that is not the one of this shell."""


def up(command: Command) -> int:
    """Make sure that the daemon answers which the options name, or the one of the default places."""
    try:
        wanted = directories_of(command)
        check_socket_paths(wanted.runtime)
    except ConfigurationError as error:
        return refuse(exits.USAGE, error.message, error.remedy or "phoenixctl up --help")
    if (forbidden := _forbidden(command, wanted)) is not None:
        return refuse(exits.CONFLICT, forbidden, ASK)
    places, was_there = _places(command, wanted), wanted.state.exists()
    # One that was told to end may answer for a moment still.
    is_ending = ending(wanted.runtime) is not None
    answer, is_new = None if is_ending else _version(places), False
    if answer is None and not is_ending and absence.listens(places):
        return absence.explain(places)
    if answer is None:
        if (refused := _of_another_state(command, wanted)) is not None:
            return refuse(exits.CONFLICT, *refused)
        twice = None if is_ending or command.given.get("config") else second_daemon.keeps_them_already(wanted)
        if twice is not None:
            return refuse(exits.CONFLICT, *twice)
        if (code := start(command)) != 0:
            return code
        places, is_new = [_socket(wanted)], True
        answer = _version(places)
        if answer is None:
            return absence.explain(places)
    if answer.status != 200:
        return calls.tell(command, answer)
    reach = [] if _is_found(wanted) else ["--socket", os.fsdecode(_socket(wanted))]
    if not is_new and (differing := _differences(command, wanted, answer)):
        named = ", ".join(map(os.fsdecode, places))
        why = "\n".join([f"another phoenixd runs there (pid {_pid(answer)}, asked at {named}):", *differing])
        end = shlex.join(["phoenixctl", *reach, "down"])
        return refuse(exits.CONFLICT, why, f"end it with: {end}; or give both --state-dir and --runtime-dir")
    see = shlex.join(["phoenixctl", *reach, "status"])
    print(f"phoenixd is up{'' if is_new else ' already'}, pid {_pid(answer)}. See: {see}")
    if is_new and not was_there and (reach or command.given.get("state_dir")):
        print(second_daemon.introduced(_socket(wanted), wanted))
    return 0


def down(command: Command) -> int:
    """End the daemon; returns when its process is gone, so that another one may start."""
    answer = calls.ask(command, calls.operation("version"), {}, as_json=True)
    held = _hold(answer)
    try:
        answer = calls.ask(command, command.operation, command.given)
        if answer is None:
            return _no_answer(calls.places(command), ends_agents=bool(command.given.get("agents")))
        code = calls.tell(command, answer)
        if code != 0 or held is None or _ends(held, END_TIMEOUT):
            return code
        return refuse(exits.TIMED_OUT, f"phoenixd has not ended after {END_TIMEOUT:.0f} s", "phoenixctl doctor")
    finally:
        if held is not None:
            os.close(held)


def _no_answer(places: list[bytes], *, ends_agents: bool) -> int:
    """Say who does not answer: nobody, or one that lives on until its journal is written. Only a daemon ends agents."""
    for place in places:
        runtime = Path(os.fsdecode(os.path.dirname(place)))
        if (pid := ending(runtime)) is not None:
            again = absence.start_of_named([place])
            why = f"phoenixd (pid {pid}) was told to end, and has not ended yet: its journal is still being written"
            return refuse(exits.UNREACHABLE, why, f"to wait for that, and start another one: {again}")
    found = absence.absence(places, "phoenixctl down --agents" if ends_agents else "")
    if found.runs is None or (found.runs and ends_agents):
        return refuse(found.code, found.why, found.remedy)
    # Who typed `down && up` has to learn that nothing was started.
    begin = f"to start phoenixd: {found.remedy}"
    if found.runs:
        both = absence.absence(places, "phoenixctl down --agents").remedy
        return refuse(found.code, found.why, f"{begin}; to end the agents as well: {both}")
    asked = ", ".join(map(os.fsdecode, places))
    why = f"nothing runs: neither phoenixd nor any of its agents is there, so there is nothing to end\nasked at {asked}"
    return refuse(found.code, why, f"{begin}; to end one that runs elsewhere: {OF_ANOTHER}")


def _hold(answer: wire.Answer | None) -> int | None:
    """The daemon's process by a pidfd; None where it cannot be seen, as from another container."""
    if answer is None or answer.status != 200:
        return None
    try:
        return os.pidfd_open(int(_pid(answer)))
    except (OSError, ValueError):
        return None


def _ends(pidfd: int, timeout: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


def start(command: Command) -> int:
    """Start the daemon in a session of its own, its output in STATE_DIR/phoenixd.log; returns when it answers."""
    given = command.given
    try:
        directories = directories_of(command)
        if (forbidden := _forbidden(command, directories)) is not None:
            return refuse(exits.CONFLICT, forbidden, ASK)
        _await_end(directories)
    except ConfigurationError as error:
        return refuse(exits.USAGE, error.message, error.remedy or "phoenixctl up --help")
    except AlreadyRunning as owner:
        if not owner.ending and holders.without_socket([_socket(directories)]):
            return absence.explain([_socket(directories)])
        return refuse(exits.TIMED_OUT if owner.ending else exits.CONFLICT, owner.message, owner.remedy)
    except PhoenixdError as error:
        return refuse(exits.FAILED, error.message, error.remedy)
    terminal = local_doctor.terminal()
    if not isinstance(terminal, str):
        why = f"{terminal.title}: {terminal.detail}" if terminal.detail else terminal.title
        return refuse(exits.FAILED, why, then(terminal.remedy, "phoenixctl up"))
    try:
        make_private(directories.state)
        log_path = directories.state / log_file.NAME
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        why = f"the state directory cannot be used: {error.filename or directories.state}: {error.strerror}"
        return refuse(exits.FAILED, why, "phoenixctl up --state-dir DIR")
    began = os.fstat(log).st_size
    # -P, as in the unit: else Python may import a file of the directory in which this is typed.
    argv = [sys.executable, "-P", "-m", "phoenixd"]
    for flag in ("config", "state_dir", "runtime_dir"):
        if given.get(flag):
            argv += [f"--{flag.replace('_', '-')}", os.path.abspath(given[flag])]
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=_environment(command),
    )
    os.close(log)
    code, said = _await_answer(process, directories, os.fspath(log_path), began)
    if not said:
        return code
    if code == exits.CONFLICT:
        return refuse(code, said, "ask that one, or choose other directories: --state-dir, --runtime-dir")
    if code == exits.FAILED:
        return refuse(code, said, _remedy_of_an_end(command, directories))
    return refuse(code, said, "phoenixctl status")


def _remedy_of_an_end(command: Command, directories: Directories) -> str:
    """What helps where a daemon ended at once: of what is wrong with the configuration alone its check knows more."""
    from phoenixd.config import read_configuration

    given, environ = command.given, _environment(command)
    if read_configuration(directories.configuration, directories.state, environ).errors:
        named = ["--config", given["config"]] if given.get("config") else []
        return shlex.join(["phoenixctl", "config", "check", *named])
    if os.statvfs(directories.state).f_bavail == 0:
        look = shlex.join(["df", "-h", os.fspath(directories.state)])
        return f"free space there ({look}), then: {start_again(os.environ, directories)}"
    return f"what it says, then: {start_again(os.environ, directories)}"


def _await_end(directories: Directories) -> None:
    """Return when the directories are free, where need be after a daemon has ended that is about to.

    Raises AlreadyRunning where they are not.
    """
    deadline, is_told = time.monotonic() + END_TIMEOUT, False
    while True:
        try:
            return examine(directories.state, directories.runtime, PATIENCE)
        except AlreadyRunning as owner:
            if not owner.ending:
                raise
            if time.monotonic() >= deadline:
                why = f"{owner.message}, and has not ended after {END_TIMEOUT:.0f} s"
                raise AlreadyRunning(why, "phoenixctl up", ending=True) from None
            if not is_told:
                print(f"{owner.message}. Waiting until it has ended, for {END_TIMEOUT:.0f} s", file=sys.stderr)
            is_told = True


def directories_of(command: Command) -> Directories:
    """The directories of the daemon that is meant; raises ConfigurationError."""
    given = command.given
    return find_directories(
        _environment(command),
        configuration=given.get("config"),
        state=given.get("state_dir"),
        runtime=given.get("runtime_dir"),
    )


def _forbidden(command: Command, wanted: Directories) -> str | None:
    """Why this daemon may not be started from here: this is inside the run of an agent."""
    given = command.given
    named = are_named(_environment(command), given.get("state_dir"), given.get("runtime_dir"))
    return forbids_daemon(wanted.state, wanted.runtime, named=named)


def _of_another_state(command: Command, wanted: Directories) -> tuple[str, str] | None:
    """Why the daemon of the socket that was named is not begun on this state directory, and what begins it."""
    given, named = command.given, command.socket or os.environ.get("PHOENIX_SOCKET")
    if not named or given.get("state_dir") or given.get("runtime_dir") or wire.names_state(wire.environment()):
        return None
    remedy = absence.other_state(named, wanted.state)
    return (f"the phoenixd of {named} keeps another state directory than {wanted.state}", remedy) if remedy else None


def of_this_run(command: Command) -> str | None:
    """Why nothing may be added to the daemon that is meant: it watches over the run that this command is inside of."""
    try:
        wanted = directories_of(command)
    except ConfigurationError:
        return None
    return forbids_daemon(wanted.state, wanted.runtime, named=True)


def _socket(directories: Directories) -> bytes:
    return os.fsencode(directories.runtime / "api.sock")


def _is_found(wanted: Directories) -> bool:
    """Whether phoenixctl finds that daemon where nothing is named on its command line."""
    found = next((one for one in wire.sockets(wire.environment()) if absence.listens([one])), b"")
    return os.path.realpath(found) == os.path.realpath(_socket(wanted))


def _places(command: Command, wanted: Directories) -> list[bytes]:
    """Where the daemon that is meant may listen: directories that are named mean its own alone."""
    if command.given.get("state_dir") or command.given.get("runtime_dir"):
        return [_socket(wanted)]
    return calls.places(command)


def _version(places: list[bytes]) -> wire.Answer | None:
    path = calls.operation("version").path
    assert path is not None
    return wire.ask(places, "GET", path, as_json=True)


def _differences(command: Command, wanted: Directories, answer: wire.Answer) -> list[str]:
    """What was named and is another one in the daemon that answers, a line each."""
    its_own = json.loads(answer.body).get("directories")
    if not isinstance(its_own, dict):
        its_own = {}  # An older phoenixd, which does not say.
    is_state_named = command.given.get("state_dir") or wire.names_state(wire.environment())
    named = {
        "configuration": wanted.configuration if command.given.get("config") else None,
        "state": wanted.state if is_state_named else None,
    }
    return [
        f"  {label}: {path} was asked for, that one has {its_own.get(label) or 'none that it tells'}"
        for label, path in named.items()
        if path is not None and os.path.realpath(path) != os.path.realpath(str(its_own.get(label) or "/dev/null"))
    ]


def _await_answer(
    process: subprocess.Popen[bytes], directories: Directories, log_path: str, began: int
) -> tuple[int, str]:
    """The exit code, and what is to be said of a daemon that does not answer."""
    place = [_socket(directories)]
    deadline = time.monotonic() + START_TIMEOUT
    died = os.pidfd_open(process.pid)
    try:
        while time.monotonic() < deadline:
            if _answers(place):
                process.returncode = 0  # It lives on without us: nobody here is to wait for it.
                return 0, ""
            if _ends(died, LOOK_EVERY):
                code = process.wait()
                said = _tail(log_path, began)
                why = f"phoenixd ended at once, exit code {code}; it said:\n{said}" if said else _unsaid(code, log_path)
                return (code if code == exits.CONFLICT else exits.FAILED), why
    finally:
        os.close(died)
    return exits.TIMED_OUT, f"phoenixd was started (pid {process.pid}) and does not answer yet; its log is {log_path}"


def _unsaid(code: int, log_path: str) -> str:
    """Why a daemon left nothing in its log; a disk that is full is the reason that keeps it from saying so."""
    place = os.path.dirname(log_path)
    why = f"the disk of {place} is full" if os.statvfs(place).f_bavail == 0 else f"{log_path} has nothing of it"
    return f"phoenixd ended at once, exit code {code}, without a word: {why}"


def _answers(places: list[bytes]) -> bool:
    answer = wire.ask(places, "GET", "/healthz", as_json=True, timeout=2.0)
    return answer is not None and answer.status == 200


def _environment(command: Command) -> dict[str, str]:
    """What the daemon gets. A socket that was named says where it is to listen."""
    environ = dict(os.environ)
    named = command.socket or environ.get("PHOENIX_SOCKET")
    if named and not command.given.get("runtime_dir") and os.path.basename(named) == "api.sock":
        environ["PHOENIX_RUNTIME_DIR"] = os.path.dirname(os.path.abspath(named))
    return environ


def _tail(log_path: str, began: int) -> str:
    with open(log_path, "rb") as log:
        size = os.fstat(log.fileno()).st_size
        # A log that grew too large is begun anew.
        log.seek(max(began if began <= size else 0, size - LOG_TAIL))
        return log.read(LOG_TAIL).decode("utf-8", "replace").rstrip()


def _pid(answer: wire.Answer) -> Any:
    return json.loads(answer.body)["pid"]
