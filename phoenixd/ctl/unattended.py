"""Agents' documents while no daemon runs: read as the daemon would, and of them resolved.jsonl alone is written."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.api.handlers.loops import ID_SHOWN, no_loop, several
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.api.problems import Problem, no_agent
from phoenixd.core.seat.names import is_reserved
from phoenixd.directories import STATE_POINTER, find_state_directory
from phoenixd.documents.loop_ids import meant
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact, secret_values
from phoenixd.documents.resolved import (
    ARCHIVE,
    ASIDE,
    LOG,
    apply_resolutions,
    read_resolutions,
    render_resolution,
    resolution,
)
from phoenixd.documents.session import SIZE_LIMIT as SESSION_LIMIT
from phoenixd.documents.session import Bookkeeping, read_bookkeeping
from phoenixd.documents.state import StateDocument
from phoenixd.documents.state_reading import SIZE_LIMIT, read_state
from phoenixd.documents.times import utc_date
from phoenixd.drivers.files.lock import LOCK, DirectoryLock
from phoenixd.drivers.files.plain import append, read_plain

LOG_LIMIT = 64 << 20
POINTER_LIMIT = 4096
LATER = "phoenixd is down, and takes it into state.json when it starts"


@dataclass(frozen=True, slots=True)
class Papers:
    """What is on file about one agent. broken: why its state.json cannot be relied on."""

    name: str
    state: StateDocument
    log: bytes
    """All that was ever closed, the archive first."""
    broken: str | None = None
    read_only: bool = False

    @property
    def ids(self) -> list[str]:
        return [loop.id for loop in self.state.open_loops]

    def was_resolved(self, loop_id: str) -> bool:
        closed = [item.id for item in self.state.resolved]
        on_file = meant(loop_id, closed) in closed
        return on_file or any(made.id == loop_id for made in read_resolutions(self.log))


def state_directory(sockets: Sequence[bytes], environ: Mapping[str, str], *, by_environment: bool) -> Path | None:
    """The state directory of the daemon that would listen there; None where no daemon ever was.

    Root becomes the owner of what it finds, so that nothing is left there that the daemon could not read.
    """
    for place in _candidates(sockets, environ, by_environment):
        if place is not None and (place / LOCK).exists():
            become_owner_of(place)
            return place
    return None


def resolve(
    state: Path, loop_id: str, reason: str, named: str | None, environ: Mapping[str, str], *, up: str = "phoenixctl up"
) -> dict[str, Any]:
    """Put a resolution on record, and say so as the daemon would. up: what starts the daemon.

    Raises Problem for a refusal, AlreadyRunning where a daemon holds the state directory, OSError and UnsafeFile.
    """
    if not one_line(reason, ID_SHOWN):
        again = f"phoenixctl resolve {shlex.quote(loop_id)} 'REASON'"
        raise Problem("invalid", "the reason is empty: say why the loop is closed", again)
    agent = _meant(named, environ)
    # As long as this is held no daemon can start, so what is read here is what stands when the line is written.
    with DirectoryLock(state, passing=True):
        now = time.time()
        papers = [_read(state, name, now) for name in ([agent] if agent else _names(state))]
        chosen, done = _choose(papers, agent, loop_id, up)
        if done == "resolved":
            loop_id = meant(loop_id, chosen.ids)
            made = resolution(loop_id, redact(reason, secret_values(environ)), now, chosen.name)
            append(state / "agents" / chosen.name / LOG, render_resolution(made))
    shown = one_line(loop_id, ID_SHOWN)
    message = (
        f"resolved {shown} of {chosen.name}; {LATER}"
        if done == "resolved"
        else f"{shown} of {chosen.name} was resolved before"
    )
    return {"agent": chosen.name, "id": loop_id, "outcome": done, "in_state": False, "message": message}


def _choose(papers: Sequence[Papers], agent: str | None, loop_id: str, up: str) -> tuple[Papers, str]:
    owners = [one for one in papers if meant(loop_id, one.ids) in one.ids]
    if len(owners) > 1:
        raise several(loop_id, [one.name for one in owners])
    for one in owners:
        if one.read_only:
            raise Problem("conflict", f"state.json of {one.name} is of a newer version", up)
        return one, "resolved"
    for one in papers:
        if one.was_resolved(loop_id):
            return one, "already"
    broken = next((one for one in papers if one.broken), None)
    if broken is not None:
        why = f"state.json of {broken.name} cannot be relied on ({broken.broken}), so that its loops are not known"
        raise Problem("failed", why, up)
    ids = [loop_id for one in papers for loop_id in one.ids]
    raise no_loop(agent, loop_id, ids, f"{up} && phoenixctl loops")


def _read(state: Path, name: str, now: float) -> Papers:
    directory = state / "agents" / name
    if not directory.is_dir():
        raise no_agent(name)
    log = _content(directory / LOG, LOG_LIMIT)
    archived = b"".join(_content(directory / name, LOG_LIMIT) for name in (ARCHIVE, ASIDE))
    content = _content(directory / "state.json", SIZE_LIMIT)
    empty = StateDocument(agent=name)
    if not content:
        return Papers(name, empty, archived + log)
    reading = read_state(content, name, utc_date(now))
    if reading.document is None:
        return Papers(name, empty, archived + log, reading.broken)
    kept = read_bookkeeping(_content(directory / "session.json", SESSION_LIMIT)) or Bookkeeping()
    # Counted over archive and log: what is moved from one to the other keeps its place.
    consumed = max(0, kept.resolved_bytes - len(archived))
    waiting = log[consumed:] if len(log) >= consumed else b""
    document = apply_resolutions(reading.document, waiting, utc_date(now))
    return Papers(name, document, archived + log, read_only=reading.read_only)


def _content(path: Path, limit: int) -> bytes:
    try:
        return read_plain(path, limit)
    except FileNotFoundError:
        return b""


def _meant(named: str | None, environ: Mapping[str, str]) -> str | None:
    """The agent whose pane this is, else the one that was named."""
    own = environ.get("PHOENIX_AGENT")
    if own and named not in (None, own):
        raise Problem(
            "denied", f"this is the pane of {own}, which may resolve its own loops alone", "leave --agent out"
        )
    meant = own or named
    if meant is not None and not re.fullmatch(NAME_PATTERN, meant):
        raise no_agent(repr(meant[:40]))
    return meant


def _names(state: Path) -> list[str]:
    # Papers are the seat's: a later generation's directory holds the files of its runs.
    found = (path.name for path in (state / "agents").glob("*"))
    return sorted(name for name in found if re.fullmatch(NAME_PATTERN, name) and not is_reserved(name))


def _candidates(sockets: Sequence[bytes], environ: Mapping[str, str], by_environment: bool) -> list[Path | None]:
    own = environ.get("PHOENIX_STATE_DIR", "")
    if environ.get("PHOENIX_AGENT"):
        # In a pane it is the agent's own directory, two below the daemon's.
        return [Path(own).parent.parent if os.path.isabs(own) else None]
    pointed = [_pointed(Path(os.fsdecode(socket)).parent / STATE_POINTER) for socket in sockets]
    return [*pointed, find_state_directory(environ) if by_environment else None]


def _pointed(pointer: Path) -> Path | None:
    """What a daemon left in its runtime directory; only the owner of both is believed."""
    try:
        with open(os.open(pointer, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            named = os.fsdecode(file.read(POINTER_LIMIT)).rstrip("\n")
            owner = os.fstat(file.fileno()).st_uid
        is_its_own = os.path.isabs(named) and os.stat(named).st_uid == owner
    except (OSError, ValueError):
        return None
    return Path(named) if is_its_own else None


def become_owner_of(directory: Path) -> None:
    """As root, go on as the user who owns the directory, so that nothing in it becomes root's."""
    owner = directory.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.setgroups([])
        os.setresgid(owner.st_gid, owner.st_gid, owner.st_gid)
        os.setresuid(owner.st_uid, owner.st_uid, owner.st_uid)
