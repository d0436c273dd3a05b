"""What an agent is told of an answer of its own that was cut at its end."""

from __future__ import annotations

from phoenixd.core.agent.run import Cut
from phoenixd.core.cut import HOW
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.times import timestamp

CALLS_LIMIT = 400
"""Characters of the names of all calls together; they are the agent's own words."""


def cut_sentence(cut: Cut) -> str:
    """The fact, and what it means for the reader of that answer."""
    when = timestamp(cut.at if cut.at is not None else cut.seen_wall)
    told = f"The session's newest answer, of {when}, was cut by {HOW[cut.how]}"
    if cut.went_on:
        told += ", and its CLI asked for the rest: the last message is the last part alone"
    elif cut.taken:
        told += ", and the session was told to go on from there"
    else:
        told += ": its end is missing"
    calls = one_line(", ".join(cut.calls), CALLS_LIMIT)
    return f"{told}. A call that came with it was executed: {calls}." if calls else f"{told}."
