"""Files of the user's own that a start writes: where they cannot be written, what helps is told."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.files import plain
from phoenixd.errors import LaunchFailed
from phoenixd.harness import HARNESSES
from phoenixd.start.own_files import place_own_files
from phoenixd.start.trust import seed_trust


def gemini(files: Any, home: Path) -> None:
    place_own_files(files, HARNESSES["gemini"], {"HOME": str(home)})


def claude(files: Any, home: Path) -> None:
    spec = AgentSpec("a", ("claude",), str(home), harness="claude", seed_trust=True)
    seed_trust(files, HARNESSES["claude"], spec, {"HOME": str(home)})


def refusing(number: int) -> Any:
    """Files of which none can be written, for this reason."""

    def replace(path: Path, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
        raise OSError(number, os.strerror(number), os.fspath(path))

    return SimpleNamespace(read_plain=plain.read_plain, replace=replace)


@pytest.mark.parametrize(("write", "below"), [(gemini, ".gemini/extensions/phoenixd"), (claude, "")])
def test_where_a_service_sees_homes_read_only_it_is_told_how_to_let_it_write(
    tmp_path: Path, write: Callable[[Any, Path], None], below: str
) -> None:
    """The unit of the system is locked in: rights of a directory that its owner may write to change nothing there."""
    with pytest.raises(LaunchFailed, match="Read-only file system") as failed:
        write(refusing(errno.EROFS), tmp_path)
    assert f"systemctl edit phoenixd, [Service] ReadWritePaths={tmp_path / below}" in failed.value.remedy


def test_a_directory_that_its_owner_closed_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailed, match="Permission denied") as failed:
        gemini(refusing(errno.EACCES), tmp_path)
    assert failed.value.remedy == f"make {tmp_path}/.gemini/extensions/phoenixd writable"
