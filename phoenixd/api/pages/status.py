"""What `status` prints: by exception, five groups with a sign and a word, and the next command last.

Pure: rows and facts in, text out. Nothing that an agent wrote reaches a terminal uncleaned, and no line is wider than
the page, except a command that would no longer work if it were cut.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from phoenixd.api.history import Digest
from phoenixd.api.pages.context import of_row
from phoenixd.api.pages.layout import SET_IN, WHOLE, Page, clip, columns, name_column, pad, page, with_command, wrap
from phoenixd.api.times import ago
from phoenixd.api.values import Facts
from phoenixd.clis import EXAMPLE
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.alerts import DEGRADED, next_command
from phoenixd.core.condition import SIGNS, Group
from phoenixd.core.glance import Seen, needs
from phoenixd.core.projection import Row
from phoenixd.core.question.call import PLAN, QUESTION
from phoenixd.core.question.render import title
from phoenixd.core.question.reply import is_reachable, limits
from phoenixd.core.sight import Doing

LINES = 24
"""Lines of a terminal: what `status` says at a glance fits, however many agents there are."""
WORDS: dict[Group, str] = {
    "needs_you": "need you",
    "healing": "healing",
    "working": "working",
    "resting": "resting",
    "unknown": "unknown",
}
ORDER: tuple[Group, ...] = ("needs_you", "healing", "unknown", "working", "resting")
BY_EXCEPTION = ORDER[:3]
FINE = ORDER[3:]
STATE_COLUMNS = 12
AGE_COLUMNS = 6
LEAST_ROOM = 16
SINCE_WHOLE = 60
"""Columns from which on what happened is told whole, on two lines where it has to be."""
NAMES_SHOWN = 3
UNKNOWN = "what it does is unknown"
UNHEARD = ("none", "missing")
"""What is known of the hooks of those that tell nothing."""
SINCE = "since you looked: phoenixctl since last"


def _as_row(one: Seen) -> Row:
    """For who has rows already."""
    assert isinstance(one, Row)
    return one


def status(
    rows: Sequence[Seen],
    facts: Facts,
    digest: Digest | None,
    here: Page,
    *,
    everyone: bool = False,
    stale: Mapping[str, int] | None = None,
    whole: Callable[[Seen], Row] = _as_row,
    running_again: Collection[str] = (),
) -> str:
    """What needs you, is everything alive, what happened since you looked; then only what is not fine.

    stale: how many open loops of an agent are stale. whole: makes the row of a glance; asked only for those that have a
    line of their own. running_again: see history.
    """
    degraded = " DEGRADED." if _is_degraded(facts) else ""
    if not rows:
        told = [f"{_need(needs((), facts.alerts))}. No agents yet.{degraded}", *_daemon(facts, here)]
        return page([*told, f"Try: phoenixctl demo, or phoenixctl add NAME -- {EXAMPLE}"])
    head = [*wrap(f"{first_line(rows, facts.alerts)}{degraded}", here.width), *_since_line(digest, running_again, here)]
    head += [*_stale_line(stale or {}, here), *_full_line(rows, here), *_daemon(facts, here), ""]
    next_line = next_commands(rows, here, whole)
    if everyone:
        shown = sorted(rows, key=lambda row: (ORDER.index(row.group), row.name))
        return page([*head, *_table([whole(row) for row in shown], here), "", next_line])
    fine = _fine(rows, here)
    tail = [*fine, *([""] if fine else []), next_line]
    return page([*head, *_exceptions(rows, LINES - len(head) - len(tail), here, whole), *tail])


def first_line(rows: Sequence[Seen], alerts: Sequence[StandingAlert]) -> str:
    """How many need a person, and whether all that should be alive is. alerts: those of no agent."""
    wanted = [row for row in rows if row.desired == "running" or row.pid is not None]
    # Of whom nothing is known nobody says that it lives; a loop between two iterations is well, and has no process.
    alive = sum(row.group != "unknown" and (row.pid is not None or _is_between_runs(row)) for row in wanted)
    absent = [row for row in wanted if row.pid is None]
    counts = (
        # Of none it cannot be said that all live; what was stopped on purpose is why.
        (0 if wanted else len(rows), "stopped"),
        (sum(row.group == "working" and row.state == "starting" for row in absent), "starting"),
        (sum(row.parked_until is not None for row in absent), "parked by a limit"),
        (sum(row.state == "quarantined" for row in absent), "quarantined"),
    )
    healing = sum(row.group == "healing" for row in rows)
    unknown = sum(row.group == "unknown" for row in rows)
    waits = "".join(f", {count} {word}" for count, word in counts if count)
    counted = f"{alive} of {len(wanted)} alive{waits}, {healing} healing, {unknown} unknown"
    return f"{_need(needs(rows, alerts))}{_of_these(rows)}. {counted}."


def _need(count: int) -> str:
    return f"{count} {'needs' if count == 1 else 'need'} you"


def _is_between_runs(row: Seen) -> bool:
    """Whether it is a loop that rests after an iteration that ended as it should."""
    return row.group == "working" and row.state == "backing_off"


def _of_these(rows: Sequence[Seen]) -> str:
    """How many of those that need a person were seen, or are told to nobody."""
    needy = [row for row in rows if row.group == "needs_you"]
    counts = (
        (sum(row.is_acknowledged for row in needy), "acknowledged"),
        (sum(row.muted_until is not None for row in needy), "muted"),
    )
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f" ({told})" if told else ""


def _held(row: Row, here: Page) -> str:
    """That its alerts are told to nobody, and that somebody has seen all for which it needs a person."""
    seen = "acknowledged: " if row.group == "needs_you" and row.is_acknowledged else ""
    return f"muted until {here.minute(row.muted_until)}: {seen}" if row.muted_until is not None else seen


def next_commands(rows: Sequence[Seen], here: Page, whole: Callable[[Seen], Row] = _as_row) -> str:
    """The command that the most urgent of these agents asks for, and a second one where it fits."""
    return side_by_side(*_commands(rows, whole), here)


def side_by_side(first: str, second: str, here: Page) -> str:
    """Two hints on one line, or only the first: a command that is cut is none."""
    return f"{first}     {second}" if len(first) + len(second) + 5 <= here.width else first


def reason(row: Row) -> str:
    """Why the agent is in its state, without saying the state again; what needs a person goes before that."""
    if row.pressing is not None:
        return f"{row.pressing.kind}: {row.pressing.text}"
    if row.item is not None and row.item.left:
        return f"asked, and its run ended: {title(row.item)}"
    return row.reason.removeprefix(f"{row.state}: ")


def doing(row: Row, here: Page) -> str:
    """What an agent that is fine is at; empty where that is not known, or something else is to be told of it."""
    if row.untold or row.items or (not row.step and (row.group not in FINE or row.state != "running")):
        return ""
    if row.doing is not None:
        return f"{call(row.doing)} ({ago(here.now - row.doing.since_wall)})"
    if row.said is None:
        return _sign_of_life(row)
    when = f" ({ago(here.now - row.said.at_wall)} ago)" if row.said.at_wall is not None else ""
    return f"said{when}: {row.said.text}"


def _sign_of_life(row: Row) -> str:
    """What is known of one that tells nothing of its turns; empty where its reason says more."""
    if row.hooks not in UNHEARD or row.state != "running" or row.parked_until is not None:
        return ""
    return f"last sign of life {ago(row.evidence_age)} ago" if row.evidence_age is not None else UNKNOWN


def call(doing: Doing) -> str:
    """A tool call in words."""
    return f"{doing.tool}: {doing.argument}" if doing.argument else doing.tool


def _commands(rows: Sequence[Seen], whole: Callable[[Seen], Row]) -> tuple[str, str]:
    row = whole(
        min(
            rows,
            key=lambda row: (
                ORDER.index(row.group), row.is_acknowledged, row.activity != "waiting", row.since, row.name,
            ),
        )
    )  # fmt: skip
    why = f"why: phoenixctl explain {row.name}"
    if row.group == "needs_you":
        if row.activity == "waiting" or answer_from_afar(row):
            return f"answer: {answer_choice(row)}", why
        return why, _remedy(row)
    if row.group in BY_EXCEPTION:
        return why, SINCE
    if len(rows) == 1:
        if row.state == "starting":
            return f"next: phoenixctl wait {row.name} --for running", why
        return f"next: phoenixctl {'attach' if row.pid is not None else 'start'} {row.name}", why
    return "each agent: phoenixctl status --all", SINCE


def _remedy(row: Row) -> str:
    """What helps an agent that asks nothing: a start where nothing runs, else what its alert asks for."""
    if row.pid is None:
        return f"again: phoenixctl start {row.name}"
    alert = row.pressing
    remedy = next_command(alert.kind, row.name) if alert is not None else f"phoenixctl attach {row.name}"
    if remedy != f"phoenixctl explain {row.name}":
        return f"do: {remedy}"
    return f"seen: phoenixctl ack {alert.id}" if alert is not None and alert.ack is None else SINCE


def answer_from_afar(row: Row) -> int:
    """The number by which what it asks can be answered from afar; 0 where it cannot."""
    return row.item.id if row.item is not None and is_reachable(row.item) else 0


def answer_command(row: Row) -> str:
    """How what it asks is answered."""
    number = answer_from_afar(row)
    return f"phoenixctl answer {number}" if number else f"phoenixctl attach {row.name}"


def answer_choice(row: Row) -> str:
    """The same with the words that its kind takes. Typed as it stands it decides nothing: a person has to choose.

    Of a question the number alone: `answer N` shows its options, and any word after it would be sent as the answer.
    """
    command, item = answer_command(row), row.item
    if item is None or not answer_from_afar(row) or item.kind == QUESTION:
        return command
    if limits(item):
        return f'{command} deny "REASON"'
    return f"{command} {'approve' if item.kind == PLAN else 'allow'}/deny"


def _since_line(digest: Digest | None, running_again: Collection[str], here: Page) -> list[str]:
    if digest is None:
        return []
    when, failed = f"Since {here.start(digest.since)}:", unstarted(digest)
    if not digest.deaths and failed:
        return [clip(f"{when} {failed}.", here.width)]
    if not digest.deaths:
        return [f"{when} no deaths." if digest.events else f"{when} nothing happened."]
    after = f" after {digest.repeated} more" if digest.repeated else ""
    parts = [f"{digest.healed} healed{after}"] if digest.healed else []
    # "healing" is what an agent is at, by its group alone: these are deaths, and most of their agents may be idle.
    again = {name: count for name, count in digest.unhealed_agents.items() if name in running_again}
    for told, counts in (("running again", again), ("not back", _without(digest.unhealed_agents, again))):
        if counts:
            parts.append(f"{sum(counts.values())} {told} ({_whose(counts)})")
    if digest.quarantined:
        parts.append(f"{digest.quarantined} quarantined ({_whose(digest.quarantined_agents)})")
    if digest.stopped_agents:
        parts.append(f"{sum(digest.stopped_agents.values())} stopped ({_whose(digest.stopped_agents)})")
    if digest.released:
        parts.append(f"{digest.released} were down, started since")
    if digest.removed:
        parts.append(f"{digest.removed} removed since")
    least = "" if digest.complete else "at least "
    deaths = f"{least}{'1 death' if digest.deaths == 1 else f'{digest.deaths} deaths'}"
    more = f"; {failed}" if failed else ""
    said = f"{when} {deaths}: {', '.join(parts)}{more}."
    return wrap(said, here.width, SET_IN) if here.width >= SINCE_WHOLE else [clip(said, here.width)]


def _without(counts: Mapping[str, int], left_out: Collection[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in left_out}


def unstarted(digest: Digest) -> str:
    """Whose starts failed, with nothing that lives since; empty where all began."""
    return f"{_whose(digest.unstarted)} could not be started" if digest.unstarted else ""


def _whose(counts: Collection[str]) -> str:
    """Deaths are of agents: without their names three deaths look like three agents."""
    if len(counts) <= NAMES_SHOWN:
        return ", ".join(sorted(counts))
    return f"{len(counts)} agents"


def _stale_line(stale: Mapping[str, int], here: Page) -> list[str]:
    """Loops that have been open for too long are told without being asked for (P29)."""
    if not stale:
        return []
    total = sum(stale.values())
    whose = ", ".join(sorted(stale)) if len(stale) <= NAMES_SHOWN else f"{len(stale)} agents"
    said = f"{'1 open loop is' if total == 1 else f'{total} open loops are'} stale ({whose})."
    return with_command(said, "See: phoenixctl loops", here.width)


def _full_line(rows: Sequence[Seen], here: Page) -> list[str]:
    """Orchestrators that are to be handed over; any other kind shortens its context by itself."""
    full = [
        row.name
        for row in rows
        if row.kind == "orchestrator" and row.context is not None and row.context.verdict == "HANDOFF"
    ]
    if not full:
        return []
    whose = ", ".join(full) if len(full) <= NAMES_SHOWN else f"{len(full)} orchestrators"
    said = f"{whose}: the context is full, and a handoff is due."
    return with_command(said, f"See: phoenixctl tokens check {full[0]}", here.width)


def _is_degraded(facts: Facts) -> bool:
    return facts.halted is not None or any(one.kind == DEGRADED for one in facts.alerts)


def _daemon(facts: Facts, here: Page) -> list[str]:
    lines: list[str] = []
    if facts.halted is not None:
        lines += wrap(f"DEGRADED, nothing new is started: {facts.halted}", here.width)
    elif any(one.kind == DEGRADED for one in facts.alerts):
        lines += wrap(f"DEGRADED until all has been well for a while: {facts.degraded}", here.width)
    told = [one for one in facts.alerts if one.kind not in ("degraded", "terminal")]
    for one in told:
        lines += wrap(f"{one.kind}: {one.text}", here.width, SET_IN)
    if facts.tmux is None:
        lines += wrap("The terminal server does not answer.", here.width)
    return [*lines, "See: phoenixctl doctor"] if lines else []


def _exceptions(rows: Sequence[Seen], room: int, here: Page, whole: Callable[[Seen], Row]) -> list[str]:
    """What is not fine, oldest first within its group; what does not fit is a count with the command that lists it."""
    wrong = [row for row in rows if row.group in BY_EXCEPTION]
    wrong.sort(key=lambda row: (ORDER.index(row.group), row.is_acknowledged, row.since, row.name))
    if not wrong:
        return []
    # Each has a line at least, so of more than there is room for no more can be told.
    first = wrong[: max(1, room)]
    width = name_column([row.name for row in first], here)
    told = [_row(whole(row), width, here) for row in first]
    if len(told) == len(wrong) and sum(map(len, told)) < room:
        return [*(line for lines in told for line in lines), ""]
    blank_and_rest = 3
    shown: list[list[str]] = []
    while told and sum(map(len, shown)) + len(told[0]) <= room - blank_and_rest:
        shown.append(told.pop(0))
    hidden = wrong[len(shown) :]
    counts = [(group, sum(row.group == group for row in hidden)) for group in BY_EXCEPTION]
    more = ", ".join(f"{count} more {WORDS[group]}" for group, count in counts if count)
    rest = with_command(f"and {more}:", "phoenixctl status --all", here.width)
    return [*(line for lines in shown for line in lines), *rest, ""]


def _table(rows: Sequence[Row], here: Page) -> list[str]:
    return [line for told in _rows(rows, here) for line in told]


def _rows(rows: Sequence[Row], here: Page) -> Iterable[list[str]]:
    width = name_column([row.name for row in rows], here)
    return (_row(row, width, here) for row in rows)


def _row(row: Row, name_columns: int, here: Page) -> list[str]:
    """One agent on one line, or on two where the command at its end would have to be cut."""
    sign = here.sign(SIGNS[row.group])
    if row.activity == "waiting" and row.waiting_for is not None:
        age = ago(here.now - (row.item.opened_wall if row.item is not None else row.since))
        lead = f"{pad(row.name, name_columns)} {age:>{AGE_COLUMNS}}  "
        number = f"#{row.item.id} " if row.item is not None else ""
        said, hint = f"{number}{_held(row, here)}waiting: {row.waiting_for}", f"- {answer_command(row)}"
        room = here.width - 2 - columns(lead)
        if columns(said) + 1 + len(hint) <= room:
            return [f"{sign} {lead}{clip(said, room)} {hint}"]
        return [*_lead_and(f"{sign} {lead}", said, room, here), f"  {hint}"]
    age = f"in {ago(row.due)}" if row.state == "backing_off" and row.due is not None else ago(here.now - row.since)
    word = (row.state if row.step else row.activity or row.state).replace("_", " ")
    if row.group == "unknown":
        word = "deaf" if row.deaf is not None else "gone"
    lead = f"{pad(row.name, name_columns)} {age:>{AGE_COLUMNS}}  {pad(word, STATE_COLUMNS)} "
    number = f"  #{row.item.id}" if row.item is not None else ""
    room = here.width - 2 - columns(lead) - len(number)
    step = f"step {row.at_step}: " if row.step and row.group == "healing" else ""
    why = f"{_held(row, here)}{of_row(row)}{step}{doing(row, here) or reason(row)}"
    if row.group == "unknown":
        lost = f"the link to its shim is lost: {row.deaf.why}" if row.deaf is not None else ""
        why = f"{_held(row, here)}{lost or 'its exit record is awaited'}"
    return _lead_and(f"{sign} {lead}", why, room, here, number)


def _lead_and(lead: str, words: str, room: int, here: Page, number: str = "") -> list[str]:
    """Words behind what stands before them, or below it where the page is too narrow for both; the number of an item
    is never cut with them, and stands below the other numbers where the line has an end."""
    if room < LEAST_ROOM:
        return [lead, f"    {clip(words, here.width - 4 - len(number))}{number}"]
    return [lead + (pad(words, room) if number and here.width < WHOLE else clip(words, room)) + number]


def _fine(rows: Sequence[Seen], here: Page) -> list[str]:
    """The agents that are fine: how many, and their names where all fit on the line."""
    told: list[tuple[str, str, str]] = []
    for group in FINE:
        members = [row for row in rows if row.group == group]
        if members:
            said = f"{len(members)} {WORDS[group]}{_resting_note(members, here) if group == 'resting' else ''}"
            told.append((SIGNS[group], said, ", ".join(row.name for row in members)))
    if all(len(said) + len(names) + 4 <= here.width for _, said, names in told):
        return [f"{here.sign(sign)} {said}: {names}" for sign, said, names in told]
    counts = [f"{here.sign(sign)} {said}" for sign, said, _ in told]
    fits = sum(len(said) + 2 for _, said, _ in told) + 3 * (len(told) - 1) <= here.width
    return ["   ".join(counts)] if fits else counts


def _resting_note(members: Sequence[Seen], here: Page) -> str:
    parked = [row.parked_until for row in members if row.parked_until is not None]
    stopped = sum(row.state == "stopped" for row in members)
    notes = [f"{len(parked)} parked until {here.minute(min(parked))}"] if parked else []
    if stopped:
        notes.append(f"{stopped} stopped")
    return f" ({', '.join(notes)})" if notes else ""


def prompt(counts: Mapping[Group, int], here: Page) -> str:
    """For a shell's prompt: the signs of what is not fine, with their numbers; empty where all is."""
    told = " ".join(f"{here.sign(SIGNS[one])}{counts[one]}" for one in BY_EXCEPTION if counts[one])
    return f"{told}\n" if told else ""
