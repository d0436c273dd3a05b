"""A summary of the git repository that an agent works in, taken so that nothing of the repository's can run.

A repository's own configuration names programs: fsmonitor, filters, textconv, hooks, aliases, pagers, transports.
So only plumbing is asked, and nothing that would look into files through git: no status, no diff, no
`ls-files --modified` (it runs clean filters). Files are compared here, by stat first and by content where stat
leaves it open.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from phoenixd.bounded_reads import BoundedReads
from phoenixd.documents.times import known_wall
from phoenixd.documents.workspace import Commit, GitSummary, Made
from phoenixd.drivers.git.index import GITLINK, Entry, index_of
from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed, tree_entries
from phoenixd.drivers.git.reflog import appended, kind_of
from phoenixd.errors import NoAnswer

TIME_LIMIT = 5.0
SLACK = 2.0
"""Seconds beyond its limit for which a look is waited for: the files that git names are looked at without git."""
MOST_HASHED = 200
LARGEST_HASHED = 5 << 20
COMMITS = 3
MOST_DIRTY, MOST_AHEAD = 2000, 10_000
OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
"""Files of git's own, and what is under way while they are there."""
MOST_MADE = 50
MOST_LISTED = 500
"""Commits made here that are told, and commits among which they are looked for; the newest of each."""
FILE_TYPE = 0o170000
WHERE = ("--show-toplevel", "--absolute-git-dir", "--show-object-format")
"""What `rev-parse` is asked of a repository, one line each."""


class GitSummaries:
    """Looks at repositories. One on a disk that hangs takes no thread that others of the daemon need."""

    def __init__(self) -> None:
        self._reads = BoundedReads()

    async def of(self, directory: str, time_limit: float = TIME_LIMIT) -> GitSummary | None:
        """Summarise the repository around `directory`; None when there is none. What cannot be told is a problem."""
        try:
            return await self._reads.of(directory, partial(summarise, directory, time_limit), time_limit + SLACK)
        except NoAnswer as silent:
            return GitSummary(problem=silent.message)


def summarise(directory: str, time_limit: float = TIME_LIMIT) -> GitSummary | None:
    """The same, blocking for about `time_limit` seconds at most where the disk answers."""
    if not os.path.isdir(directory):
        return GitSummary(problem=f"{directory} is no directory")
    plumbing = Plumbing(directory, time.monotonic() + time_limit)
    try:
        top, git_directory, object_format = plumbing.answers(3, "rev-parse", *WHERE)
    except PlumbingFailed as failure:
        return None if failure.no_repository else GitSummary(problem=str(failure))
    branch: str | None = None
    commits: tuple[Commit, ...] = ()
    made: tuple[Made, ...] = ()
    try:
        branch = next(iter(plumbing.lines("symbolic-ref", "-q", "--short", "HEAD", accepted=(0, 1))), None)
        head = next(iter(plumbing.lines("rev-parse", "-q", "--verify", "HEAD^{commit}", accepted=(0, 1))), None)
        commits = tuple(_commits(plumbing)) if head else ()
        made = tuple(_made(plumbing, os.fsencode(git_directory), (branch or "").encode())) if head else ()
        indexed, written, _ = index_of(plumbing, os.fsencode(top), os.fsencode(git_directory), object_format)
        changed = _changed(plumbing, Path(top), indexed, written, head)
        others = plumbing.fields("ls-files", "--others", "--exclude-standard", "--directory", "-z", cwd=top)
        dirty = tuple(os.fsdecode(path) for path in (*sorted(changed), *others))[:MOST_DIRTY]
        ahead = _ahead(plumbing) if head and branch else None
        operation, began = _operation(git_directory)
        return GitSummary(branch, commits, len(changed), len(others), None, top, dirty, ahead, operation, began, made)
    except PlumbingFailed as failure:
        return GitSummary(branch, commits, problem=str(failure), made=made)


def _commits(plumbing: Plumbing) -> Iterator[Commit]:
    lines = plumbing.lines(
        "rev-list", f"--max-count={COMMITS}", "--no-commit-header", "--format=%h%x09%cs%x09%s", "HEAD"
    )
    for line in lines:
        commit_id, _, rest = line.partition("\t")
        day, _, subject = rest.partition("\t")
        yield Commit(commit_id, day, subject)


def _made(plumbing: Plumbing, git_directory: bytes, branch: bytes) -> Iterator[Made]:
    """The newest commits that the reflog of this worktree's HEAD says were made here, and that HEAD still holds."""
    try:
        moves = appended(git_directory + b"/logs/HEAD", "", 0.0).moves
    except OSError as error:
        raise PlumbingFailed(f"the reflog of HEAD cannot be read: {error.strerror}") from error
    by_id = {
        move.new: at
        for move in moves
        # The author of a commit chooses its date, and may choose one that no calendar has.
        if kind_of(move, branch) in ("commit", "pick", "merge") and (at := known_wall(move.at)) is not None
    }
    if not by_id:
        return
    lines = plumbing.lines(
        "rev-list", f"--max-count={MOST_LISTED}", "--no-commit-header", "--format=%H%x09%h%x09%s", "HEAD"
    )
    told = 0
    for line in lines:
        whole, _, rest = line.partition("\t")
        if whole in by_id and told < MOST_MADE:
            told += 1
            short, _, subject = rest.partition("\t")
            yield Made(short, float(by_id[whole]), subject)


def _ahead(plumbing: Plumbing) -> int | None:
    """Count the commits of the branch that no remote is known to have; None where there is no remote."""
    if not plumbing.lines("for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes"):
        return None
    return int(plumbing.lines("rev-list", "--count", f"--max-count={MOST_AHEAD}", "HEAD", "--not", "--remotes")[0])


def _operation(git_directory: str) -> tuple[str, float | None]:
    """What git was begun to do here and has not ended, told by the files that it keeps meanwhile; and since when."""
    for file, name in OPERATIONS:
        try:
            # Once it is begun git writes what stands in a directory anew, and its orig-head no more.
            found = os.lstat(os.path.join(git_directory, file))
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(git_directory, file, "orig-head"))
        except OSError:
            continue
        return name, known_wall(float(int(found.st_mtime)))
    return "", None


def _changed(plumbing: Plumbing, top: Path, indexed: list[Entry], written: int, head: str | None) -> set[bytes]:
    """The tracked paths whose file differs from the index, or whose index differs from the last commit."""
    committed = tree_entries(plumbing.output("ls-tree", "-r", "-z", "--full-tree", head)) if head else {}
    staged = {entry.path for entry in indexed if entry.stage or committed.get(entry.path) != (entry.mode, entry.blob)}
    staged |= committed.keys() - {entry.path for entry in indexed}
    budget = MOST_HASHED
    for entry in indexed:
        if entry.path in staged or entry.mode == GITLINK or entry.is_left_alone:
            continue
        verdict = differs_by_stat(entry, os.path.join(os.fsencode(top), entry.path), written)
        if verdict is None:
            budget -= 1
            verdict = budget < 0 or _differs_by_content(entry, top)
            plumbing.require_time()
        if verdict:
            staged.add(entry.path)
    return staged


def differs_by_stat(entry: Entry, path: bytes, index_written: int) -> bool | None:
    """Whether a file is known to differ from its index entry; None when only its content can tell."""
    try:
        found = os.lstat(path)
    except OSError:
        return True
    if (found.st_mode ^ entry.mode) & FILE_TYPE:
        return True
    if found.st_size & 0xFFFFFFFF != entry.size:
        return True
    recorded = found.st_mtime_ns if entry.mtime % 1_000_000_000 else found.st_mtime_ns // 1_000_000_000 * 1_000_000_000
    # A file written in the same instant as the index may have changed after it without a trace in its times.
    return False if recorded == entry.mtime < index_written else None


def _differs_by_content(entry: Entry, top: Path) -> bool:
    path = os.path.join(os.fsencode(top), entry.path)
    try:
        if stat.S_ISLNK(entry.mode):
            content = os.fsencode(os.readlink(path))
        else:
            content = _read(path)
    except OSError:
        return True
    hashing = hashlib.sha1(usedforsecurity=False) if len(entry.blob) == 20 else hashlib.sha256()
    hashing.update(b"blob %d\0" % len(content))
    hashing.update(content)
    return hashing.digest() != entry.blob


def _read(path: bytes) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_HASHED:
            raise OSError(None, "not a file to be hashed")
        return file.read(LARGEST_HASHED)
