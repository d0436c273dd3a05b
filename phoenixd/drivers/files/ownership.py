"""Who owns a state directory and a runtime directory. It is settled before anything else is touched.

A directory is owned by a lock on its inode, as long as the owner lives. Beyond that a runtime directory belongs to one
state directory, by a random id that stands in both: the shims below it take orders from nobody else. The loser changes
nothing at all, not a file, not a time stamp.
"""

from __future__ import annotations

import os
import shlex
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from phoenixd.directories import STATE_POINTER
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact
from phoenixd.drivers.files.left import left_behind
from phoenixd.drivers.files.lock import DirectoryLock, holder_of, is_ending
from phoenixd.drivers.files.owner import (
    Owner,
    is_foreign,
    original_of,
    owner_of,
    read_owner,
    same,
    settled,
    unreadable,
    write_owner,
)
from phoenixd.drivers.files.plain import ensure_private_dir, replace
from phoenixd.errors import AlreadyRunning, BelongsToAnother, PhoenixdError
from phoenixd.runs import is_locked, living_shims

T = TypeVar("T")
PASSING_PATIENCE = 30.0
"""Seconds for which somebody is waited for who holds a directory in passing, and has to write to a slow disk."""
LOOK_EVERY = 0.01
NAMED = 5
"""Agents that a refusal names."""
LONGEST_COMMAND = 120
"""Characters of a command line that a refusal shows."""

Hand = Callable[[str, str], str | None]
"""Hands the shim of an agent over to an owner's id; returns why it did not go, else None."""
Waiting = Callable[[AlreadyRunning], float]
"""Told why there is nothing to own yet; returns the seconds until the next look."""


class Ownership:
    """Both directories, until `release` or this process's end."""

    def __init__(self, locks: tuple[DirectoryLock, ...], owner: Owner, waited: bool) -> None:
        self._locks = locks
        self._again: DirectoryLock | None = None
        self.owner = owner
        self.waited = waited

    def keep(self) -> None:
        """Own the runtime directory again, where it was taken away and made anew; raises AlreadyRunning and OSError."""
        runtime = Path(self.owner.runtime)
        before = (self._again,) if self._again is not None else ()
        if any(lock.is_of(runtime) for lock in (*self._locks, *before)):
            return
        lock = DirectoryLock(runtime)
        try:
            lock.sign()
            write_owner(runtime, self.owner)
            replace(runtime / STATE_POINTER, os.fsencode(self.owner.state) + b"\n", durable=False)
        except BaseException:
            lock.release()
            raise
        # The one that was made anew before has no name any more: it would be held for nothing.
        for one in before:
            one.release()
        self._again = lock

    def say_ending(self) -> None:
        """Tell the daemons that wait for the directories that they will be free soon; raises OSError."""
        for lock in (*self._locks, *((self._again,) if self._again is not None else ())):
            lock.say_ending()

    def release(self) -> None:
        for lock in (*self._locks, *((self._again,) if self._again is not None else ())):
            lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def own(state: Path, runtime: Path, patience: float = 0.0, waiting: Waiting | None = None) -> Ownership:
    """Make both directories this process's own, and make them where they are missing.

    patience: seconds for which another owner is waited for; one in passing is waited for longer. waiting: wait for
    ever instead. Raises AlreadyRunning, which names the owner, BelongsToAnother, and PhoenixdError for what is wrong
    with a directory.
    """
    return _await(lambda waited: _own(state, runtime, waited), patience, waiting)


def examine(state: Path, runtime: Path, patience: float = 0.0) -> None:
    """Raise what `own` would raise, and change nothing."""

    def look(waited: bool) -> None:
        for lock in _lock_what_is_there(state, runtime, passing=True):
            lock.release()

    _await(look, patience, None)


def ending(runtime: Path) -> int | None:
    """The pid of the daemon that owns it, if it was told to end, and has not ended yet."""
    if not is_ending(runtime):
        return None
    try:
        # The word of one that was killed stays, and its pid may be another process's by now.
        return holder_of(runtime) if is_locked(os.fspath(runtime)) else None
    except OSError:  # A file system that locks no directories: then the word alone has to do.
        return holder_of(runtime)


def take(state: Path, runtime: Path, hand: Hand) -> tuple[list[str], dict[str, str]]:
    """Give the runtime directory to the state directory, its living shims first; no daemon may run on either.

    Returns the agents whose shims were handed over, and why the others were not; as long as there are others the
    runtime directory stays whose it is. Raises as `own` does.
    """
    try:
        return _take(state, runtime, hand)
    except OSError as error:
        raise PhoenixdError(f"the directories cannot be owned: {error}", "phoenixctl doctor") from error


def _take(state: Path, runtime: Path, hand: Hand) -> tuple[list[str], dict[str, str]]:
    locks = _lock_what_is_there(state, runtime, taking=True)
    try:
        owner = settled(state, runtime)
        _hold(state, runtime, locks)
        write_owner(state, owner)
        answers = {agent: hand(agent, owner.id) for agent in sorted(living_shims(runtime))}
        refused = {agent: why for agent, why in answers.items() if why is not None}
        if not refused:
            write_owner(runtime, owner)
            replace(runtime / STATE_POINTER, os.fsencode(state) + b"\n")
        return [agent for agent in answers if agent not in refused], refused
    finally:
        for lock in locks:
            lock.release()


def _await(attempt: Callable[[bool], T], patience: float, waiting: Waiting | None) -> T:
    """Try until it is done; `attempt` is told whether it was tried before."""
    began, waited = time.monotonic(), False
    while True:
        try:
            return attempt(waited)
        except AlreadyRunning as refusal:
            limit = max(patience, PASSING_PATIENCE) if patience and refusal.passing else patience
            if waiting is None and (time.monotonic() - began >= limit or isinstance(refusal, BelongsToAnother)):
                raise
            pause = waiting(refusal) if waiting is not None else LOOK_EVERY
        except OSError as error:
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            raise PhoenixdError(
                f"the directories cannot be owned: {where}{error.strerror}", "choose others: --state-dir, --runtime-dir"
            ) from error
        waited = True
        # flock has no time limit of its own.
        time.sleep(pause)


def _own(state: Path, runtime: Path, waited: bool) -> Ownership:
    locks = _lock_what_is_there(state, runtime)
    try:
        # From here on whatever is done is the owner's doing.
        owner = settled(state, runtime)
        _hold(state, runtime, locks)
        for directory in (state, runtime):
            write_owner(directory, owner)
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    return Ownership(tuple(locks), owner, waited)


def _hold(state: Path, runtime: Path, locks: list[DirectoryLock]) -> None:
    """Make what is missing of the two, hold it as well, and say whose they are."""
    for directory in (state, runtime):
        ensure_private_dir(directory)
        if not _is_held(directory, locks):
            locks.append(DirectoryLock(directory))
    for lock in locks:
        lock.sign()


def _lock_what_is_there(
    state: Path, runtime: Path, *, passing: bool = False, taking: bool = False
) -> list[DirectoryLock]:
    """Hold those of the two that exist, and make sure that both may be had."""
    locks: list[DirectoryLock] = []
    try:
        for directory in (state, runtime):
            if not _is_held(directory, locks):
                try:
                    locks.append(DirectoryLock(directory, passing=passing))
                except FileNotFoundError:
                    continue
                except AlreadyRunning as refusal:
                    raise _named(directory, refusal) from None
        _require_free(state, runtime, taking)
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    return locks


def _is_held(directory: Path, locks: list[DirectoryLock]) -> bool:
    """Whether it is one of these by another name: nobody can take an inode's lock twice."""
    return any(same(directory, lock.directory) for lock in locks)


def _require_free(state: Path, runtime: Path, taking: bool) -> None:
    """Raise where the runtime directory belongs to another state directory, or this one is a copy of a living one."""
    if (pid := _listener(runtime / "api.sock")) is not None:
        # A daemon of an older version, which locks its state directory alone, or a program that is none.
        raise _in_the_way(runtime, pid)
    theirs = read_owner(runtime)
    mine = owner_of(state, theirs)
    original = original_of(state, mine)
    if original is not None and (alive := living_shims(original.runtime)):
        # On another runtime directory its runs would be missing, and missing runs are fenced by their ids.
        if taking and same(runtime, original.runtime):
            return
        raise BelongsToAnother(
            f"{state} is a copy of {original.state}, whose agents live ({_listed(alive)})",
            f"start that one: phoenixd --state-dir {original.state} --runtime-dir {original.runtime}; "
            f"or hand them over: {_taking(state, original.runtime)}",
        )
    if mine is not None and (alive := _left_in_another(mine, runtime)):
        raise BelongsToAnother(
            f"the agents of {state} live below another runtime directory, {mine.runtime} ({_listed(alive)})",
            f"start it on that one: phoenixd --state-dir {state} --runtime-dir {mine.runtime}; or end them there first",
        )
    if left := left_behind(state, runtime):
        raise _refusal_of_left(state, mine, left)
    record = None if taking else unreadable(runtime, mine)
    if record is not None and (alive := living_shims(runtime)):
        raise BelongsToAnother(
            f"{record} names no owner that there could be, and below {runtime} agents live ({_listed(alive)})",
            f"if they are of {state}, hand them over: {_taking(state, runtime)}; or choose another --runtime-dir",
        )
    if taking or theirs is None or not is_foreign(state, mine, theirs) or not (alive := living_shims(runtime)):
        return
    raise BelongsToAnother(
        f"{runtime} belongs to the state directory {theirs.state}, and its agents live ({_listed(alive)})",
        f"start that one: phoenixd --state-dir {theirs.state} --runtime-dir {runtime}; "
        f"or hand them over: {_taking(state, runtime)}",
    )


def _left_in_another(mine: Owner, runtime: Path) -> set[str]:
    """The agents whose shims live where the daemon of this state directory was before.

    A default changes, as when an account begins to linger. Here they would be missing, and be fenced by their ids.
    """
    there = read_owner(Path(mine.runtime))
    if not mine.id or there is None or there.id != mine.id or same(runtime, mine.runtime):
        return set()
    return living_shims(mine.runtime)


def _refusal_of_left(state: Path, mine: Owner | None, left: dict[str, str]) -> BelongsToAnother:
    """Where its agents live although its own record tells of no such place, as after they were handed over."""
    place = min(left.values())
    alive, there = {agent for agent in left if left[agent] == place}, read_owner(Path(place))
    if there is not None and is_foreign(state, mine, there):
        return BelongsToAnother(
            f"the agents of {state} were handed over to the state directory {there.state} ({_listed(alive)})",
            f"start that one: phoenixd --state-dir {there.state} --runtime-dir {place}; "
            f"or take them back: {_taking(state, place)}",
        )
    return BelongsToAnother(
        f"the agents of {state} live below another runtime directory, {place} ({_listed(alive)})",
        f"start it on that one: phoenixd --state-dir {state} --runtime-dir {place}; or end them there first",
    )


def _listener(socket_path: Path) -> int | None:
    """The pid of the process that listens there, as the kernel says; None where there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(os.fspath(socket_path))
        except BlockingIOError:
            return 0  # Too many wait already to be let in.
        except OSError:
            return None
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


def _named(directory: Path, refusal: AlreadyRunning, pid: int | None = None) -> AlreadyRunning:
    """The same refusal, with all that is known of the owner."""
    pid, owner = pid or holder_of(directory), read_owner(directory)
    known = [f"pid {pid}"] if pid else []
    if owner is not None:
        known.append(f"state directory {owner.state}")
    whose = f"another phoenixd owns {directory}" + (f" ({', '.join(known)})" if known else "")
    if is_ending(directory):
        return AlreadyRunning(f"{whose}; it is ending", "the same again, when it has ended", ending=True)
    return AlreadyRunning(
        whose, "use that one, or choose other directories: --state-dir, --runtime-dir", passing=refusal.passing
    )


def _in_the_way(runtime: Path, pid: int) -> AlreadyRunning:
    """What listens in a directory that no daemon holds: by its command line it may be one of an older version."""
    words = _command(pid)
    if not words or any(os.path.basename(word) == b"phoenixd" for word in words):
        return _named(runtime, AlreadyRunning(f"another phoenixd answers in {runtime}"), pid)
    place, runs = os.fspath(runtime / "api.sock"), one_line(redact(os.fsdecode(b" ".join(words))), LONGEST_COMMAND)
    return AlreadyRunning(
        f"another program listens at {place} (pid {pid}, {runs}), and it is not phoenixd",
        f"mv {shlex.quote(place)} {shlex.quote(f'{place}.strange')}",
    )


def _command(pid: int) -> list[bytes]:
    """The words of a process's command line; none where nobody may look."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [word for word in file.read(4096).split(b"\0") if word]
    except OSError:
        return []


def _listed(agents: set[str]) -> str:
    names = sorted(agents)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _taking(state: Path, runtime: str | Path) -> str:
    return f"phoenixctl recover --take --state-dir {state} --runtime-dir {runtime}"
