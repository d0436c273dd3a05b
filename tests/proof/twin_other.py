"""The other side of the twin: hears in a process of its own what the working tree heard, and says what it made of it.

`python twin_other.py`, with the older tree on PYTHONPATH. Messages on stdin and stdout are marshalled lists, their
length before them. Of each step only a digest goes back, unless all of it is asked for.
"""

from __future__ import annotations

import sys
from typing import Any

from twin_words import Vocabulary, digest, plain_fleet, plain_step, receive, send  # type: ignore[import-not-found]

PACKAGE = "phoenixd.core"


def main() -> None:
    import phoenixd.harness  # noqa: F401  # Decisions ask the harnesses' traits.
    from phoenixd.core.moment import Moment

    try:
        from phoenixd.core.deadlines import next_deadline
    except ImportError:
        from phoenixd.core.fleet import next_deadline  # where an older version has it
    try:
        from phoenixd.core.hearing import step
    except ImportError:
        from phoenixd.core.fleet import step  # where an older version has it

    vocabulary = Vocabulary(PACKAGE)
    fleet: Any = None
    send(sys.stdout.buffer, sys.modules["phoenixd"].__file__)
    while (batch := receive(sys.stdin.buffer)) is not None:
        answers: list[Any] = []
        for sort, words, moment, in_full in batch:
            if sort == "fleet":
                fleet = vocabulary.fleet(words)
                answers.append(None)
            elif sort == "whole":
                answers.append(digest(plain_fleet(fleet)))
            else:
                try:
                    now = Moment(*moment)
                    before, result = fleet, step(fleet, vocabulary.value(words), now)
                    fleet = result.fleet
                    found = plain_step(before, result, next_deadline(fleet, now))
                    answers.append(found if in_full else digest(found))
                except (LookupError, TypeError, ValueError, AssertionError, AttributeError) as error:
                    answers.append(f"{type(error).__name__}: {error}")
        send(sys.stdout.buffer, answers)


if __name__ == "__main__":
    main()
