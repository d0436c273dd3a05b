"""Plays the corpus of questions: what its author says that the world does, against whether a question waits."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable
from dataclasses import replace

from phoenixd.core.actions import AnswerHold
from phoenixd.core.agent.state import BackingOff, Running, Starting
from phoenixd.core.decision import Refusal
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import KeysRead
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered, HoldReleased, RunAdopted
from phoenixd.core.facts import Asked
from phoenixd.core.question.call import ASKS
from phoenixd.core.turn.liveness import may_be_answered
from phoenixd.core.typing import answering
from phoenixd.documents.hooks import hook_event
from phoenixd.harness import HARNESSES
from tests.blind.tables import Outcome, Table, quantity, times
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent

SHOWS = {"dialog": "permission", "offer": "renderer"}
"""What a look reads from what the author says that the screen shows."""
WITHIN = 1.0
"""Seconds in which what happened must be known."""
GIVEN = {
    "Bash": {"command": "make"},
    "ExitPlanMode": {"plan": "Build it."},
    "AskUserQuestion": {
        "questions": [
            {
                "question": "Which way?",
                "header": "Way",
                "multiSelect": False,
                "options": [{"label": "left", "description": ""}, {"label": "right", "description": ""}],
            }
        ]
    },
}
"""The call whose question it is, by its tool."""
DIALOGS = (*ASKS, "dialog")


def play(case: Table) -> Outcome:
    """Let one case happen, and say where it came out otherwise than it must."""
    night = _Night(case)
    rows = sorted(((at, row) for row in case["steps"] for at in times(row)), key=lambda one: one[0])
    wrong: list[str] = []
    for number, (at, row) in enumerate(rows):
        night.until(at)
        night.does(row)
        following = rows[number + 1][0] if number + 1 < len(rows) else float("inf")
        if "then" in row:
            night.until(min(at + WITHIN, following))
            if night.waits != (row["then"] == "open"):
                was = "open" if night.waits else "closed"
                wrong.append(f"{was} after {row['do']} at {row.get('at', at)}, and should be {row['then']}")
    expect = case.get("expect", {})
    found = {"items": len(night.numbers), "alerts": sum(kind in DIALOGS for kind in night.alerts())}
    wrong += [
        f"{found[key]} {key}, and should be {expect[key]}"
        for key in found
        if key in expect and found[key] != expect[key]
    ]
    return Outcome(case["id"], other=tuple(wrong))


class _Night(Story):
    """One agent, its screen and its shim, which holds its requests and is given answers."""

    def __init__(self, case: Table) -> None:
        self.case, self.tool = case, case.get("tool", "Bash")
        harness = case["harness"]
        self.held = harness == "claude" or case.get("held", False)
        self.down_until, self.requests, self.order = 0.0, list[str](), 0
        self.giving: dict[int, answering.Answering] = {}
        """The answers that are under way, by the number of their request."""
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.released: set[int] = set()
        self.proof = True if HARNESSES[harness].permission_told is None else None
        """What a transcript tells of an answer: where none ever tells, the shim's word is all that there is."""
        super().__init__(claude(harness=harness, hold_permissions=case.get("held")))
        self.screen = "working"
        self.start()
        self.begins()

    def begins(self) -> None:
        """Its run is up, and in the turn with which it was started."""
        if isinstance(self.state, BackingOff):
            self.wait(self.state.until - self.at)
        assert isinstance(self.state, Starting), self.agent.reason
        self.started()
        self.hook("session-start", session_id=self.run.session_id, source="startup")
        self.hook("prompt-submit", text="Build the shop.")

    @property
    def waits(self) -> bool:
        return any(one.kind in DIALOGS for one in self.agent.items)

    @property
    def numbers(self) -> set[int]:
        facts = (fact for decision in self.decisions for fact in decision.facts)
        return {fact.item for fact in facts if isinstance(fact, Asked) and fact.kind in DIALOGS}

    def tell(self, event: Event) -> Refusal | None:
        seen = len(self.decisions)
        refusal = super().tell(event)
        for action in [one for decision in self.decisions[seen:] for one in decision.actions]:
            if isinstance(action, AnswerHold):
                self.gives(action)
        return refusal

    def until(self, at: float) -> None:
        """Let time pass, with what falls due meanwhile."""
        while self.queue and self.queue[0][0] <= at:
            due, _, act = heapq.heappop(self.queue)
            self.wait(max(0.0, due - self.at))
            act()
        if at > self.at:
            self.wait(at - self.at)

    def wait(self, seconds: float) -> None:
        if self.at < self.down_until:
            self.pass_over(seconds)
        else:
            super().wait(seconds)

    def later(self, at: float, act: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.queue, (at, self.order, act))

    def does(self, row: Table) -> None:
        shows = row.get("shows", row.get("screen"))
        if shows is not None:
            self.screen = SHOWS.get(shows, shows)
            if shows == "dialog" and self.tool == "AskUserQuestion":
                self.screen = "question"
        if row["do"] not in ("screen", "nothing"):
            getattr(self, "do_" + row["do"].replace("-", "_"))(row)

    # --- what the world does ---

    def do_asks(self, row: Table) -> None:
        self.requests.append(row["call"])
        given = GIVEN[self.tool]
        held = {"held": True, "asked": json.dumps({"input": given})} if self.held else {}
        payload = {"tool_name": self.tool, "tool_input": given, **held}
        asked = hook_event("a", self.run.incarnation, "permission-request", payload, self.wall)
        self.tell(replace(asked, seq=len(self.requests)))

    def do_key(self, row: Table) -> None:
        # A terminal at which nothing is asked is not watched.
        if isinstance(self.state, Running) and may_be_answered(self.state.activity) and self.at >= self.down_until:
            self.tell(KeysRead("a", self.run.incarnation))

    def do_tool_end(self, row: Table) -> None:
        self.hook("tool-end", tool=self.tool, tool_use_id=row["call"])

    def do_stop(self, row: Table) -> None:
        self.hook("stop", text="Done.")

    def do_prompt(self, row: Table) -> None:
        self.hook("prompt-submit", text="Rather do it so.")

    def do_releases(self, row: Table) -> None:
        hold = self.requests.index(row["call"]) + 1
        self.released.add(hold)
        self.tell(HoldReleased("a", self.run.incarnation, hold))
        if isinstance(getattr(self.giving.get(hold), "step", None), answering.Handing):
            self.hears(hold, answering.WordHeard(taken=False))

    def do_answer(self, row: Table) -> None:
        item = next((one.id for one in self.agent.items if one.kind in DIALOGS), 0)
        self.tell(AnswerRequested("a", item, row["verdict"] == "allow", "", by="operator"))

    def do_takes(self, row: Table) -> None:
        hold = len(self.requests)
        assert isinstance(self.giving[hold].step, answering.Handing), "the answer was not handed over by then"
        self.hears(hold, answering.WordHeard(taken=True))

    def do_dies(self, row: Table) -> None:
        self.exited(signal=9)

    def do_begins(self, row: Table) -> None:
        self.begins()

    def do_operator(self, row: Table) -> None:
        self.stop()

    def do_clock(self, row: Table) -> None:
        self.wall += quantity(row["by"])

    def do_daemon(self, row: Table) -> None:
        """The next daemon reads the journal, and finds the run alive."""
        self.down_until = self.at + quantity(row["lasts"])

        def back() -> None:
            self.down_until = 0.0
            loaded = load_agent(dump_agent(self.agent))
            self.fleet = replace(self.fleet, agents={"a": loaded})
            held = tuple(number for number in range(1, len(self.requests) + 1) if number not in self.released)
            self.tell(RunAdopted("a", self.run.incarnation, 100, 1000, held=held if self.held else ()))

        self.later(self.down_until, back)

    # --- the way of an answer, as core.typing.answering has it ---

    def gives(self, order: AnswerHold) -> None:
        waiting = self.state.activity.waiting if isinstance(self.state, Running) else None
        seen = waiting is not None and waiting.seen
        shows = not self.agent.spec.hides_its_dialog
        self.follow(order.hold, answering.begin(self.now, allow=order.allow, shows=shows, was_seen=seen))

    def hears(self, hold: int, seen: answering.Seen) -> None:
        self.follow(hold, answering.hear(self.giving[hold], seen, self.now))

    def follow(self, hold: int, outcome: answering.Outcome) -> None:
        self.giving[hold] = outcome.answering
        match outcome.order:
            case answering.LookForDialog(at=at):
                self.later(at, lambda: self.hears(hold, answering.DialogLooked(self.screen in SCREEN_DIALOGS)))
            case answering.HandOver(within=within) | answering.AwaitWord(within=within):
                self.later(self.at + within, lambda: self.is_silent(hold))
            case answering.SeekProof(at=at):
                self.later(at, lambda: self.hears(hold, answering.ProofSought(self.proof)))
            case answering.LetGo():
                self.released.add(hold)
                self.hears(hold, answering.HeldLetGo())
            case answering.Verdict(taken=taken, why=why, held=held):
                self.tell(HoldAnswered("a", self.run.incarnation, hold, taken, why, still_held=held))

    def is_silent(self, hold: int) -> None:
        if isinstance(self.giving[hold].step, answering.Handing):
            self.hears(hold, answering.WordHeard(taken=None))
