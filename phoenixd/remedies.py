"""What helps, as people are told it: a command that can be typed, or a sentence. Standard library alone.

Both are texts, and each knows which it is, so that a second step can be put behind it.
"""

from __future__ import annotations


class Command(str):
    """What a shell takes as it stands, and what helps once it has."""

    __slots__ = ()


class Sentence(str):
    """What a person does by himself, or a command that only shows what is to be done."""

    __slots__ = ()


Remedy = Command | Sentence


def anew(start: str = "phoenixctl up", *, agents: bool = False) -> Command:
    """What ends the daemon and starts it again. `down` ends with 7 where none runs, so `&&` would start none.

    agents: whether the agents end as well.
    """
    return Command(f"phoenixctl down{' --agents' if agents else ''}; {start}")


def then(first: Remedy, command: str) -> Remedy:
    """What helps, and what is to be typed once it did: one line for a shell where the first is a command."""
    if not command:
        return first
    return Command(f"{first} && {command}") if isinstance(first, Command) else Sentence(f"{first}; then: {command}")
