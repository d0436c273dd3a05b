"""The daemon's end of a link to a shim."""

from __future__ import annotations

import socket

import pytest

from phoenixd.drivers.shims.link import Link
from phoenixd.drivers.shims.wire import PACKET_LIMIT
from phoenixd.errors import ShimFailed


async def test_p14_an_answer_that_fits_into_no_packet_is_told_as_such() -> None:
    """As a fault of ours it ended the action, and its question stayed under an answer for good."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link = Link("a", ours, lambda _: None, lambda _: None)
    try:
        with pytest.raises(ShimFailed, match="does not fit"):
            link.send({"answer": "\U0001f600" * (PACKET_LIMIT // 12 + 1)})
        assert link.is_open
    finally:
        link.close()
        theirs.close()
