"""The inbox as an operator's program sees it: what waits, and what came of an answer."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class Inbox:
    """Of the daemon whose runtime directory this is."""

    def __init__(self, runtime: Path) -> None:
        self._socket = str(runtime / "api.sock")
        self.said: dict[str, Any] = {}
        """The daemon's whole reply to the newest answer, for the message of a test that expected another one."""

    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._call("GET", "/v1/inbox")["items"]
        return items

    def answer(self, number: int, verdict: str, reason: str = "no") -> bool | None:
        """Whether the answer counted; a refusal is one that did not. None: the daemon did not live to say so."""
        try:
            answer = self._call("POST", f"/v1/inbox/{number}/answer", {"verdict": verdict, "reason": reason})
        except (OSError, http.client.HTTPException):
            return None
        self.said = answer
        return bool(answer.get("taken", False))

    def recheck(self) -> None:
        """What `phoenixctl watchdog` asks for."""
        self._call("POST", "/v1/watchdog")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        connection = http.client.HTTPConnection("phoenixd", timeout=90)
        connection.sock = socket.socket(socket.AF_UNIX)
        with connection.sock as line:
            line.settimeout(90)
            line.connect(self._socket)
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
            return answer
