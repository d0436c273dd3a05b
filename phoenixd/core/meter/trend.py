"""Whether the next task would cross the threshold, from what the newest ones took (E79)."""

from __future__ import annotations

from itertools import pairwise

LEAST_SAMPLES, MOST_SAMPLES = 6, 12
"""Turns that are needed for a prediction, and those that are looked at."""

FALL = 0.9
"""A context of less than this share of what it was has fallen."""

NEVER_BELOW = 0.7
"""The share of the window below which nothing is predicted."""


def crossing(turns: tuple[int, ...], tokens: int, window: int, threshold: float) -> str | None:
    """Why the next turn is expected to cross the threshold; None where it is not.

    turns: the tokens at the end of the newest turns, since the context last became smaller.
    """
    if len(turns) < LEAST_SAMPLES or tokens / window < NEVER_BELOW:
        return None
    growth = slope(turns)
    expected = max(tokens, turns[-1] + growth)
    if expected / window < threshold:
        return None
    return (
        f"{tokens / window:.2%} of the window is taken, and a turn takes {growth:,.0f} tokens more, as {len(turns)} "
        f"turns show: the next one crosses {threshold:.0%}"
    )


def slope(turns: tuple[int, ...]) -> float:
    """What a turn typically adds. The median: one turn that read a large file says nothing about the next."""
    grown = sorted(after - before for before, after in pairwise(turns))
    return (grown[(len(grown) - 1) // 2] + grown[len(grown) // 2]) / 2


def following(turns: tuple[int, ...], tokens: int) -> tuple[int, ...]:
    """The samples with one more; a context that fell begins anew."""
    if turns and is_fall(turns[-1], tokens):
        return (tokens,)
    return turns if turns and tokens == turns[-1] else (*turns, tokens)[-MOST_SAMPLES:]


def is_fall(before: int, after: int) -> bool:
    """Whether a context was shortened or begun anew (F-HO-4). A CLI that drops a model's thoughts makes it a little
    smaller, and that is none."""
    return after < FALL * before
