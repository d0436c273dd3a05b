"""The record of whose a state and a runtime directory are, beyond the life of any process: a random id in both."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from phoenixd.directories import STATE_POINTER
from phoenixd.drivers.files.plain import read_plain, replace
from phoenixd.errors import FileUnreadable, UnsafeFile

RECORD = "owner.json"
JOURNAL = "journal.sqlite3"
RECORD_LIMIT = 16384


@dataclass(frozen=True, slots=True)
class Owner:
    """What stands in both directories. id: empty in what an older version left, which has only the pointer."""

    id: str
    state: str
    runtime: str


def owner_of(state: Path, theirs: Owner | None) -> Owner | None:
    """What the state directory says, or the runtime directory where that record was lost and the journal was not."""
    mine = read_owner(state)
    if mine is None and theirs is not None and same(state, theirs.state) and (state / JOURNAL).exists():
        return theirs
    return mine


def original_of(state: Path, mine: Owner | None) -> Owner | None:
    """The state directory that this one is a copy of; None for one that is where it was, or was moved."""
    if mine is None or not mine.id or not os.path.isdir(mine.state) or same(state, mine.state):
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
        if (
            all(isinstance(value, str) for value in asdict(found).values())
            and _is_path(found.state)
            and _is_path(found.runtime)
        ):
            return found
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    named = os.fsdecode(_content(directory / STATE_POINTER)).rstrip("\n")
    return Owner("", named, os.fspath(directory)) if _is_path(named) else None


def unreadable(runtime: Path, mine: Owner | None) -> Path | None:
    """The file of a runtime directory that ought to say whose it is, and names nobody who could be.

    None where there is no such file, and where the state directory says that this one is its own. Raises
    FileUnreadable.
    """
    if read_owner(runtime) is not None or (mine is not None and mine.id and same(runtime, mine.runtime)):
        return None
    return next((runtime / name for name in (RECORD, STATE_POINTER) if os.path.lexists(runtime / name)), None)


def _is_path(text: str) -> bool:
    """Whether the system could have such a name at all: it asks for none with a NUL, or that cannot be encoded."""
    try:
        return os.path.isabs(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


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


def is_foreign(state: Path, mine: Owner | None, theirs: Owner) -> bool:
    if theirs.id:
        return mine is None or mine.id != theirs.id
    # An older version left no more than the name of its state directory, which may have been moved since.
    return os.path.isdir(theirs.state) and not same(state, theirs.state)


def settled(state: Path, runtime: Path) -> Owner:
    """Whose the two directories are from now on."""
    mine = owner_of(state, read_owner(runtime))
    is_new = mine is None or not mine.id or original_of(state, mine) is not None
    known = "" if is_new or mine is None else mine.id
    return Owner(known or secrets.token_hex(16), os.path.realpath(state), os.path.realpath(runtime))


def same(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
