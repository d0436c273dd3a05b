"""Work of an open call's processes renews its lease: how much, how often it is looked at, and what is told of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import LookAtCall, Terminate
from phoenixd.core.agent.activity import OpenCall, WorkWatch
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import CallWorkSeen, EvidenceSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.facts import HungInCall
from phoenixd.core.moment import Moment
from phoenixd.core.rules import LivenessRules
from phoenixd.core.treatment import gather
from phoenixd.core.turn import call_work
from phoenixd.core.turn.calls import MAX_COMMAND
from phoenixd.documents.incident import call_sentence
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

MINUTE = 60.0
MIB = 1024 * 1024
BASH = {"tool": "Bash", "tool_use_id": "t1", "ticks": 700, "command": "make -j8 check", "limit": 30 * MINUTE}


def in_a_call(**changes: Any) -> Story:
    story = Story(claude()).works()
    story.hook("tool-start", **{**BASH, **changes})
    return story


def looks(story: Story) -> int:
    return len(story.of(LookAtCall))


@pytest.mark.parametrize(
    ("cpu", "io", "is_work"),
    [(1.0, 0, True), (0.99, 0, False), (0.0, MIB, True), (0.0, MIB - 1, False), (0.9, MIB - 1, False)],
)
def test_a_second_of_cpu_or_a_mebibyte_in_a_check_interval_is_work(cpu: float, io: int, is_work: bool) -> None:
    story = in_a_call()
    for number in range(1, 20):
        story.spent = cpu * number, io * number
        story.wait(MINUTE)
    assert bool(story.of(Terminate)) is not is_work


def test_work_counts_for_the_whole_time_since_the_last_look() -> None:
    """The transcript grew meanwhile, so nobody looked: a second in ten minutes is no second in each."""
    story = in_a_call()
    for _ in range(20):
        story.pass_over(30)
        story.tell(EvidenceSeen("a", 1, "transcript"))
    assert not looks(story)
    story.spent = 5.0, 0
    story.wait(15 * MINUTE)
    assert story.of(Terminate)


def test_a_parent_that_waited_for_nobody_makes_the_sum_smaller_and_that_is_no_work() -> None:
    story = in_a_call()
    for spent in (50.0, 2.0, 2.5, 3.0):
        story.spent = spent, 0
        story.wait(MINUTE)
    story.wait(12 * MINUTE - 1)
    assert not story.of(Terminate)
    story.wait(1)
    assert story.of(Terminate)


def test_nothing_is_looked_at_without_an_open_silent_call() -> None:
    for story in (
        Story(claude()).works(),
        in_a_call(ticks=None),
        in_a_call(tool="Task", is_subagent_call=True),
        Story(claude(liveness=LivenessRules(enabled=False))).works(),
    ):
        story.wait(14 * MINUTE)
        assert not looks(story)
    story = in_a_call()
    story.hook("stop")
    story.wait(24 * 3600)
    assert not looks(story)
    story = in_a_call()
    for _ in range(100):
        story.wait(30)
        story.hook("notification")
    assert not looks(story)
    story = in_a_call()
    story.hook("permission-request", tool="Bash")
    story.wait(3600)
    assert not looks(story)


def test_a_silent_call_is_looked_at_once_in_an_interval_and_not_journaled_for_it() -> None:
    story = in_a_call()
    for number in range(1, 21):
        story.spent = 50.0 * number, 0
        story.wait(MINUTE)
    assert looks(story) == 20
    rows = [one for one in story.decisions if one.reason and one.weight != "noise"]
    told = [one.reason for one in rows if "open call" in one.reason]
    assert told == [
        "nothing is heard of it, and its open call (Bash: make -j8 check) works: 50.0 s of CPU, 0 KiB of I/O"
    ]


def test_a_look_that_is_never_answered_saves_nobody_for_long() -> None:
    story = in_a_call()
    story.spent = None
    story.wait(15 * MINUTE + 9)
    assert not story.of(Terminate)
    story.wait(2)
    assert story.of(Terminate)


def test_what_was_done_since_the_last_look_is_seen_before_a_hang_is_told() -> None:
    story = in_a_call()
    story.wait(14 * MINUTE + 59)
    story.spent = 30.0, 0
    story.wait(2)
    assert not story.of(Terminate)


@pytest.mark.parametrize("event", [{"ticks": 699}, {"incarnation": 2}])
def test_an_answer_about_another_call_or_run_changes_nothing(event: dict[str, int]) -> None:
    story = in_a_call()
    story.spent = None
    story.wait(MINUTE)
    before = story.agent
    story.tell(replace(CallWorkSeen("a", 1, 700, 1000.0, 0), **event))
    assert story.agent == before


def test_the_oldest_call_that_can_still_be_renewed_is_looked_at() -> None:
    story = in_a_call()
    story.hook("tool-start", **{**BASH, "tool_use_id": "t2", "ticks": 900})
    story.wait(MINUTE)
    assert [look.ticks for look in story.of(LookAtCall)] == [700]
    story.hook("tool-end", tool="Bash", tool_use_id="t1")
    story.wait(MINUTE)
    assert [look.ticks for look in story.of(LookAtCall)] == [700, 900]


def test_the_limit_is_configured_where_the_harness_has_none() -> None:
    story = Story(claude(liveness=LivenessRules(busy_max=20 * MINUTE))).works()
    story.hook("tool-start", **{**BASH, "limit": None})
    for number in range(1, 25):
        story.spent = 50.0 * number, 0
        story.wait(MINUTE)
        assert bool(story.of(Terminate)) is (number >= 20)
    assert story.agent.incident is not None
    assert story.agent.incident.call is not None
    assert story.agent.incident.call.over


def test_a_program_of_the_open_contract_has_the_same_rule() -> None:
    story = Story(spec(prompt="goal", heartbeat_file="/srv/beat.json")).runs()
    story.hook("tool-start", **{**BASH, "limit": None})
    for number in range(1, 26):
        story.spent = 50.0 * number, 0
        story.wait(MINUTE)
    assert not story.of(Terminate)


def test_an_end_in_a_call_says_which_and_what_to_do_about_it() -> None:
    story = in_a_call(command="  make\n-j8 check " + "x" * 500)
    story.wait(15 * MINUTE)
    incident = story.agent.incident
    assert incident is not None
    call = incident.call
    assert call is not None
    assert (call.tool, call.ran, call.declared, call.idle) == ("Bash", 900.0, None, None)
    assert call.command.startswith("make -j8 check x")
    assert len(call.command) == MAX_COMMAND
    assert HungInCall(1, "Bash", call.command, 900.0) in story.decisions[-1].facts
    readings = dict(story.decisions[-1].readings)
    assert (readings["call_cpu"], readings["call_processes"], readings["call_unreadable"]) == (0, 2, 0)


@pytest.mark.parametrize(("tool", "known"), [("Bash", "Bash"), ("m" * 70, "m" * 64), ("", "a tool")])
def test_a_hang_in_a_call_is_judged_by_the_name_of_its_tool(tool: str, known: str) -> None:
    story = in_a_call()
    story.wait(15 * MINUTE)
    incident = story.agent.incident
    assert incident is not None
    assert incident.call is not None
    agent = replace(story.agent, incident=replace(incident, call=replace(incident.call, tool=tool)))
    end = LastExit(1, None, 9, "terminated", 900.0, 0.0)
    assert gather.of_end(agent, agent, end, None).call == known


def test_an_end_outside_of_any_call_names_none() -> None:
    story = Story(claude()).works()
    story.wait(15 * MINUTE)
    assert story.agent.incident is not None
    assert story.agent.incident.call is None


def test_what_could_not_be_read_is_no_work_and_is_told() -> None:
    story = in_a_call()
    story.spent = None
    story.wait(MINUTE)
    story.tell(CallWorkSeen("a", 1, 700, 0.0, 0, processes=3, unread=3))
    story.wait(15 * MINUTE)
    (ended,) = [one for one in story.decisions if any(isinstance(action, Terminate) for action in one.actions)]
    assert dict(ended.readings)["call_unreadable"] == 3


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (OpenCall("Bash", "make", 900.0), "a call of Bash, `make`, which had run for 15 min, and nothing that it"),
        (
            OpenCall("Bash", "make", 1860.0, 1800.0, 5.0),
            "31 min (it had announced 30 min), and had done nothing for 5 s",
        ),
        (
            OpenCall("Bash", "make", 1860.0, None, 5.0, over=True),
            "31 min, and still worked, which is longer than a call",
        ),
        (OpenCall("", "", 900.0), "It was in a call of a tool which had run for 15 min"),
        (OpenCall("Bash", "echo `id`\x1b[2J", 900.0), "`echo 'id'"),
    ],
)
def test_the_sentence_states_the_fact_and_the_remedy(call: OpenCall, says: str) -> None:
    sentence = call_sentence(call)
    assert says in sentence
    assert "declare a timeout" in sentence
    assert "in the background" in sentence
    assert "\x1b" not in sentence


def test_a_call_that_is_told_twice_is_no_sign_of_life() -> None:
    """A cron job has every shim greeted anew, and each says again which call is open."""
    story = in_a_call()
    for _ in range(4):
        story.wait(4 * MINUTE)
        story.hook("tool-start", **BASH)
    assert story.of(Terminate)


def test_a_daemon_that_never_heard_of_the_call_is_told_of_it() -> None:
    story = Story(claude()).works()
    story.tell(RunAdopted("a", 1, 100, 1000))
    story.hook("tool-start", **BASH)
    for number in range(1, 26):
        story.spent = 50.0 * number, 0
        story.wait(MINUTE)
    assert not story.of(Terminate)


def test_an_open_call_outlives_the_daemon() -> None:
    story = in_a_call()
    story.spent = 50.0, 0
    story.wait(MINUTE)
    saved = load_agent(dump_agent(story.agent))
    story.fleet = replace(story.fleet, agents={"a": saved})
    story.tell(RunAdopted("a", 1, 100, 1000))
    for number in range(2, 26):
        story.spent = 50.0 * number, 0
        story.wait(MINUTE)
    assert isinstance(story.state, Running)
    story.tell(Tick())
    assert not story.of(Terminate)


def test_what_another_call_has_done_says_nothing_of_the_call_in_which_a_run_is_ended() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t", ticks=500)
    state = story.state
    assert isinstance(state, Running)
    other = replace(state, activity=replace(state.activity, work=WorkWatch(ticks=499, at=0.0, worked=0.0)))
    found = call_work.open_call(other, 900.0, Moment(600.0, 600.0))
    assert found is not None
    assert (found.tool, found.idle, found.over) == ("Bash", None, False)
