"""The daemon's end of a link to a shim."""

from __future__ import annotations

import errno
import select
import socket

import pytest

from phoenixd.drivers.shims.link import Link
from phoenixd.drivers.shims.reading import Reading
from phoenixd.drivers.shims.wire import PACKET_LIMIT
from phoenixd.errors import ShimFailed
from tests.waiting import eventually


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


async def test_a_link_is_read_in_its_turn_also_where_no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one of a daemon whose descriptors were taken stood open, and nothing that its shim said was heard."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    heard = list[str]()
    link, reading = Link("a", ours, lambda message: heard.append(message.event), lambda _: None), Reading()

    def none_is_left() -> select.epoll:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(select, "epoll", none_is_left)
    try:
        link.read_in_turn(reading)
        theirs.send(b'{"event":"hello"}')
        await eventually(lambda: heard, timeout=5.0)
    finally:
        link.close()
        reading.close()
        theirs.close()
    assert heard == ["hello"]


async def test_a_link_that_gets_no_place_among_the_others_is_read_at_once_as_before() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    heard = list[str]()
    link, reading = Link("a", ours, lambda message: heard.append(message.event), lambda _: None), Reading()
    reading.close()
    try:
        with pytest.raises(ValueError, match="closed epoll"):
            link.read_in_turn(reading)
        theirs.send(b'{"event":"hello"}')
        await eventually(lambda: heard, timeout=5.0)
    finally:
        link.close()
        theirs.close()
    assert heard == ["hello"]
