"""The other side of the twin: hears in a process of its own what the working tree heard, and says what it made of it.

`python twin_other.py`, with the older tree on PYTHONPATH. Messages on stdin and stdout are marshalled lists, their
length before them. Of each step only a digest goes back, unless all of it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

from twin_words import Vocabulary, digest, plain_fleet, plain_step, receive, send  # type: ignore[import-not-found]

PACKAGE = "phoenixd.core"


def main() -> None:
    import phoenixd.harness  # noqa: F401  # Decisions ask the harnesses' traits.
    from phoenixd.core.moment import Moment

    step, next_deadline = of_core("step", "step", "hearing", "fleet"), of_core("next_deadline", "deadlines", "fleet")

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


def of_core(name: str, *modules: str) -> Any:
    """A function of the core, from the first of these modules that this version has it in."""
    for module in modules:
        with suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    raise ImportError(f"{name} stands in none of {', '.join(modules)}")


if __name__ == "__main__":
    main()
