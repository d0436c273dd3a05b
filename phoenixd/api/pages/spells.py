"""Lines of `since` about what began and ended: limits, quarantines, handoffs, reboots, alerts of the fleet."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.api.pages.layout import WHOLE, Page
from phoenixd.api.spells import Finished, Passed, Reboot, Spell, Spells
from phoenixd.core.alerts import DEGRADED

SHOWN = 5
"""Of each kind so many are shown, the newest, and so many names of each; all on a page that cuts nothing."""
WHAT = {"limit": "", "overload": "the model's service failed", "outage": "outage of "}


def spells(told: Spells, here: Page) -> Iterator[tuple[str, int, str]]:
    """Label, number and text of each line."""
    over = [one for one in told.of("quarantine") if one.until is not None]
    for label, texts in (
        ("quarantine", [_quarantine(one, here) for one in over]),
        ("limits", [_limit(one, here) for one in told.of("limit", "overload", "outage")]),
        ("handoffs", [_handoff(one, here) for one in told.handoffs.values()]),
        ("alerts", [_alert(one, here) for one in told.of("alert")]),
        ("reboots", [_reboot(one, here) for one in told.reboots]),
    ):
        if texts:
            yield label, len(texts), "; ".join(_newest(texts, here))


def finished(told: Spells, here: Page, most: int | None) -> str:
    """Who ended as it should, when, and whether a person left it; the newest."""
    shown = told.finished[-(most or len(told.finished)) :]
    left = len(told.finished) - len(shown)
    return ", ".join([*(_finished(one, here) for one in shown), *([f"and {left} more before"] if left else [])])


def _finished(one: Finished, here: Page) -> str:
    return f"{one.agent} {here.minute(one.at)}{' by a person at its terminal' if one.by_person else ''}"


def _newest(texts: list[str], here: Page) -> list[str]:
    shown = texts if here.width >= WHOLE else texts[-SHOWN:]
    left = len(texts) - len(shown)
    return [*([f"{left} more before"] if left else []), *shown]


def _time(one: Spell, here: Page) -> str:
    return f"since {here.minute(one.begins)}" if one.until is None else _span(one.begins, one.until, here)


def _span(begins: float, until: float, here: Page) -> str:
    """From when to when, with one date where both lie on the same day."""
    is_one_day = here.local(begins).date() == here.local(until).date()
    ended = f"{here.local(until):%H:%M}" if is_one_day else here.minute(until)
    return f"{here.minute(begins)} to {ended}"


def _names(names: list[str], here: Page) -> str:
    return ", ".join(names) if len(names) <= SHOWN or here.width >= WHOLE else f"{len(names)} agents"


def _quarantine(one: Spell, here: Page) -> str:
    ended = f", started by {one.by}" if one.by else ""
    return f"{one.of} {_time(one, here)}{ended}{', productive since' if one.productive else ''}"


def _limit(one: Spell, here: Page) -> str:
    parked = f"{len(one.agents)} {'agent' if len(one.agents) == 1 else 'agents'} parked ({_names(one.agents, here)})"
    what = f"{WHAT[one.kind]}{'' if one.kind == 'overload' else one.of} {_time(one, here)}"
    if one.until is not None:
        return f"{what}, {parked}, all back"
    due = f", goes on by itself at {here.minute(one.due)}" if one.due is not None else ""
    return f"{what}, {parked}{due}"


def _handoff(one: Passed, here: Page) -> str:
    time = f"{one.seat} {_span(one.begins, one.until, here)}"
    return f"{time}, confirmed by generation {one.generation}" if one.done else f"{time}, rolled back"


def _alert(one: Spell, here: Page) -> str:
    if one.until is None:
        return f"{one.of} {_time(one, here)}"
    meanwhile = ", and nothing was started meanwhile" if one.of == DEGRADED else ""
    return f"{one.of} {_time(one, here)}, over{meanwhile}"


def _reboot(one: Reboot, here: Page) -> str:
    ended, back = len(one.runs), len(one.back)
    runs = (
        f"; {ended} {'run' if ended == 1 else 'runs'} ended with it, {'all' if back == ended else back} back"
        if ended
        else ""
    )
    return f"the host was booted anew by {here.minute(one.at)}{runs}"
