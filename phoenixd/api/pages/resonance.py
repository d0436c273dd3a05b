"""What `resonance status` prints: whether agents still know their markers, and what is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phoenixd.api.pages.layout import SET_IN, Page, clean, clip, columns, name_column, pad, page, wrap
from phoenixd.api.times import ago
from phoenixd.api.values import MarkerFace
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.resonance.checklist import Check, checks
from phoenixd.core.resonance.orders import why_not_checked
from phoenixd.core.spec import Kind
from phoenixd.ports.journal import KeptMark

SIGNS = {True: ".", False: "!", None: "?"}
STATES = {"intact": ".", "missed": "!", "paraphrased": "!", "lost": "!", "unverifiable": "?", "not_applicable": "?"}
NAME_COLUMNS, STATE_COLUMNS = 16, 14


@dataclass(frozen=True, slots=True)
class Marked:
    """An agent with all that is known of its marker. tokens: what today's checks held, 0 where unknown."""

    agent: Agent
    face: MarkerFace
    checks: tuple[Check, ...]
    marks: tuple[KeptMark, ...]
    tokens: int

    @property
    def name(self) -> str:
        return self.agent.spec.role

    @property
    def state(self) -> str:
        return state_of(self.agent)

    def verified(self, now: float) -> str:
        return verified(self.agent, now)


def state_of(agent: Agent) -> str:
    known = agent.resonance
    if known is None:
        return "not_applicable"
    return "restoring" if known.is_restoring else "lost" if known.lost else known.state


def verified(agent: Agent, now: float) -> str:
    """When the marker was last known, in words."""
    known = agent.resonance
    if known is None or known.last_verified_wall is None:
        return "never verified"
    return f"verified {ago(max(0.0, now - known.last_verified_wall))} ago"


def clause(agent: Agent, now: float) -> str:
    """The marker on the page of its agent: its state, the newest check, and the next one; empty where it bears none."""
    known = agent.resonance
    if known is None or not agent.spec.has_resonance:
        return ""
    asked = f"asked {ago(max(0.0, now - known.asked_wall))} ago" if known.asked_wall is not None else "never asked"
    told = [f"{state_of(agent).replace('_', ' ')}, {verified(agent, now)}, {asked}"]
    listed = {one.name: one.what for one in checks(agent)}
    told.append(listed["restoration"] if known.is_restoring or known.lost else listed["check"])
    return f"{'; '.join(told)} (phoenixctl resonance status {agent.spec.role})"


def _ask(marked: Marked) -> list[str]:
    """How it is asked for a code. That comes at a turn's end, so where no turn is open one has to begin first."""
    if (refused := why_not_checked(marked.agent)) is not None:
        known = marked.agent.resonance
        if known is not None and known.is_restoring:
            return ["It is asked for a code by itself, once its new session has come to a turn's end."]
        return [f"It cannot be asked: {refused.message}. {refused.remedy or f'phoenixctl explain {marked.name}'}"]
    state = marked.agent.state
    if isinstance(state, Running) and state.activity.turn_open:
        return [f"Ask it now: phoenixctl resonance check {marked.name} --wait"]
    return [
        f"Ask it at its next turn's end: phoenixctl resonance check {marked.name}",
        f'Then begin a turn: phoenixctl send {marked.name} "TEXT"',
    ]


def _off(agent: Agent, here: Page) -> list[str]:
    told = wrap(f"{agent.spec.role} bears no marker: resonance is off for it", here.width, SET_IN)
    if agent.spec.kind is Kind.EPHEMERAL:
        return [*told, "It has one turn, and no front of a context to lose."]
    if agent.spec.resonance.transport == "stateless":
        return [*told, "Its program checks each answer itself: its transport is stateless."]
    return [
        *told,
        here.reaching(
            f"To switch it on: set enabled = true in [agent.{agent.spec.role}.resonance], then phoenixctl apply"
        ),
    ]


def every(found: Sequence[Marked], here: Page) -> str:
    """A line for each; the next command shows the one that needs a look."""
    if not found:
        keys = here.reaching("set resonance.enabled = true in its table, then phoenixctl apply")
        return page([f"No agent bears a marker. To give one: {keys}"])
    lines, width = [], name_column([one.name for one in found], here, NAME_COLUMNS)
    for one in found:
        sign = here.sign(STATES.get(one.state, "!"))
        lead = f"{pad(one.name, width)} {pad(one.state, STATE_COLUMNS)} "
        due = next((check.what for check in one.checks if check.name == "check"), "")
        told = f"{one.verified(here.now)}; {due}" if due else one.verified(here.now)
        lines.append(f"{sign} {lead}{clip(clean(told), here.width - columns(lead) - 2)}")
    first = next((one for one in found if STATES.get(one.state, "!") == "!"), found[0])
    return page([*lines, "", here.ending(f"one of them: phoenixctl resonance status {first.name}")])


def one(marked: Marked, here: Page) -> str:
    """One agent: its state, the list of what there is to see to, and what happened last; of one that bears no marker,
    how it is given one."""
    if not marked.agent.spec.has_resonance:
        return page(_off(marked.agent, here))
    lines = wrap(f"{marked.name}: {marked.state}, {marked.verified(here.now)}", here.width, SET_IN)
    lines += wrap(marked.agent.spec.resonance.words, here.width, SET_IN)
    if marked.face.rebuilt:
        lines += wrap(f"its anchor was made anew from the {marked.face.rebuilt}", here.width, SET_IN)
    lines.append("")
    for check in marked.checks:
        lines += wrap(clean(f"{SIGNS[check.well]} {check.name}: {check.what}"), here.width, SET_IN)
    if marked.tokens:
        lines.append(f"today's checks held {marked.tokens:,} tokens")
    if marked.marks:
        lines.append("")
    for mark in reversed(marked.marks):
        what = " ".join(filter(None, (mark.what, mark.verdict, f"step {mark.step}" if mark.step else "")))
        why = f" ({mark.why})" if mark.why else ""
        lines += wrap(clean(f"{here.minute(mark.wall)} {what}{why}"), here.width, SET_IN)
    lines += ["", f"Papers: {clean(marked.face.directory)}"]
    lines += map(here.reaching, _ask(marked))
    return page(lines)
