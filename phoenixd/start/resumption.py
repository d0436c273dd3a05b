"""What is looked at before a session is resumed: a resume that cannot work goes fresh at once, not after a refusal."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from phoenixd.core.spec import AgentSpec
from phoenixd.errors import ResumeRefused
from phoenixd.harness import Harness, is_session_id
from phoenixd.listings import matching

FRESH_MARKER = ".fresh"
END_BYTES = 64 * 1024
MOST_FILES = 64
"""Files of a session among which the newest is looked for."""


def require_resumable(
    harness: Harness, spec: AgentSpec, session_id: str, environment: Mapping[str, str], directory: Path
) -> None:
    """Raise ResumeRefused where a resume would not work."""
    if os.path.lexists(directory / FRESH_MARKER):
        raise ResumeRefused(f"{FRESH_MARKER} asks for a fresh start")
    if not is_session_id(session_id):
        raise ResumeRefused("the session id is none")
    if not harness.needs_transcript:
        return
    path = harness.transcript(spec, session_id, environment, os.path.realpath(spec.cwd))
    problem = _transcript_problem(harness, _found(path)) if path is not None else "it has no transcript"
    if problem:
        raise ResumeRefused(problem)


def _found(path: str) -> str:
    """The newest file that a glob finds, or the pattern itself."""
    if os.path.lexists(path) or not glob.has_magic(path):
        return path
    return max(matching(path, MOST_FILES), default=path)


def _transcript_problem(harness: Harness, path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return f"there is no transcript at {path}"
    except OSError as error:
        return f"the transcript {path} cannot be read: {error.strerror}"
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return f"the transcript {path} is no regular file"
        head = file.read(END_BYTES)
        file.seek(max(len(head), found.st_size - END_BYTES))
        tail = file.read(END_BYTES)
    if not harness.transcript_is_resumable(head, tail, found.st_size):
        return f"the transcript {path} holds no message"
    return None
