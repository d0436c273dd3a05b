"""Puts what a CLI needs for its hooks into the CLI's own directory: files of ours alone, told by its harness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phoenixd.directories import make_private
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.harness import Harness
from phoenixd.memory.files import Files
from phoenixd.start.users_files import read_only_remedy

SIZE_LIMIT = 64 * 1024


def place_own_files(files: Files, harness: Harness, environment: Mapping[str, str]) -> None:
    """Write the files that are missing or differ; raises LaunchFailed."""
    for name, content in harness.own_files(environment).items():
        path = Path(name)
        try:
            if _holds(files, path, content.encode()):
                continue
            make_private(path.parent)
            files.replace(path, content.encode(), mode=0o600)
        except OSError as error:
            remedy = read_only_remedy(path, error) or f"make {path.parent} writable"
            raise LaunchFailed(f"{path} could not be written: {error}", remedy) from error


def _holds(files: Files, path: Path, content: bytes) -> bool:
    try:
        return files.read_plain(path, SIZE_LIMIT) == content
    except (FileNotFoundError, UnsafeFile):
        return False
