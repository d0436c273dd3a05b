"""Promise 7: a request has one reading. What two parsers could cut differently is refused, and keep-alive goes on."""

from __future__ import annotations

import asyncio
import socket

import h11
import pytest

from phoenixd.api.plain_http import PlainHttp
from tests.api.conftest import Live, parse

HIDDEN = b"POST /v1/agents/docs/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"
AMBIGUOUS = {
    "a length and chunks": b"POST /v1/agents HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n"
    b"\r\n0\r\n\r\n" + HIDDEN,
    "chunks and a length": b"POST /v1/agents HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n"
    b"\r\n0\r\n\r\n" + HIDDEN,
    "chunks before they were invented": b"POST /v1/agents HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "a bare LF after the request line": b"GET /healthz HTTP/1.1\nhost: x\r\n\r\n",
    "bare LFs alone": b"GET /healthz HTTP/1.1\nhost: x\n\n",
    "a bare LF in the head": b"GET /healthz HTTP/1.1\r\nhost: x\nx-more: y\r\n\r\n",
    "a bare LF at the head's end": b"GET /healthz HTTP/1.1\r\nhost: x\r\n\n" + HIDDEN,
}
TRAILERS = {
    "a bare LF at the body's end": b"0\r\n\n" + HIDDEN,
    "a bare LF in the trailers": b"0\r\nx: y\n\n" + HIDDEN,
}
CHUNKED = b"POST /v1/agents HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("sent", AMBIGUOUS.values(), ids=list(AMBIGUOUS))
async def test_a_request_with_two_readings_is_refused(live: Live, sent: bytes) -> None:
    live.daemon.declare("docs")

    answer = parse(await live.raw(sent))

    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert live.daemon.orders == [], "what was hidden in it is not obeyed"


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize("sent", [*AMBIGUOUS.values(), *(CHUNKED + end for end in TRAILERS.values())])
def test_however_it_is_cut_into_pieces(sent: bytes, step: int) -> None:
    """The look for what is refused does not begin anew with each byte, and misses nothing at a seam."""
    with pytest.raises(h11.RemoteProtocolError):
        read_in_pieces(sent, step)


def read_in_pieces(sent: bytes, step: int) -> None:
    """Fail where the end of a message is found."""
    connection = PlainHttp(h11.SERVER, 16384)
    for start in range(0, len(sent), step):
        connection.receive_data(sent[start : start + step])
        while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            assert not isinstance(event, h11.EndOfMessage)


@pytest.mark.parametrize("step", [1, 3, 1000])
async def test_keep_alive_and_bodies_with_line_feeds_go_on(live: Live, step: int) -> None:
    """Three requests on one connection; a line feed in a body is the body's own business."""
    live.daemon.declare("docs")
    body = b'{"text":\n\n"a\\nb",\n"wait": false}'
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    send = b"POST /v1/agents/docs/send HTTP/1.1\r\nhost: x\r\n"
    requests = (
        send + b"content-length: %d\r\n\r\n" % len(body) + body,
        send + b"transfer-encoding: chunked\r\n\r\n" + chunks,
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    sent = b"".join(requests)

    def exchange() -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(live.socket))
            for start in range(0, len(sent), step):
                connection.sendall(sent[start : start + step])
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received

    received = await asyncio.to_thread(exchange)

    assert received.count(b"HTTP/1.1 ") == 3
    assert b" 400 " not in received
    assert received.endswith(b'{"ok": true}\n')


def answered(head: h11.Response, method: str = "GET") -> list[bytes]:
    """What goes out of an answer, event by event."""
    connection = PlainHttp(h11.SERVER, 16384)
    connection.receive_data(f"{method} / HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    while not isinstance(connection.next_event(), h11.EndOfMessage):
        pass
    body = h11.Data(data=b"" if method == "HEAD" else b"ok")
    return [connection.send(event) or b"" for event in (head, body, h11.EndOfMessage())]


@pytest.mark.parametrize(("method", "body"), [("GET", b"ok"), ("HEAD", b"")])
def test_head_and_body_of_an_answer_go_out_in_one_piece(method: str, body: bytes) -> None:
    pieces = answered(h11.Response(status_code=200, headers=[("content-length", "2")]), method)

    assert pieces == [b"", b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\n" + body, b""]


def test_the_head_of_a_stream_waits_for_nothing() -> None:
    """A follower knows that it was let in, also where nothing happens."""
    pieces = answered(h11.Response(status_code=200, headers=[("content-type", "text/event-stream")]))

    assert pieces[0].startswith(b"HTTP/1.1 200 ")


async def test_each_answer_on_one_connection_has_its_own_head(live: Live) -> None:
    twice = await live.raw(2 * b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" + LAST)

    assert twice.count(b"HTTP/1.1 200 ") == 3
    assert twice.count(b'{"ok": true}') == 3


LAST = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
