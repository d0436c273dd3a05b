"""What makes a working directory one that an agent can enter: by the error of its start, and what stands in the way."""

from __future__ import annotations

from shlex import quote

from phoenixd.remedies import Command, Remedy, Sentence

UNANSWERED = frozenset({"ENOTCONN", "ESTALE", "EIO", "EHOSTDOWN", "ETIMEDOUT", "ENODEV", "ENXIO"})
"""Errors of a file system that is not there any more, though its mount point is."""


def remedy(cwd: str, failed: str, way: str, user: int) -> Remedy:
    """What to type in a shell, by the name of the error; a sentence only shows what is in the way.

    way: the file, link or closed directory in its way, if it is known.
    """
    made = f"mkdir -p {quote(cwd)}"
    if failed in UNANSWERED:
        # A directory that is made there hides the loss of the mount. This says which mount it is, and from where.
        return Sentence(f"findmnt --target {quote(cwd)}")
    if failed == "ENOTDIR" and way:
        return Command(f"mv {quote(way)} {quote(f'{way}.aside')} && {made}")
    if failed in ("ENOENT", "ELOOP") and way:
        return Command(f"rm {quote(way)} && {made}")
    if failed == "ENOENT":
        return Command(made)
    if failed in ("EACCES", "EPERM") and way == cwd:
        return Command(f"chown {user} {quote(cwd)}")
    return Sentence(f"ls -ld {quote(way or cwd)}")
