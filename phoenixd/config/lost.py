"""Agents that no file declares any more because their place is gone, cannot be read, or is not the one that is read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from phoenixd.config.layers import configuration_files
from phoenixd.errors import ConfigurationError

MAIN, DROP_INS = "phoenixd.toml", ("conf.d", "agents.d")
UNREAD = "this daemon does not read it"
GONE = "it is gone"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found where a file declared agents.

    is_there: the file. is_gone: the place around it. fault: why the place, or the file's directory, cannot be listed.
    has_files: whether the place holds any file of a configuration.
    """

    is_there: bool = False
    is_gone: bool = False
    fault: str = ""
    has_files: bool = False


def look_for(source: Path) -> Seen:
    """Look for a file that declared agents. Blocking; raises nothing."""
    place = place_of(source)
    is_there = os.path.lexists(source)
    if place == source:
        return Seen(is_there)
    for directory in dict.fromkeys((place, source.parent)):
        try:
            os.listdir(directory)
        except FileNotFoundError:
            if directory == place:
                return Seen(is_gone=True)
        except OSError as error:
            return Seen(is_there, fault=error.strerror or str(error))
    return Seen(is_there, has_files=any(configuration_files(place, place / DROP_INS[1])))


def require_given_up(
    removed: Mapping[str, str], seen: Mapping[str, Seen], read: Collection[str], again: Callable[[Path], str]
) -> None:
    """Raise ConfigurationError where nobody took these agents out of the files that declared them.

    removed: by name the file that declared each. seen: what a look for each such file found; of one that is not in it
    nothing is asked. read: the files that this daemon has read since it began. again: the command that begins a daemon
    which reads that place.
    """
    lost: dict[tuple[Path, str], list[str]] = {}
    for name, source in removed.items():
        if source in seen and (why := why_lost(Path(source), seen[source], read)):
            lost.setdefault((place_of(Path(source)), why), []).append(name)
    if not lost:
        return
    told = "\n".join(f"{place}: {why}, and it declared {', '.join(names)}" for (place, why), names in lost.items())
    place, why = next(iter(lost))
    back = f"have it read: {again(place)}" if why == UNREAD else "bring it back"
    names = [name for found in lost.values() for name in found]
    raise ConfigurationError(told, f"{back}; or give its agents up: {shlex.join(['phoenixctl', 'remove', *names])}")


def why_lost(source: Path, seen: Seen, read: Collection[str]) -> str:
    """Why nobody knows what that file declares now; empty where it is read, or was taken out of a place that was."""
    place, is_read = place_of(source), os.fspath(source) in read
    if seen.is_gone:
        return GONE
    if seen.fault:
        return f"it cannot be read ({seen.fault})"
    if seen.is_there:
        return "" if is_read else UNREAD
    if place == source:
        return "" if is_read else GONE
    # A service's manager makes a directory that is missing, and one where nothing is mounted is empty.
    if seen.has_files or any(Path(file).is_relative_to(place) for file in read):
        return ""
    return "it holds no file any more"


def place_of(source: Path) -> Path:
    """What --config names of that file: the directory of its configuration, or the file itself."""
    if source.parent.name in DROP_INS:
        return source.parent.parent
    return source.parent if source.name == MAIN else source
