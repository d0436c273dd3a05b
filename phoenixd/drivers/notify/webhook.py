"""Alerts to a web hook: one HTTP POST of JSON for each, tried again while the other side is not to be had."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from phoenixd import __version__
from phoenixd.bounded_reads import BoundedReads
from phoenixd.drivers.notify.notifier import Judged, Message, mark, unjudged
from phoenixd.drivers.notify.outbox import Outbox
from phoenixd.errors import NoAnswer

WAITING = 100
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STATUS_LINE_LIMIT = 4096
SECRET_LIMIT = 16 * 1024

log = structlog.get_logger("phoenixd.notify")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to post. The address can itself be the secret, as those of chat services are: it is never logged."""

    url: str | Path
    authorization: Path | None = None
    """A file with the value of the header Authorization."""

    @property
    def files(self) -> str:
        """The files that hold them, by name; empty where none does."""
        return " and ".join(str(one) for one in (self.url, self.authorization) if isinstance(one, Path))

    def read(self) -> tuple[str, str | None]:
        """Address and header; both are read for each message, so that a rotated secret is taken up. Raises OSError.

        Blocking: for threads.
        """
        url = self.url if isinstance(self.url, str) else _first_line(self.url)
        return url, _first_line(self.authorization) if self.authorization is not None else None


class Refused(Exception):
    """The other side answered, and the same message again would be answered alike."""


class WebhookRoute(Outbox):
    """Posts one message after the other. Redirects are not followed: a header must not reach whom nobody named."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float = 10.0,
        tries: int = 6,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        judged: Judged = unjudged,
    ) -> None:
        super().__init__("webhook", WAITING)
        self.mark = mark(str(endpoint.url))
        self._endpoint = endpoint
        self._timeout = timeout
        self._tries = tries
        self._sleep = sleep
        self._judged = judged
        self._reads = BoundedReads()

    async def run(self) -> None:
        """Send for ever."""
        while True:
            message = await self.take()
            problem = await self._send(message)
            self.done(message, problem)
            if problem is not None:
                log.error("alert_not_told", route="webhook", id=message.id, reason=problem)
            self._judged("webhook", problem)

    async def _send(self, message: Message) -> str | None:
        """Try until it is taken, refused, or tried often enough; returns what went wrong."""
        pause, problem = FIRST_PAUSE, ""
        for attempt in range(self._tries):
            if attempt:
                await self._sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            try:
                address = await self._address()
                async with asyncio.timeout(self._timeout):
                    await _post(*address, message)
                return None
            except NoAnswer as silent:
                problem = silent.message
            except Refused as refusal:
                return str(refusal)
            except TimeoutError:
                problem = f"no answer within {self._timeout:g} s"
            except (OSError, ssl.SSLError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
                problem = f"{type(error).__name__}: {getattr(error, 'strerror', None) or 'it cannot be reached'}"
        return f"given up after {self._tries} tries; the last one: {problem}"

    async def _address(self) -> tuple[str, str | None]:
        """Address and header; raises OSError, and NoAnswer where a file is on a mount that does not answer."""
        files = self._endpoint.files
        return await self._reads.of(files, self._endpoint.read, self._timeout) if files else self._endpoint.read()


async def _post(url: str, authorization: str | None, message: Message) -> None:
    """One request on a connection of its own; raises Refused, or what another try may overcome."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise Refused("its address is no http or https URL")
    secure = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure, limit=STATUS_LINE_LIMIT)
    with closing(writer):
        writer.write(_request(parts.path or "/", parts.query, parts.netloc, authorization, message) + message.body)
        await writer.drain()
        _judge((await reader.readuntil(b"\r\n")).decode("latin-1").strip())


def _request(path: str, query: str, netloc: str, authorization: str | None, message: Message) -> bytes:
    lines = [
        f"POST {path}{f'?{query}' if query else ''} HTTP/1.1",
        f"Host: {netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        f"Content-Length: {len(message.body)}",
        f"User-Agent: phoenixd/{__version__}",
        f"X-Phoenix-Alert: {message.id} {message.state}",
        "Connection: close",
    ]
    lines += [f"Authorization: {authorization}"] if authorization else []
    if any(set(line) & set("\r\n\0") for line in lines):
        raise Refused("its address or credential holds a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _judge(status_line: str) -> None:
    """Raise for every status but 2xx; what may pass by itself (429, 5xx) is worth another try."""
    protocol, _, rest = status_line.partition(" ")
    code = rest[:3]
    if not protocol.startswith("HTTP/1.") or not code.isdigit():
        raise Refused("the other side does not speak HTTP")
    if code.startswith("2"):
        return
    if code == "429" or code.startswith("5"):
        raise ConnectionError(0, f"status {code}")
    raise Refused(f"status {code}, a redirect, and none is followed" if code.startswith("3") else f"status {code}")


def _first_line(path: Path) -> str:
    # Without waiting: a FIFO in its place must not hold up the daemon.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return (file.read(SECRET_LIMIT) or b"").decode().partition("\n")[0].strip()
