"""Cases that are decided otherwise than their author said: what is decided today, and why."""

from __future__ import annotations

P53 = (
    "ruling P53, and P54 and X4 with it: a resident that ends with 0 by itself stays down, whatever its turn was at. "
    "The author says of this case that the plain reading of P53 stands against it"
)

UNKNOWN_CALL = (
    "the case names no completed call, so the player knows of none: a session in which nothing was done, and whose "
    "first prompt is refused as too long, would be refused again"
)
UNREAD = (
    "a headless Codex tells a limit only in its transcript, which is read after its end; the player takes its sentence "
    "with the words around it, so that the word which Codex writes beside it is missing"
)
ONE_START = "for a program that has no session a resume and a fresh start are one: it is started again"

MISSED: dict[str, tuple[str, str]] = {
    "EXI-07": ("finished well or stopped by an order; leave it", P53),
    "EXI-05": ("context full; give up and tell", UNKNOWN_CALL),
    "EXI-10": ("crashed; restart by resume", UNREAD),
    "EXI-15": ("finished well or stopped by an order; leave it", P53),
    "EXI-18": ("start failed; restart by resume", ONE_START),
}

WHY = {case: why for case, (_, why) in MISSED.items()}
