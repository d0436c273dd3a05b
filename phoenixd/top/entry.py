"""`phoenixctl top`: what has to be there before the screen is taken, and the words where it is not."""

from __future__ import annotations

import os
import sys

from phoenixd.api import exits
from phoenixd.core import selection
from phoenixd.core.refusal import Refusal
from phoenixd.ctl import absence, calls, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse

LEAST = 8
"""The release of textual whose screen this is."""
PLAIN = "phoenixctl status --watch"
INSTALL = "uv tool install '.[tui]' in the checkout"
"""The name is not published, so none may be asked of an index: anybody could have taken it."""


def top(command: Command) -> int:
    """Show the list until the person leaves it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return refuse(exits.USAGE, "top draws a screen, and standard input or output is no terminal", PLAIN)
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return refuse(exits.USAGE, "TERM does not say which terminal this is, so no screen can be drawn", PLAIN)
    words = " ".join(map(str, command.given.get("which") or ()))
    chosen = selection.parse(words)
    if isinstance(chosen, Refusal):
        return refuse(exits.USAGE, chosen.message, chosen.remedy)
    try:
        from phoenixd.top.app import Top
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        why = f"top needs textual {LEAST}, and it is not installed"
        return refuse(exits.FAILED, why, f"{INSTALL}, or without it: phoenixctl status --watch")
    places = calls.places(command)
    try:
        connection = wire.connect(places)
    except OSError:
        connection = None
    if connection is None:
        return absence.explain(places)
    connection.close()
    app = Top(places, words, command.socket)
    code = app.run(mouse=False)
    if app.refusal is not None and isinstance(app.refusal.body, dict):
        return refuse(app.refusal.exit, str(app.refusal.body["detail"]), str(app.refusal.body["remedy"]))
    return code if code is not None else exits.FAILED
