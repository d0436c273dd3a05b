"""The repository: files that this session wrote and nobody committed, commits that no remote has, a merge under way."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from typing import Any

from phoenixd.documents.ledger_rows import Run
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.workspace import GitSummary
from phoenixd.memory.brief.loops.commands import commands_in
from phoenixd.memory.brief.loops.commits import commits, made
from phoenixd.memory.brief.loops.seen import Found, Seen, source_in

UNCOMMITTED, UNPUSHED, MERGE = "uncommitted", "unpushed", "merge"
MOST_NAMED, NAMES_SHOWN = 12, 260
MOST_FILES, NAME_LIMIT = 100, 300
FILES, FILES_LEFT = "files", "files_left"
"""Keys of a loop: the names of its files, and how many more there are."""
MORE_NAMES = ", and "
_PLAIN = re.compile(r"[\w@+./-]{1,200}")
_BEGAN = frozenset({"merge", "rebase", "cherry-pick", "revert", "pull", "am"})


def uncommitted(seen: Seen) -> Iterator[Found]:
    files = _own_dirty(seen)
    if files:
        named = list(files)[:MOST_NAMED]
        while len(named) > 1 and len(", ".join(named)) > NAMES_SHOWN:
            named.pop()
        more = f", and {len(files) - len(named)} more" if len(files) > len(named) else ""
        at = max((when for when in files.values() if when is not None), default=None)
        kept = [name for name in list(files)[-MOST_FILES:] if len(name) <= NAME_LIMIT]
        extras: dict[str, Any] = {FILES: kept, FILES_LEFT: len(files) - len(kept)}
        yield Found(UNCOMMITTED, "worktree", f"Not committed: {', '.join(map(_shown, named))}{more}", at, extras=extras)


def uncommitted_closed(loop: OpenLoop, seen: Seen) -> str | None:
    if seen.git is None or seen.git.dirty is None or (source_in(loop, seen.session) and _own_dirty(seen)):
        return None
    if any(_stands_in(path, loop) for path in seen.git.dirty):
        return None
    return "its files are committed, or as they were"


def unpushed(seen: Seen) -> Iterator[Found]:
    git = seen.git
    ours, told = list(commits(seen)), made(seen)
    if git is not None and git.ahead and (ours or told):
        plural = "s" if git.ahead > 1 else ""
        subjects = [one.subject for one in told] + [one.subject for one in git.commits]
        newest = f', the newest "{one_line(subjects[0], 120).replace(chr(34), chr(39))}"' if subjects else ""
        text = f"{git.ahead} commit{plural} of {_branch(git)} not pushed{newest}"
        at = told[0].at if told else ours[-1].ended
        yield Found(UNPUSHED, f"branch {_branch(git)}", text, at, is_same=True)


def unpushed_closed(loop: OpenLoop, seen: Seen) -> str | None:
    git = seen.git
    if git is None or git.ahead is None or git.ahead > 0:
        return None
    is_here = source_in(loop, seen.session) == f"branch {_branch(git)}" or _branch(git) in re.findall(
        r"[\w./@+-]+", loop.text
    )
    return "every commit of the branch is pushed" if is_here else None


def merge(seen: Seen) -> Iterator[Found]:
    git = seen.git
    if git is not None and git.operation:
        began = _began(seen)
        how = f", begun by `{one_line(began.text, 120).replace('`', chr(39))}`" if began is not None else ""
        text = f"A {git.operation} is under way on {_branch(git)}{how}"
        # A second merge is another one, though nothing else tells them apart: git's own files do.
        at = git.operation_at if git.operation_at is not None else began.ended if began is not None else None
        yield Found(MERGE, git.operation, text, at, is_same=True)


def merge_closed(loop: OpenLoop, seen: Seen) -> str | None:
    return None if seen.git is None or seen.git.branch is None or seen.git.operation else "it is over"


def _own_dirty(seen: Seen) -> dict[str, float | None]:
    """The files that this session's tools wrote and that git calls changed, with the time, newest last."""
    git = seen.git
    if git is None or git.dirty is None:
        return {}
    found: dict[str, float | None] = {}
    for written in seen.ledger.files.values():
        path = os.path.normpath(os.path.join(seen.around.cwd or "/", written.path))
        name = next((one for one in git.dirty if _is_dirty(path, one, git.top)), None)
        if name is not None:
            shown = name if not name.endswith("/") else f"{name}{path.split(f'/{name}', 1)[-1]}"
            found.pop(shown, None)
            found[shown] = written.at
    return found


def _is_dirty(path: str, name: str, top: str | None) -> bool:
    """Whether git's name means that file. A directory that is untracked as a whole stands for all in it."""
    if top is not None:
        whole = os.path.join(top, name)
        return path.startswith(whole) if name.endswith("/") else path == whole
    return f"/{name}" in f"{path}/" if name.endswith("/") else path.endswith(f"/{name}")


def _stands_in(path: str, loop: OpenLoop) -> bool:
    """Whether a loop may mean that path. One of an earlier version has its names in its text alone."""
    extras = loop.model_extra or {}
    files = extras.get(FILES)
    if extras.get(FILES_LEFT) or not isinstance(files, list | tuple):
        return bool(extras.get(FILES_LEFT)) or MORE_NAMES in loop.text or path.rstrip("/") in loop.text
    return any(path == name or (path.endswith("/") and str(name).startswith(path)) for name in files)


def _shown(name: str) -> str:
    """A file's name; in backticks where it may read as words of ours."""
    return name if _PLAIN.fullmatch(name) else f"`{one_line(name, NAMES_SHOWN).replace('`', chr(39))}`"


def _branch(git: GitSummary) -> str:
    return one_line(git.branch or "a detached HEAD", 100)


def _began(seen: Seen) -> Run | None:
    for run in reversed(seen.ledger.runs.values()):
        if any(words[:1] == ("git",) and len(words) > 1 and words[1] in _BEGAN for words in commands_in(run.text)):
            return run
    return None
