"""HTTP/1.1 requests out of bytes, and nothing more of HTTP than a hook needs.

Pure (sans I/O): `Parser.feed` takes what arrived, in whatever pieces, and yields requests. Imports nothing of its
siblings.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    class Large(Protocol):
        """A body that is read as it arrives; raises ValueError for one that cannot be."""

        def feed(self, piece: bytes) -> None: ...

        def result(self) -> dict[str, Any]: ...


HEAD_LIMIT = 16 * 1024
BODY_LIMIT = 16 * 1024 * 1024
# A body up to here is taken in whole; built, the worst of them takes some MiB for a moment.
WHOLE_LIMIT = 256 * 1024
# Bytes that no target, and no value of a header, may hold.
NO_TARGET = bytes([*range(0x21), *range(0x7F, 0x100)])
NO_VALUE = bytes([*(byte for byte in range(0x20) if byte != 0x09), 0x7F])
# Header lines of a connection that are remembered, since a client says most of them with each request.
MOST_LINES, LINE_LIMIT = 32, 512
TOKEN_CHARACTERS = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

REASONS = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    411: b"Length Required",
    413: b"Content Too Large",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
}


class Refused(Exception):
    """A request that is answered with `status`, after which its connection is closed."""

    def __init__(self, status: int) -> None:
        super().__init__(REASONS[status].decode())
        self.status = status


class Head:
    """The request line and the headers that matter; `headers` has lower-case names."""

    __slots__ = ("content_length", "headers", "keep_alive", "method", "path")

    def __init__(self, method: bytes, path: bytes, headers: dict[bytes, bytes], version: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        connection = headers.get(b"connection", b"").lower()
        self.keep_alive = b"close" not in connection if version == b"HTTP/1.1" else False
        self.content_length = 0

    def measure(self) -> None:
        """Set the length of the body; raises Refused."""
        self.content_length = _content_length(self.headers)


class Parser:
    """One connection's requests, in order; after Refused was raised it takes no more.

    `admit` sees each head before its body is taken in, and raises Refused for one whose body is not wanted. A large
    body goes into what `large` makes, piece by piece.
    """

    def __init__(self, admit: Callable[[Head], None], large: Callable[[], Large] | None = None) -> None:
        self._admit = admit
        self._make_large = large
        self._large: Large | None = None
        self._missing = 0
        self._buffer = bytearray()
        self._head: Head | None = None
        self._lines: dict[bytes, tuple[bytes, bytes]] = {}

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    @property
    def in_request(self) -> bool:
        return self._head is not None or bool(self._buffer)

    @property
    def wants_continue(self) -> bool:
        """The client waits for `100 Continue` before it sends the body."""
        return (
            self._head is not None
            and not self._buffer
            and self._large is None
            and self._head.content_length > 0
            and self._head.headers.get(b"expect", b"").lower() == b"100-continue"
        )

    def feed(self, data: bytes) -> Iterator[tuple[Head, bytes | Large]]:
        """Each request that `data` completes, with its body; raises Refused."""
        self._buffer += data
        while True:
            if self._head is None:
                self._head = self._take_head()
                if self._head is None:
                    return
                self._admit(self._head)
                self._head.measure()
                if self._make_large is not None and self._head.content_length > WHOLE_LIMIT:
                    self._large, self._missing = self._make_large(), self._head.content_length
            if self._large is not None:
                if self._take_piece(self._large):
                    return
                head, large, self._head, self._large = self._head, self._large, None, None
                yield head, large
                continue
            if len(self._buffer) < self._head.content_length:
                return
            head, self._head = self._head, None
            body = bytes(self._buffer[: head.content_length])
            del self._buffer[: head.content_length]
            yield head, body

    def _take_piece(self, large: Large) -> bool:
        """Pass on what has come of a large body; whether more is to come."""
        piece = bytes(self._buffer[: self._missing])
        del self._buffer[: len(piece)]
        self._missing -= len(piece)
        try:
            large.feed(piece)
        except ValueError as error:
            raise Refused(400) from error
        return self._missing > 0

    def _take_head(self) -> Head | None:
        end = self._buffer.find(b"\r\n\r\n", 0, HEAD_LIMIT)
        if end < 0:
            if len(self._buffer) >= HEAD_LIMIT:
                raise Refused(431)
            # A bare line feed ends no line; refusing it at once spares a broken client the timeout.
            if b"\n" in self._buffer and _has_bare_line_feed(self._buffer):
                raise Refused(400)
            return None
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        return _parse_head(lines, self._lines)


def response(status: int, body: bytes, keep_alive: bool) -> bytes:
    """A whole answer with a JSON body."""
    if status == 200 and keep_alive and body == b"{}":
        return TAKEN
    return b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n%s" % (
        status,
        REASONS[status],
        len(body),
        b"keep-alive" if keep_alive else b"close",
        body,
    )


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# What nearly every hook is answered.
TAKEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}"


def _parse_head(lines: list[bytes], known: dict[bytes, tuple[bytes, bytes]]) -> Head:
    """known: lines of this connection that were read before; it is added to."""
    parts = lines[0].split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not parts[0].isalpha():
        raise Refused(400)
    method, target, version = parts
    if not target.startswith(b"/") or target != target.translate(None, NO_TARGET):
        raise Refused(400)
    headers: dict[bytes, bytes] = {}
    for line in lines[1:]:
        field = known.get(line)
        if field is None:
            field = _field(line)
            if len(known) < MOST_LINES and len(line) <= LINE_LIMIT:
                known[line] = field
        name, value = field
        # Two Hosts, lengths or tokens: their sender wants two readers to see two requests.
        if name in headers and name in (b"host", b"content-length", b"authorization", b"transfer-encoding"):
            raise Refused(400)
        headers[name] = value
    if version == b"HTTP/1.1" and b"host" not in headers:
        raise Refused(400)
    return Head(method, target.partition(b"?")[0], headers, version)


def _field(line: bytes) -> tuple[bytes, bytes]:
    """A header's lower-case name, and its value; raises Refused."""
    name, colon, value = line.partition(b":")
    if not colon or not name or not TOKEN_CHARACTERS.issuperset(name):
        raise Refused(400)
    value = value.strip(b" \t")
    if value != value.translate(None, NO_VALUE):
        raise Refused(400)
    return name.lower(), value


def _content_length(headers: dict[bytes, bytes]) -> int:
    if b"transfer-encoding" in headers:
        raise Refused(411)
    value = headers.get(b"content-length", b"0")
    if not value.isdigit():
        raise Refused(400)
    if len(value) > 10 or int(value) > BODY_LIMIT:
        raise Refused(413)
    return int(value)


def _has_bare_line_feed(buffer: bytearray) -> bool:
    return buffer.count(b"\n") != buffer.count(b"\r\n")
