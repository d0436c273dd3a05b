"""Moments of which the core says something else than their author, and why."""

MISSED: dict[str, str] = {
    "turn-05": (
        "the case: Claude Code ends a command by itself, at a limit that its harness knows, and that is over; the "
        "author says that it has no timeout of its own"
    ),
    "turn-11": (
        "finding: a question is known by the CLI's request for permission, or by its dialog on the screen; the begin "
        "of its call alone is none, and the case names neither"
    ),
    "turn-13": (
        "the case: the releases of Claude Code that are supported tell a turn that failed by StopFailure; after a Stop "
        "nobody looks whether the last record is the CLI's own error"
    ),
}
