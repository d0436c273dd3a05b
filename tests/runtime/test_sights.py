"""The true row: what a run is at is seen from its hooks and files, and no secret of it reaches a face."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from phoenixd.api.row import document, row_of
from phoenixd.api.values import LoopCounts
from phoenixd.core import projection
from phoenixd.core.agent import Agent
from phoenixd.core.moment import Moment
from phoenixd.core.sight import ARGUMENT_LIMIT, SAID_LIMIT, Cost, Doing, Sight, Words
from phoenixd.documents.redact import redact
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.planting import opening_text
from phoenixd.runtime.sighting import Sighting
from phoenixd.runtime.sights import GAP, MOST_CALLS, RAW_LIMIT, Sights
from phoenixd.shim import payload as shim
from tests.core.resonating import ResonanceStory
from tests.core.story import Story, claude
from tests.hiding import hidings, shows

KEY = "sk-ant-api03-" + "q7Zk" * 20
CANARY = "hunter2canary"


@dataclass
class House:
    """One agent that works, and a clock that only moves by hand."""

    story: Story = field(default_factory=lambda: Story(claude(prompt="Build the shop.")).works())  # type: ignore[arg-type, return-value]
    wall: float = 1000.0
    changes: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        house: Any = self
        self.sights = Sights(lambda name: self.story.fleet.agents.get(name), self.clean, house, self.changes.append)

    def now(self) -> Moment:
        return Moment(self.wall, self.wall)

    def clean(self, agent: str | None, text: str) -> str:
        self.cleaned.append(text)
        return redact(text, (CANARY,))

    @property
    def agent(self) -> Agent:
        return self.story.agent

    def hook(self, kind: str, **payload: Any) -> None:
        self.sights.heard(self.agent.name, kind, payload)

    def begins(self, tool: str, number: str = "t1", **given: Any) -> None:
        self.hook("tool-start", tool_name=tool, tool_use_id=number, tool_input=given)

    def seen(self) -> Sight:
        return self.sights.of(self.agent)


def test_a_turn_that_ends_ends_its_calls_and_a_session_tells_another_model_once() -> None:
    house = House()
    house.begins("Bash", command="make")
    assert house.seen().doing is not None
    house.changes.clear()

    house.hook("stop")
    assert (house.seen().doing, house.changes) == (None, ["a"])
    house.hook("stop")
    assert house.changes == ["a"], "nothing changed"
    house.hook("session-start", model="opus")
    assert len(house.changes) == 2
    for quiet in ({"model": "opus"}, {}, {"model": 7}):
        house.hook("session-start", **quiet)
        assert len(house.changes) == 2
    house.begins("Bash", command="make")
    house.hook("session-start", model=7)
    assert (house.seen().model, house.seen().doing) == ("opus", None)
    house.changes[:] = house.changes[:2]
    house.hook("stop", model="haiku")
    assert len(house.changes) == 2, "which model it is, its session's start says"


@pytest.mark.parametrize(
    ("tool", "given", "argument"),
    [
        ("Bash", {"command": "npm test", "description": "run the tests"}, "npm test"),
        ("Edit", {"file_path": "/srv/shop/a.py", "old_string": "x"}, "/srv/shop/a.py"),
        ("Grep", {"pattern": "TODO", "path": "src"}, "TODO"),
        ("Task", {"description": "look around", "prompt": "Look at all files."}, "look around"),
        ("WebFetch", {"url": "https://example.org", "prompt": "sum it up"}, "https://example.org"),
        ("run_shell_command", {"command": "ls\n-l\t\x1b[31m/"}, "ls -l /"),
        ("mcp__x__y", {"strange": 1}, ""),
        ("Odd", {"command": 7, "path": ["a"]}, ""),
    ],
)
def test_the_row_says_which_tool_is_at_work_and_with_what(tool: str, given: dict[str, Any], argument: str) -> None:
    house = House()
    house.begins(tool, **given)
    assert house.seen().doing == Doing(tool, argument, 1000.0)


def test_of_open_calls_the_newest_is_shown_and_no_subagents_call() -> None:
    house = House()
    house.begins("Task", "t1", description="look around")
    house.hook("tool-start", tool_name="Bash", tool_use_id="s1", tool_input={"command": "rm x"}, agent_id="a")
    assert house.seen().doing == Doing("Task", "look around", 1000.0)
    house.wall = 1010.0
    house.begins("Bash", "t2", command="make")
    assert house.seen().doing == Doing("Bash", "make", 1010.0)
    house.hook("tool-end", tool_name="Bash", tool_use_id="t2")
    assert house.seen().doing == Doing("Task", "look around", 1000.0)
    house.hook("stop")
    assert house.seen().doing is None


def test_after_the_end_of_a_call_it_is_known_that_none_is_open() -> None:
    house = House()
    house.begins("Bash", command="make")
    house.hook("tool-end", tool_name="Bash", tool_use_id="t1")
    assert (house.seen().doing, house.seen().has_calls) == (None, True)


def test_the_last_words_of_a_turn_are_those_that_its_hook_tells() -> None:
    """A program of the open contract has no transcript that anybody reads, and the one of a CLI may lag behind."""
    house = House()
    house.hook("stop", last_assistant_message="All tests pass.")
    assert house.seen().said == Words("All tests pass.", 1000.0)
    house.sights.looked(house.agent, ("I look at the tests.", 900.0), None, None, None)
    assert house.seen().said == Words("All tests pass.", 1000.0)
    house.sights.looked(house.agent, ("I have begun the next one.", 1100.0), None, None, None)
    assert house.seen().said == Words("I have begun the next one.", 1100.0)
    for odd in ({}, {"last_assistant_message": 7}, {"last_assistant_message": " "}, {"agent_id": "s1"}):
        house.hook("stop", **{"last_assistant_message": "of a subagent", **odd} if odd.get("agent_id") else odd)
    assert house.seen().said == Words("I have begun the next one.", 1100.0)


def test_r64_an_answer_to_phoenixd_is_not_shown_as_an_agents_last_words_nor_any_code() -> None:
    told = ResonanceStory().begins()
    house = House(told)
    house.hook("stop-blocked", last_assistant_message="The roof is mended.")
    code = told.plantings[0].codes[0]
    house.hook("stop", last_assistant_message="I cannot see it.", stop_hook_active=True)
    house.hook("stop", last_assistant_message=f"The code is {code.upper()}.")
    assert house.seen().said == Words("The roof is mended.", 1000.0)


def test_r64_what_is_said_in_a_turn_that_was_opened_for_a_check_is_not_shown_as_an_agents_last_words() -> None:
    house = House()
    house.hook("prompt-submit", prompt="Mend the roof.")
    house.hook("stop", last_assistant_message="The roof is mended.")
    house.hook("prompt-submit", prompt=opening_text("The Architect"))
    house.hook("stop-blocked", last_assistant_message="here")
    assert house.seen().said == Words("The roof is mended.", 1000.0)
    house.hook("prompt-submit", prompt="And the door?")
    house.hook("stop", last_assistant_message="It shuts.")
    assert house.seen().said == Words("It shuts.", 1000.0)


def test_the_gap_is_the_shims() -> None:
    assert GAP == shim.GAP


@pytest.mark.parametrize("secret", [KEY, CANARY])
def test_promise_7_no_half_of_a_secret_is_shown_where_a_shim_has_cut_long_last_words(secret: str) -> None:
    """All that stands before it may be blanks, or a secret itself: then little is left of it in a row."""
    for before in (" \n" * 500, f"{KEY} " * 11):
        for shift in range(120):
            house = House()
            told = shim.trim({"last_assistant_message": f"{' ' * shift}{before}{secret} and {'x ' * 2000}"})
            assert shim.GAP in told["last_assistant_message"]
            house.hook("stop", **told)
            said = house.seen().said
            assert said is not None
            assert secret[:5] not in said.text, shift


def test_what_never_ends_does_not_fill_the_memory() -> None:
    house = House()
    for number in range(10 * MOST_CALLS):
        house.begins("Bash", f"t{number}", command="x")
    kept = house.sights._kept[house.agent.name]
    assert len(kept.calls) == MOST_CALLS


def test_another_run_begins_with_nothing_of_the_call_of_the_one_before() -> None:
    house = House()
    house.begins("Bash", command="make")
    house.story.fleet = replace(
        house.story.fleet,
        agents={**house.story.fleet.agents, house.agent.name: replace(house.agent, incarnation=7)},
    )
    house.hook("session-start", model="opus")
    assert (house.seen().incarnation, house.seen().doing, house.seen().model) == (7, None, "opus")


def test_a_hook_costs_no_cleaning_until_somebody_asks() -> None:
    house = House()
    for number in range(100):
        house.begins("Bash", f"t{number}", command=f"echo {KEY}")
    assert house.cleaned == []
    house.seen()
    first = len(house.cleaned)
    house.seen()
    assert 0 < first == len(house.cleaned)


AGENTS_OWN = {
    "doing": "argument of an open call, and its tool",
    "said": "last words in the transcript or the hook of a turn's end",
    "task": "the newest prompt",
    "model": "hook, status line or transcript",
    "branch": "HEAD of its repository",
}
"""The texts of a row that an agent can choose."""
OTHERS = {
    "name", "kind", "harness", "desired", "state", "activity", "group", "mode", "since", "started_at",
    "last_heartbeat", "last_evidence", "parked_until", "hooks", "link_lost_since", "goal", "cwd", "labels", "project",
    "step", "case", "incarnation", "pid", "restarts", "open_loops", "stale_loops", "unconfirmed_loops", "due_in",
    "hooks_refused", "strangers_refused", "item", "items", "generation", "context", "breaker", "resonance", "brief",
    "attached", "cost", "muted_until",
}  # fmt: skip
"""What phoenixd or its operator says; the goal is cleaned all the same."""
OF_EVENTS = {"session_id", "reason", "waiting_for", "alerts", "why"}
"""Made of what events say, which have no secrets: tests/runtime/test_cleaning.py."""


def test_each_key_of_a_row_is_known_to_be_an_agents_text_or_none() -> None:
    assert document(row_of(row(House()), LoopCounts())).keys() <= AGENTS_OWN.keys() | OTHERS | OF_EVENTS


@pytest.mark.parametrize("secret", [KEY, CANARY, f"password={'x9' * 20}"])
def test_no_secret_reaches_a_row(secret: str) -> None:
    for how, written in hidings(secret).items():
        house = House()
        agent = house.agent
        changed = replace(
            agent,
            spec=replace(agent.spec, prompt=f"Use {written}."),
            last_prompt=f"Now use {written} again.",
            meter=replace(agent.meter, model=f"m {written}"),
        )
        house.story.fleet = replace(house.story.fleet, agents={agent.name: changed})
        assert shown(house, secret) == [], how
        house.hook("session-start", model=f"m {written}")
        house.begins(f"Bash {written}", command=f"curl -H 'Authorization: Bearer {written}' {'a' * 100} {written}")
        house.sights.looked(house.agent, (f"I set {written}. " * 90, None), None, None, f"b-{written}")
        assert shown(house, secret) == [], how
        told = document(row_of(row(house), LoopCounts()))
        assert [key for key in AGENTS_OWN if "[redacted]" not in json.dumps(told[key])] == [], how


def shown(house: House, secret: str) -> list[str]:
    """The keys of the row that show it on some face."""
    told = document(row_of(row(house), LoopCounts()))
    bare = secret.rpartition("=")[2]
    return [key for key, value in told.items() if shows(json.dumps(value, ensure_ascii=False), bare)]


@pytest.mark.parametrize("before", range(RAW_LIMIT - 120, RAW_LIMIT + 1, 15))
@pytest.mark.parametrize("filling", ["x ", "\u200b", f"{KEY} "])
def test_a_secret_that_lies_where_a_text_is_cut_is_not_shown_in_part(before: int, filling: str) -> None:
    house = House()
    text = f"{filling * RAW_LIMIT}"[:before] + KEY
    house.begins("Bash", command=text)
    house.sights.looked(house.agent, (text, None), None, None, None)
    assert shown(house, KEY) == []
    assert KEY[:12] not in json.dumps(document(row_of(row(house), LoopCounts())))


def test_what_turns_out_to_be_secret_later_goes_from_texts_that_were_shown() -> None:
    """The login shell is asked while clients look already."""
    house = House()
    known: list[tuple[str, ...]] = [()]
    house.sights = Sights(
        lambda name: house.story.fleet.agents.get(name), lambda agent, text: redact(text, known[0]), house,  # type: ignore[arg-type]
        known=lambda agent: known[0],
    )  # fmt: skip
    house.story.fleet = replace(
        house.story.fleet, agents={house.agent.name: replace(house.agent, last_prompt=f"Use {CANARY}.")}
    )
    house.begins("Bash", command=f"echo {CANARY}")
    assert shown(house, CANARY) == ["doing", "task"]
    known[0] = (CANARY,)
    assert shown(house, CANARY) == []


def test_nothing_is_kept_of_an_agent_that_was_removed() -> None:
    house = House()
    sights, name = house.sights, house.agent.name

    def fill(agent: Agent) -> None:
        sights.heard(name, "tool-start", {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "x"}})
        sights.looked(agent, ("done", 1.0), None, "opus", "main")

    agent = house.agent
    fill(agent)
    sights.attached({name: (1, 1)})
    sights.opens(name, 7)
    sights.of(agent)
    sights.forget_removed([name])
    assert sights.of(agent).said is not None, "it is there still"
    house.story.fleet = replace(house.story.fleet, agents={})
    sights.forget_removed([name])
    fill(agent)  # Hooks and looks that were under way come later.
    sights.attached({})
    kept = {place for place in vars(sights) if isinstance(vars(sights)[place], dict) and vars(sights)[place]}
    assert kept == set()


def test_what_the_journal_keeps_of_a_call_is_bounded_and_stands_on_one_line() -> None:
    house = House()
    house.story.hook("tool-start", tool="T" * 4000, tool_use_id="t9", command="make\n\x1b[2J\u202eall" * 90, lease=9.0)
    doing = document(row_of(projection.row_of(house.story.fleet, house.agent, house.story.now), LoopCounts()))["doing"]
    assert len(doing["tool"]) <= 80
    assert len(doing["argument"]) <= ARGUMENT_LIMIT
    assert (doing["tool"] + doing["argument"]).replace("…", "").isprintable()


def test_texts_are_bounded_and_stand_on_one_line() -> None:
    house = House()
    house.begins("Bash", command="x" * 5000)
    house.sights.looked(house.agent, ("word\n\x1b]0;title\x07\u202e" * 5000, 5.0), None, None, None)
    seen = house.seen()
    assert seen.doing is not None
    assert len(seen.doing.argument) == ARGUMENT_LIMIT
    assert seen.said is not None
    assert len(seen.said.text) == SAID_LIMIT
    assert seen.said.text.replace("…", "").isprintable()


def test_odd_hooks_change_nothing() -> None:
    house = House()
    odd: tuple[dict[str, Any], ...] = (
        {},
        {"tool_name": 7},
        {"tool_name": None, "tool_input": []},
        {"tool_use_id": [], "model": 5},
    )
    for payload in odd:
        for kind in ("tool-start", "tool-end", "stop", "session-start", "what"):
            house.hook(kind, **payload)
    assert house.seen().doing is None
    assert house.seen().model is None


def row(house: House) -> projection.Row:
    return projection.row_of(house.story.fleet, house.agent, house.now(), house.seen())


def test_task_and_goal_are_the_operators_until_a_person_submits_another() -> None:
    house = House()
    assert (row(house).goal, row(house).task) == ("Build the shop.", "Build the shop.")
    agent = replace(house.agent, last_prompt="Fix the till.")
    house.story.fleet = replace(house.story.fleet, agents={agent.name: agent})
    assert (row(house).goal, row(house).task) == ("Build the shop.", "Fix the till.")


def test_what_is_unknown_is_null_and_never_nothing() -> None:
    """A daemon that returns knows nothing of a run but what the journal says."""
    house = House()
    told = document(row_of(projection.row_of(house.story.fleet, house.agent, house.now()), LoopCounts()))
    for key in ("said", "cost", "context", "attached", "model", "branch", "step", "case", "project", "resonance"):
        assert told[key] is None, key
    assert told["why"]["row"] is None
    assert told["why"]["reason"] == house.agent.reason


def test_after_a_restart_the_journal_says_which_call_is_open() -> None:
    house = House()
    house.story.hook("tool-start", tool="Bash", tool_use_id="t9", command="make", lease=600.0)
    shown = projection.row_of(house.story.fleet, house.agent, house.story.now)
    assert shown.doing is not None
    assert (shown.doing.tool, shown.doing.argument) == ("Bash", "make")


def test_who_is_attached_is_told_with_those_who_may_write() -> None:
    house = House()
    house.sights.attached({house.agent.name: (2, 1)})
    attached = row(house).attached
    assert attached is not None
    assert (attached.clients, attached.writers) == (2, 1)
    house.sights.attached({})
    attached = row(house).attached
    assert attached is not None
    assert (attached.clients, attached.writers) == (0, 0)


def test_a_change_of_who_is_attached_is_announced_once() -> None:
    house = House()
    for clients, writers in ((1, 0), (1, 0), (1, 1), (0, 0)):
        house.sights.attached({house.agent.name: (clients, writers)})
    assert house.changes == [house.agent.name] * 3


async def looked(house: House, line: StatusLine | None, used: Used | None = None) -> Sight:
    def words(agent: Agent) -> tuple[str, float | None]:
        return "done", 990.0

    clock: Any = house
    await Sighting(house.sights, clock, words, lambda directory: "main").look(house.agent, line, used)
    return house.seen()


async def test_what_a_program_without_a_transcript_said_before_the_daemon_began_is_looked_up_once() -> None:
    house, asked = House(), []

    def heard_before(agent: Agent) -> tuple[str, float | None]:
        asked.append(agent.name)
        return "the shop is built", 900.0

    clock: Any = house
    sighting = Sighting(house.sights, clock, lambda agent: None, lambda directory: "main", heard_before)
    for _ in range(2):
        await sighting.look(house.agent, None, None)
    assert house.seen().said == Words("the shop is built", 900.0)
    house.hook("stop", last_assistant_message="the till is closed")
    house.story.exited(1)
    house.story.works()
    await sighting.look(house.agent, None, None)
    assert house.seen().said == Words("the till is closed", 1000.0)
    assert asked == [house.agent.name], "also not for its next run"


async def test_what_was_said_since_the_daemon_began_is_newer_than_what_it_finds() -> None:
    house, clock = House(), cast(Any, None)
    house.hook("stop", last_assistant_message="the till is closed")
    before = Sighting(house.sights, clock, lambda agent: None, lambda directory: None, lambda agent: ("old", 900.0))
    await before.look(house.agent, None, None)
    assert house.seen().said == Words("the till is closed", 1000.0)


async def test_the_price_is_the_clis_own_and_null_where_it_names_none() -> None:
    house = House()
    assert (await looked(house, None)).cost is None
    assert (await looked(house, StatusLine(model="opus", window=200_000))).cost is None
    mine = house.agent.session.session_id if house.agent.session is not None else None
    seen = await looked(house, StatusLine(mine, "opus", 200_000, usd=3.1, paid=1200))
    assert seen.cost == Cost(3.1, 1200, "status line", 1000.0)
    assert (seen.model, seen.branch, seen.said and seen.said.text) == ("opus", "main", "done")
    seen = await looked(house, StatusLine("another session", "opus", usd=99.0))
    assert seen.cost == Cost(3.1, 1200, "status line", 1000.0)


async def test_the_model_is_that_of_the_status_line_else_that_of_the_newest_request() -> None:
    used = Used("r1", 1, 2, 3, 4, "sonnet", 5.0)
    for line, request, model in (
        (StatusLine(model="opus"), used, "opus"), (StatusLine(), used, "sonnet"), (None, used, "sonnet"),
        (StatusLine(model="opus"), None, "opus"), (None, None, None),
    ):  # fmt: skip
        assert (await looked(House(), line, request)).model == model


async def test_a_look_that_finds_nothing_new_tells_nobody() -> None:
    house = House()
    mine = house.agent.session.session_id if house.agent.session is not None else None
    line = StatusLine(mine, "opus", 200_000, usd=3.1, paid=1200)
    await looked(house, line)
    told = len(house.changes)
    house.wall += 60
    await looked(house, line)
    assert len(house.changes) == told
