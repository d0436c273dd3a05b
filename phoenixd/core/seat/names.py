"""The names of an orchestrator's generations: the first one bears the seat's own, the n-th one NAME-gn."""

from __future__ import annotations

import re
from collections.abc import Iterable

from phoenixd.core.refusal import Refusal

LONGEST = 26
"""Characters of an orchestrator's name, so that those of its generations stay within 32."""

RESERVED = re.compile(r"(.+)-g([0-9]+)")


def generation_name(seat: str, generation: int) -> str:
    """The name of the agent that is this generation of a seat."""
    return seat if generation == 1 else f"{seat}-g{generation}"


def read(name: str) -> tuple[str, int] | None:
    """Seat and number of a generation's name; None for any other name. NAME-g1 stands for the first generation."""
    found = RESERVED.fullmatch(name)
    if found is None or len(found[2]) > 9:
        return None
    return found[1], int(found[2])


def seat_name(name: str) -> str:
    """The name of the seat that an agent of this name is a generation of; its own, where it is none."""
    found = read(name)
    return found[0] if found is not None else name


def is_reserved(name: str) -> bool:
    """Whether no agent may be declared by this name: it is kept for the generation of an orchestrator."""
    return RESERVED.fullmatch(name) is not None


def beyond(names: Iterable[str], keep: int) -> list[str]:
    """The generations beyond the newest `keep` of their seats, the oldest first. The first of a seat has no number."""
    found = sorted(found for name in names if is_reserved(name) and (found := read(name)) is not None)
    of_seats: dict[str, list[int]] = {}
    for seat, number in found:
        of_seats.setdefault(seat, []).append(number)
    return [
        f"{seat}-g{number}" for seat, numbers in of_seats.items() for number in numbers[: max(0, len(numbers) - keep)]
    ]


def is_too_long(name: str) -> bool:
    """Whether the names of this orchestrator's generations could pass what a name may have."""
    return len(name) > LONGEST


def refusal_of_name(name: str) -> Refusal | None:
    """Why no agent may be declared by this name."""
    if not is_reserved(name):
        return None
    message = f'"{name}" is reserved: NAME-g and a number name the generations of an orchestrator NAME'
    return Refusal("invalid", message, "choose another name, such as " + name.rpartition("-g")[0] + "-two")


def refusal_of_length(name: str) -> Refusal:
    """Why no orchestrator may be declared by a name of this length."""
    length = f'"{name}" has {len(name)} characters, and the name of an orchestrator at most {LONGEST}'
    return Refusal("invalid", f"{length}: its generations are called NAME-g2, NAME-g3 ...", "choose a shorter name")
