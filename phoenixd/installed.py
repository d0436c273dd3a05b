"""The shim and the hook program, copied to where a package upgrade cannot pull them from under living agents.

STATE_DIR/lib/<sha256 of all files>/ holds `shim/` and `phoenix-hook`. A copy is made once, checked at every start, and
kept while any process runs from it or was told its path. What the daemon was started with stays in its memory: a copy
that somebody removed is made again from there, and not from a package that may be another version's by now.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from phoenixd.directories import make_private, sync_directory

HOOK = "phoenix-hook"
SOURCE = Path(__file__).resolve().parent / "shim"
LARGEST, MOST = 1 << 20, 100
"""Bytes of one program, and modules of the shim: the package has some 40, of less than 20 kB each."""
_READ_LIMIT = 4 << 20


@dataclass(frozen=True, slots=True)
class Installed:
    """One copy. programs: what it has to hold, by name; the hook program is one of them."""

    directory: Path
    programs: Mapping[str, bytes] = field(repr=False, compare=False)

    @property
    def shim(self) -> Path:
        """The directory that the interpreter runs."""
        return self.directory / "shim"

    @property
    def hook(self) -> Path:
        return self.directory / HOOK

    def stand(self) -> bool:
        """Make sure that it is there, whole; whether it had to be made. Raises OSError."""
        if self.directory.exists():
            if self._is_sound():
                return False
            # Somebody changed it: set it aside first, because living processes may have it open.
            os.rename(self.directory, _free_name(self._beside("damaged")))
        library = self.directory.parent
        make_private(library)
        making = _free_name(self._beside("making"))
        make_private(making / "shim" / "__pycache__")  # The interpreter makes one that is open to all under umask 0.
        for name, content in self.programs.items():
            _write(making / HOOK if name == HOOK else making / "shim" / name, content, 0o500 if name == HOOK else 0o600)
        for directory in (making / "shim", making):
            sync_directory(directory)
        os.rename(making, self.directory)
        sync_directory(library)
        return True

    def _is_sound(self) -> bool:
        try:
            return _read(self.shim, self.hook) == self.programs and os.access(self.hook, os.X_OK)
        except OSError:
            return False

    def _beside(self, what: str) -> Path:
        return self.directory.with_name(f".{what}-{self.directory.name[:16]}")


def interpreter() -> str:
    """The interpreter itself, past the links of a virtual environment, which an upgrade may replace."""
    return os.path.realpath(sys.executable)


def job_runner(shim: Path = SOURCE) -> tuple[str, ...]:
    """The argv before that of a program that runs once and ends with this process, also where this is killed.

    To be begun by the event loop's own thread: the kernel tells the runner when that thread ends.
    """
    return (interpreter(), "-I", "-S", str(shim), "--job", "--parent", str(os.getpid()))


def install(library: Path, source: Path = SOURCE) -> Installed:
    """Make sure that a sound copy of `source` stands below `library`; raises OSError."""
    programs = _read(source, source / HOOK)
    copy = Installed(library / _digest(programs), programs)
    copy.stand()
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


def _read(shim: Path, hook: Path) -> dict[str, bytes]:
    found = (path for path in shim.iterdir() if path.suffix == ".py" and path.is_file() and path != hook)
    modules = sorted(islice(found, MOST + 1))
    if len(modules) > MOST:
        raise OSError(errno.E2BIG, "more modules than the shim has", os.fspath(shim))
    return {path.name: _content(path) for path in modules} | {HOOK: _content(hook)}


def _content(path: Path) -> bytes:
    """Of a plain file of a program's size; raises OSError for anything else, and waits for nobody.

    An agent may have put a FIFO there, or a file as large as the disk.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no plain file", os.fspath(path))
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, "larger than any program of ours", os.fspath(path))
    return content


def _digest(programs: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in programs.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _free_name(wanted: Path) -> Path:
    number = 0
    while (candidate := wanted.with_name(f"{wanted.name}.{os.getpid()}.{number}")).exists():
        number += 1
    return candidate
