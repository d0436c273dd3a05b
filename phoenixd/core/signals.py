"""What the runs of an iteration say of it that the work does not show: errors, limits, denials, questions."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import restart
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.run import LastExit
from phoenixd.core.breaker import Signals
from phoenixd.core.hooks import Hook, PermissionDenied, TurnEnded, TurnFailed
from phoenixd.core.limits import waits
from phoenixd.core.spec import AgentSpec

MAX_ERROR = 200


def hear(signals: Signals, event: Hook) -> Signals:
    """Fold in one hook of a run's main thread."""
    match event:
        case PermissionDenied():
            return replace(signals, denials=signals.denials + 1)
        case TurnFailed() if waits.signal(event) is not None:
            # It says nothing about the agent, and never counts against the breaker (G60).
            return replace(signals, excuse=f"the service refused ({event.error})")
        case TurnFailed():
            words = " ".join(f"{event.error or 'error'}: {event.text}".split())
            return replace(signals, error=words[:MAX_ERROR])
        case TurnEnded():
            # It went on after a limit or an error: neither is how the run ended.
            return replace(signals, excuse="", error="")
        case _:
            return signals


def at_end(signals: Signals, spec: AgentSpec, activity: Activity | None, end: LastExit) -> Signals:
    """Fold in how the run ended, and, where it is known, what it was at."""
    if end.limited and not signals.excuse:
        signals = replace(signals, excuse="it met a limit")
    if activity is not None and activity.waiting is not None and not signals.excuse:
        signals = replace(signals, excuse=f"it waited for a person ({activity.waiting.kind})")
    if not signals.error and not restart.ended_well(spec, end):
        signals = replace(signals, error=end.text)
    return signals


def joined(first: Signals, second: Signals, by: str) -> Signals:
    """Two runs of one iteration together; `by` names the second in whatever is taken from it."""
    return replace(
        first,
        excuse=first.excuse or (second.excuse and f"{by}: {second.excuse}"),
        error=first.error or (second.error and f"{by}: {second.error}"),
        denials=first.denials + second.denials,
    )
