"""What the verbs about one agent print, and the inbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from phoenixd.api.pages.agent_lines import GUESSED, call
from phoenixd.api.pages.context import context
from phoenixd.api.pages.layout import Page, clean, clip, columns, name_column, pad, page, with_command, wrap
from phoenixd.api.pages.next_commands import next_commands
from phoenixd.api.times import ago
from phoenixd.api.values import BriefFace, LoopCounts, Planned, Rechecked
from phoenixd.clis import EXAMPLE
from phoenixd.core.agent import Agent
from phoenixd.core.breaker import Open, reason_of
from phoenixd.core.condition import SIGNS
from phoenixd.core.progress import is_loop
from phoenixd.core.projection import Row
from phoenixd.core.question.render import title
from phoenixd.core.sight import Attached, Cost, Words
from phoenixd.core.turns import has_breaker
from phoenixd.ports.processes import Leftovers

LABEL_COLUMNS = 12
LEAST_WORDS = 40
HOOKS = {
    "ok": "its hooks arrive",
    "missing": "its hooks are missing",
    "none": "it sends no hooks",
    "lost": "its hooks do not arrive",
    "refused": "its hooks arrive, but not all",
}


def agent(row: Row, here: Page, loops: LoopCounts | None = None, marker: str = "") -> str:
    """One agent in full. marker: what is known of its marker, as a clause."""
    run = [f"incarnation {row.incarnation}"]
    asks = row.item if row.activity == "waiting" else None
    if row.pid is not None:
        run.append(f"pid {row.pid}")
    if row.mode is not None:
        run.append("resumed" if row.mode == "resume" else "fresh")
    told = {
        "waiting": f"#{asks.id} {row.waiting_for}" if asks is not None and row.waiting_for else row.waiting_for or "",
        "asks": "; ".join(f"#{item.id} {item.kind}: {title(item)}" for item in row.items if item is not asks),
        "reason": row.reason.removeprefix(f"{row.state}: "),
        "since": f"{ago(here.now - row.since)} ({here.clock(row.since)})",
        "due": f"in {ago(row.due)}" if row.due is not None else "",
        "run": ", ".join(run),
        "last heard": _last_heard(row),
        "session": row.session_id or "none yet",
        "doing": f"{call(row.doing)} (for {ago(here.now - row.doing.since_wall)})"
        if row.doing is not None
        else GUESSED
        if row.is_guessed
        else "",
        "said": _said(row.said, here),
        "task": row.task or "",
        "model": row.model or "",
        "context": context(row.context, here),
        "cost": _cost(row.cost, here),
        "place": _place(row),
        "attached": _attached(row.attached),
        "step": row.step or "",
        "resonance": here.reaching(marker),
        "armed": "; ".join(row.armed),
        "muted": _muted(row, here),
        "wanted": row.desired,
        "kind": f"{row.kind}, {row.harness}",
        "restarts": f"{row.restarts}, ordered ones included" if row.restarts else "0",
        "link": f"lost for {ago(here.now - row.deaf.since_wall)}: {row.deaf.why}" if row.deaf is not None else "",
        "refused": refused(row),
        "alerts": here.reaching(
            "; ".join(f"{one.kind} for {ago(here.now - one.raised_wall)}: {one.text}" for one in row.untold)
        ),
        "brief": _brief(loops.brief, here) if loops is not None and loops.brief is not None else "",
        "open loops": here.reaching(_loops(loops, row.name)) if loops is not None and loops.open else "",
    }
    lines = [f"{here.sign(SIGNS[row.group])} {summary(row)}"]
    for label, text in told.items():
        lines += _labelled(label, text, here)
    return page([*lines, "", next_commands([row], here)])


def _last_heard(row: Row) -> str:
    """When it last gave a sign of life; empty where nothing runs that could give one."""
    if row.evidence_age is not None:
        return f"{ago(row.evidence_age)} ago, {HOOKS[row.hooks]}"
    if row.pid is None:
        return ""
    # That hooks arrive is known of a run before, where nothing was heard of this one.
    lacking = f", {HOOKS[row.hooks]}" if row.hooks not in ("ok", "refused") else ""
    return f"nothing yet since it was started{lacking}"


def _muted(row: Row, here: Page) -> str:
    if row.muted_until is None:
        return ""
    held = f"; {row.held_back} held back" if row.held_back else ""
    return f"until {here.clock(row.muted_until)}{held}"


def _said(said: Words | None, here: Page) -> str:
    if said is None:
        return ""
    return f"{said.text} ({ago(here.now - said.at_wall)} ago)" if said.at_wall is not None else said.text


def _cost(cost: Cost | None, here: Page) -> str:
    """A price, by whose word, and how old that is."""
    if cost is None:
        return ""
    paid = f" for {cost.tokens} tokens" if cost.tokens is not None else ""
    return f"${cost.usd:.2f}{paid}, as its CLI reported {ago(here.now - cost.at_wall)} ago"


def _place(row: Row) -> str:
    """Where it works, and on what; empty where no more is known than its directory."""
    on = f", on {row.branch}" if row.branch is not None else ""
    of = f", project {row.project}" if row.project is not None else ""
    labels = f", {', '.join(row.labels)}" if row.labels else ""
    return f"{row.cwd}{on}{of}{labels}" if on or of or labels else ""


def _attached(attached: Attached | None) -> str:
    if attached is None or not attached.clients:
        return ""
    who = "1 terminal" if attached.clients == 1 else f"{attached.clients} terminals"
    return f"{who}, {attached.writers} may write" if attached.writers != attached.clients else who


def refused(row: Row) -> str:
    """The requests at the run's hook endpoint that were not taken in."""
    own = f"{row.refused} of its hooks" if row.refused else ""
    return ", ".join(filter(None, (own, f"{row.strangers} without its token" if row.strangers else "")))


def _loops(loops: LoopCounts, name: str) -> str:
    stale = f", {loops.stale} stale" if loops.stale else ""
    stale += f", {loops.unconfirmed} unconfirmed" if loops.unconfirmed else ""
    return f"{loops.open}{stale} (phoenixctl loops {name})"


def _brief(face: BriefFace, here: Page) -> str:
    by = f" by the {face.writer} writer" if face.writer is not None else ""
    if face.next is None:
        return f"written {ago(face.age)} ago{by}"
    due = f"in {ago(face.next - here.now)}" if face.next > here.now else "now"
    return f"written {ago(face.age)} ago{by}; to be written again {due}"


def summary(row: Row) -> str:
    """An agent's state in a clause."""
    state = row.state.replace("_", " ")
    return f"{row.name} is {state if row.activity is None else f'{state}, {row.activity}'}"


def plan(found: Planned, here: Page, *, done: bool, again: str) -> str:
    """What apply would do, or did. again: what ends the daemon and starts it, which takes up its own settings."""
    changes, waiting = found.changes, f"{', '.join(found.after_restart)}: in force after a restart of the daemon,"
    real = [change for change in changes if change.action != "keep" or change.detail]
    waits = with_command(f"{waiting} the agents live on:", again, here) if found.after_restart else []
    settings, end = wrap(_settings(found, done=done), here.width), here.ending(_ending(found, done=done))
    if not real and settings:
        return page([*settings, "", *waits, *([""] if waits else []), end])
    if not real and waits:
        return page(waits)
    if not real:
        return page([here.ending("The configuration and the fleet agree; nothing to do. See: phoenixctl status")])
    width = name_column([change.agent for change in real], here)
    lines: list[str] = []
    for change in real:
        note = " (its run ends)" if change.restart else ""
        note = f"; NOT done: {change.refused}" if change.refused else note
        lead = f"{change.action:<7} {pad(change.agent, width)} "
        told = f"{change.detail}{note}"
        if here.width - columns(lead) < LEAST_WORDS:
            lines += [lead, *(f"    {line}" for line in wrap(told, here.width - 4))]
            continue
        first, *rest = wrap(told, here.width - columns(lead)) or [""]
        lines += [lead + first, *(" " * columns(lead) + line for line in rest)]
    kept = len(changes) - len(real)
    if kept:
        lines.append("1 agent stays as it is" if kept == 1 else f"{kept} agents stay as they are")
    lines += settings
    if waits:
        lines += ["", *waits]
    if not settings and all(change.action == "keep" for change in real):
        return page(lines) if waits else page([*lines, "", here.ending("nothing to do; see: phoenixctl status")])
    return page([*lines, "", end])


def _settings(found: Planned, *, done: bool) -> str:
    """The daemon's own settings that apply puts in force; empty where it has none to."""
    if not found.settings:
        return ""
    return f"{', '.join(found.settings)}: in force {'now' if done else 'once it is applied'}, for the whole fleet"


def _ending(found: Planned, *, done: bool) -> str:
    if any(change.refused for change in found.changes):
        return "the rest is done; once that is over: phoenixctl apply"
    return "done; see: phoenixctl status" if done else "do it: phoenixctl apply"


def heartbeat(row: Row, file: Mapping[str, object] | None, here: Page) -> str:
    """The newest sign of life, from all kinds of evidence, and what heartbeat.json says."""
    if row.evidence_age is None:
        lines = [f"{row.name}: no sign of life in this run, {HOOKS[row.hooks]}"]
    else:
        lines = [f"{row.name}: last sign of life {ago(row.evidence_age)} ago, {HOOKS[row.hooks]}"]
    if file is None:
        lines.append("  no heartbeat.json yet")
    for key, value in (file or {}).items():
        if value is None:
            continue
        lines += _labelled(str(key)[: LABEL_COLUMNS - 1], str(value), here)
    return page([*lines, "", here.ending(f"next: phoenixctl explain {row.name}")])


def leftovers(found: Mapping[str, Leftovers], here: Page, *, dry_run: bool) -> str:
    """What a cleanup of these agents ended, or would end, and which strangers hold their ports."""
    lines = [
        clip(line, here.width) for name, one in found.items() for line in _leftovers_of(name, one, dry_run=dry_run)
    ]
    whose = f" {next(iter(found))}" if len(found) == 1 else ""
    if not lines:
        lines.append(f"nothing{f' of{whose}' if whose else ''} is left over")
    if dry_run and any(one.owned for one in found.values()):
        return page([*lines, "", here.ending(f"end them: phoenixctl cleanup{whose}")])
    return page([*lines, "", here.ending(f"why: phoenixctl explain{whose}")] if whose else lines)


def _leftovers_of(name: str, found: Leftovers, *, dry_run: bool) -> Iterable[str]:
    for one in found.owned:
        verb = "would end" if dry_run else "could not end" if one.pid in found.remaining else "ended"
        yield f"{verb} {one.pid} of {name}: {clean(one.why)}: {clean(one.command)}"
    for holder in found.foreign:
        whose = f"pid {holder.pid}: {clean(holder.command)}" if holder.pid is not None else "another user's process"
        yield f"left alone: port {holder.port} of {name} is held by none of ours, {whose}"


def no_breaker(told: Agent) -> tuple[str, str] | None:
    """Why an agent has no breaker of its own, and what to type instead; None where it has one."""
    name, first = told.name, told.spec.turn_of
    if first is not None:
        said = f"{name} has its turns in the sequence of {first}, and is judged with it"
        return said, f"phoenixctl breaker show {first}"
    if not has_breaker(told):
        return f"{name} is no loop, and its turns are not judged (breaker.per_turn)", f"phoenixctl status {name}"
    return None


def breaker(told: Agent, here: Page) -> str:
    """A loop's circuit breaker."""
    found, rules, name = told.breaker, told.spec.breaker, told.name
    if (without := no_breaker(told)) is not None:
        said, command = without
        return page([f"{said}.", "", here.ending(f"next: {command}")])
    if not rules.enabled:
        return page([f"The breaker of {name} is off.", "", here.ending(f"next: phoenixctl status {name}")])
    tally, unit = found.tally, "iteration" if is_loop(told) else "turn"
    facts = {
        "reason": reason_of(found),
        "count": f"{tally.no_progress} without progress; warns at {rules.warn}, stops at {rules.stop}",
        "notes": f"{tally.notes} with nothing but notes; stops at {rules.notes_stop}" if rules.notes else "",
        "newest": tally.verdict,
        "shared": f"{', '.join(tally.shared)} at work in the same worktree: whose work it is cannot be told apart"
        if tally.shared
        else "",
        "progress": f"last in {unit} {tally.last_progress} of {tally.iterations}"
        if tally.last_progress
        else f"none in {tally.iterations} {unit}s",
        "opened": f"{ago(here.now - found.opened_wall)} ago ({here.clock(found.opened_wall)})"
        if isinstance(found, Open)
        else "",
        "opens": f"{tally.opens} in all" if tally.opens else "",
    }
    sign = {"CLOSED": "*", "HALF_OPEN": "~", "OPEN": "!"}[found.name]
    lines = [f"{here.sign(sign)} the breaker of {name} is {found.name}"]
    for label, text in facts.items():
        lines += _labelled(label, text, here)
    if isinstance(found, Open):
        next_line = here.ending(f"why: phoenixctl explain {name}; again: phoenixctl start {name}")
    else:
        next_line = here.ending(f"next: phoenixctl explain {name}")
    return page([*lines, "", next_line])


def breakers(found: Sequence[Agent], here: Page) -> str:
    """The circuit breakers of several agents, a line each, those that are not closed first."""
    if not found:
        return page([here.ending("No loop is here, and no agent whose turns are judged. See: phoenixctl status")])
    width = name_column([one.name for one in found], here)
    order = {"OPEN": 0, "HALF_OPEN": 1, "CLOSED": 2}
    lines = []
    for one in sorted(found, key=lambda one: (order[one.breaker.name], one.name)):
        sign = {"CLOSED": "*", "HALF_OPEN": "~", "OPEN": "!"}[one.breaker.name]
        lead = f"{pad(one.name, width)} {one.breaker.name:<9} "
        said = ": ".join(filter(None, (f"{one.breaker.tally.no_progress} without progress", reason_of(one.breaker))))
        lines.append(f"{here.sign(sign)} {lead}{clip(said, max(10, here.width - 2 - columns(lead)))}")
    return page([*lines, "", here.ending(f"one in full: phoenixctl breaker show {found[0].name}")])


def rechecked(looked: Sequence[Rechecked], here: Page) -> str:
    """What a forced look found."""
    if not looked:
        return page([here.ending(f"No agents to look at. Try: phoenixctl add NAME -- {EXAMPLE}")])
    width = name_column([look.agent for look in looked], here)
    lines: list[str] = []
    for look in looked:
        said = f"{look.found} -> {look.done}" if look.done else look.found
        lines.append(f"{pad(look.agent, width)} {clip(said, here.width - width - 1)}")
    return page([*lines, "", here.ending("next: phoenixctl status")])


def _labelled(label: str, text: str, here: Page) -> list[str]:
    if not text:
        return []
    first, *rest = wrap(text, max(20, here.width - LABEL_COLUMNS)) or [""]
    width = LABEL_COLUMNS - 2
    shown = pad(label, width) if columns(label) < width else f"{label} "
    return [f"  {shown}{first}", *(" " * LABEL_COLUMNS + line for line in rest)]
