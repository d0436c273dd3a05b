"""A stand-in for a vendor's API on loopback: scripted replies, and a record of all that was asked.

What an API's requests and replies look like is its dialect: messages.py (Anthropic), responses.py (OpenAI) and
generate_content.py (Gemini).
"""

from __future__ import annotations

import argparse
import json
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Protocol, Self

from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Scenario, Step, Usage, load

Responder = Callable[[RecordedRequest], Step | None]
Reply = tuple[int, dict[str, str], bytes]
"""Status, headers beyond the usual ones, and body."""


class Dialect(Protocol):
    """How one vendor's API speaks."""

    @property
    def request(self) -> type[RecordedRequest]: ...

    def whole(self, request: RecordedRequest, step: Step, usage: Usage) -> bytes:
        """The step as one JSON reply."""
        ...

    def events(self, request: RecordedRequest, step: Step, usage: Usage) -> Iterable[bytes]:
        """The step as server-sent events; a `mid_stream` fault comes after the third, and of one that ends the stream
        cleanly this is all that comes."""
        ...

    def streams(self, request: RecordedRequest) -> bool: ...

    def error(self, rejection: Rejection) -> tuple[dict[str, str], bytes]:
        """Headers and body of a refusal."""
        ...

    def late(self, rejection: Rejection) -> bytes:
        """The refusal as the last event of a stream that has begun."""
        ...

    def aside(self, request: RecordedRequest) -> Reply:
        """The answer to whatever is no request for a model's words."""
        ...


class ApiStub:
    """Serves from background threads between `start` and `close`; every method may be called from any thread.

        with MessagesStub(Scenario([Step(text="hello")])) as stub:
            run_the_agent(ANTHROPIC_BASE_URL=stub.base_url)
            request = stub.wait_for_main(text="say hello")

    `responder` is asked before the scenario and may return None to leave the request to it.
    """

    dialect: Dialect

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        port: int = 0,
        record: Path | None = None,
        responder: Responder | None = None,
    ) -> None:
        self.scenario = scenario or Scenario()
        self.requests: list[RecordedRequest] = []
        self._responder = responder
        self._changed = threading.Condition()
        self._open_gates: set[str] = set()
        self._closing = False
        self._record: IO[str] | None = record.open("a") if record else None
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving; replies that hang or wait at a gate end by a dropped connection."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        if self._record:
            self._record.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open_gate(self, name: str) -> None:
        """Let the replies that wait at this gate (`Step.hold`) go, and all later ones."""
        with self._changed:
            self._open_gates.add(name)
            self._changed.notify_all()

    def main_requests(self) -> list[RecordedRequest]:
        with self._changed:
            return [r for r in self.requests if r.kind == "main"]

    def wait_for(
        self, condition: Callable[[RecordedRequest], bool], *, after: int = 0, timeout: float = 60.0
    ) -> RecordedRequest:
        """The first request with a number above `after` that meets the condition; TimeoutError after `timeout` s."""
        found: list[RecordedRequest] = []

        def present() -> bool:
            found[:] = [r for r in self.requests if r.number > after and condition(r)][:1]
            return bool(found)

        with self._changed:
            if self._changed.wait_for(present, timeout):
                return found[0]
            seen = [f"{r.number} {r.method} {r.path} {r.kind} {r.text[:60]!r}" for r in self.requests]
        raise TimeoutError(f"no such request within {timeout} s; seen: {seen}")

    def wait_for_main(
        self, *, text: str = "", session: str | None = None, after: int = 0, timeout: float = 60.0
    ) -> RecordedRequest:
        """The first request of an agent's own conversation whose newest text has the pattern `text`."""

        def asked(request: RecordedRequest) -> bool:
            if request.kind != "main" or session not in (None, request.session_id):
                return False
            return re.search(text, request.text, re.DOTALL) is not None

        return self.wait_for(asked, after=after, timeout=timeout)

    def step_for(self, request: RecordedRequest) -> Step:
        scripted = self._responder(request) if self._responder else None
        return scripted or self.scenario.take(request)

    def note(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> RecordedRequest:
        with self._changed:
            request = self.dialect.request(len(self.requests) + 1, time.time(), method, path, headers, body)
            self.requests.append(request)
            if self._record:
                self._record.write(request.as_json() + "\n")
                self._record.flush()
            self._changed.notify_all()
        return request

    def wait_at(self, gate: str | None, connection: socket.socket) -> bool:
        """Wait until the gate is open (None never opens); False when the client left or the stub closes."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._closing or gate in self._open_gates, timeout=0.1):
                    return not self._closing
            # A client that gave up makes its socket readable (end of stream); a pipelined request does not occur here.
            if select.select([connection], [], [], 0)[0]:
                return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], stub: ApiStub) -> None:
        self.stub = stub
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        # Agents are killed in mid-request on purpose; a broken connection is no news, anything else is a fault of ours.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self._read()
        self._whole(200, b"")

    def do_GET(self) -> None:
        self._aside(self._read())

    def do_POST(self) -> None:
        request = self._read()
        if request.is_message:
            self._answer(request, self.server.stub.step_for(request))
        else:
            self._aside(request)

    def _aside(self, request: RecordedRequest) -> None:
        status, headers, body = self.server.stub.dialect.aside(request)
        self._whole(status, body, headers)

    def _answer(self, request: RecordedRequest, step: Step) -> None:
        stub = self.server.stub
        let_go = step.hold is None or stub.wait_at(step.hold, self.connection)
        if step.fault == "hang":
            stub.wait_at(None, self.connection)
        if not let_go or step.fault in ("hang", "drop"):
            self._drop()
        elif step.error is not None and not (step.fault == "error_mid_stream" and stub.dialect.streams(request)):
            headers, body = stub.dialect.error(step.error)
            if own := step.error.body:
                body = own.encode()
                headers = {**headers, "content-type": "text/html" if own.startswith("<") else "application/json"}
            self._whole(step.error.status, body, headers)
        elif stub.dialect.streams(request):
            self._stream(stub.dialect.events(request, step, stub.scenario.usage), step)
        else:
            self._whole(200, stub.dialect.whole(request, step, stub.scenario.usage))

    def _stream(self, events: Iterable[bytes], step: Step) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for number, event in enumerate(events):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            if number == 2 and step.fault in ("hang_mid_stream", "drop_mid_stream"):  # in the middle of the first block
                if step.fault == "hang_mid_stream":
                    self.server.stub.wait_at(None, self.connection)
                self._drop()
                return
            if number == 2 and step.fault == "error_mid_stream" and step.error is not None:
                late = self.server.stub.dialect.late(step.error)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(late), late))
                break
        self.wfile.write(b"0\r\n\r\n")

    def _read(self) -> RecordedRequest:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            parsed = json.loads(raw or b"{}")
        except ValueError:
            parsed = {"unparsed": raw.decode(errors="replace")}
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.stub.note(self.command, self.path, headers, parsed if isinstance(parsed, dict) else {})

    def _whole(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"request-id": f"req_stub_{len(self.server.stub.requests)}", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close sends a reset

    def log_message(self, *_: object) -> None:
        """Requests are in the record; standard error stays free for faults of the stub itself."""


def main(stub_type: type[ApiStub]) -> int:
    """Run a stub by hand: python -m tests.stub.messages --port 0 --scenario FILE [--record FILE]."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenario", type=Path)
    parser.add_argument("--record", type=Path, help="append every request as one JSON line")
    options = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    scenario = load(options.scenario) if options.scenario else Scenario()
    with stub_type(scenario, port=options.port, record=options.record) as stub:
        print(json.dumps({"base_url": stub.base_url, "port": stub.port}), flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0
