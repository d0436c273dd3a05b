"""An agent that does what a test tells it: Python source on its socket, one JSON line each way."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

from tests.waiting import eventually_sync


class Puppet:
    """The test's end. `do` runs source inside the agent, and returns the repr of what it bound to `out`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-m", "tests.e2e.puppet", str(self.path)]

    def do(self, source: str) -> str:
        with socket.socket(socket.AF_UNIX) as line:
            eventually_sync(lambda: line.connect_ex(str(self.path)) == 0, what="the puppet listens")
            line.settimeout(90)
            line.sendall(json.dumps(source).encode() + b"\n")
            with line.makefile("rb") as answers:
                return str(json.loads(answers.readline()))


def main() -> None:
    path = Path(sys.argv[1])
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    names: dict[str, Any] = {}
    while True:
        line, _ = listener.accept()
        with line, line.makefile("rwb") as stream:
            names["out"] = None
            try:
                exec(json.loads(stream.readline()), names)
                answer = repr(names["out"])
            except Exception as error:  # noqa: BLE001  # Whatever it was told to try, it goes on.
                answer = f"failed: {error!r}"
            stream.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
