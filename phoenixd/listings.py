"""The names in a directory that others fill, as many as are wanted and no more. Blocking."""

from __future__ import annotations

import fnmatch
import glob
import heapq
import itertools
import os
import re
import stat
from collections.abc import Iterator

MOST_LOOKED = 1_000_000
"""Names that one pattern looks through, one at a time: about a second. What lies behind them is not found."""
MOST_DIRECTORIES = 10_000
"""Directories of one level that are gone through, as of days or projects."""
MOST_DATED = 10_000
"""Files that are compared by when they were written last."""

_ESCAPED = re.compile(r"\[([*?\[])\]")


def names_in(place: int | str | os.PathLike[str], most: int) -> list[str]:
    """Up to `most` names in a directory, in no order; where there are as many, there may be more. Raises OSError.

    os.listdir and glob hold all of them, and an agent may make millions.
    """
    with os.scandir(place) as entries:
        return [entry.name for entry in itertools.islice(entries, most)]


def matching(pattern: str, most: int, looks: int = MOST_LOOKED) -> list[str]:
    """Up to `most` of the paths that a glob means, those of directories that come last by name first. Raises nothing.

    Names that end with a date so come newest first. glob holds every name of each directory on its way.
    """
    return list(itertools.islice(_Search(looks).below("", pattern.split("/")), most))


def newest_matching(pattern: str, most: int) -> list[str]:
    """Of the paths that a glob means the `most` that were written last, the newest first. Raises nothing."""
    return heapq.nlargest(most, matching(pattern, MOST_DATED), key=_written)


def _written(path: str) -> int:
    """When a regular file was written; all else comes last, for an agent can give it any name."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return -1
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else -1


class _Search:
    """One look for a pattern, part by part. looks: names that it may look at."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    def below(self, place: str, parts: list[str]) -> Iterator[str]:
        part, rest = parts[0], parts[1:]
        plain = _ESCAPED.sub("", part)
        if not glob.has_magic(plain):
            path = place + _ESCAPED.sub(r"\1", part)
            if rest:
                yield from self.below(f"{path}/", rest)
            elif _is_there(path):
                yield path
            return
        names = self._names(place, part)
        if not rest:
            yield from (f"{place}{name}" for name in names)
            return
        for name in sorted(itertools.islice(names, MOST_DIRECTORIES), reverse=True):
            yield from self.below(f"{place}{name}/", rest)

    def _names(self, place: str, part: str) -> Iterator[str]:
        """The names in a directory that fit, without those that begin with a dot where the pattern does not."""
        fits = re.compile(fnmatch.translate(part)).match
        self._left -= 1
        try:
            with os.scandir(place or ".") as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        return
                    if fits(entry.name) and (part.startswith(".") or not entry.name.startswith(".")):
                        yield entry.name
        except (OSError, ValueError):
            return  # It is gone, no directory, or closed to us: there is nothing to be found.


def _is_there(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False
