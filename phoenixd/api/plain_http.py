"""HTTP/1.1 with one reading only: what two parsers could cut into different requests is refused.

h11 forgives a line that ends without a carriage return, and takes the chunks where a length is announced as well. A
proxy before the socket may see it otherwise, and then a request of ours could be hidden in another's body (RFC 9112,
sections 2.2 and 6.1).
"""

from __future__ import annotations

import re
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer

BARE_LF = re.compile(rb"(?<!\r)\n")
END = b"\r\n\r\n"


class PlainHttp(h11.Connection):
    """An h11 connection that raises RemoteProtocolError for whatever is ambiguous."""

    def __init__(self, role: type[h11.SERVER], max_incomplete_event_size: int) -> None:
        super().__init__(role, max_incomplete_event_size)
        self._receive_buffer = _Lines()
        self._head = b""

    def send(self, event: Any) -> Any:
        """What goes over the wire; the head of an answer whose length is known waits for the body.

        In two pieces the client wakes twice, the first time for nothing, while the second is still being written.
        """
        sent = super().send(event)
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._head = sent or b""
            return b""
        if self._head and sent is not None:
            sent, self._head = self._head + sent, b""
        return sent

    def next_event(self) -> Any:
        """The next event of h11's; raises RemoteProtocolError also for a body whose end is announced in two ways."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {bytes(name) for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("the body's end is announced in two ways")
        return event


class _Lines(ReceiveBuffer):
    """What was received, in which every line of a request's head and of its trailers ends with CR LF."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines up to the first empty one, None while it has not come; raises RemoteProtocolError."""
        if self._data[:2] != b"\r\n":
            seen = max(0, self._multiple_lines_search - 2)
            end = self._data.find(END, seen)
            if BARE_LF.search(self._data, seen, len(self._data) if end < 0 else end):
                raise h11.RemoteProtocolError("a line ends without a carriage return")
        return super().maybe_extract_lines()
