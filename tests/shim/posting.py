"""Hooks as an agent posts them: one kept-alive connection, or bytes of any kind."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any

from tests.shim.pane import DEADLINE, TOKEN, Pane


class Poster:
    """Over loopback with a port, over hook.sock without."""

    def __init__(self, pane: Pane, port: int | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port or 80, timeout=DEADLINE)
        if port is None:
            self._connection.sock = socket.socket(socket.AF_UNIX)
            self._connection.sock.settimeout(DEADLINE)
            self._connection.sock.connect(str(pane.run / "hook.sock"))

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, kind: str | None, hook_input: Any, token: str = TOKEN, host: str | None = None) -> int:
        """The status of the answer; kind None posts to /hook, as Claude Code does."""
        body = hook_input if isinstance(hook_input, bytes) else json.dumps(hook_input).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if host is not None:
            headers["Host"] = host
        self._connection.request("POST", "/hook" if kind is None else f"/hook/{kind}", body, headers)
        response = self._connection.getresponse()
        assert response.read() == b"{}"
        return response.status


def exchange(port: int, request: bytes) -> bytes:
    """Send bytes, and read until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer
