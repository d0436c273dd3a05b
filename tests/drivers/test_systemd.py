"""What systemd is told, byte for byte, on a socket that stands in for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.systemd import ServiceManager


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, short_tmp: Path) -> str:
    return str(short_tmp / "notify") if request.param == "path" else f"@phoenixd-test-{os.getpid()}"


@pytest.fixture
def listener(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + address[1:] if address.startswith("@") else address)
        listening.settimeout(60)
        yield listening


def test_every_message_as_systemd_reads_it(address: str, listener: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": address})
    said = []
    for call in (
        lambda: manager.ready("3 agents"),
        lambda: manager.status("fine"),
        manager.watchdog,
        manager.stopping,
        lambda: manager.extend_timeout(2.5),
    ):
        assert call()
        said.append(listener.recv(4096))

    assert said == [b"READY=1\nSTATUS=3 agents", b"STATUS=fine", b"WATCHDOG=1", b"STOPPING=1",
                    b"EXTEND_TIMEOUT_USEC=2500000"]  # fmt: skip
    manager.reloading()
    first, _, second = listener.recv(4096).partition(b"\nMONOTONIC_USEC=")
    assert first == b"RELOADING=1"
    assert second.isdigit()


def test_a_status_cannot_say_more_than_a_status(address: str, listener: socket.socket) -> None:
    ServiceManager({"NOTIFY_SOCKET": address}).status("stuck\nMAINPID=1\r\x1b[2J" + "x" * 9000)
    said = listener.recv(65536)

    assert b"\n" not in said
    assert b"\x1b" not in said
    assert len(said) < 600


def test_without_systemd_nothing_is_sent_and_nothing_fails(tmp_path: Path) -> None:
    for environment in ({}, {"NOTIFY_SOCKET": "vsock:2:1"}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}):
        assert not ServiceManager(environment).ready()


@pytest.mark.parametrize(
    ("environment", "interval"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "77"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_interval_is_ours_only_when_it_names_us(
    environment: dict[str, str], interval: float | None
) -> None:
    assert ServiceManager(environment, pid=77).watchdog_interval == interval
