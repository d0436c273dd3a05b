"""What is known of a context: tokens that are taken, the window that they are taken of, and what follows from both.

Nothing here imports the agent, whose state holds a `Meter`. A share is always computed from tokens: the percentage
that a CLI shows is rounded, and 179,995 of 200,000 reads 90 there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Literal

from phoenixd.core.meter import trend
from phoenixd.core.moment import Instant
from phoenixd.core.rules import ContextRules

Verdict = Literal["OK", "WARNING", "HANDOFF"]
Source = Literal["status line", "model", "rollout", "configuration"]
"""Who says how large the window is: the first of these that says it is believed."""

WORDING = "handoff.model"
"""The source of a sample that is of no context: the tokens that a model took to word a project's files."""

LEAST_WINDOW, MOST_WINDOW = 1_000, 100_000_000
"""A window of fewer or more tokens is no window of any model."""


@dataclass(frozen=True, slots=True)
class Meter:
    """What was read of a session in one run. None is unknown.

    tokens: what the newest request of the main thread held and brought forth, and at_wall when. status_line, by_model,
    rollout: the window, by who says it; model: the one whose window the status line says. doubt: why the status line is
    not believed. since: when a request may first have told the tokens (supervised). turns: the tokens at the end of the
    newest turns, since the context last became smaller. told: the newest verdict that was told. sampled: the tokens,
    and when, of the newest sample. full: why nothing more can be asked of this session. compactions: how often its CLI
    has begun to shorten the context by itself, with none that a person ordered in between; asks: why that asks for a
    handoff.
    """

    incarnation: int = 0
    session_id: str = ""
    tokens: int | None = None
    at_wall: float | None = None
    status_line: int | None = None
    by_model: int | None = None
    rollout: int | None = None
    model: str | None = None
    doubt: str = ""
    since: Instant = 0.0
    turns: tuple[int, ...] = ()
    told: Verdict | None = None
    sampled: int | None = None
    sampled_at: Instant = 0.0
    full: str = ""
    compactions: int = 0
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A meter as it is shown. share: of the window, exactly. reason: why it is judged so, or why it is unknown."""

    tokens: int | None
    limit: int | None
    source: Source | None
    at_wall: float | None
    verdict: Verdict | None
    reason: str
    threshold: float

    @property
    def share(self) -> float | None:
        if self.tokens is None or self.limit is None:
            return None
        return self.tokens / self.limit

    @property
    def percent(self) -> float | None:
        """Cut to a tenth, for 89.9995 is not yet 90."""
        if self.tokens is None or self.limit is None:
            return None
        return floor(self.tokens * 1000 / self.limit) / 10


@dataclass(frozen=True, slots=True)
class UsageSample:
    """What the journal keeps of a context, to be drawn later. limit: None where the window was unknown; source: whose
    word it was, or WORDING: then the tokens are those that were spent on the handoff of that id. wall: when."""

    agent: str
    incarnation: int
    session_id: str
    tokens: int
    limit: int | None
    source: str
    wall: float


def limit(meter: Meter, rules: ContextRules) -> tuple[int, Source] | None:
    """The window and who says it. While the status line is in doubt, only the operator's own word counts."""
    claims: tuple[tuple[int | None, Source], ...] = (
        (meter.status_line, "status line"), (meter.by_model, "model"), (meter.rollout, "rollout"),
    )  # fmt: skip
    operators: tuple[tuple[int | None, Source], ...] = ((rules.limit, "configuration"),)
    for window, source in operators if meter.doubt else (*claims, *operators):
        if window is not None:
            return window, source
    return None


def read(meter: Meter, rules: ContextRules, threshold: float | None = None) -> Gauge:
    """Judge a meter, by another threshold where one is given."""
    threshold = rules.threshold if threshold is None else threshold
    found = limit(meter, rules)
    window, source = found if found is not None else (None, None)
    if meter.tokens is None or window is None:
        return Gauge(meter.tokens, window, source, meter.at_wall, None, _unknown(meter, window), threshold)
    verdict, reason = _judged(meter.tokens, window, meter.turns, rules, threshold)
    return Gauge(meter.tokens, window, source, meter.at_wall, verdict, reason, threshold)


def claimed(meter: Meter, window: int | None, model: str | None, problem: str) -> Meter:
    """Take what the status line says: its window and the model that has it, or why it could not be read."""
    if problem:
        return replace(meter, doubt=problem)
    if window is None:
        return meter
    if not is_window(window):
        return replace(meter, doubt=f"the status line claims a window of {window:,} tokens")
    known = meter.status_line
    if known is not None and window < known and model == meter.model:
        return replace(meter, doubt=f"the status line's window shrank from {known:,} to {window:,} tokens")
    return replace(meter, status_line=window, model=model, doubt="")


def is_window(tokens: int | None) -> bool:
    """Whether a model may have a window of that size."""
    return tokens is not None and LEAST_WINDOW <= tokens <= MOST_WINDOW


def _judged(
    tokens: int, window: int, turns: tuple[int, ...], rules: ContextRules, threshold: float
) -> tuple[Verdict, str]:
    # A quotient of whole numbers is rounded to the same float as the fraction that it equals.
    share = tokens / window
    if share >= threshold:
        most = f", past the hard limit of {rules.hard:.0%}" if share >= rules.hard else ""
        return "HANDOFF", f"{share:.2%} of the window is taken, and {threshold:.0%} is the threshold{most}"
    if rules.predict and (crossing := trend.crossing(turns, tokens, window, threshold)) is not None:
        return "HANDOFF", f"predictive: {crossing}"
    # The product of two decimals may lie a hair beside the decimal that people read.
    if share >= round(rules.warn * threshold, 9):
        return "WARNING", f"{share:.2%} of the window is taken, and {threshold:.0%} is the threshold"
    return "OK", f"{share:.2%} of the window is taken"


def _unknown(meter: Meter, window: int | None) -> str:
    if meter.doubt and window is None:
        return f"the window is unknown: {meter.doubt}"
    if window is None:
        return "nothing tells how large the window is"
    return "no request has told yet how many tokens are taken"
