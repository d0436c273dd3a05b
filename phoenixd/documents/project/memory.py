"""Memory files: which may be taken, and how what one project shares with others says where it comes from (E81)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from phoenixd.documents.project import layout
from phoenixd.documents.project.reading import read_text
from phoenixd.errors import BadProject

SUFFIXES = (".md", ".json", ".yaml")
SHARED_SUFFIX = ".md"
"""What is shared begins with a line of its own, which only Markdown bears."""
LIMIT = 256 * 1024
_NAME = re.compile(r"[0-9a-f]{12}-[A-Za-z0-9][A-Za-z0-9._-]{0,79}\.md")
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


@dataclass(frozen=True, slots=True)
class SharedFile:
    """One text of the shared store. size: bytes of the whole file."""

    name: str
    size: int
    source: Provenance


def check_path(path: str, session_id: str) -> str:
    """A memory file's path, unchanged; raises BadProject for one outside of its session's memory (F-PH-8)."""
    root = f"{layout.session_paths(session_id).memory}/"
    if not layout.checked_path(path).startswith(root) or not path.endswith(SUFFIXES):
        raise BadProject(f"{path!r} is no memory file of {session_id}", f"keep it below {root}, as .md, .json or .yaml")
    return path


def words(content: bytes, name: str, clean: Callable[[str], str]) -> str:
    """What a memory file says, without secrets and without the line of an earlier sharing; raises BadProject."""
    text = read_text(content, name, LIMIT)
    return clean(_HEADER.sub("", text, count=1) if _HEADER.match(text) else text)


def content_hash(text: str) -> str:
    """What a text is known by, whichever project shares it."""
    return hashlib.sha256(text.encode()).hexdigest()


def shared(content: bytes, name: str, source: Provenance, clean: Callable[[str], str]) -> bytes:
    """What other projects get of a memory file: its text without secrets, below a line that says whose it is."""
    text = words(content, name, clean)
    digest = content_hash(text)
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


def session_of(path: str) -> str:
    """The session in whose memory a file lies; raises BadProject where it lies in none."""
    session_id = layout.checked_path(path).removeprefix(f"{layout.SESSIONS}/").split("/")[0]
    if not (path.startswith(f"{layout.SESSIONS}/") and layout.is_session(session_id)):
        raise BadProject(f"{path!r} is no memory file of a session", "phoenixctl memory list names them")
    check_path(path, session_id)
    if not path.endswith(SHARED_SUFFIX):
        raise BadProject(f"{path!r} cannot be shared: it is no Markdown", "write what others are to know as .md")
    return session_id


def shared_name(path: str, sha256: str) -> str:
    """The name of a text in the shared store: the same text has the same beginning."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.rsplit("/", 1)[-1].removesuffix(SHARED_SUFFIX)).strip("-.")[:64]
    return f"{sha256[:12]}-{stem or 'memory'}{SHARED_SUFFIX}"


def is_shared_name(name: str) -> bool:
    """Whether a file of that name can be one of the shared store."""
    return _NAME.fullmatch(name) is not None


def is_own(source: Provenance, project: str, memory: Iterable[str]) -> bool:
    """Whether a project, whose memory files these are, shared that itself."""
    root = f"{layout.session_paths(source.session).memory}/"
    return source.project == project and any(path.startswith(root) for path in memory)


def of_source(files: Mapping[str, bytes], project: str) -> tuple[str, ...]:
    """What one project has shared, by path: all of it goes when the project turns out to be poisoned (F-PH-9)."""
    sources = {path: provenance(content) for path, content in files.items()}
    return tuple(sorted(path for path, source in sources.items() if source is not None and source.project == project))
