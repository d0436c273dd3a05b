"""What `since` and `explain` print, and a line of `events`: the past, sorted, with its period and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from phoenixd.api.event_names import event_words
from phoenixd.api.history import Digest, Stretch, Unwatched
from phoenixd.api.pages.agent import summary
from phoenixd.api.pages.agent_lines import reason
from phoenixd.api.pages.context import context
from phoenixd.api.pages.inbox import advice
from phoenixd.api.pages.layout import (
    SET_IN,
    WHOLE,
    Page,
    clip,
    name_column,
    of_yesterday,
    pad,
    page,
    side_by_side,
    with_command,
    wrap,
)
from phoenixd.api.pages.next_commands import answer_choice, handoff_status
from phoenixd.api.pages.spells import answered, finished, ordered, spells, terminals
from phoenixd.api.times import ago, span
from phoenixd.config.differences import is_duration
from phoenixd.core.agent.run import Incident
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.facts import Verb
from phoenixd.core.moment import between
from phoenixd.core.projection import Row
from phoenixd.core.question.call import ASKS
from phoenixd.core.question.render import title
from phoenixd.core.question.reply import is_reachable
from phoenixd.core.treatment.case import Case
from phoenixd.documents.incident import call_sentence
from phoenixd.ports.journal import StoredEntry

FLEET = "fleet"
"""In place of a name, what concerns no single agent."""
MOMENTS = frozenset({"reset", "until"})
LENGTHS = frozenset({
    "account wait", "call_looked_at", "call_worked", "delay", "heartbeat_claims", "lived", "newest_lease_over_since",
    "over", "ran_for", "silent_for", "waited_for_people", "within",
})  # fmt: skip
"""Readings that are lengths of time, beside those that bear the name of such a key of the configuration."""
ORDERED: dict[Verb, str] = {
    "declare": "declared", "start": "started", "stop": "stopped", "restart": "restarted", "remove": "removed",
    "undo": "undone", "mute": "muted", "unmute": "unmuted", "acknowledge": "acknowledged", "answer": "answered",
    "breaker": "breakers set", "send": "texts sent",
}  # fmt: skip
"""Every order of a person, as it is counted."""
REPEATS_SHOWN = 1
NAMES_SHOWN = 5


def since(stretch: Stretch, here: Page, words: str = "") -> str:
    """The stretch from then to now, added up. words: the time as it was typed."""
    digest = stretch.digest
    if digest.begins is None:
        start = here.start(digest.since)
    else:
        start = f"{here.start(digest.begins)}, when the journal began,"
    period = f"{start} to {here.minute(stretch.until)}"
    if stretch.journal_begins is not None:
        quality = f"the journal begins at {here.minute(stretch.journal_begins)}"
    elif digest.untyped_until is not None:
        quality = f"NOT complete: an older version wrote the rows up to {here.minute(digest.untyped_until)}"
    else:
        quality = "complete (no gap in the journal)" if digest.complete else "NOT complete: the journal lacks rows"
    lines = wrap(f"{period}, {quality}", here.width)
    if told := of_yesterday(words, digest.since, here):
        lines += wrap(told, here.width)
    heading = len(lines)
    lines += _deaths(stretch, here)
    causes = (terminals(digest.terminals, here), spells(digest.spells, here), answered(digest.by_hand, here))
    for label, count, text in chain(*causes):
        lines += _line(label, count, text, here)
    if digest.failed_starts:
        so_far = {name: " (not up so far)" for name in digest.unstarted}
        tries = [f"{name} {count}{so_far.get(name, '')}" for name, count in sorted(digest.failed_starts.items())]
        failed = f"failed: {', '.join(_shown(tries, here))}"
        lines += _line("starts", sum(digest.failed_starts.values()), failed, here)
    if digest.failed_tasks:
        tasks = [f"{name} ({why})" for name, why in digest.failed_tasks.items()]
        newest = tasks[-(_most(here) or len(tasks)) :]
        see = "phoenixctl task status" if len(newest) == len(tasks) else "phoenixctl task status has them all"
        lines += _line("tasks", len(tasks), f"failed: {', '.join(newest)}; {here.reaching(see)}", here)
    if digest.outages:
        lines += _line("outages", digest.outages, "the terminal server did not answer", here)
    if digest.unwatched:
        lines += _line("no daemon", len(digest.unwatched), _unwatched(digest, here), here)
    if stretch.waiting or stretch.alerts:
        lines += _waiting(stretch, here)
    if digest.cut_answers:
        lines += _line("answers", digest.cut_answers, here.reaching(_cut(digest)), here)
    if digest.finished:
        lines += _line("finished", digest.finished, f"ended by themselves{_ways(digest.finished_by)}", here)
        lines += [f"{'':<17}{line}" for line in wrap(finished(digest.spells, here, _most(here)), here.width - 17)]
    if digest.iterations:
        lines += _line("iterations", digest.iterations, "of loops ended as they should", here)
    asked = [f"{word} {digest.orders[verb]}" for verb, word in ORDERED.items() if verb in digest.orders]
    asked += [f"not delivered {digest.not_delivered}"] if digest.not_delivered else []
    if asked:
        lines += _line("orders", "", ", ".join(asked), here)
    for told in ordered(digest.by_hand, digest.spells.of("quarantine"), here):
        lines += [f"{'':<17}{line}" for line in wrap(told, here.width - 17)]
    if len(lines) == heading:
        lines.append("  nothing happened" if not digest.events else "  nothing out of the ordinary")
    answers = _answers([item for item in stretch.waiting if item.kind in ASKS])
    each = f"each event: phoenixctl events --since {here.exact(digest.since)}"
    return page([*lines, "", *map(here.ending, (*answers, each))])


def _answers(asked: Sequence[InboxItem]) -> list[str]:
    """How what waits is answered: from afar where that does anything, else at the terminal."""
    if not asked:
        return []
    if not any(map(is_reachable, asked)):
        return [f"answer: {advice(asked[0]) if len(asked) == 1 else 'phoenixctl inbox NUMBER'}"]
    return [f"answer: phoenixctl answer {asked[0].id if len(asked) == 1 else 'NUMBER'}"]


def _waiting(stretch: Stretch, here: Page) -> list[str]:
    """What waits for a person, a line each: behind an agent's words stands nothing that they could be taken for."""
    shown = stretch.waiting[: _most(here)]
    told = [f"#{one.id} {one.agent} {ago(here.now - one.opened_wall)} ({one.kind}) {_asked(one)}" for one in shown]
    if len(shown) < len(stretch.waiting):
        told.append(here.reaching("phoenixctl inbox has them all"))
    told += [f"phoenixd {ago(here.now - one.raised_wall)} ({one.kind})" for one in stretch.alerts]
    first, *rest = (clip(one, max(20, here.width - 17)) for one in told)
    return [
        f"  {'waiting':<10} {len(stretch.waiting) + len(stretch.alerts):>3} {first}",
        *(f"{'':<17}{one}" for one in rest),
    ]


def _asked(item: InboxItem) -> str:
    """What a question asks; of anything else that waits the kind says it."""
    return title(item) if item.kind in ASKS else ""


def explain(
    row: Row,
    decisions: Sequence[StoredEntry],
    here: Page,
    incident: Incident | None = None,
    looks: int = 0,
    before: Sequence[StoredEntry] = (),
    *,
    may_be_a_job: bool = False,
    may_ask_for_more: bool = False,
    case: Case | None = None,
) -> str:
    """Why an agent is as it is: what opened its state, and the decisions since, with reasons and readings.

    Repeats are told once. looks: how often it was looked at since then, and nothing followed from it. before: the end
    or the order that led to this state, and what else was decided then. may_be_a_job, may_ask_for_more: see
    core.restart. case: what the clinic knows of its failures, where that is not over.
    """
    lines = wrap(f"{summary(row)}: {reason(row, here)}", here.width, SET_IN)
    if not decisions:
        lines.append("  no decision about it stands in the journal yet")
    for _, group in groupby(decisions, key=lambda stored: (stored.entry.event, stored.entry.reason)):
        same = list(group)
        for stored in same[:REPEATS_SHOWN]:
            lines += _decision(stored, here)
        if len(same) > REPEATS_SHOWN:
            hint = here.reaching(f"(phoenixctl events {row.name} --all)")
            lines.append(clip(f"            ... {len(same) - REPEATS_SHOWN} more like it   {hint}", here.width))
    if row.breaker != "CLOSED":
        count = f", {row.no_progress} without progress in a row" if row.no_progress else ""
        lines.append(f"  breaker    {row.breaker}{count}")
        lines.append(f"{'':<13}{here.reaching(f'see: phoenixctl breaker show {row.name}')}")
    if incident is not None:
        kept = f"phoenixctl clinic show {incident.case}" if incident.case else f"{incident.file} in its directory"
        said = f"run {incident.incarnation}, {here.clock(incident.at_wall)}: {incident.reason} ({here.reaching(kept)})"
        if incident.call is not None:
            said = f"{said}. {call_sentence(incident.call)}".rstrip()
        first, *rest = wrap(said, max(20, here.width - 13))
        lines += [f"  incident   {first}", *(f"{'':<13}{line}" for line in rest)]
    if case is not None and (incident is None or incident.case != case.id):
        often = "once" if case.incidents == 1 else f"{case.incidents} times"
        said = f"{case.id}, {case.detail.replace('_', ' ')}, noticed {often}; what was done about it:"
        told = with_command(said, f"phoenixctl clinic show {case.id}", replace(here, width=max(20, here.width - 13)))
        lines += [f"  {'case' if number == 0 else '':<10} {line}" for number, line in enumerate(told)]
    if before:
        lines += ["  before that", *(line for stored in before for line in _decision(stored, here))]
    if said := context(row.context, here):
        first, *rest = wrap(said, max(20, here.width - 13))
        lines += [f"  context    {first}", *(f"{'':<13}{line}" for line in rest)]
    for said in row.armed:
        first, *rest = wrap(said, max(20, here.width - 13))
        lines += [f"  armed      {first}", *(f"{'':<13}{line}" for line in rest)]
    if looks:
        counted = "once" if looks == 1 else f"{looks} times"
        lines.append(f"  looked     {counted} since then, and nothing followed from it")
    if row.due is not None:
        lines.append(f"  next       in {ago(row.due)}")
    each = f"each note: phoenixctl events {row.name} --all"
    if may_be_a_job:
        told = with_command("Is it done then? A job is of --kind ephemeral:", "phoenixctl help run", here)
        lines += ["", *told]
    if may_ask_for_more:
        lines += [
            "",
            *wrap("A program asks for a fresh start by ending with exit 100: that counts as no crash.", here.width),
        ]
    if row.state == "quarantined":
        again, left = f"again: phoenixctl start {row.name}", f"what it left: phoenixctl screen {row.name}"
        if row.session_id is None:
            return page([*lines, "", side_by_side(again, each, here)])
        return page([*lines, "", side_by_side(again, left, here), here.reaching(each)])
    if row.is_succeeded:
        return page([*lines, "", side_by_side(handoff_status(row), each, here)])
    if row.state == "stopped":
        return page([*lines, "", side_by_side(f"again: phoenixctl start {row.name}", each, here)])
    if row.activity == "waiting":
        return page([*lines, "", side_by_side(f"answer: {answer_choice(row)}", each, here)])
    return page([*lines, "", here.ending(each)])


def event(
    stored: StoredEntry, here: Page, width: int | None = None, called: Callable[[str], str] = lambda name: name
) -> str:
    """One event on one line. width: of the column of names; None where what else comes is not known.

    called: as what people know an agent by the name that the journal has.
    """
    entry = stored.entry
    name = called(entry.agent) if entry.agent else FLEET
    width = name_column([name], here) if width is None else width
    said = f"{event_words(entry)} -> {entry.reason}" if entry.reason else event_words(entry)
    return clip(f"{here.clock(entry.wall)}  {pad(name, width)} {said}", here.width)


def _decision(stored: StoredEntry, here: Page) -> Iterator[str]:
    entry = stored.entry
    lead = f"  {here.clock(entry.wall)}  "
    said = f"{event_words(entry)} -> {entry.reason}" if entry.reason else event_words(entry)
    for number, line in enumerate(wrap(said, max(20, here.width - len(lead)))):
        yield (lead if number == 0 else " " * len(lead)) + line
    if entry.readings:
        readings = ", ".join(f"{name} = {_reading(name, value, here)}" for name, value in entry.readings)
        for line in wrap(f"({readings})", max(20, here.width - len(lead))):
            yield " " * len(lead) + line


def _reading(name: str, value: str | int | float | None, here: Page) -> str:
    """A fact as a person reads it: a moment by the clock, a length of time in its largest units."""
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return value
    if name in MOMENTS:
        return here.clock(value)
    if name in LENGTHS or is_duration(name):
        return span(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cut(digest: Digest) -> str:
    own = digest.cut_gone_on
    by_itself = f"; after {own} the CLI went on by itself: its last message is the last part alone" if own else ""
    return f"cut at the end{by_itself}; see: phoenixctl explain NAME"


def _ways(counts: Mapping[str, int]) -> str:
    """How those that finished ended; counted where they did in several ways."""
    ways = sorted(counts.items())
    return f" {ways[0][0]}" if len(ways) == 1 else f": {', '.join(f'{count} {how}' for how, count in ways)}"


def _deaths(stretch: Stretch, here: Page) -> list[str]:
    digest = stretch.digest
    if not digest.deaths:
        return []
    parts: list[str] = []
    if digest.healed:
        how = [f"resumed {digest.resumed}" if digest.resumed else "", f"fresh {digest.fresh}" if digest.fresh else ""]
        slowest = f"; slowest {span(digest.slowest)}" if digest.slowest is not None else ""
        again = f"; after {_deaths_more(digest.repeated)}" if digest.repeated else ""
        whose = [name if count == 1 else f"{name} {count}" for name, count in sorted(digest.healed_agents.items())]
        told = f"{', '.join(part for part in how if part)}{slowest}{again}"
        parts.append(f"healed {digest.healed} ({', '.join(_shown(whose, here))}): {told}")
    running = stretch.running_again
    open_ones = sorted(digest.unhealed_agents.items())
    back = [f"{name} {count} ({running[name]})" for name, count in open_ones if name in running]
    if back:
        parts.append(f"back and running, not yet productive: {', '.join(_shown(back, here))}")
    if digest.returned:
        parts.append(f"came back, and were stopped and started since: {digest.returned}")
    unhealed = [f"{name} {count} (quarantined)" for name, count in sorted(digest.quarantined_agents.items())]
    unhealed += [f"{name} {count} (not back)" for name, count in open_ones if name not in running]
    unhealed += [f"{name} {count} (stopped)" for name, count in sorted(digest.stopped_agents.items())]
    unhealed = _shown(unhealed, here)
    if digest.released:
        unhealed.append(f"{digest.released} of agents that were down and started since")
    if digest.removed:
        unhealed.append(f"{digest.removed} of agents that were removed since")
    if unhealed:
        parts.append(f"not healed: {', '.join(unhealed)}")
    lines = _line("deaths", digest.deaths, _who_died(stretch), here)
    for text in parts:
        lines += [f"{'':<17}{line}" for line in wrap(text, here.width - 17)]
    return lines


def _who_died(stretch: Stretch) -> str:
    """How many agents died, and how many of them are back: of deaths alone nobody can tell that."""
    died, started, back = stretch.digest.died_agents, len(stretch.digest.started_agents), len(stretch.back)
    if len(died) == 1:
        return f"of 1 agent, {'which is back' if back else 'which somebody started since' if started else 'not back'}"
    away = len(died) - back - started
    counts = ((back, "back"), (started, "started by somebody since"), (away, "not back"))
    return f"of {len(died)} agents: {', '.join(f'{count} {word}' for count, word in counts if count)}"


def _most(here: Page) -> int | None:
    """How many names are shown; None for all, on a page that cuts nothing."""
    return None if here.width >= WHOLE else NAMES_SHOWN


def _shown(parts: list[str], here: Page) -> list[str]:
    """The first agents, as many as are shown; the number of the others stands in their place."""
    left = len(parts) - len(shown := parts[: _most(here)])
    more = here.reaching(f"and {left} more {'agent' if left == 1 else 'agents'} (phoenixctl status)")
    return [*shown, more] if left else shown


def _deaths_more(count: int) -> str:
    return "1 death more" if count == 1 else f"{count} deaths more"


def _unwatched(digest: Digest, here: Page) -> str:
    """The newest time without a daemon, and how many agents lived through it."""
    ran_on = "; 1 agent ran on, and was adopted" if len(digest.ran_on) == 1 else ""
    if len(digest.ran_on) > 1:
        ran_on = f"; {len(digest.ran_on)} agents ran on, and were adopted"
    often = "time" if len(digest.unwatched) == 1 else "times, the last time"
    return f"{often}: {_without_daemon(digest.unwatched[-1], here)}{ran_on}"


def _without_daemon(newest: Unwatched, here: Page) -> str:
    begins, until = here.clock(newest.begins), here.clock(newest.until)
    length = between(newest.begins, newest.until)
    if newest.ended:
        return f"nobody watched for {length}: the daemon was down from {begins} to {until}, ended by {newest.ended}"
    return f"nobody watched for {length} at most: the daemon was killed, or died, after {begins}; down to {until}"


def _line(label: str, count: int | str, text: str, here: Page) -> list[str]:
    first, *rest = wrap(text, max(20, here.width - 17)) or [""]
    return [f"  {label:<10} {count:>3} {first}", *(f"{'':<17}{line}" for line in rest)]
