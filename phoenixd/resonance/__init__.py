"""Resonance without a daemon: find out that the front of a context was lost, and go on from what was kept.

Standard library alone. `Pacemaker` stands around any function that answers a list of messages.
"""

from phoenixd.documents.resonance.session_seed import SessionSeed
from phoenixd.resonance.exchange import Answer, MarkerLost, Message, Reply, WindowExceeded
from phoenixd.resonance.pacemaker import Pacemaker

__all__ = ["Answer", "MarkerLost", "Message", "Pacemaker", "Reply", "SessionSeed", "WindowExceeded"]
