"""A stand-in for the shim's hook endpoint: records what an agent CLI posts, and can hold or answer single hooks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["HookCall"], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class HookCall:
    """`at` is Unix time; `connection` tells the TCP connections apart (the client's port)."""

    number: int
    at: float
    connection: int
    path: str
    headers: dict[str, str]
    payload: dict[str, Any]

    @property
    def event(self) -> str:
        return str(self.payload.get("hook_event_name", ""))


class HookRecorder:
    """Answers `{}` at once unless `answer` says otherwise; `answer` may block: each connection has its thread."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.calls: list[HookCall] = []
        self.answer: Answer = answer or (lambda _: {})
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def __enter__(self) -> HookRecorder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def events(self) -> list[str]:
        with self._changed:
            return [call.event for call in self.calls]

    def wait_for(
        self,
        event: str,
        *,
        after: int = 0,
        timeout: float = 60.0,
        condition: Callable[[HookCall], bool] = lambda _: True,
    ) -> HookCall:
        """The first call of this event with a number above `after`; TimeoutError after `timeout` s."""
        found: list[HookCall] = []

        def present() -> bool:
            found[:] = [c for c in self.calls if c.number > after and c.event == event and condition(c)][:1]
            return bool(found)

        with self._changed:
            if self._changed.wait_for(present, timeout):
                return found[0]
            seen = [call.event for call in self.calls]
        raise TimeoutError(f"no {event} hook within {timeout} s; seen: {seen}")

    def note(self, connection: int, path: str, headers: dict[str, str], payload: dict[str, Any]) -> HookCall:
        with self._changed:
            call = HookCall(len(self.calls) + 1, time.time(), connection, path, headers, payload)
            self.calls.append(call)
            self._changed.notify_all()
        return call


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], recorder: HookRecorder) -> None:
        self.recorder = recorder
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that is killed in mid-request leaves a broken connection; the record shows what came before."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = self.server.recorder.note(self.client_address[1], self.path, headers, json.loads(raw))
        body = json.dumps(self.server.recorder.answer(call)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The record is the log."""
