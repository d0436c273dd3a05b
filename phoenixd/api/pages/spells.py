"""Lines of `since` about what began and ended, and about what people ordered and answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phoenixd.api.by_hand import ByHand, Order, Question
from phoenixd.api.pages.layout import WHOLE, Page
from phoenixd.api.spells import Finished, Passed, Reboot, Spell, Spells
from phoenixd.api.terminal_ends import TerminalEnd, TerminalEnds
from phoenixd.api.times import ago
from phoenixd.core.alerts import DEGRADED
from phoenixd.core.facts import Verb
from phoenixd.core.question.call import PERMISSION, PLAN, QUESTION

SHOWN = 5
"""How many of each kind are shown, the newest, and how many names of each; all on a page that cuts nothing."""
WHAT = {"limit": "", "overload": "the model's service failed", "outage": "outage of "}
ASKED = {PERMISSION: "a permission", QUESTION: "an answer", PLAN: "a word on its plan"}
DONE: dict[Verb, str] = {"stop": "stopped", "start": "started", "restart": "restarted", "remove": "removed"}


def spells(told: Spells, here: Page) -> Iterator[tuple[str, int, str]]:
    """Label, number and text of each line."""
    over = [one for one in told.of("quarantine") if one.until is not None]
    yield from _line("quarantine", len(over), [_quarantine(those, here) for those in _alike(over)], here)
    for label, texts in (
        ("limits", [_limit(one, here) for one in told.of("limit", "overload", "outage")]),
        ("handoffs", [_handoff(one, here) for one in told.handoffs.values()]),
        ("alerts", [_alert(one, here) for one in told.of("alert")]),
        ("reboots", [_reboot(one, here) for one in told.reboots]),
    ):
        yield from _line(label, len(texts), texts, here)


def _line(label: str, count: int, texts: list[str], here: Page) -> Iterator[tuple[str, int, str]]:
    if texts:
        yield label, count, "; ".join(_newest(texts, here))


def _alike(over: list[Spell]) -> list[list[Spell]]:
    """Those of one agent that one person ended by one kind of order, and that came to the same; the newest last."""
    groups: dict[tuple[str, str, Verb, bool], list[Spell]] = {}
    for one in over:
        groups.setdefault((one.of, one.by, one.verb, one.productive), []).append(one)
    return sorted(groups.values(), key=lambda those: those[-1].begins)


def terminals(told: TerminalEnds, here: Page) -> Iterator[tuple[str, int, str]]:
    """The line about ends of the terminal server with which an agent fell."""
    if told.told:
        yield "tmux", len(told.told), "; ".join(_newest([_terminal(one, here) for one in told.told], here))


def answered(told: ByHand, here: Page) -> Iterator[tuple[str, int, str]]:
    """The line about questions that people answered, and about those that ended with their run."""
    groups: dict[tuple[str, ...], list[Question]] = {}
    over = [one for one in told.asked if one.until is not None and (one.by or one.with_run)]
    for one in over:
        groups.setdefault((one.agent, one.kind, one.by, one.verdict or ""), []).append(one)
    if over:
        texts = [_questions(those, here) for those in groups.values()]
        yield "asked", len(over), "; ".join(_newest(texts, here))


def ordered(told: ByHand, quarantines: list[Spell], here: Page) -> list[str]:
    """Who stopped, started, restarted and removed whom, a line for each person and verb; the newest last.

    The line of a quarantine tells who ended it.
    """
    known = {(one.of, one.by, one.until) for one in quarantines}
    groups: dict[tuple[Verb, str], list[Order]] = {}
    for one in told.orders:
        if one.verb != "start" or (one.agent, one.by, one.at) not in known:
            groups.setdefault((one.verb, one.by), []).append(one)
    newest = sorted(groups.values(), key=lambda those: those[-1].at)
    return _newest([_orders(those, here) for those in newest], here)


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


def _quarantine(those: list[Spell], here: Page) -> str:
    first, last = those[0], those[-1]
    ended = f", {DONE.get(last.verb, 'ended')} by {last.by}" if last.by else ""
    often = f"{last.of} {len(those)} times" if len(those) > 1 else last.of
    when = _time(replace(last, begins=first.begins), here)
    if not last.productive:
        return f"{often} {when}{ended}"
    return f"{often} {when}{ended}, {'progress' if last.breaker else 'productive'} since"


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


def _terminal(one: TerminalEnd, here: Page) -> str:
    fell, missing = len(one.fell), one.missing
    said = f"the server ended {here.minute(one.at)}: {fell} {'agent' if fell == 1 else 'agents'} fell with it"
    if one.back:
        back = "all" if not missing else str(len(one.back))
        said = f"{said}, {back} back by {_moment(max(one.back.values()), one.at, here)}"
    return f"{said}, not back: {_names(missing, here)}" if missing else said


def _moment(wall: float, after: float, here: Page) -> str:
    """A time with seconds, without its date where that is known."""
    is_one_day = here.local(wall).date() == here.local(after).date()
    return f"{here.local(wall):%H:%M:%S}" if is_one_day else here.clock(wall)


def _questions(those: list[Question], here: Page) -> str:
    """Questions of one agent that ended alike."""
    first, last = those[0], those[-1]
    assert last.until is not None
    how = "never answered: its run ended" if first.with_run else f"answered by {first.by}"
    verdict = f": {first.verdict}" if first.verdict is not None and not first.with_run else ""
    begins = first.begins
    time = f"up to {here.minute(last.until)}" if begins is None else _span(begins, last.until, here)
    if len(those) > 1:
        return f"{first.agent} waited {len(those)} times for {ASKED[first.kind]} ({time}), {how}{verdict}"
    waited = "waited" if begins is None else f"waited {ago(last.until - begins)}"
    return f"{first.agent} {waited} for {ASKED[first.kind]} ({time}), {how}{verdict}"


def _orders(those: list[Order], here: Page) -> str:
    """Orders of one person by one verb."""
    names = list(dict.fromkeys(one.agent for one in those))
    first, last = here.minute(those[0].at), here.minute(those[-1].at)
    time = first if first == last else _span(those[0].at, those[-1].at, here)
    times = f" {len(those)} times," if len(those) > len(names) else ""
    return f"{_names(names, here)} {DONE[those[0].verb]} by {those[0].by}{times} {time}"


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
