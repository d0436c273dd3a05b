"""The control API from a thread: what came back says whether an order was acknowledged."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 90.0


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("phoenixd", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(path: Path, method: str, target: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """One request; status 0 where no whole answer came, as after a kill."""
    connection = _Connection(path)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, target, content, {"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        connection.close()


@dataclass(slots=True)
class Order:
    """One order to one agent, under way in a thread of its own."""

    verb: str
    name: str
    status: int = 0
    said: Any = None
    _thread: threading.Thread | None = field(default=None, repr=False)

    @property
    def acknowledged(self) -> bool:
        return 200 <= self.status < 300

    def give(self, path: Path) -> Order:
        def run() -> None:
            self.status, self.said = ask(path, "POST", f"/v1/agents/{self.name}/{self.verb}", {})

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        return self

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended."""
        assert self._thread is not None
        self._thread.join(seconds)
        return not self._thread.is_alive()
