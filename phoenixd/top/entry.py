"""`phoenixctl top`: what has to be there before the screen is taken, and the words where it is not."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from importlib.util import find_spec

from phoenixd.api import exits
from phoenixd.core import selection
from phoenixd.core.refusal import Refusal
from phoenixd.ctl import absence, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching, refuse
from phoenixd.top import first

LEAST = 8
"""The release of textual whose screen this is."""
PLAIN = "phoenixctl status --watch"
INSTALL = "in the checkout: uv tool install '.[tui]', or pipx install --force '.[tui]', or pip install '.[tui]'"
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
    if not all(map(_is_installed, ("textual", "rich"))):
        why = reaching(f"top needs textual {LEAST}, and it is not installed; {PLAIN} needs nothing")
        return refuse(exits.FAILED, why, INSTALL)
    places = wire.sockets(wire.environment(), command.socket)
    try:
        connection = wire.reach(places)
    except OSError:
        connection = None
    if connection is None:
        return absence.explain(places)
    begun = first.ask(connection)
    # What textual does with colours it decides by this name alone.
    if coloured := wire.is_coloured():
        os.environ.pop("NO_COLOR", None)
    else:
        os.environ["NO_COLOR"] = "1"
    with first.quiet_keys() if (can_draw := first.can_draw()) else nullcontext():
        first.listen(begun)
        if can_draw:
            first.draw(begun, words, command.socket or "", coloured=coloured)
        try:
            from phoenixd.top.app import Top

            app = Top(places, words, command.socket, begun)
            code = app.run(mouse=False)
        except BaseException:
            if can_draw:
                first.undraw()
            raise
    if app.refusal is not None and isinstance(app.refusal.body, dict):
        return refuse(app.refusal.exit, str(app.refusal.body["detail"]), str(app.refusal.body["remedy"]))
    return code if code is not None else exits.FAILED


def _is_installed(module: str) -> bool:
    """Without loading it, which takes longer than the first screen may."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
