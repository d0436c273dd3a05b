"""A process of tmux that cannot be begun for want of descriptors is a failure of the terminal, and of nothing else."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import pytest

from phoenixd.drivers.tmux.call import call
from phoenixd.errors import TerminalFailed


@pytest.mark.parametrize(("module", "name"), [(os, "memfd_create"), (socket, "socketpair"), (os, "pidfd_open")])
async def test_a_daemon_that_has_no_descriptor_left_is_told_so_as_of_any_tmux_that_fails(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    """Where many agents die at once each has its terminal read; another error would end the daemon."""

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(module, name, fails)
        with pytest.raises(TerminalFailed, match="Too many open files"):
            await call(["true"], {}, 5.0)
    assert len(os.listdir("/proc/self/fd")) == before
