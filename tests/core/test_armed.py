"""Armed answers, decided: to whom one can be given, which of two stands, and that a spent one never comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Action, Arm, Disarm
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import Armed, ArmedAnswer, On
from phoenixd.core.decision import Decision
from phoenixd.core.events.runs import AgentStarted, ArmedUsed, RunAdopted
from phoenixd.core.projection import row
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

LINK = armed.LINK


def story(**declared: Any) -> Story:
    """An agent in the middle of its turn, below a shim that takes answers beforehand."""
    made = Story(claude(**declared))
    made.start()
    made.tell(AgentStarted("a", 1, made.run.run_id, 100, 1000, LINK))
    made.hook("session-start", session_id=made.run.session_id, source="startup")
    made.hook("prompt-submit", text="Build the shop.")
    made.decisions.clear()
    return made


def answer(told: Story, id: str = "f-1", on: On = "stop", **changes: Any) -> ArmedAnswer:
    made = ArmedAnswer(id, on, "Finish here.", told.at + 1800.0, "freeze")
    return replace(made, **changes)


def arm(told: Story, one: ArmedAnswer) -> Decision:
    return _taken(told, armed.arm(Decision(told.agent), one, told.now))


def disarm(told: Story, *ids: str) -> Decision:
    return _taken(told, armed.disarm(Decision(told.agent), *ids))


def _taken(told: Story, decision: Decision) -> Decision:
    """As a part of the core would hand it on."""
    assert decision.agent is not None
    told.fleet = replace(told.fleet, agents={**told.fleet.agents, "a": decision.agent})
    return decision


def done(told: Story) -> list[Action]:
    return [action for action in told.actions if isinstance(action, Arm | Disarm)]


def adopted(told: Story, *held: tuple[str, int], link: int = LINK, **more: Any) -> None:
    told.decisions.clear()
    told.tell(RunAdopted("a", told.run.incarnation, 100, 1000, link=link, armed=more.get("armed", held)))


def test_it_is_told_to_the_shim_of_that_incarnation_and_once() -> None:
    told = story()
    one = answer(told)

    assert arm(told, one).actions == (Arm("a", 1, one),)
    assert [(known.answer, known.uses) for known in armed.standing(told.agent, told.at)] == [(one, 0)]
    assert arm(told, one).actions == ()
    longer = replace(one, until=told.at + 3600)
    assert arm(told, longer).actions == (Arm("a", 1, longer),), "only its end moves"
    assert "name of another answer" in arm(told, replace(one, text="Go on.")).reason


@pytest.mark.parametrize(
    ("why", "declared", "link", "on"),
    [
        ("older version, which takes no answers beforehand", {}, 1, "stop"),
        ("not said yet", {}, 0, "stop"),
        ("an ephemeral agent", {"kind": Kind.EPHEMERAL}, LINK, "stop"),
        ("with -p its CLI is done", {"argv": ("claude", "-p")}, LINK, "tool"),
        ("takes no answer before a compaction", {"harness": "codex"}, LINK, "compaction"),
        ("takes no answer at a turn's end", {"harness": "of-another-day"}, LINK, "stop"),
    ],
)
def test_who_cannot_take_it_is_told_nothing_and_the_reason_says_why(
    why: str, declared: dict[str, Any], link: int, on: On
) -> None:
    told = Story(claude(**declared))
    told.start()
    told.tell(AgentStarted("a", 1, told.run.run_id, 100, 1000, link))

    able = armed.can(told.agent, on)
    decision = arm(told, answer(told, on=on))

    assert not able
    assert why in able.why_not
    assert why in decision.reason
    assert (decision.actions, told.agent.armed) == ((), ())


def test_a_command_is_armed_once_it_has_reported_anything() -> None:
    told = Story(spec())
    told.start()
    told.tell(AgentStarted("a", 1, told.run.run_id, 100, 1000, LINK))
    assert "has reported no event" in armed.can(told.agent).why_not

    told.hook("prompt-submit", text="go")
    assert armed.can(told.agent)


def test_nothing_is_armed_for_who_is_down_or_being_ended() -> None:
    told = story()
    told.stop()
    assert armed.can(told.agent).why_not == "no run of it is alive"
    told.tree_gone()
    assert armed.can(told.agent).why_not == "no run of it is alive"
    assert armed.disarm(Decision(told.agent), "f-1").actions == ()


def test_freeze_goes_before_challenge_and_one_holds_up_a_turns_end() -> None:
    told = story()
    challenge, freeze = answer(told, "c-1", purpose="challenge"), answer(told, "f-1")

    arm(told, challenge)
    assert arm(told, freeze).actions == (Disarm("a", 1, "c-1"), Arm("a", 1, freeze))
    later = arm(told, answer(told, "c-2", purpose="challenge"))

    assert later.actions == ()
    assert "held up already (freeze)" in later.reason
    assert [one.answer.id for one in armed.standing(told.agent, told.at)] == ["f-1"]
    assert "held up already" in armed.refusal(told.agent, answer(told, "f-2"), told.now)
    # What does not hold up a turn's end has nothing to do with it.
    assert arm(told, answer(told, "d-1", "tool", purpose="fence", times=100)).actions


def test_a_block_that_was_given_is_never_given_again() -> None:
    told = story()
    arm(told, answer(told))

    told.tell(ArmedUsed("a", 1, "f-1", 1, told.wall))
    assert told.reasons[-1] == "its turn was not let end, as armed (freeze)"
    assert told.decisions[-1].readings == (("armed", "f-1"), ("uses", 1), ("times", 1))
    told.decisions.clear()
    told.tell(ArmedUsed("a", 1, "f-1", 1, told.wall))
    assert told.reasons == [], "told again, it is no news"

    assert armed.standing(told.agent, told.at) == ()
    assert "given already" in arm(told, answer(told)).reason
    adopted(told, ("f-1", 1))
    assert done(told) == []


def test_what_was_used_while_nobody_listened_is_counted_and_not_armed_again() -> None:
    told = story()
    arm(told, answer(told))
    arm(told, answer(told, "d-1", "tool", purpose="fence", times=100))

    adopted(told, ("f-1", 1), ("d-1", 3))

    assert [action.answer.id for action in done(told) if isinstance(action, Arm)] == ["d-1"]
    assert [(one.answer.id, one.uses) for one in told.agent.armed] == [("f-1", 1), ("d-1", 3)]
    assert "its turn was not let end meanwhile (freeze)" in told.reasons[-1]
    assert "armed again (fence)" in told.reasons[-1]


def test_what_its_shim_lacks_is_armed_again_and_what_it_should_not_have_is_taken_back() -> None:
    told = story()
    arm(told, answer(told))
    arm(told, answer(told, "old", "tool", purpose="fence", until=told.at + 5))
    arm(told, answer(told, "back", "compaction"))
    disarm(told, "back")
    told.pass_over(10)

    adopted(told, ("strange", 0), ("back", 0))

    assert done(told) == [Disarm("a", 1, "strange"), Disarm("a", 1, "back"), Arm("a", 1, answer(told, until=1800.0))]


def test_a_shim_that_says_nothing_of_it_changes_nothing() -> None:
    told = story()
    arm(told, answer(told))
    adopted(told, armed=None)
    assert (done(told), len(told.agent.armed)) == ([], 1)


def test_a_run_that_is_being_ended_is_armed_no_more() -> None:
    told = story()
    arm(told, answer(told))
    told.stop()
    adopted(told)
    assert done(told) == []


def test_what_was_armed_means_nothing_to_the_next_run() -> None:
    told = story()
    arm(told, answer(told))
    told.exited(signal=9)
    told.respawned()
    told.tell(AgentStarted("a", 2, told.run.run_id, 101, 1001, LINK))
    told.tell(ArmedUsed("a", 1, "f-1", 1, told.wall))
    adopted(told)

    assert done(told) == []
    assert armed.standing(told.agent, told.at) == ()
    assert armed.of(told.agent, "f-1") is None
    assert arm(told, answer(told)).actions == (Arm("a", 2, answer(told)),)
    assert [one.incarnation for one in told.agent.armed] == [2]


def test_taken_back_it_is_over_and_its_name_is_not_used_again_in_that_run() -> None:
    told = story()
    arm(told, answer(told))

    assert disarm(told, "f-1", "unknown").actions == (Disarm("a", 1, "f-1"),)
    assert disarm(told, "f-1").actions == ()
    assert "taken back" in arm(told, answer(told)).reason
    assert arm(told, answer(told, "f-2")).actions


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "a/b"},
        {"id": "x" * 65},
        {"text": ""},
        {"text": "x" * 4001},
        {"times": 0},
        {"times": 1001},
        {"until": 0.0},
        {"until": 25 * 3600.0},
        {"tools": ("Bash",)},
        {"on": "tool", "tools": ("",)},
        {"on": "tool", "tools": tuple(map(str, range(33)))},
    ],
    ids=str,
)
def test_what_is_out_of_bounds_is_not_armed(wrong: dict[str, Any]) -> None:
    told = story()
    decision = arm(told, replace(answer(told), **wrong))
    assert decision.actions == ()
    assert decision.reason.startswith("not armed (freeze): ")


def test_eight_stand_at_most_and_what_is_over_is_forgotten_in_time() -> None:
    told = story()
    for number in range(100):
        arm(told, answer(told, f"d-{number}", "tool", purpose="fence"))
        if number >= armed.MOST:
            assert "answers stand ready" in armed.refusal(told.agent, answer(told, "n", "tool"), told.now)
            disarm(told, f"d-{number - armed.MOST}")
            arm(told, answer(told, f"d-{number}", "tool", purpose="fence"))
    assert len(armed.standing(told.agent, told.at)) == armed.MOST
    assert len(told.agent.armed) == armed.REMEMBERED


def test_a_denied_call_is_evidence_and_opens_none() -> None:
    told = story()
    told.pass_over(60)
    told.hook("tool-denied", tool="Task", tool_use_id="t1")
    activity = told.agent.activity
    assert isinstance(activity, Activity)
    assert (activity.evidence_at, activity.leases, activity.turn_open) == (told.at, (), True)

    arm(told, answer(told, "d-1", "tool", purpose="fence", times=9, tools=("Task",)))
    told.decisions.clear()
    for uses in (1, 2, 5):
        told.tell(ArmedUsed("a", 1, "d-1", uses, told.wall))
    assert told.reasons == ["a call of its was denied, as armed (fence)"], "the others are a count"
    assert told.agent.armed[0].uses == 5


def test_a_turn_that_was_not_let_end_is_still_open() -> None:
    told = story()
    told.hook("stop-blocked", text="I am done.")
    assert isinstance(told.state, Running)
    assert told.state.activity.turn_open

    told.hook("stop", text="Now I am.")
    assert not told.state.activity.turn_open


def test_every_face_sees_what_stands() -> None:
    told = story()
    arm(told, answer(told))
    arm(told, answer(told, "d-1", "tool", purpose="fence", times=9, tools=("Task", "Agent")))

    assert row(told.agent, told.now).armed == (
        "freeze: does not let its turn end, once, for 30 min",
        "fence: denies calls of Task, Agent, up to 9 times, for 30 min",
    )
    told.pass_over(1801)
    assert row(told.agent, told.now).armed == ()


def test_of_two_denials_for_one_purpose_the_one_of_every_call_is_shown() -> None:
    """A handoff denies the tools that give work to others, and later every call."""
    told = story()
    arm(told, answer(told, "h-begin", "tool", times=9, tools=("Task", "Agent")))
    arm(told, answer(told, "h-rest", "tool", times=9))
    arm(told, answer(told, "d-1", "tool", purpose="fence", tools=("Task",)))

    assert row(told.agent, told.now).armed == (
        "freeze: denies every call, up to 9 times, for 30 min",
        "fence: denies calls of Task, once, for 30 min",
    )
    disarm(told, "h-rest")
    assert row(told.agent, told.now).armed[0] == "freeze: denies calls of Task, Agent, up to 9 times, for 30 min"


def test_the_journal_keeps_it() -> None:
    told = story()
    arm(told, answer(told, "d-1", "tool", tools=("Task",)))
    read = load_agent(dump_agent(told.agent))
    assert read.armed == told.agent.armed == (Armed(answer(told, "d-1", "tool", tools=("Task",)), 1),)
    assert hook_of("a", 1, "pre-compact", blocked=True).blocked  # type: ignore[union-attr]
