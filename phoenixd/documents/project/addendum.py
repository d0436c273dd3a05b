"""What came too late for a package: files that changed after the snapshot, and by whom as transcripts tell it."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.project import layout
from phoenixd.documents.project.models import Count, Document, ProjectName, SessionId, Text, Texts, Time

UNKNOWN = "unknown"
MOST_CHANGES = 500
NAME_LIMIT = 1000
OURS = frozenset({layout.SESSION, layout.PACKAGE, layout.ADDENDUM, layout.PROMPT})
"""What phoenixd itself writes for each session; it is no late change."""

Signature = tuple[int, int, int, int]
"""Size, mtime and ctime in nanoseconds, inode."""
Change = Literal["created", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a workspace at one moment. at: wall. gap: what was not listed, in words; empty where all was."""

    at: float
    files: Mapping[str, Signature]
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """An agent whose transcript tells what it wrote: paths, with the time of the last write (wall)."""

    name: str
    wrote: Mapping[str, float]


class LateChange(Document):
    """A file that is not as it was at the snapshot. by: who wrote it since, else unknown. size: as it is now."""

    path: Text
    change: Change
    by: Texts
    size: Count | None = None


class Submitted(Document):
    """What somebody submitted to the predecessor after the snapshot."""

    at: Time
    text: Text


class HandoffAddendum(Document):
    """handoff-addendum.json, beside the package that it belongs to. more: changes and prompts that are not listed."""

    previous_session_id: SessionId
    new_session_id: SessionId
    project_name: ProjectName
    created_at: Time
    package: Text
    changes: Annotated[tuple[LateChange, ...], Field(max_length=MOST_CHANGES)] = ()
    more_changes: Count = 0
    submitted: tuple[Submitted, ...] = ()
    more_submitted: Count = 0
    not_compared: Text = ""


def differences(before: Listing, now: Listing, writers: Iterable[Writer], own: str) -> tuple[LateChange, ...]:
    """What changed between two listings, by path. own: the successor, which knows what it wrote itself."""
    known = tuple(writers)
    found = []
    for path in sorted({*before.files, *now.files}, key=layout.natural):
        was, has = before.files.get(path), now.files.get(path)
        if was == has or _is_ours(path) or (has is None and now.gap) or (was is None and before.gap):
            continue
        by = tuple(one.name for one in known if one.wrote.get(path, 0.0) >= before.at - 1.0)
        if by == (own,):
            continue
        change: Change = "created" if was is None else "deleted" if has is None else "changed"
        size = has[0] if has is not None else None
        found.append(LateChange(path=_shown(path), change=change, by=by or (UNKNOWN,), size=size))
    return tuple(found)


def within(workspace: str, path: str) -> str:
    """A path as a transcript has it, from the workspace's root; as it is where it lies outside."""
    root = posixpath.normpath(workspace).rstrip("/")
    whole = posixpath.normpath(posixpath.join(root, path))
    return whole.removeprefix(f"{root}/")


def render_listing(key: str, listing: Listing) -> bytes:
    """The file that keeps a listing until the fence. key: the handoff's."""
    told = {"key": key, "at": listing.at, "gap": listing.gap, "files": listing.files}
    return json.dumps(told, separators=(",", ":")).encode("utf-8", "surrogateescape")


def read_listing(content: bytes, key: str) -> Listing | None:
    """The listing of that handoff; None where it is another one's, or damaged."""
    try:
        told = json.loads(content.decode("utf-8", "surrogateescape"))
        if told["key"] != key:
            return None
        files = {str(path): _signature(found) for path, found in told["files"].items()}
        return Listing(float(told["at"]), files, str(told["gap"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _shown(path: str) -> str:
    """A path as a document can hold it; a name that is no UTF-8 with its bytes written out."""
    return one_line(path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"), NAME_LIMIT)


def _signature(found: Iterable[int]) -> Signature:
    size, modified, changed, inode = (int(one) for one in found)
    return size, modified, changed, inode


def _is_ours(path: str) -> bool:
    parent, _, name = path.rpartition("/")
    return name in OURS and parent.startswith(f"{layout.SESSIONS}/")
