"""What was known of a failure, in words: the facts of `clinic show`, which stand in the journal under short names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phoenixd.api.times import span
from phoenixd.core.causes import signal_name

Words = Callable[[object], str]


def _named(words: str) -> Words:
    return lambda value: f"{words} {str(value).replace('_', ' ')}"


def _so(words: str) -> Words:
    """Of a fact that is so or not: what is not so is not told."""
    return lambda value: words


WORDS: Mapping[str, Words] = {
    "harness": str,
    "is_alive": _so("it lives"),
    "code": _named("exit code"),
    "signal": lambda value: signal_name(value) if isinstance(value, int) else _named("signal")(value),
    "cause": lambda value: "ended by itself" if value == "exit" else _named("cause:")(value),
    "lived": lambda value: f"lived {span(value)}" if isinstance(value, int | float) else "",
    "oom": lambda value: f"killed for memory, at the limit of the {value}",
    "disk_full": _so("a disk was full"),
    "disks": _named("full disks:"),
    "mode": lambda value: "a resumed session" if value == "resume" else "a fresh session",
    "sessionless": _so("as far as it keeps any"),
    "session_seen": _so("its session had begun"),
    "worked": _so("it had worked"),
    "turn_open": _so("a turn was open"),
    "failure": _named("its turn failed for"),
    "word": _named("which its CLI calls"),
    "named": _named("and names"),
    "status": _named("HTTP status"),
    "reset": _so("a time was named at which the limit ends"),
    "cut": _named("its answer was cut:"),
    "went_on": _so("its CLI asked for the rest"),
    "call": _named("open call:"),
    "fill": lambda value: f"context {value:.0%} full" if isinstance(value, int | float) else "",
    "obstacle": lambda value: "" if value == "other" else f"in the way: {value}",
    "told": _named("its exit code says"),
    "crashes": lambda value: "1 crash in a row" if value == 1 else f"{value} crashes in a row",
}
"""Every fact of core.treatment.evidence but the occasion, which is told before, and what has lines of its own."""


MAY_BE_NOTHING = ("code", "lived")
"""Facts that tell something when they are 0; in every other fact 0 means: not so, or not known."""


def in_words(evidence: Mapping[str, object]) -> str:
    """What is known, with commas; a fact that a newer version stored stands there by its name."""
    told = (
        WORDS[name](value) if name in WORDS else f"{name} {value}"
        for name, value in evidence.items()
        if value or (name in MAY_BE_NOTHING and value is not None)
    )
    return ", ".join(words for words in told if words)
