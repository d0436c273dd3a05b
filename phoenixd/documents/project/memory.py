"""Memory files: which may be taken, and how what one project shares with others says where it comes from (E81)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phoenixd.documents.project import layout
from phoenixd.documents.project.reading import read_text
from phoenixd.errors import BadProject

SUFFIXES = (".md", ".json", ".yaml")
LIMIT = 256 * 1024
_HEADER = re.compile(
    r"<!-- shared by phoenixd: project ([A-Za-z0-9._-]{1,64}), session (orchestrator-[A-Za-z0-9_-]{1,64}), "
    r"([0-9TZ:-]{20}), sha256 ([0-9a-f]{64}) -->\n"
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a shared memory file comes from. sha256: of what it says, without this line."""

    project: str
    session: str
    at: str
    sha256: str


def check_path(path: str, session_id: str) -> str:
    """A memory file's path, unchanged; raises BadProject for one outside of its session's memory (F-PH-8)."""
    root = f"{layout.session_paths(session_id).memory}/"
    if not layout.checked_path(path).startswith(root) or not path.endswith(SUFFIXES):
        raise BadProject(f"{path!r} is no memory file of {session_id}", f"keep it below {root}, as .md, .json or .yaml")
    return path


def shared(content: bytes, name: str, source: Provenance, clean: Callable[[str], str]) -> bytes:
    """What other projects get of a memory file: its text without secrets, below a line that says whose it is."""
    text = read_text(content, name, LIMIT)
    if _HEADER.match(text):
        text = _HEADER.sub("", text, count=1)
    text = clean(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    header = (
        f"<!-- shared by phoenixd: project {layout.project_name(source.project)}, "
        f"session {layout.canonical_id(source.session)}, {source.at}, sha256 {digest} -->\n"
    )
    return f"{header}{text}".encode()


def provenance(content: bytes) -> Provenance | None:
    """Where a shared file comes from; None for one that does not say it, or whose text is not what was shared."""
    text = content.decode("utf-8", "replace")
    found = _HEADER.match(text)
    if found is None:
        return None
    is_whole = hashlib.sha256(text[found.end() :].encode("utf-8", "replace")).hexdigest() == found[4]
    return Provenance(found[1], found[2], found[3], found[4]) if is_whole else None


def of_source(files: Mapping[str, bytes], project: str) -> tuple[str, ...]:
    """What one project has shared, by path: all of it goes when the project turns out to be poisoned (F-PH-9)."""
    sources = {path: provenance(content) for path, content in files.items()}
    return tuple(sorted(path for path, source in sources.items() if source is not None and source.project == project))


def is_known(content: bytes, files: Mapping[str, bytes]) -> bool:
    """Whether the same text is shared already, whoever shared it."""
    own = provenance(content)
    present = (provenance(one) for one in files.values())
    return own is not None and any(one is not None and one.sha256 == own.sha256 for one in present)
