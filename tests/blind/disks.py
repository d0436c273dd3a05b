"""Plays the corpus of disks: commits against a journal that takes its time, and what the operator is told of it.

The supervisor and its saver are the real ones, so that the rules of `core.durability` hear of each commit, refusal and
shortage as they do in a daemon. Whether a start is withheld is asked by one: an agent crashes at that time, in a play
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
from structlog.testing import capture_logs

from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.alerts import DEGRADED, SLOW_DISK
from tests.blind.daemons import Daemons
from tests.blind.tables import Faults, Outcome, Table, first_of, quantity
from tests.simulate.virtual_loop import VirtualLoop

TOLD_OVER = 600.0
"""Seconds within which the end of a trouble is to be told."""
KEYS = frozenset({"until", "slow", "degraded", "alerts_at_most", "starts"})


def play(case: Table) -> Outcome:
    """Let the disk do what it does, and say what was told otherwise than it must."""
    expect = case["expect"]
    if unknown := expect.keys() - KEYS:
        raise AssertionError(f"the corpus has a verdict that nobody judges: {', '.join(sorted(unknown))}")
    faults = Faults()
    daemon = _played(case, None)
    told = {kind: list(_episodes(daemon.told, kind)) for kind in (SLOW_DISK, DEGRADED)}
    for kind, key in ((SLOW_DISK, "slow"), (DEGRADED, "degraded")):
        if key in expect:
            _judge_episodes(kind, told[kind], expect[key], faults)
    alerts = sum(isinstance(word, Alert) for _, word in daemon.told)
    if alerts > expect.get("alerts_at_most", alerts):
        faults.other.append(f"{alerts} alerts, not {expect['alerts_at_most']} at most")
    for at, wanted in expect.get("starts", {}).items():
        crashed = _played(case, quantity(at))
        if wanted and not crashed.is_started:
            faults.false_kill.append(f"a start at {at} is withheld: {crashed.withheld or 'it was never ordered'}")
        if not wanted and crashed.is_started:
            faults.missed.append(f"a start at {at} is not withheld")
    return faults.outcome(case["id"])


def _played(case: Table, crash: float | None) -> Daemons:
    found: list[Daemons] = []

    async def main() -> None:
        found.append(daemons := Daemons(case, crash))
        await daemons.live()

    with capture_logs():
        try:
            anyio.run(main, backend_options={"loop_factory": VirtualLoop})
        except Exception as failure:
            raise AssertionError(first_of(failure)) from failure
    return found[0]


def _episodes(told: list[tuple[float, Alert | Reassure]], kind: str) -> Iterator[tuple[float, float | None]]:
    """When each trouble was told, and told over; None where it was not."""
    began: float | None = None
    for at, word in told:
        if word.kind != kind:
            continue
        if isinstance(word, Alert):
            if began is not None:
                yield began, None
            began = at
        elif began is not None:
            yield began, at
            began = None
    if began is not None:
        yield began, None


def _judge_episodes(kind: str, found: list[tuple[float, float | None]], wanted: list[Any], faults: Faults) -> None:
    said = "; ".join(f"{at:.0f} s to {f'{over:.0f} s' if over is not None else 'the end'}" for at, over in found)
    if len(found) != len(wanted):
        told = faults.missed if len(found) < len(wanted) else faults.other
        told.append(f"{kind}: {len(found)} episodes, not {len(wanted)} ({said or 'none'})")
        return
    for (at, over), (begins, ends) in zip(found, wanted, strict=True):
        if at < quantity(begins):
            faults.other.append(f"{kind}: told after {at:.1f} s, not after {begins}")
        if not ends and over is not None:
            faults.missed.append(f"{kind}: told over after {over:.1f} s, and is not")
        if ends and (over is None or not quantity(ends) <= over <= quantity(ends) + TOLD_OVER):
            when = "never told over" if over is None else f"told over after {over:.1f} s"
            faults.missed.append(f"{kind}: {when}, due between {ends} and ten minutes later")
