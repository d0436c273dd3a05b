"""Agents that no file declares any more because their place is gone, cannot be read, or is not the one that is read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from phoenixd.config.layers import configuration_files
from phoenixd.errors import ConfigurationError

MAIN, DROP_INS = "phoenixd.toml", ("conf.d", "agents.d")
UNREAD = "this daemon does not read it"


def require_given_up(
    removed: Mapping[str, str], declarations: Path, read: Collection[str], again: Callable[[Path], str]
) -> None:
    """Raise ConfigurationError where nobody took these agents out of the files that declared them.

    removed: by name the file that declared each. read: the files that this daemon has read since it began. again: the
    command that begins a daemon which reads that place.
    """
    lost: dict[tuple[Path, str], list[str]] = {}
    for name, source in removed.items():
        file = Path(source)
        if source and file.parent != declarations and (why := _why(file, read)):
            lost.setdefault((_place(file), why), []).append(name)
    if not lost:
        return
    told = "\n".join(f"{place}: {why}, and it declared {', '.join(names)}" for (place, why), names in lost.items())
    place, why = next(iter(lost))
    back = f"have it read: {again(place)}" if why == UNREAD else "bring it back"
    names = [name for found in lost.values() for name in found]
    raise ConfigurationError(told, f"{back}; or give its agents up: {shlex.join(['phoenixctl', 'remove', *names])}")


def _why(source: Path, read: Collection[str]) -> str:
    """Why nobody knows what that file declares now; empty where it is read, or was taken out of a place that was."""
    place = _place(source)
    if place == source:
        if os.path.lexists(source):
            return "" if os.fspath(source) in read else UNREAD
        return "" if os.fspath(source) in read else "it is gone"
    for directory in dict.fromkeys((place, source.parent)):
        try:
            os.listdir(directory)
        except FileNotFoundError:
            if directory == place:
                return "it is gone"
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})"
    if os.path.lexists(source):
        return "" if os.fspath(source) in read else UNREAD
    # A service's manager makes a directory that is missing, and one where nothing is mounted is empty.
    if any(Path(file).is_relative_to(place) for file in read) or any(configuration_files(place, place / DROP_INS[1])):
        return ""
    return "it holds no file any more"


def _place(source: Path) -> Path:
    """What --config names of that file: the directory of its configuration, or the file itself."""
    if source.parent.name in DROP_INS:
        return source.parent.parent
    return source.parent if source.name == MAIN else source
