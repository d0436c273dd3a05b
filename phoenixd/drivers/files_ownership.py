"""Who owns a state directory and a runtime directory. It is settled before anything else is touched.

A directory is owned by a lock on its inode, as long as the owner lives. Beyond that a runtime directory belongs to one
state directory, by a random id that stands in both: the shims below it take orders from nobody else. Whoever loses
changes nothing at all, not a file, not a time stamp.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, TypeVar

from phoenixd.directories import STATE_POINTER
from phoenixd.drivers.files import ensure_private_dir, read_plain, replace
from phoenixd.drivers.files_lock import DirectoryLock, holder_of
from phoenixd.errors import AlreadyRunning, BelongsToAnother, FileUnreadable, PhoenixdError, UnsafeFile
from phoenixd.runs import living_shims

T = TypeVar("T")
RECORD = "owner.json"
JOURNAL = "journal.sqlite3"
RECORD_LIMIT = 16384
PASSING_PATIENCE = 30.0
"""Seconds for which somebody is waited for who holds a directory in passing, and has to write to a slow disk."""
LOOK_EVERY = 0.01
NAMED = 5
"""Agents that a refusal names."""

Hand = Callable[[str, str], str | None]
"""Hands the shim of an agent over to an owner's id; returns why it did not go, else None."""
Waiting = Callable[[AlreadyRunning], float]
"""Told why there is nothing to own yet; returns the seconds until the next look."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What stands in both directories. id: empty in what an older version left, which has only the pointer."""

    id: str
    state: str
    runtime: str


class Ownership:
    """Both directories, until `release` or this process's end."""

    def __init__(self, locks: tuple[DirectoryLock, ...], owner: Owner, waited: bool) -> None:
        self._locks = locks
        self.owner = owner
        self.waited = waited

    def keep(self) -> None:
        """Own the runtime directory again, where it was taken away and made anew; raises AlreadyRunning and OSError."""
        runtime = Path(self.owner.runtime)
        if any(lock.is_of(runtime) for lock in self._locks):
            return
        lock = DirectoryLock(runtime)
        self._locks = (*self._locks, lock)
        lock.sign()
        write_owner(runtime, self.owner)
        replace(runtime / STATE_POINTER, os.fsencode(self.owner.state) + b"\n", durable=False)

    def release(self) -> None:
        for lock in self._locks:
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
        owner = _settled(state, runtime)
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
        owner = _settled(state, runtime)
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
    return any(_same(directory, lock.directory) for lock in locks)


def _require_free(state: Path, runtime: Path, taking: bool) -> None:
    """Raise where the runtime directory belongs to another state directory, or this one is a copy of a living one."""
    if (pid := _listener(runtime / "api.sock")) is not None:
        # One of an older version, which locks its state directory alone.
        raise _named(runtime, AlreadyRunning(f"another phoenixd answers in {runtime}"), pid)
    theirs = read_owner(runtime)
    mine = _owner_of(state, theirs)
    original = _original_of(state, mine)
    if original is not None and (alive := living_shims(original.runtime)):
        # On another runtime directory its runs would be missing, and missing runs are fenced by their ids.
        if taking and _same(runtime, original.runtime):
            return
        raise BelongsToAnother(
            f"{state} is a copy of {original.state}, whose agents live ({_listed(alive)})",
            f"start that one: phoenixd --state-dir {original.state} --runtime-dir {original.runtime}; "
            f"or hand them over: {_taking(state, original.runtime)}",
        )
    if taking or theirs is None or not _is_foreign(state, mine, theirs) or not (alive := living_shims(runtime)):
        return
    raise BelongsToAnother(
        f"{runtime} belongs to the state directory {theirs.state}, and its agents live ({_listed(alive)})",
        f"start that one: phoenixd --state-dir {theirs.state} --runtime-dir {runtime}; "
        f"or hand them over: {_taking(state, runtime)}",
    )


def _is_foreign(state: Path, mine: Owner | None, theirs: Owner) -> bool:
    if theirs.id:
        return mine is None or mine.id != theirs.id
    # An older version left no more than the name of its state directory, which may have been moved since.
    return os.path.isdir(theirs.state) and not _same(state, theirs.state)


def _settled(state: Path, runtime: Path) -> Owner:
    """Whose the two directories are from now on."""
    mine = _owner_of(state, read_owner(runtime))
    is_new = mine is None or not mine.id or _original_of(state, mine) is not None
    known = "" if is_new or mine is None else mine.id
    return Owner(known or secrets.token_hex(16), os.path.realpath(state), os.path.realpath(runtime))


def _owner_of(state: Path, theirs: Owner | None) -> Owner | None:
    """What the state directory says, or the runtime directory where that record was lost and the journal was not."""
    mine = read_owner(state)
    if mine is None and theirs is not None and _same(state, theirs.state) and (state / JOURNAL).exists():
        return theirs
    return mine


def _original_of(state: Path, mine: Owner | None) -> Owner | None:
    """The state directory of which this one is a copy; None for one that is where it was, or was moved."""
    if mine is None or not mine.id or not os.path.isdir(mine.state) or _same(state, mine.state):
        return None
    there = read_owner(Path(mine.state))
    return there if there is not None and there.id == mine.id else None


def read_owner(directory: Path) -> Owner | None:
    """What a state or a runtime directory says about its owner; None where it says nothing that can be believed.

    Raises FileUnreadable where the host could not look: what cannot be read must not be taken for new.
    """
    content = _content(directory / RECORD)
    try:
        record = json.loads(content)
        found = Owner(*(record[name] for name in ("id", "state", "runtime")))
        if all(isinstance(value, str) for value in asdict(found).values()) and os.path.isabs(found.state):
            return found
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    named = os.fsdecode(_content(directory / STATE_POINTER)).rstrip("\n")
    return Owner("", named, os.fspath(directory)) if os.path.isabs(named) else None


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, RECORD_LIMIT)
    except FileUnreadable:
        raise
    except (FileNotFoundError, UnsafeFile):
        return b""


def write_owner(directory: Path, owner: Owner) -> None:
    """Say in a directory whose it is, durably, and only where that is news; raises OSError."""
    if read_owner(directory) != owner:
        replace(directory / RECORD, json.dumps(asdict(owner)).encode() + b"\n")


def _listener(socket_path: Path) -> int | None:
    """The pid of whoever listens there, as the kernel says; None where nobody does."""
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
    return AlreadyRunning(
        f"another phoenixd owns {directory}" + (f" ({', '.join(known)})" if known else ""),
        "use that one, or choose other directories: --state-dir, --runtime-dir",
        passing=refusal.passing,
    )


def _same(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _listed(agents: set[str]) -> str:
    names = sorted(agents)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _taking(state: Path, runtime: str | Path) -> str:
    return f"phoenixctl recover --take --state-dir {state} --runtime-dir {runtime}"
