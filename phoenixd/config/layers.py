"""Configuration files as layers: found, read, and laid over each other, with the origin of every key."""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE_LIMIT = 1 << 20
KeyPath = tuple[str, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")
_PART = re.compile(_KEY)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a key was set."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Layer:
    """One file's tables, or what stands for a file. `error` says why nothing of it counts."""

    file: str
    tables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    error: str | None = None
    error_line: int | None = None
    is_unread: bool = False
    """Nobody knows what it declares: it is there, and cannot be looked through, or it is gone."""


@dataclass(slots=True)
class Stack:
    """The layers' sum."""

    tables: dict[str, Any] = field(default_factory=dict, repr=False)
    origins: dict[KeyPath, Origin] = field(default_factory=dict)

    def lay(self, layer: Layer) -> None:
        """Put a layer on top: tables are merged, every other value is replaced."""
        self._merge(self.tables, layer.tables, (), layer)

    def origin(self, path: KeyPath) -> Origin | None:
        """Where a key was set, or the nearest table around it."""
        while path:
            if path in self.origins:
                return self.origins[path]
            path = path[:-1]
        return None

    def _merge(self, below: dict[str, Any], above: Mapping[str, Any], prefix: KeyPath, layer: Layer) -> None:
        for key, value in above.items():
            path = (*prefix, key)
            origin = Origin(layer.file, _line(layer.lines, path))
            if isinstance(value, Mapping):
                # A table belongs to the file that opened it first; its keys each to the file that set them last.
                self.origins.setdefault(path, origin)
                if not isinstance(below.get(key), dict):
                    below[key] = {}
                self._merge(below[key], value, path, layer)
            else:
                below[key] = value
                self.origins[path] = origin


def configuration_files(place: Path | None, declarations: Path) -> Iterator[Path]:
    """Every file that counts, lowest layer first. `place` is a directory, or the main file itself."""
    if place is not None:
        is_directory = os.path.isdir(place)
        directory = place if is_directory else place.parent
        main = directory / "phoenixd.toml" if is_directory else place
        if os.path.exists(main):
            yield main
        yield from _drop_ins(directory / "conf.d")
        yield from _drop_ins(directory / "agents.d")
    yield from _drop_ins(declarations)


def unread_places(place: Path | None, declarations: Path) -> Iterator[Layer]:
    """A wrong layer for each place whose declarations nobody can know: such a place is no empty layer.

    A daemon that took an unmounted or unreadable directory for an empty one would end all agents that it declares.
    """
    if place is not None:
        if not os.path.lexists(place):
            why = f"it is gone, and nobody knows what it declares: bring it back, or mkdir -p {shlex.quote(str(place))}"
            yield Layer(str(place), error=why, is_unread=True)
            return
        if os.path.isfile(place):
            place = place.parent
        else:
            yield from _unread(place)
            yield from _leading_nowhere(place / "phoenixd.toml")
        yield from _unread(place / "conf.d")
        yield from _unread(place / "agents.d")
    yield from _unread(declarations)


def _unread(directory: Path) -> Iterator[Layer]:
    try:
        os.listdir(directory)
        os.stat(directory / ".")
    except FileNotFoundError:
        yield from _leading_nowhere(directory)
    except OSError as error:
        yield Layer(str(directory), error=f"cannot be read: {error.strerror or error}", is_unread=True)


def _leading_nowhere(path: Path) -> Iterator[Layer]:
    if os.path.islink(path) and not os.path.exists(path):
        yield Layer(str(path), error="cannot be read: it is a link that leads nowhere", is_unread=True)


def read_layer(path: Path) -> Layer:
    """Read one file; what is wrong with it is in the layer."""
    try:
        content = _read_regular_file(path)
        text = content.decode("utf-8")
        # tomllib's own complaint says line and column; it does not bound the depth of arrays, the interpreter does.
        return Layer(str(path), tomllib.loads(text), key_lines(text))
    except UnicodeDecodeError as error:
        return Layer(str(path), error=f"is not UTF-8 text (byte {error.start})")
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line ([0-9]+)", str(error))
        return Layer(str(path), error=f"is not TOML: {error}", error_line=int(line.group(1)) if line else None)
    except ValueError:
        # tomllib leaves to the interpreter how many digits a number may have.
        return Layer(str(path), error="cannot be used: one of its numbers has thousands of digits")
    except RecursionError:
        return Layer(str(path), error="is not TOML: nested too deeply")
    except OSError as error:
        return Layer(str(path), error=f"cannot be read: {error.strerror or error}")


def lay_all(layers: Iterable[Layer]) -> Stack:
    stack = Stack()
    for layer in layers:
        stack.lay(layer)
    return stack


def key_lines(text: str) -> dict[KeyPath, int]:
    """Say on which line each key of a TOML text stands. A reader of lines, so inline tables count as one key."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    closing: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if closing is not None:
            closing = None if closing in line else closing
            continue
        if header := _HEADER.match(line):
            table = _parts(header.group(1))
            # `[agent.a]` opens the table `agent` too, when nothing did so before.
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], number)
        elif assignment := _ASSIGNMENT.match(line):
            found.setdefault((*table, *_parts(assignment.group(1))), number)
            closing = _opened_multiline(line[assignment.end() :])
    return found


def _opened_multiline(value: str) -> str | None:
    for quotes in ('"""', "'''"):
        if value.lstrip().startswith(quotes) and value.count(quotes) == 1:
            return quotes
    return None


def _parts(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _drop_ins(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == ".toml" and not path.name.startswith("."))
    except OSError:
        return []


def _read_regular_file(path: Path) -> bytes:
    # O_NONBLOCK, because an agent of the same user may have put a FIFO where a declaration was.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # As of a socket.
            raise OSError(None, "it is not a regular file") from error
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(None, "it is not a regular file")
        # Some files of /proc are regular ones, and say by None that one would have to wait for what they hold.
        content: bytes | None = file.read(FILE_LIMIT + 1)
    if content is None:
        raise OSError(None, "nothing can be read from it without waiting")
    if len(content) > FILE_LIMIT:
        raise OSError(None, f"it is larger than {FILE_LIMIT} bytes")
    return content
