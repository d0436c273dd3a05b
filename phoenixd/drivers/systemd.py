"""systemd's notification socket: one datagram a message, and nothing where no systemd listens."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class ServiceManager:
    """What systemd wants to hear from a service of Type=notify; every call is a no-op elsewhere.

    Nothing here raises: a service manager that went away is no reason for the daemon to go as well.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ, pid: int | None = None) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # "@name" is how the environment spells an address in the abstract name space, which starts with NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._interval = _watchdog_interval(environment, os.getpid() if pid is None else pid)

    @property
    def is_present(self) -> bool:
        return self._address.startswith(("/", "\0"))

    @property
    def watchdog_interval(self) -> float | None:
        """Seconds within which `watchdog` must be called again; None where systemd does not watch this process."""
        return self._interval

    def ready(self, status: str = "") -> bool:
        return self._send("READY=1", *_status(status))

    def status(self, text: str) -> bool:
        return self._send(*_status(text))

    def watchdog(self) -> bool:
        return self._send("WATCHDOG=1")

    def reloading(self) -> bool:
        """Announce a reload; `ready` ends it. systemd 253 and later want the time stamp."""
        return self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str = "") -> bool:
        return self._send("STOPPING=1", *_status(status))

    def extend_timeout(self, seconds: float) -> bool:
        """Ask for that much more time from now on for a start, reload or stop that is under way."""
        return self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, *lines: str) -> bool:
        if not self.is_present:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sender:
            try:
                sender.sendto("\n".join(lines).encode(), self._address)
            except OSError:
                return False
        return True


def _status(text: str) -> tuple[str, ...]:
    # A newline would end the assignment, and let a text that an agent had a hand in say MAINPID=1.
    printable = "".join(character if character.isprintable() else " " for character in text)
    return (f"STATUS={printable[:500]}",) if text else ()


def _watchdog_interval(environment: Mapping[str, str], pid: int) -> float | None:
    microseconds = environment.get("WATCHDOG_USEC", "")
    owner = environment.get("WATCHDOG_PID", str(pid))
    if not (microseconds.isascii() and microseconds.isdigit()) or owner != str(pid):
        return None
    return int(microseconds) / 1_000_000 or None
