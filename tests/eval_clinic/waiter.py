"""Starts one program, waits for it and writes how it ended: of a shell's own word for a status nothing can be told.

Standard library alone, for it runs by itself: waiter.py STATUS PID [--group DIRECTORY] -- ARGV
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    status, pid, *options = arguments[: arguments.index("--")]
    argv = arguments[arguments.index("--") + 1 :]
    group = options[1] if options else None

    def enter() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if group:
            Path(group, "cgroup.procs").write_text(str(os.getpid()))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What a terminal sends to all of a group is meant for the program.
        signal.signal(number, signal.SIG_IGN)
    try:
        program = subprocess.Popen(argv, preexec_fn=enter)
    except OSError as error:
        # As a shell says it.
        code = 127 if error.errno == errno.ENOENT else 126
        print(f"{argv[0]}: {os.strerror(error.errno or 0)}", file=sys.stderr, flush=True)
        _write(Path(status), {"code": code, "signal": None})
        return
    _write(Path(pid), program.pid)
    ended = program.wait()
    _write(Path(status), {"code": ended if ended >= 0 else None, "signal": -ended if ended < 0 else None})


def _write(path: Path, value: object) -> None:
    path.with_suffix(".new").write_text(json.dumps(value))
    path.with_suffix(".new").rename(path)


if __name__ == "__main__":
    main(sys.argv[1:])
