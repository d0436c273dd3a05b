"""What stands in the pane while nothing runs there.

Pure. Imports nothing of its siblings, so that the daemon can load it alone: it takes these lines off a screen again.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARK = "[phoenixd] "
"""At the front of each line that a shim writes into a pane. Anybody may print it there: it proves nothing.

ASCII, for a line's rows are counted by its characters.
"""
MAX_LINE = 400


def marked(text: str) -> str:
    """The text on one line, without a byte that a terminal would obey, behind the mark."""
    return (MARK + "".join(character if character.isprintable() else " " for character in text))[:MAX_LINE]


def default_notice(agent: str, last_exit: dict[str, Any] | None) -> list[str]:
    """What stands there where the daemon said nothing better."""
    ending = "has not been started"
    if last_exit is not None and last_exit.get("signal") is not None:
        ending = f"ended by {_signal(last_exit['signal'])} at {last_exit.get('ended_at')}"
    elif last_exit is not None:
        ending = f"ended with exit status {last_exit.get('code')} at {last_exit.get('ended_at')}"
    return [f"{agent} {ending}.", f"Nothing typed here runs. Try: phoenixctl start {agent}"]


def failed_notice(agent: str, why: str) -> list[str]:
    """The same after a start that failed; another one would fail alike, so that why comes first."""
    return [
        f"{agent} could not be started: {why}.",
        f"Nothing typed here runs. Why: phoenixctl explain {agent}",
    ]


def _signal(number: int) -> str:
    """A signal as people call it; by its number where it has no name of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
