"""Armed answers between the core and a shim: the bytes that go out, and what is believed of what comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Arm, Disarm
from phoenixd.core.agent import Agent
from phoenixd.core.armed_answer import ArmedAnswer, On
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.runs import AgentExited, AgentStarted, ArmedUsed, RunAdopted
from phoenixd.core.hooks import CallKept, CompactionBegun, PromptSubmitted, TurnKept
from phoenixd.core.traits import traits_of
from phoenixd.documents.journal_names import action_name
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.shims.wire import MOST_ARMED, Malformed, parse_uses
from phoenixd.harness import HARNESSES
from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun
from phoenixd.runtime.arming import order, uses_in
from phoenixd.runtime.hearing import Hearing
from tests.core.story import Story, claude, spec
from tests.drivers.processes.processes import identity

FREEZE = ArmedAnswer("f-1", "stop", "Finish here.", 1800.0, "freeze")
ALL: tuple[On, ...] = ("stop", "tool", "compaction")


@pytest.mark.parametrize("name", HARNESSES)
def test_a_cli_has_bytes_for_exactly_what_its_traits_say_that_it_takes(name: str) -> None:
    taken = {on: HARNESSES[name].armed(on, "Because.") for on in ALL}

    assert tuple(on for on, body in taken.items() if body is not None) == traits_of(name).takes_armed
    for body in filter(None, taken.values()):
        assert "Because." in json.dumps(body.body)
        assert body.kind in ("stop", "tool-start", "pre-compact")
        assert (body.named is None) == (name == "command")


def test_the_shim_is_told_how_long_and_not_until_when() -> None:
    fence = replace(FREEZE, id="d-1", on="tool", tools=("Task",), times=9)

    assert order(claude(), FREEZE, 300.0) == {
        "id": "f-1", "kind": "stop", "named": "Stop", "tools": [], "times": 1, "seconds": 1500.0,
        "body": {"decision": "block", "reason": "Finish here."},
    }  # fmt: skip
    told = order(spec(), fence, 1799.9999)
    assert told is not None
    assert (told["tools"], told["times"], told["seconds"], "named" in told) == (["Task"], 9, 0.001, False)
    assert order(claude(), FREEZE, 1800.0) is None, "its time is over"
    assert order(claude(harness="gemini"), replace(FREEZE, on="compaction"), 0.0) is None
    assert order(claude(harness="of-another-day"), FREEZE, 0.0) is None


class Shims:
    def __init__(self) -> None:
        self.noted: list[tuple[str, str, int]] = []

    def note_use(self, agent: str, id: str, uses: int) -> None:
        self.noted.append((agent, id, uses))


class Ear:
    """Hearing with an agent that is armed; what is saved is saved at once."""

    def __init__(self) -> None:
        absent: Any = None
        shims: Any = Shims()
        self.noted = shims.noted
        self.told: list[Event] = []
        self.story = Story(claude())
        self.story.start()
        table: Any = Table()
        self.hearing = Hearing(
            shims, table, absent, SupervisedClock(), self.find, self.tell, later=lambda seconds, call: None
        )

    def find(self, name: str) -> Agent:
        return self.story.agent

    def tell(self, event: Event, saved: Callable[[], None] | None) -> None:
        self.told.append(event)
        if saved is not None:
            saved()

    def hears(self, event: str, **body: Any) -> list[Event]:
        self.told.clear()
        self.hearing.hear(ShimMessage("a", event, body))
        return list(self.told)


class Table:
    """Every process is there, and below its shim."""

    def boot_id(self) -> str:
        return "boot"

    def watch(self, process: Any, on_death: Any) -> bool:
        return True

    def is_below(self, process: Any, root: Any) -> bool:
        return True


@pytest.fixture
def ear() -> Ear:
    return Ear()


def test_a_use_is_noted_once_it_is_saved(ear: Ear) -> None:
    (used,) = ear.hears("armed_used", incarnation=1, id="f-1", uses=2)

    assert isinstance(used, ArmedUsed)
    assert (used.agent, used.incarnation, used.id, used.uses) == ("a", 1, "f-1", 2)
    assert ear.noted == [("a", "f-1", 2)]


@pytest.mark.parametrize(
    "torn",
    [
        {},
        {"id": "f-1"},
        {"id": 7, "uses": 1},
        {"id": "x" * 65, "uses": 1},
        {"id": "f-1", "uses": "1"},
        {"id": "f-1", "uses": True},
        {"id": "f-1", "uses": None},
        {"id": "f-1", "uses": 0},
    ],
    ids=str,
)
def test_what_no_shim_of_ours_says_of_a_use_is_dropped(ear: Ear, torn: dict[str, Any]) -> None:
    assert (ear.hears("armed_used", incarnation=1, **torn), ear.noted) == ([], [])


@pytest.mark.parametrize("torn", [{}, "f-1", 7, [7], [{}], [{"id": "a/b", "uses": 1}], [{"id": "a", "uses": -1}],
                                  [{"id": "a", "uses": 1.5}], [{"id": "a", "uses": 1}] * (MOST_ARMED + 1)],
                         ids=lambda torn: str(torn)[:30])  # fmt: skip
def test_a_hello_that_tells_nonsense_of_uses_is_refused(torn: object) -> None:
    with pytest.raises(Malformed):
        parse_uses(torn)


def test_a_hello_of_an_older_shim_tells_of_none() -> None:
    assert parse_uses(None) is None
    assert parse_uses([{"id": "f-1", "uses": 0}]) == (("f-1", 0),)


def test_the_end_of_a_run_comes_after_what_was_used_in_it(ear: Ear) -> None:
    end = {"incarnation": 1, "run_id": ear.story.run.run_id, "code": 0, "signal": None, "cause": "exit"}
    told = ear.hears("exited", **end, armed=[{"id": "f-1", "uses": 1}, {"id": "d-1", "uses": 0}])

    assert [type(event) for event in told] == [ArmedUsed, AgentExited]


def test_a_start_and_an_adoption_say_what_the_shim_can(ear: Ear) -> None:
    shim, run = identity(os.getpid()), ear.story.run
    said = ShimRun(1, run.run_id, 100, 1000)
    hello = ShimHello("a", shim, 2, "0.1.0", 40001, said, None, armed=(("f-1", 1),))
    ear.hearing.watch_shim(hello)

    (began,) = ear.hears("started", incarnation=1, run_id=run.run_id, pid=100, start_time=1000)
    assert isinstance(began, AgentStarted)
    assert began.link == 2

    for unwatched, uses in ((True, (("f-1", 1),)), (False, None)):
        ear.told.clear()
        ear.hearing.reconcile(ear.story.agent, hello, unwatched=unwatched)
        (adopted,) = ear.told
        assert isinstance(adopted, RunAdopted)
        assert (adopted.link, adopted.armed) == (2, uses)


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("stop-blocked", {"last_assistant_message": "I am done."}, TurnKept("a", 1, text="I am done.")),
        ("tool-denied", {"tool_name": "Task"}, CallKept("a", 1, tool="Task")),
        ("pre-compact", {"blocked": True}, CompactionBegun("a", 1, blocked=True)),
    ],
)
def test_what_was_held_up_is_no_end_no_call_and_no_compaction(
    ear: Ear, kind: str, payload: dict[str, Any], expected: Event
) -> None:
    assert ear.hears("hook", seq=0, incarnation=1, kind=kind, payload=payload) == [expected]


def test_a_reason_that_a_cli_tells_as_a_prompt_is_no_persons(ear: Ear) -> None:
    story = ear.story
    story.tell(AgentStarted("a", 1, story.run.run_id, 100, 1000, armed.LINK))
    decision = armed.arm(Decision(story.agent), FREEZE, story.now)
    assert decision.agent is not None
    story.fleet = replace(story.fleet, agents={"a": decision.agent})

    for words, source in (("Finish here.", "machine"), ("Finish the shop.", None), ("", None)):
        (event,) = ear.hears("hook", seq=0, incarnation=1, kind="prompt-submit", payload={"prompt": words})
        assert isinstance(event, PromptSubmitted)
        assert event.source == source


def test_rows_of_the_journal_name_them() -> None:
    assert (action_name(Arm("a", 1, FREEZE)), action_name(Disarm("a", 1, "f-1"))) == ("arm", "disarm")


def test_f_re_10_the_shim_is_told_by_what_a_question_is_known_that_is_left_alone() -> None:
    asks = replace(FREEZE, purpose="challenge", spares_questions=True)

    for harness, key in (("claude", "last_assistant_message"), ("gemini", "prompt_response")):
        told = order(claude(harness=harness), asks, 300.0)
        assert told is not None
        assert told["spares"] == {"key": key, "ends": ["?", "？", "؟"]}


def test_an_end_that_is_heard_at_the_greeting_says_first_what_was_used(ear: Ear) -> None:
    run = ear.story.run
    ended = {"run_id": run.run_id, "incarnation": 1, "code": 0, "signal": None, "armed": [{"id": "f-1", "uses": 1}]}
    hello = ShimHello("a", identity(os.getpid()), 2, "0.1.0", 40001, None, ended)

    ear.hearing.reconcile(ear.story.agent, hello)

    assert [type(event) for event in ear.told] == [ArmedUsed, AgentExited]
    assert ear.told[0].uses == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("told", "uses"),
    [
        (None, []), ([], []), ([{"id": "f-1", "uses": 2}, {"id": "f-2", "uses": 0}], [("f-1", 2)]),
        ([{"id": "x" * 64, "uses": 1}], [("x" * 64, 1)]), ([{"id": "f", "uses": 1}] * 64, [("f", 1)] * 64),
        ([{"id": "x" * 65, "uses": 1}], TypeError), ([{"id": "f", "uses": 1}] * 65, TypeError), ({}, TypeError),
        ([{"id": 7, "uses": 1}], TypeError), ([{"id": "f", "uses": True}], TypeError),
        ([{"id": "f", "uses": "1"}], TypeError),
    ],
)  # fmt: skip
def test_uses_of_answers_are_believed_in_the_form_in_which_a_shim_of_ours_tells_them(
    told: object, uses: list[tuple[str, int]] | type[Exception]
) -> None:
    if isinstance(uses, list):
        assert list(uses_in(told)) == uses
        return
    with pytest.raises(uses):
        list(uses_in(told))
