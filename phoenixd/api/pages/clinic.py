"""What `clinic` prints: how often treatments held, one Case with its four steps, what today's rules say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phoenixd.api.cases import Replayed
from phoenixd.api.pages.facts import in_words
from phoenixd.api.pages.findings import alike
from phoenixd.api.pages.layout import SET_IN, Page, clip, columns, counted, pad, page, wrap
from phoenixd.api.times import ago
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.treatment.case import Case
from phoenixd.core.treatment.examined import Examinations, ReaderRules
from phoenixd.core.treatment.outcome import Figure
from phoenixd.core.treatment.words import ROLLED_BACK
from phoenixd.documents import clinic
from phoenixd.documents.times import read_time

CAUSE_COLUMNS, TREATMENT_COLUMNS, HARNESS_COLUMNS = 26, 10, 8
PANE_LINES = 5
SAID_LINES = 5
NOT_LISTED = ("occasion", "said", "pane")
SIGNS = {"open": "~", "held": ".", "failed": "!", "moot": "."}


NEWEST = 5
"""Cases shown where none is open, and incidents shown of one Case."""


def figures(
    own: Sequence[Figure],
    shared: Sequence[Figure],
    cases: Sequence[Case],
    here: Page,
    called: Callable[[str], str] = lambda name: name,
) -> str:
    """How often treatments healed, as `since` counts it, and held; limits and outages stand by themselves, for nothing
    but time ends them. called: as what people know an agent by the name that a Case has."""
    if not own and not shared and not cases:
        return page(["Nothing has failed so far."])
    lines: list[str] = []
    for title, found in (("cause", own), ("limit or outage", shared)):
        if found:
            lines += [*_table(title, found, here), ""]
    recent = [one for one in cases if one.closed is None] or list(cases)[:NEWEST]
    for group in alike(recent, lambda one: (one.detail, one.incidents, one.treatments, one.outcome)):
        lines += wrap(f"{SIGNS[group[0].outcome]} {_listed(group, here, called)}", here.width, SET_IN)
    shown = recent[0].id if recent else "ID"
    return page([*lines, *([""] if recent else []), here.ending(f"one of them: phoenixctl clinic show {shown}")])


def _listed(group: Sequence[Case], here: Page, called: Callable[[str], str]) -> str:
    """One Case, or several that are told alike: then what differs stands behind each of them."""
    one = group[0]
    detail = _words(one.detail)
    often = f"{counted(one.incidents, 'time')}, {counted(one.treatments, 'treatment')}"
    if len(group) == 1:
        return f"{one.id} {detail}: {called(one.scope)}, {often}, {one.outcome}, {here.minute(one.newest)}"
    each = ", ".join(f"{case.id} {called(case.scope)} {here.clock(case.newest)}" for case in group)
    return f"{len(group)} Cases of {detail}, each {often}, {one.outcome}: {each}"


def case(
    found: clinic.Case,
    here: Page,
    reader: str = "",
    proposed: Sequence[InboxItem] = (),
    called: Callable[[str], str] = lambda name: name,
) -> str:
    """The four steps and the outcome. reader: who reads what no rule knows; proposed: what a person may allow."""
    agents = ", ".join(dict.fromkeys(map(called, found.agents[:5])))
    lines = wrap(f"Case {found.id} is {found.outcome}: {agents}", here.width, SET_IN)
    lines += ["", "triage"]
    if older := len(found.triage[:-NEWEST]):
        see = here.reaching(f"phoenixctl clinic show {found.id} --json")
        lines += _below(
            f"{counted(older, 'older incident')} {'is' if older == 1 else 'are'} left out here: {see}", here
        )
    for seen in found.triage[-NEWEST:]:
        known = in_words({name: value for name, value in seen.evidence.items() if name not in NOT_LISTED})
        occasion = _words(seen.occasion)
        whose = f"{called(seen.agent)} run {seen.incarnation}"
        lines += _below(f"{_when(seen.at, here)} {whose}, {occasion}: {known}", here)
    lines += _said(found, here)
    pane = _pane(found)
    if pane and found.diagnosis is not None:
        lines += ["  the end of its terminal:", *_cited(pane[-PANE_LINES:], here)]
    lines += ["", "diagnosis"]
    if pane and found.diagnosis is None:
        # No rule reads the words of a screen; a person does.
        told = f"{_unknown(found)}: no rule knows why. Its terminal ended with"
        lines += [*_below(told, here), *_cited(pane[-PANE_LINES:], here)]
    else:
        lines += _below(_diagnosis(found), here)
    lines += ["", "reading", *_below(_reading(found.reading), here)]
    lines += _below(f"in force: {reader}", here) if reader else []
    prescribed = found.prescription
    orders = [_prescribed(prescribed)] if prescribed is not None else []
    orders += [f"{_words(item.about[1])} is proposed, and waits for a person: #{item.id}" for item in proposed]
    lines += ["", "prescription", *_below("; ".join(orders) or "none so far", here), "", "rehabilitation"]
    for one in found.rehabilitation[-10:]:
        back = f"productive at {_when(one.productive_at, here)}" if one.productive_at else "not productive so far"
        what = (
            f"{_when(one.at, here)} {one.prescription.treatment or one.prescription.action} by {one.by}: {one.outcome}"
        )
        lines += _below(f"{what}; {back}, {counted(one.turns, 'turn')} since{_because(one.why)}", here)
    if not found.rehabilitation:
        lines.append("  nothing was done so far")
    return page([*lines, "", here.ending(f"what today's rules say of it: phoenixctl clinic replay {found.id}")])


def in_force(reader: ReaderRules, today: Examinations) -> str:
    """Who reads what no rule knows, and what that has cost today."""
    if not reader.name:
        return "the rules alone, for [clinic] names neither model nor command"
    most = f" of {reader.tokens_per_day}" if reader.tokens_per_day else ""
    asked = f"{today.questions} of {reader.questions_per_day} questions"
    return f"{reader.name}; today {asked} and {today.tokens}{most} tokens"


def _reading(read: clinic.Reading | None) -> str:
    if read is None:
        return "nobody was asked about it"
    cost = f" ({read.tokens} tokens)" if read.tokens else ""
    if read.diagnosis is None or read.action is None:
        return f"the rules alone: {read.by} was asked {counted(read.times, 'time')}{cost}: {read.problem}"
    said = read.diagnosis
    cause, action = said.root_cause.replace("_", " "), read.action.replace("_", " ")
    told = f"{read.by}{cost} says {cause}, confidence {said.confidence:.0%}, prescribes {action}"
    return f"{told}: {said.explanation}{f' It would add: {read.note}' if read.note else ''}"


def _said(found: clinic.Case, here: Page) -> list[str]:
    """The end of the newest words that a failure came with."""
    newest = next((one for one in reversed(found.triage) if one.evidence.get("said")), None)
    told = wrap(str(newest.evidence["said"]), here.width - 6)[-SAID_LINES:] if newest is not None else []
    heading = "why it was rolled back" if newest is not None and newest.occasion == ROLLED_BACK else "what was said"
    return [f"  {heading}:", *(f"    | {line}" for line in told)] if told else []


def _pane(found: clinic.Case) -> list[str]:
    """What the newest terminal showed that was seen at an end, without blank lines."""
    panes = (one.evidence["pane"] for one in reversed(found.triage) if one.evidence.get("pane"))
    seen: list[str] = next(panes, [])
    return [line for line in seen if line.strip()]


def _cited(words: Sequence[str], here: Page) -> list[str]:
    return [clip(f"    | {line}", here.width) for line in words]


def replay(name: str, found: Sequence[Replayed], here: Page, called: Callable[[str], str] = lambda name: name) -> str:
    """What differs between the diagnoses of then and those of today; what was done is no part of it."""
    changed = sum(one.differs for one in found)
    told = f"of {changed} of {counted(len(found), 'incident')} another" if changed else "the same"
    whole = "" if changed else f" of {counted(len(found), 'incident')}"
    said = f"Case {name}: today's rules make {told} diagnosis{whole}; treatments that were tried are not compared"
    lines = wrap(said, here.width, SET_IN)
    for one in found:
        sign, whose = "!" if one.differs or one.problem else ".", f"{called(one.agent)} run {one.incarnation}"
        lead = f"{sign} {whose}, {_words(one.occasion)}: "
        then = f"{_words(one.then_cause or 'unknown')} ({one.then_rule})"
        now = f"; now {_words(one.now_cause or 'unknown')} ({one.now_rule})" if one.differs else ""
        told = one.problem or f"{then}{now}; untried, it begins with {one.treatment}"
        lines += wrap(f"{lead}{told}", here.width, SET_IN)
    return page(lines)


def _diagnosis(found: clinic.Case) -> str:
    if found.diagnosis is None:
        return f"{_unknown(found)}: {found.rule or 'no rule knows it'}"
    told = found.diagnosis
    detail = f" ({told.detail})" if told.detail else ""
    return f"{told.root_cause.replace('_', ' ')}{detail}, confidence {told.confidence:.0%}: {told.explanation}"


def _unknown(found: clinic.Case) -> str:
    """That no cause is known, and what is known instead; of a CLI that says "unknown" itself the word stands once."""
    detail = _words(found.detail or "")
    return f"unknown, {detail}" if detail not in ("", "unknown") else "unknown"


def _prescribed(one: clinic.Prescription) -> str:
    """The treatment, and which of the four actions it is where that is another word."""
    action, treatment = one.action.replace("_", " "), (one.treatment or "").replace("_", " ")
    return f"{treatment} ({action})" if treatment and treatment != action else action


def _table(title: str, found: Sequence[Figure], here: Page) -> list[str]:
    """A treatment a line; below its words stand its numbers where the page is too narrow for both, for none is cut."""
    lead = f"{pad(title, CAUSE_COLUMNS)} {pad('treatment', TREATMENT_COLUMNS)} {pad('harness', HARNESS_COLUMNS)}"
    rows = [(_of_whom(one), f"{one.healed:>6} ", f"{_held(one):<18}", _median(one)) for one in found]
    lines = [f"{lead} healed  treatment held     median", *(" ".join(row) for row in rows)]
    if max(map(columns, lines)) <= here.width:
        return lines
    lines = [clip(lead.rstrip(), here.width)]
    for who, healed, held, median in rows:
        said = f"healed {healed.strip()}, held {held.strip()}, median {median}"
        lines += [clip(who, here.width).rstrip(), *_below(said, here)]
    return lines


def _of_whom(one: Figure) -> str:
    cause, detail, _, treatment, harness = one.group
    name = pad(_words(detail or cause), CAUSE_COLUMNS)
    return f"{name} {pad(treatment, TREATMENT_COLUMNS)} {pad(harness, HARNESS_COLUMNS)}"


def _median(one: Figure) -> str:
    return ago(one.seconds) if one.seconds is not None else "-"


def _held(one: Figure) -> str:
    if one.low is None or one.high is None:
        # None was judged so far, so that nothing can be said of how often it holds.
        return f"{one.open} not yet known" if one.open else f"{one.moot} not judged"
    return f"{one.held} of {one.tried} ({one.low:.0%}-{one.high:.0%})"


def _below(words: str, here: Page) -> list[str]:
    """Words below their step's heading, set in, and what goes on a little more."""
    return [f"{SET_IN}{line}" for line in wrap(words, here.width - len(SET_IN), SET_IN)]


def _when(at: str | None, here: Page) -> str:
    """A time of a record by the reader's clock; what is no time, as it stands there."""
    wall = read_time(at)
    return here.clock(wall) if wall is not None else at or "an unknown time"


def _words(name: str) -> str:
    """A name of the clinic's own, as people read it."""
    return name.replace("_", " ")


def _because(why: str) -> str:
    return f"; {why}" if why else ""
