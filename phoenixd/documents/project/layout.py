"""Where a project lies in its workspace, and which names it may have.

Every path is POSIX and begins at the workspace's root (X16); the same text serves people, packages and drivers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from phoenixd.errors import BadProject

PROJECTS: Final = ".claude/projects"
SESSIONS: Final = ".claude/orchestrators"
SHARED: Final = f"{SESSIONS}/shared-memory"
"""What other projects shared, as the packages of this workspace's projects name it."""
SCHEMAS: Final = ".claude/schemas"
PLAN, CONTEXT, ARTIFACTS, ARCHIVE = "plan.md", "claude.md", "artifacts", "archive"
STATE, MANIFEST = "orchestrator-state.json", "manifest.json"
SESSION, PACKAGE, ADDENDUM, PROMPT, ACK, MEMORY = (
    "session.json", "handoff-package.json", "handoff-addendum.json", "init-prompt.md", "handoff-ack.json", "memory",
)  # fmt: skip
PREFIX: Final = "orchestrator-"
PATH_LIMIT: Final = 1024
STANDARD_PHASES: Final = (
    "phase-01-planning", "phase-02-architecture", "phase-03-implementation", "phase-04-testing",
    "phase-05-deployment",
)  # fmt: skip
"""The five that the seed names (E61)."""

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PHASE = re.compile(r"phase-([0-9]{1,6})-[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SESSION = re.compile(r"orchestrator-[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """The places of one project."""

    project: str

    @property
    def root(self) -> str:
        return f"{PROJECTS}/{self.project}"

    @property
    def state(self) -> str:
        return f"{self.root}/{STATE}"

    def phase(self, phase: str) -> str:
        return f"{self.root}/{phase}"

    def plan(self, phase: str) -> str:
        return f"{self.phase(phase)}/{PLAN}"

    def context(self, phase: str) -> str:
        """The phase's claude.md."""
        return f"{self.phase(phase)}/{CONTEXT}"

    def artifacts(self, phase: str) -> str:
        return f"{self.phase(phase)}/{ARTIFACTS}"

    def manifest(self, phase: str) -> str:
        return f"{self.artifacts(phase)}/{MANIFEST}"

    def archive(self, phase: str) -> str:
        """What splits, archivings and summaries took out, whole."""
        return f"{self.phase(phase)}/{ARCHIVE}"


@dataclass(frozen=True, slots=True)
class SessionPaths:
    """The places of one generation of an orchestrator. The id is the directory's name."""

    session_id: str

    @property
    def root(self) -> str:
        return f"{SESSIONS}/{self.session_id}"

    @property
    def record(self) -> str:
        return f"{self.root}/{SESSION}"

    @property
    def package(self) -> str:
        return f"{self.root}/{PACKAGE}"

    @property
    def addendum(self) -> str:
        return f"{self.root}/{ADDENDUM}"

    @property
    def prompt(self) -> str:
        return f"{self.root}/{PROMPT}"

    @property
    def ack(self) -> str:
        return f"{self.root}/{ACK}"

    @property
    def memory(self) -> str:
        return f"{self.root}/{MEMORY}"


def paths(project: str) -> ProjectPaths:
    """The places of a project; raises BadProject for a name that could lead elsewhere (E6)."""
    return ProjectPaths(project_name(project))


def session_paths(session_id: str) -> SessionPaths:
    """The places of a session, whose id may come without its prefix."""
    return SessionPaths(canonical_id(session_id))


def project_name(text: str) -> str:
    """The name of a project, unchanged; raises BadProject."""
    if not _PROJECT.fullmatch(text) or text.endswith(".lock"):
        raise BadProject(
            f"{_shown(text)} cannot be a project's name",
            "use 1 to 64 letters, digits, _, . and -, the first one a letter or a digit",
        )
    return text


def phase_name(text: str) -> str:
    """The name of a phase, unchanged; raises BadProject (E60)."""
    if not is_phase(text):
        raise BadProject(
            f"{_shown(text)} cannot be a phase's name",
            "write phase-NUMBER-NAME in letters, digits, _, . and -, such as phase-03-implementation",
        )
    return text


def is_phase(text: str) -> bool:
    return _PHASE.fullmatch(text) is not None


def is_session(text: str) -> bool:
    return _SESSION.fullmatch(text) is not None


def phase_number(phase: str) -> int:
    """The number in a phase's name."""
    found = _PHASE.fullmatch(phase)
    if found is None:
        raise BadProject(f"{_shown(phase)} is no phase's name", "write phase-NUMBER-NAME")
    return int(found[1])


def in_order(phases: tuple[str, ...] | list[str] | frozenset[str] | set[str]) -> tuple[str, ...]:
    """Phases by their numbers: phase-10 stands behind phase-9, and part10 behind part9 (F-PH-4)."""
    return tuple(sorted(phases, key=natural))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts the numbers in names as numbers."""
    parts = re.split(r"([0-9]+)", text)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)


def canonical_id(text: str) -> str:
    """A session's id with its prefix once, whether it came with none, one or more (F-HO-19); raises BadProject."""
    bare = text.strip()
    while bare.startswith(PREFIX):
        bare = bare[len(PREFIX) :]
    if not _SESSION.fullmatch(PREFIX + bare):
        raise BadProject(f"{_shown(text)} is no orchestrator's session id", "phoenixctl phase list --json names them")
    return PREFIX + bare


def new_session_id(milliseconds: int, randomness: bytes) -> str:
    """An id that sorts by time and is never used again: a ULID of 48 bits of time and 80 of `randomness`."""
    if len(randomness) != 10 or not 0 <= milliseconds < 1 << 48:
        raise ValueError("a ULID takes 48 bits of time and 10 bytes of randomness")
    number = milliseconds << 80 | int.from_bytes(randomness, "big")
    return PREFIX + "".join(_BASE32[number >> shift & 31] for shift in range(125, -1, -5))


def checked_path(text: str) -> str:
    """A path within a workspace, unchanged. Raises BadProject where it could lead out of it, or hides something."""
    parts = text.split("/")
    is_plain = 0 < len(text) <= PATH_LIMIT and not _CONTROL.search(text) and "\\" not in text
    if not is_plain or any(part in ("", ".", "..") for part in parts):
        raise BadProject(
            f"{_shown(text)} is no path within the workspace",
            "write it from the workspace's root, with /, without .. and without control characters",
        )
    return text


def _shown(text: str) -> str:
    return repr(text[:80])
