"""What hooks, transcripts and status lines show of each run beside what is decided on: kept as the newest, in memory.

A hook costs a look-up and a reference here. Secrets are taken out when a row is asked for, once for each text: where no
client asks, none of that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.sight import ARGUMENT_LIMIT, SAID_LIMIT, TASK_LIMIT, TOOL_LIMIT, Attached, Cost, Doing, Sight, Words
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.tool_argument import argument_of
from phoenixd.planting import codes_in, is_ours
from phoenixd.ports import Clock

MOST_CALLS = 32
"""Open calls of one run that are remembered; what an agent begins and never ends pushes out the oldest."""
RAW_LIMIT = 4096
"""Characters of a text that are looked at for secrets: many times what is shown of it."""
MARGIN = 1024
"""Characters of a word that was cut which are left out at most."""
GAP = "\n[...]\n"
"""What a shim puts in place of the middle of long last words (shim/payload.py)."""
MODEL_LIMIT = 80
BRANCH_LIMIT = 120
_Shown = tuple[str | None, str | None, str | None]


@dataclass(slots=True)
class _Call:
    tool: str
    argument: str
    since_wall: float


@dataclass(slots=True)
class _Kept:
    """What was seen of an agent's newest run, as it came."""

    incarnation: int
    calls: dict[str, _Call] = field(default_factory=dict)
    has_calls: bool = False
    said: tuple[str, float | None] | None = None
    answers_us: bool = False
    """Its turn was opened by phoenixd to check what it knows."""
    model: str | None = None
    branch: str | None = None
    cost: Cost | None = None
    shown: Sight | None = None
    """All that, as rows have it; None after each change."""
    shown_without: object = None
    """The secrets that were known then."""
    is_looked_at: bool = False
    """Its files were looked at since this daemon began."""


class Sights:
    """Hears what `Hearing` and `Metering` hear. clean: takes an agent's secrets out of a text."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        clean: CleanOf,
        clock: Clock,
        changed: Callable[[str], None] = lambda agent: None,
        known: Callable[[str], object] = lambda agent: None,
    ) -> None:
        """changed: called with each agent that something else is seen of now. known: what `clean` knows of an agent's
        secrets, another object once it knows more."""
        self._find = find
        self._clean = clean
        self._clock = clock
        self.changed = changed
        self._known = known
        self._kept: dict[str, _Kept] = {}
        self._attached: dict[str, Attached] = {}
        self._texts: dict[str, tuple[tuple[object, ...], _Shown]] = {}
        """By agent: its texts as the fleet has them, and as they are shown."""
        self._opened: dict[str, int] = {}

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """A hook came. A subagent's calls are not what the agent itself is at: the call of the subagent is."""
        if payload.get("agent_id") or self._find(agent) is None:
            return
        match kind:
            case "tool-start":
                self._begin(agent, payload)
            case "tool-end" | "tool-failure" | "permission-denied":
                self._end(agent, payload)
            case "stop" | "stop-blocked":
                self._speak(agent, payload)
                self._turn(agent, kind, payload)
            case "prompt-submit":
                prompt = payload.get("prompt")
                self._of(agent).answers_us = isinstance(prompt, str) and is_ours(prompt)
                self._turn(agent, kind, payload)
            case "stop-failure" | "session-end" | "session-start":
                self._turn(agent, kind, payload)
            case _:
                pass

    def begins_to_look(self, agent: str) -> bool:
        """Whether this is the first look at an agent's files since this daemon began."""
        if self._find(agent) is None:
            return False
        kept = self._of(agent)
        is_first, kept.is_looked_at = not kept.is_looked_at, True
        return is_first

    def looked(
        self,
        agent: Agent,
        said: tuple[str, float | None] | None,
        cost: Cost | None,
        model: str | None,
        branch: str | None,
    ) -> None:
        """What a look at an agent's files found; what it did not find stays as it was."""
        if agent.run is None or self._find(agent.name) is None:
            return
        kept = self._of(agent.name)
        said = kept.said if said is None or _is_older(said, kept.said) else (said[0][: RAW_LIMIT + 1], said[1])
        if cost is not None and kept.cost is not None and replace(cost, at_wall=kept.cost.at_wall) == kept.cost:
            cost = kept.cost
        found = (said, cost or kept.cost, model or kept.model, branch)
        if found != (kept.said, kept.cost, kept.model, kept.branch):
            kept.said, kept.cost, kept.model, kept.branch = found
            self._change(agent.name, kept)

    def attached(self, seen: Mapping[str, tuple[int, int]]) -> None:
        """Who looks at which agent's terminal: clients, and those of them who may write."""
        now = self._clock.now().wall
        for name in {*self._attached, *seen}:
            clients, writers = seen.get(name, (0, 0))
            before = self._attached.get(name)
            self._attached[name] = Attached(clients, writers, now)
            if before is None or (before.clients, before.writers) != (clients, writers):
                self.changed(name)

    def opens(self, agent: str, row: int) -> None:
        """That row of the journal opened the agent's present state."""
        self._opened[agent] = row

    def forget_removed(self, names: Iterable[str]) -> None:
        """Forget those of these agents that are there no more."""
        for name in names:
            if self._find(name) is None:
                for known in (self._kept, self._attached, self._texts, self._opened):
                    known.pop(name, None)

    def of(self, agent: Agent) -> Sight:
        """All that is seen of an agent now, without secrets."""
        kept = self._kept.get(agent.name)
        shown = Sight()
        if kept is not None:
            if kept.shown is None or kept.shown_without is not self._known(agent.name):
                kept.shown, kept.shown_without = self._shown(agent.name, kept), self._known(agent.name)
            shown = kept.shown
        goal, task, model = self._of_fleet(agent)
        is_newest = shown.incarnation == agent.incarnation
        return replace(
            shown,
            attached=self._attached.get(agent.name),
            opened=self._opened.get(agent.name),
            goal=goal,
            task=task,
            model=(shown.model if is_newest else None) or model,
            incarnation=shown.incarnation or agent.incarnation,
        )

    def _begin(self, agent: str, payload: dict[str, Any]) -> None:
        tool = payload.get("tool_name")
        if not isinstance(tool, str):
            return
        kept = self._of(agent)
        kept.calls.pop(number := _number(payload), None)
        kept.calls[number] = _Call(tool, argument_of(payload.get("tool_input")), self._clock.now().wall)
        if len(kept.calls) > MOST_CALLS:
            del kept.calls[next(iter(kept.calls))]
        kept.has_calls = True
        self._change(agent, kept)

    def _end(self, agent: str, payload: dict[str, Any]) -> None:
        kept = self._of(agent)
        kept.has_calls = True
        if kept.calls.pop(_number(payload), None) is not None:
            self._change(agent, kept)

    def _speak(self, agent: str, payload: dict[str, Any]) -> None:
        """The last words of a turn. What is said after its end was held up, or in a turn that was opened for a check,
        answers phoenixd, and is no work."""
        said = payload.get("last_assistant_message")
        if not isinstance(said, str) or not said.strip() or payload.get("stop_hook_active"):
            return
        known = self._find(agent)
        planting = known.resonance.planting if known is not None and known.resonance is not None else None
        if planting is not None and not codes_in(said).isdisjoint(planting.hexes()):
            return
        kept = self._of(agent)
        if kept.answers_us:
            return
        kept.said = (_whole_words(said)[: RAW_LIMIT + 1], self._clock.now().wall)
        self._change(agent, kept)

    def _turn(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        kept = self._of(agent)
        model = payload.get("model") if kind == "session-start" else None
        if kept.calls or (isinstance(model, str) and model != kept.model):
            kept.calls.clear()
            kept.model = model if isinstance(model, str) and model else kept.model
            self._change(agent, kept)

    def _of(self, agent: str) -> _Kept:
        known = self._find(agent)
        incarnation = known.incarnation if known is not None else 0
        kept = self._kept.get(agent)
        if kept is None or kept.incarnation != incarnation:
            # What it said, and where it works, outlive the run; the price is a session's, and is reported anew.
            said, branch = (kept.said, kept.branch) if kept is not None else (None, None)
            is_looked_at = kept is not None and kept.is_looked_at
            kept = self._kept[agent] = _Kept(incarnation, said=said, branch=branch, is_looked_at=is_looked_at)
        return kept

    def _change(self, agent: str, kept: _Kept) -> None:
        kept.shown = None
        self.changed(agent)

    def _shown(self, agent: str, kept: _Kept) -> Sight:
        call = next(reversed(kept.calls.values()), None)
        doing = None
        if call is not None:
            argument = self._line(agent, call.argument, ARGUMENT_LIMIT)
            doing = Doing(self._line(agent, call.tool, TOOL_LIMIT), argument, call.since_wall)
        said = Words(self._line(agent, kept.said[0], SAID_LIMIT), kept.said[1]) if kept.said is not None else None
        return Sight(
            kept.incarnation,
            doing,
            said,
            self._line(agent, kept.model, MODEL_LIMIT) if kept.model else None,
            self._line(agent, kept.branch, BRANCH_LIMIT) if kept.branch else None,
            kept.cost,
            has_calls=kept.has_calls,
        )

    def _of_fleet(self, agent: Agent) -> _Shown:
        """The operator's goal; what it is at: the newest prompt of a person, and before the first one the goal; and
        the model that its meter was told."""
        goal, task, model = agent.spec.prompt, agent.last_prompt or agent.spec.prompt, agent.meter.model
        raw = goal, task, model, self._known(agent.name)
        known = self._texts.get(agent.name)
        if known is None or known[0] != raw:
            found = ((goal, TASK_LIMIT), (task, TASK_LIMIT), (model, MODEL_LIMIT))
            goal, task, model = (self._line(agent.name, text, limit) if text else None for text, limit in found)
            known = self._texts[agent.name] = raw, (goal, task, model)
        return known[1]

    def _line(self, agent: str, text: str, limit: int) -> str:
        clean = self._clean(agent, text[:RAW_LIMIT])
        if len(text) > RAW_LIMIT:
            # Half of a secret is not known for one: the word that stands before the cut is not shown.
            last = clean.rsplit(None, 1)[-1] if clean.strip() else ""
            clean = f"{clean[: len(clean) - min(len(last), MARGIN)]}…"
        return one_line(clean, limit)


def _whole_words(said: str) -> str:
    """Last words up to their gap, without the word that was cut there: half of a secret is not known for one."""
    front, gap, _ = said.partition(GAP)
    if not gap:
        return said
    cut = len(f"{front}.".split()[-1]) - 1
    return f"{front[: len(front) - cut]}…"


def _is_older(words: tuple[str, float | None], kept: tuple[str, float | None] | None) -> bool:
    """Whether other words are known to have come later; a transcript may lag behind the hook that told them."""
    return kept is not None and None not in (words[1], kept[1]) and (words[1] or 0.0) < (kept[1] or 0.0)


def _number(payload: dict[str, Any]) -> str:
    """By what a call is known: its id, and of a CLI that gives none the tool's name."""
    number = payload.get("tool_use_id")
    return number if isinstance(number, str) and number else f"tool {payload.get('tool_name')}"
