"""Claims of files: by what stood at the path at the report's time. A file that was changed later proves nothing."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from phoenixd.documents.report.claims import FileClaim
from phoenixd.documents.report.facts import Facts, FileSeen
from phoenixd.documents.report.verdicts import Verdict
from phoenixd.memory.report.runs import Runs

_NOT_READ = {
    "outside": "it lies outside of the workspace, and was not opened",
    "link": "a symbolic link is on the way, and was not followed",
    "directory": "it is a directory",
    "special": "it is no regular file, and was not opened",
    "unread": "it could not be read",
    "report": "it is the report itself",
}

_TOUCHING = frozenset({"chmod", "chown", "chgrp", "touch", "setfacl"})


def of_file(claim: FileClaim, facts: Facts, runs: Runs, deleted: frozenset[str]) -> Verdict:
    """What became of a claimed file. deleted: paths that the same report says to be deleted."""
    seen = facts.files.get(claim.path)
    if seen is None:
        return Verdict(claim, "unverifiable", "it was not looked at")
    if seen.state in _NOT_READ:
        return Verdict(claim, "unverifiable", _NOT_READ[seen.state])
    if seen.later:
        return Verdict(claim, "unverifiable", "it was changed after the report")
    written = _writes(claim.path, facts)
    if claim.did == "deleted":
        return _of_deleted(claim, seen, written)
    if seen.state == "absent":
        if claim.sha256 is not None and claim.path not in deleted and written:
            return Verdict(claim, "contradicted", "it was written, and was gone again at the report's time")
        if written or claim.path in deleted:
            return Verdict(claim, "unverifiable", "it was written, and is gone again")
        if _elsewhere(claim.path, facts):
            return Verdict(claim, "unverifiable", "it is not there, but a file of that name in another directory is")
        return Verdict(claim, "contradicted", "there is no such file")
    if seen.changed is False and not written and _is_touched(claim.path, facts, runs):
        return Verdict(claim, "unverifiable", "its content is as before, and a command changed its times or rights")
    return _of_content(claim, seen, written)


def _of_deleted(claim: FileClaim, seen: FileSeen, written: bool) -> Verdict:
    if seen.state == "file":
        return Verdict(claim, "contradicted", "the file is there")
    if seen.before or written:
        return Verdict(claim, "verified", "it was there, and is gone")
    return Verdict(claim, "unverifiable", "it is not there, and nothing tells that it ever was")


def _of_content(claim: FileClaim, seen: FileSeen, written: bool) -> Verdict:
    if claim.sha256 is not None and seen.sha256 is None:
        return Verdict(claim, "unverifiable", "its content was not read")
    if claim.sha256 is not None and claim.sha256 != seen.sha256:
        return Verdict(claim, "contradicted", f"its SHA-256 at the report's time was {seen.sha256}")
    if (seen.changed is False and not written) or (seen.sha256 is not None and seen.sha256 == seen.before):
        return Verdict(claim, "contradicted", "it is as it was before the task")
    if claim.sha256 is not None:
        return Verdict(claim, "verified", "its SHA-256 at the report's time is the claimed one")
    if seen.changed or written:
        return Verdict(claim, "verified", "it was changed during the task")
    return Verdict(claim, "unverifiable", "nothing tells whether it was changed")


def _writes(path: str, facts: Facts) -> bool:
    """Whether the CLI's own file tool wrote it."""
    wanted = _below(path, facts.root)
    return any(not one.failed and _below(one.path, facts.root) == wanted for one in facts.witness.writes)


def _is_touched(path: str, facts: Facts, runs: Runs) -> bool:
    """Whether a command changed something of the file that is not its content."""
    wanted = _below(path, facts.root)
    return any(
        command.program in _TOUCHING
        and any(f"/{wanted}".endswith(f"/{_below(word, '')}") for word in command.words[1:])
        for run in runs.known
        for command in run.line.commands
    )


def _elsewhere(path: str, facts: Facts) -> bool:
    """Whether a file with that end of its path was changed: agents name paths from the directory they stand in."""
    end = f"/{_below(path, facts.root)}"
    known: Iterable[str] = (*facts.written, *(one.path for one in facts.witness.writes if not one.failed))
    return any(f"/{_below(one, facts.root)}".endswith(end) for one in known)


def _below(path: str, root: str) -> str:
    """A path relative to the workspace, where it lies in it."""
    plain = posixpath.normpath(path.replace("\0", ""))
    return plain.removeprefix(f"{root.rstrip('/')}/") if root else plain
