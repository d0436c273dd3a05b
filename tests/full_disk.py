"""A disk so small that a test can fill it: a tmpfs, for which root is needed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHUNK = 4096


@contextmanager
def small_disk(mount: Path, size: str, inodes: int = 0) -> Iterator[Path]:
    """A tmpfs of `size` at `mount`; skips the test where that cannot be had."""
    mount.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        pytest.skip("not run: a full disk needs root to mount a tmpfs")
    options = f"size={size},nr_inodes={inodes},mode=0700"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "phoenixd-test", mount], check=False).returncode != 0:
        pytest.skip("not run: this host does not mount a tmpfs")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", mount], check=True)


def fill(disk: Path, name: str = "filler") -> int:
    """Write until not a byte is left; returns how many were written. May be repeated."""
    written = 0
    descriptor = os.open(disk / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 20, CHUNK, 1):
            try:
                while (count := os.write(descriptor, b"x" * size)) > 0:
                    written += count
            except OSError:
                continue
    finally:
        os.close(descriptor)
    return written
