"""The short way of a look: what phoenixctl asks all day, without an HTTP parser and a router, and in the same bytes.

A request goes this way that stands whole in the first bytes of its connection, in the very form in which phoenixctl
writes it. All else is read as HTTP. Both ways ask `Api` the same; a test compares what they answer.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from phoenixd.api.operations import served
from phoenixd.api.operations.operation import Operation

REQUEST = re.compile(
    rb"GET (/v1/[a-z]+)(?:\?([!-~]*))? HTTP/1\.0\r\nhost: phoenixd\r\naccept: text/plain\r\n"
    rb"(?:authorization: (Bearer [0-9A-Za-z]+)\r\n)?\r\n"
)
PHRASES = {one.value: one.phrase for one in HTTPStatus}
LOOKS = {str(one.path).encode(): one for one in served() if one.name in ("list_agents", "prompt")}
"""What a person's shell asks at every prompt, and what is typed all day: by path."""


class Look(NamedTuple):
    """One such request. query and authorization: as they came."""

    operation: Operation
    query: bytes
    authorization: str | None


def read(received: bytes) -> Look | None:
    """The look that was asked for; None where it is to be read as HTTP."""
    found = REQUEST.fullmatch(received)
    operation = LOOKS.get(found[1]) if found is not None else None
    if found is None or operation is None:
        return None
    return Look(operation, found[2] or b"", found[3].decode() if found[3] is not None else None)


def written(response: Response) -> bytes:
    """The answer as it goes over the wire; the connection ends with it."""
    head = [f"HTTP/1.1 {response.status_code} {PHRASES[response.status_code]}".encode()]
    head += (b"%s: %s" % pair for pair in response.raw_headers)
    return b"\r\n".join((*head, b"Connection: close", b"", bytes(response.body)))
