"""The shim and the hook program, copied to where a package upgrade cannot pull them from under living agents.

STATE_DIR/lib/<sha256 of all files>/ holds `shim/` and `phoenix-hook`. A copy is made once, checked at every start, and
kept while any process runs from it or was told its path.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOOK = "phoenix-hook"
SOURCE = Path(__file__).resolve().parent / "shim"
_READ_LIMIT = 4 << 20


@dataclass(frozen=True, slots=True)
class Installed:
    """One copy."""

    directory: Path

    @property
    def shim(self) -> Path:
        """The directory that the interpreter runs."""
        return self.directory / "shim"

    @property
    def hook(self) -> Path:
        return self.directory / HOOK


def interpreter() -> str:
    """The interpreter itself, past the links of a virtual environment, which an upgrade may replace."""
    return os.path.realpath(sys.executable)


def install(library: Path, source: Path = SOURCE) -> Installed:
    """Make sure that a sound copy of `source` stands below `library`; raises OSError."""
    digest = _digest(source, source / HOOK)
    copy = Installed(library / digest)
    if copy.directory.exists():
        if _is_sound(copy, digest):
            return copy
        # Somebody changed it: set it aside first, because living processes may have it open.
        os.rename(copy.directory, _free_name(library / f".damaged-{digest[:16]}"))
    library.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = _free_name(library / f".making-{digest[:16]}")
    making.mkdir(mode=0o700)
    shutil.copytree(source, making / "shim", ignore=_not_ours)
    shutil.copyfile(source / HOOK, making / HOOK)
    (making / HOOK).chmod(0o500)
    for path in making.rglob("*"):
        _sync(path)
    _sync(making)
    os.rename(making, copy.directory)
    _sync(library)
    return copy


def collect_garbage(library: Path, keep: Installed, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Remove the copies that nothing uses any more, and return their names.

    A shim names its copy on its command line, and an agent in PHOENIX_HOOK, which all its processes inherit.
    """
    try:
        found = {path.name for path in library.iterdir() if path.is_dir() and not path.is_symlink()}
    except OSError:
        return ()
    unused = found - {keep.directory.name}
    if not unused:
        return ()
    unused -= _mentioned(library, unused, proc)
    for name in unused:
        shutil.rmtree(library / name, ignore_errors=True)
    return tuple(sorted(unused))


def _mentioned(library: Path, names: set[str], proc: Path) -> set[str]:
    sought = {name: os.fsencode(library / name) + b"/" for name in names}
    mentioned: set[str] = set()
    for process in proc.iterdir():
        if not process.name.isdigit():
            continue
        for part in ("cmdline", "environ"):
            try:
                with (process / part).open("rb") as file:
                    content = file.read(_READ_LIMIT)
            except OSError:
                continue  # Gone meanwhile, or another user's, who cannot run from a private directory of ours.
            mentioned |= {name for name, path in sought.items() if path in content}
    return mentioned


def _digest(shim: Path, hook: Path) -> str:
    digest = hashlib.sha256()
    for name, path in (*_programs(shim), (HOOK, hook)):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _programs(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.iterdir()):
        if path.suffix == ".py" and path.is_file():
            yield path.name, path


def _is_sound(copy: Installed, digest: str) -> bool:
    try:
        return _digest(copy.shim, copy.hook) == digest and os.access(copy.hook, os.X_OK)
    except OSError:
        return False


def _not_ours(directory: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".py") or os.path.isdir(os.path.join(directory, name))}


def _free_name(wanted: Path) -> Path:
    number = 0
    while (candidate := wanted.with_name(f"{wanted.name}.{os.getpid()}.{number}")).exists():
        number += 1
    return candidate


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
