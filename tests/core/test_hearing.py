"""core/hearing.py is the law: each event has a row, and the real step asks the parts of that row, in its order."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from phoenixd.core import hearing, parts, session, starts, taking
from phoenixd.core.agent.state import Running
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import CallWorkSeen, EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Tick, TroubleSeen
from phoenixd.core.events.orders import AgentDeclared, SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, RunAdopted
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.hooks import EVIDENCE, HOOKS, PromptSubmitted, ToolEnded, ToolStarted, TurnEnded, TurnFailed
from phoenixd.core.limits import accounts, outage, parking, waits
from phoenixd.core.sequence import parts as sequences
from phoenixd.core.step import step
from phoenixd.core.turn import calls, claims, due, liveness
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude

WHAT_HAPPENS: dict[str, Callable[[Story], Event]] = {
    "a call began": lambda story: hook_of("a", 1, "tool-start", tool="Bash", tool_use_id="t1", ticks=5),
    "a call ended": lambda story: hook_of("a", 1, "tool-end", tool="Bash", tool_use_id="t1"),
    "a prompt": lambda story: hook_of("a", 1, "prompt-submit", text="go on"),
    "a turn ended": lambda story: hook_of("a", 1, "stop"),
    "a question": lambda story: hook_of("a", 1, "permission-request", tool="Bash", text="make", held=True, seq=9),
    "a hook of a new name": lambda story: hook_of("a", 1, "of-another-day"),
    "the transcript grew": lambda story: EvidenceSeen("a", 1, "transcript"),
    "a look at the screen": lambda story: ScreenSeen("a", 1, "idle"),
    "a look at a call": lambda story: CallWorkSeen("a", 1, 5, 1.0, 1),
    "a death": lambda story: AgentExited("a", 1, story.run.run_id, None, 9),
    "an order to stop": lambda story: StopRequested("a"),
    "a text": lambda story: SendRequested("a", "m1", "hello"),
    "a measurement": lambda story: WorkMeasured("a", 1, True, "git:1"),
    "a declaration": lambda story: AgentDeclared(claude("b")),
    "trouble": lambda story: TroubleSeen("a", "brief", "it is old"),
    "time": lambda story: Tick(),
}


def flat(row: hearing.Row) -> list[Any]:
    return [part for one in row for part in (one if isinstance(one, tuple) else (one,))]


def test_every_event_has_a_row() -> None:
    assert set(hearing.TABLE) == set(get_args(Event))


@pytest.mark.parametrize("event", hearing.TABLE, ids=lambda event: event.__name__)
def test_a_row_names_no_part_twice_and_has_one_decision_of_the_agents_at_most(event: type) -> None:
    row = hearing.TABLE[event]

    assert len(flat(row)) == len(set(flat(row)))
    assert sum(isinstance(part, tuple) for part in row) <= 1
    assert row[-len(hearing.DUE) :] == hearing.DUE, "starts that are due begin with any event"


def listen(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the table's parts tell when they are asked."""
    own = dict(hearing.OWN)

    def told(part: Any) -> Any:
        def ask(*said: Any) -> Any:
            asked.append(part)
            return part(*said)

        if part in own:
            own[ask] = own[part]
        return ask

    table = {
        event: tuple(tuple(map(told, one)) if isinstance(one, tuple) else told(one) for one in row)
        for event, row in hearing.TABLE.items()
    }
    monkeypatch.setattr(hearing, "TABLE", table)
    monkeypatch.setattr(hearing, "OWN", own)


@pytest.mark.parametrize("what", WHAT_HAPPENS)
def test_the_parts_asked_are_the_parts_named(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(claude()).works()
    event, asked = WHAT_HAPPENS[what](story), []
    listen(asked, monkeypatch)
    step(story.fleet, event, story.now)
    monkeypatch.undo()

    assert asked == flat(hearing.TABLE[type(event)])


def test_of_a_run_that_is_over_no_part_of_the_agent_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    story, asked = Story(claude()).works(), []
    listen(asked, monkeypatch)
    found = step(story.fleet, hook_of("a", 7, "stop"), story.now)
    monkeypatch.undo()

    assert found.fleet.agents == story.fleet.agents
    assert [part for part in hearing.TABLE[type(hook_of("a", 7, "stop"))] if not isinstance(part, tuple)] == asked


@pytest.mark.parametrize("event", EVIDENCE, ids=lambda event: event.__name__)
def test_evidence_takes_the_short_way(event: type) -> None:
    rest = [part for row in hearing.TABLE.values() for part in flat(row)]
    row = flat(hearing.TABLE[event])

    assert not set(row) & {accounts.follow, outage.follow, sequences.follow, starts.brake}
    assert set(row) < set(rest)


def test_a_part_sees_what_those_before_it_decided_and_nothing_of_those_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story, seen = Story(claude()).works(), []

    def watching(part: hearing.AgentPart) -> hearing.AgentPart:
        def ask(agent: Any, event: Any, met: Any, now: Any) -> Any:
            seen.append((met.before, agent, met.decision))
            found = part(agent, event, met, now)
            seen.append(found)
            return found

        return ask

    event = RunAdopted("a", 1, 100, 1000)
    row = tuple(tuple(map(watching, one)) if isinstance(one, tuple) else one for one in hearing.TABLE[type(event)])
    monkeypatch.setattr(hearing, "TABLE", {type(event): row})
    before = story.agent
    step(story.fleet, event, story.now)

    for given, earlier in zip(seen[2::2], seen[1::2], strict=False):
        assert given == (before, earlier.agent, earlier)
    assert isinstance(before.state, Running)


@cache
def signals_in(module: str) -> tuple[frozenset[str], frozenset[str]]:
    """Which signals a module tells, and which it reads; of a part with a dataclass of its own its whole room."""
    place = Path(str(sys.modules[module].__file__))
    files = place.parent.glob("*.py") if module in {part.__module__ for part in hearing.OWN} else [place]
    names = {one.__name__ for one in get_args(parts.Signal)}
    told, named = set[str](), set[str]()
    for node in (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            told |= {node.func.id} & names
        elif isinstance(node, ast.Name):
            named |= {node.id} & names
    # The name in a call is met as a name as well.
    return frozenset(told), frozenset(named - told)


def test_every_signal_is_told_by_a_part_with_a_dataclass_of_its_own_and_read_by_another() -> None:
    modules = {part.__module__ for row in hearing.TABLE.values() for part in flat(row)}
    told = {one for module in modules for one in signals_in(module)[0]}
    read = {one for module in (*modules, taking.__name__) for one in signals_in(module)[1]}

    assert told == read == {one.__name__ for one in get_args(parts.Signal)}


@pytest.mark.parametrize("event", hearing.TABLE, ids=lambda event: event.__name__)
def test_a_signal_goes_only_to_a_later_part(event: type) -> None:
    own = {part.__module__ for part in hearing.OWN}
    row = [part.__module__ for part in flat(hearing.TABLE[event])]
    for place, module in enumerate(row):
        if module not in own:
            continue
        for earlier in row[:place]:
            late = signals_in(module)[0] & signals_in(earlier)[1]
            assert not late, f"{earlier} reads {sorted(late)}, which {module} tells after it"


@pytest.mark.parametrize("event", HOOKS.values(), ids=lambda event: event.__name__)
def test_every_hook_is_heard_by_the_turn_before_the_session(event: type) -> None:
    row = flat(hearing.TABLE[event])

    assert row.index(liveness.hear) + 1 == row.index(session.hear_hook)


@pytest.mark.parametrize("event", [TurnFailed, TurnEnded, ToolStarted, ToolEnded, PromptSubmitted, ScreenSeen])
def test_what_begins_or_ends_a_wait_is_heard_by_the_limits(event: type) -> None:
    assert parking.hear in flat(hearing.TABLE[event])


def test_what_a_part_tells_is_seen_by_those_after_it_and_by_none_before(monkeypatch: pytest.MonkeyPatch) -> None:
    story, seen = Story(claude()).works(), []

    def watch(agent: Any, event: Any, met: Any, now: Any) -> Any:
        seen.append(met.signals)
        return met.decision

    def again(agent: Any, event: Any, met: Any, now: Any) -> Any:
        return watch(agent, event, met, now)

    monkeypatch.setattr(hearing, "TABLE", {TurnFailed: ((watch, parking.hear, again),)})
    before = story.agent
    found = step(story.fleet, hook_of("a", 1, "stop-failure", error="rate_limit"), story.now)

    assert [list(map(type, one)) for one in seen] == [[], [parts.WaitBegan]]
    assert found.fleet.agents["a"].limits.parking is not None
    assert before.limits.parking is None


def test_a_part_of_its_own_reads_neither_the_agent_nor_the_dataclass_of_another() -> None:
    nouns = {"limits": {"Limits", "Parking"}, "activity": {"Activity", "Lease", "WorkWatch"}}
    for place, modules in (("limits", (parking, waits)), ("activity", (liveness, due, calls, claims))):
        theirs = {noun for other, names in nouns.items() if other != place for noun in names}
        for module in modules:
            known = {name for name, one in vars(module).items() if isinstance(one, type)}
            assert not known & (theirs | {"Agent", "Running", "Starting"}), module.__name__


def test_an_order_about_nobody_is_refused() -> None:
    story = Story(claude())

    assert step(story.fleet, StartRequested("nobody"), story.now).refusal is not None
