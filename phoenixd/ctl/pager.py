"""What is longer than the terminal goes through the reader's own pager, so that its first line stays to be seen."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping

from phoenixd.ctl import wire

PAGERS = (("less",), ("more",))
LESS = "FRX"
"""Leave where one screen is enough, show colours, leave the text on the screen; $LESS says otherwise."""


def show(text: str) -> None:
    """Print text for people; a pager has it where the terminal is too short."""
    sys.stdout.flush()
    page(text.encode("utf-8", "replace"))


def page(text: bytes) -> None:
    """Write the text, by way of a pager where it is longer than the terminal and one is to be had."""
    argv = chosen(os.environ) if wire.wants_pager(text) else None
    if argv is None:
        wire.write(1, text)
        return
    # Ctrl-C is the pager's while it runs: less stops a search with it, and goes on.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        environ = {"LESS": LESS, **os.environ}
        with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environ) as process:
            process.communicate(text)
    except OSError:
        wire.write(1, text)
    finally:
        signal.signal(signal.SIGINT, before)


def chosen(environ: Mapping[str, str]) -> list[str] | None:
    """The pager's command: $PAGER, else less, else more; None where there is none, or it is empty or `cat`."""
    if "PAGER" in environ:
        try:
            argv = shlex.split(environ["PAGER"])
        except ValueError:
            return None
        return argv if argv and argv != ["cat"] and shutil.which(argv[0]) is not None else None
    return next((list(argv) for argv in PAGERS if shutil.which(argv[0]) is not None), None)
