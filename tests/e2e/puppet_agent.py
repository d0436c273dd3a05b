"""The agent's side of a puppet (see puppet.py): runs what it is told on its socket, and imports no phoenixd."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any


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
