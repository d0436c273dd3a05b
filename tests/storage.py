"""Where a test finds storage: the directory for temporary files may lie in memory, where nothing counts as written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ELSEWHERE = Path("/var/tmp")


@contextmanager
def storage(at_hand: Path) -> Iterator[Path | None]:
    """A new directory with storage, at hand or else where the system keeps such files; None where there is none."""
    place = next((place for place in (at_hand, ELSEWHERE) if place.is_dir() and not is_in_memory(place)), None)
    if place is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="phx-", dir=place) as made:
        yield Path(made)


def is_in_memory(path: Path) -> bool:
    """Whether a directory lies on a file system without storage."""
    mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    above = [(len(at), kind) for at, kind in mounts if path.is_relative_to(at)]
    return max(above)[1] in ("tmpfs", "ramfs")
