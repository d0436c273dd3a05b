"""Whatever an agent writes, names or counts is cut, or forgotten from its oldest end, before it is kept.

The numbers stand here a second time, so that a slip in one is seen in the other.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed, background, cleanup, cut, prompts, reports, signals, unproven, waiting, weights
from phoenixd.core.agent.activity import Activity, PromptKind, Waiting
from phoenixd.core.agent.run import Cut
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.behind import plan
from phoenixd.core.breaker import Signals
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import ReportJudged
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.facts import Ordered
from phoenixd.core.hooks import Hook, PermissionAsked, ToolEnded, ToolFailed, ToolStarted, TurnEnded, TurnFailed
from phoenixd.core.moment import Moment
from phoenixd.core.rules import LivenessRules
from phoenixd.core.treatment import advice
from phoenixd.core.treatment.case import Case, Treated
from phoenixd.core.treatment.examined import Opinion, bounded
from phoenixd.core.turn import calls
from phoenixd.core.workplaces import follow
from tests.core.story import EPOCH, Story, claude

NOW = Moment(10_000.0, EPOCH, 0.5)
AGENT = Story(claude()).works().agent
assert isinstance(AGENT.state, Running)
RUN = AGENT.state.run
NAMES = tuple(f"{number:03}" for number in range(200))


def test_of_background_jobs_eight_are_kept_the_newest_ones_and_200_characters_of_each() -> None:
    long = ("x" * 300,)
    assert background.hear(RUN, TurnEnded("a", 1, jobs=long)).jobs == ("x" * 200,)
    assert background.hear(RUN, TurnEnded("a", 1, jobs=NAMES)).jobs == NAMES[:8]
    begun = background.hear(replace(RUN, jobs=NAMES[:8]), ToolEnded("a", 1, jobs=("more",)))
    assert begun.jobs == (*NAMES[1:8], "more")
    assert background.hear(begun, ToolEnded("a", 1, jobs=("more",))) is begun
    assert background.hear(begun, ToolFailed("a", 1, jobs=("more",))).jobs == NAMES[1:8]
    assert background.hear(begun, TurnEnded("a", 1, sub=True, jobs=())) is begun


def test_of_processes_and_agents_five_are_named_and_the_others_counted() -> None:
    assert cleanup._counted(NAMES[:1]) == "1 process (000)"
    assert cleanup._counted(NAMES[:5]) == "5 processes (000, 001, 002, 003, 004)"
    assert cleanup._counted(NAMES[:7]) == "7 processes (000, 001, 002, 003, 004 and 2 more)"
    assert unproven._named((3,)) == "process 3"
    assert unproven._named((1, 2, 3, 4, 5)) == "processes 1, 2, 3, 4, 5"
    assert unproven._named((1, 2, 3, 4, 5, 6)) == "processes 1, 2, 3, 4, 5 and 1 more"
    assert plan._named(list(reversed(NAMES[:5]))) == "000, 001, 002, 003, 004"
    assert plan._named(list(NAMES[:6])) == "000, 001, 002, 003, 004 and 1 more"


def test_of_reports_32_are_remembered_with_five_claims_of_300_characters_each() -> None:
    seen, agent = Seen(AGENT, Decision(AGENT)), AGENT
    for name in NAMES[:33]:
        event = ReportJudged("a", 1, name, tuple("x" * 400 for _ in range(7)), 2, 1, 4)
        decision = reports.hear(agent, event, seen, NOW)
        assert decision.agent is not None
        agent = decision.agent
    assert [one.of for one in agent.disproved] == list(NAMES[1:33])
    assert agent.disproved[-1].claims == ("x" * 300,) * 5
    assert "report of 032: 11 claims contradicted" in decision.reason
    long = reports.hear(AGENT, ReportJudged("a", 1, "y" * 100, ("one",), 0, 0, 0), seen, NOW)
    assert long.agent is not None
    assert [one.of for one in long.agent.disproved] == ["y" * 80]
    assert f"report of {'y' * 80}: 1 claim contradicted" in long.reason


def test_of_an_order_200_characters_say_by_whom_and_of_a_failed_turn_200_why() -> None:
    order = weights.ordered(StopRequested("a", by="b" * 300), AGENT, Decision(AGENT)).facts[0]
    assert isinstance(order, Ordered)
    assert order.by == "b" * 200
    heard = signals.hear(Signals(), TurnFailed("a", 1, error="invalid_request", text="x" * 300))
    assert heard.error == f"invalid_request: {'x' * 300}"[:200]


def test_of_the_places_an_agent_was_at_32_are_remembered_the_newest_ones() -> None:
    agent = AGENT
    for name in NAMES[:33]:
        agent = follow(agent, ToolStarted("a", 1, cwd=f"/{name}"))
    assert agent.workplaces == tuple(f"/{name}" for name in NAMES[1:33])
    for cwd in (None, "relative", AGENT.spec.cwd, "/001", "/a\0b"):
        assert follow(agent, ToolStarted("a", 1, cwd=cwd)) is agent


def test_of_open_calls_64_are_kept_the_newest_ones_and_120_characters_of_a_command() -> None:
    begun = ToolStarted("a", 1, tool="Bash", tool_use_id="t", command="make  " + "x" * 200)
    lease = calls._opened(begun, 11_000.0, LivenessRules(), NOW)
    assert lease.command == f"make {'x' * 200}"[:120]
    leases: tuple[calls.Lease, ...] = ()
    for name in NAMES[:65]:
        leases = calls._added(leases, replace(lease, tool_use_id=name))
    assert [one.tool_use_id for one in leases] == list(NAMES[1:65])


def test_of_the_calls_of_a_cut_answer_eight_are_told() -> None:
    event = AnswerCut("a", 1, "stream", None, EPOCH, calls=NAMES[:9])
    decision = cut.hear(AGENT, event, Seen(AGENT, Decision(AGENT)), NOW)
    assert decision.agent is not None
    known = decision.agent.cut
    assert isinstance(known, Cut)
    assert known.calls == NAMES[:8]


@pytest.mark.parametrize(
    ("goal", "said", "is_another"),
    [
        ("Build the shop.", "Build the shop.", False), ("Build the shop.", "Build the shop. And more.", False),
        ("Build the shop.", "Tear it down.", True), ("Build  the\nshop.", "Build the shop.", False),
        ("x" * 40 + "a", "x" * 40 + "b", False), ("x" * 39 + "a", "x" * 39 + "b", True),
        ("/review the shop", "Tear it down.", False), ("Build the shop.", "[Pasted text] Tear it down.", False),
        ("Build the shop.", "Tear [it] down.", True), ("b" * 100_000, "Tear it down.", True),
        ("b" * 100_001, "Tear it down.", False), ("", "Tear it down.", False), ("Build the shop.", "", False),
    ],
)  # fmt: skip
def test_by_its_first_40_characters_a_prompt_is_known_as_the_one_that_a_run_was_started_with(
    goal: str, said: str, is_another: bool
) -> None:
    agent = replace(AGENT, spec=replace(AGENT.spec, prompt=goal))
    assert prompts._is_another(agent, replace(RUN, prompt=PromptKind.GOAL), said) is is_another
    assert not prompts._is_another(agent, replace(RUN, prompt=PromptKind.CONTINUE), said)


def waits_for(event: Hook) -> Waiting:
    found, _ = waiting.waits_for(Activity(True, 0.0, EPOCH), event, NOW)
    assert found is not None
    return found


def test_of_what_an_agent_asks_2048_characters_are_shown_and_all_of_what_can_be_approved_from_afar() -> None:
    asked = PermissionAsked("a", 1, tool="Bash", text="x" * 3000)
    assert waits_for(asked).text == f"Bash {'x' * 3000}"[:2048]
    assert waits_for(replace(asked, held=True, seq=3)).text == f"Bash {'x' * 3000}"


def test_of_questions_that_a_newer_one_covers_eight_are_kept_the_newest_ones() -> None:
    asks = [Waiting("permission", name, EPOCH) for name in NAMES[:10]]
    activity = Activity(True, 0.0, EPOCH)
    for one in asks:
        activity = replace(waiting.with_question(activity, one), waiting=one)
    assert [one.text for one in activity.also_asked] == list(reversed(NAMES[1:9]))


ANSWER = ArmedAnswer("c1", "tool", "Which code?", NOW.at + 60.0, "challenge")


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        (ANSWER, True), (replace(ANSWER, text="x" * 4000), True), (replace(ANSWER, text="x" * 4001), False),
        (replace(ANSWER, text=""), False), (replace(ANSWER, times=1000), True), (replace(ANSWER, times=1001), False),
        (replace(ANSWER, times=0), False), (replace(ANSWER, until=NOW.at), False),
        (replace(ANSWER, until=NOW.at + 86_400.0), True), (replace(ANSWER, until=NOW.at + 86_400.5), False),
        (replace(ANSWER, tools=NAMES[:32]), True), (replace(ANSWER, tools=NAMES[:33]), False),
        (replace(ANSWER, tools=("x" * 128,)), True), (replace(ANSWER, tools=("x" * 129,)), False),
        (replace(ANSWER, tools=("",)), False), (replace(ANSWER, on="stop", tools=("Bash",)), False),
    ],
)  # fmt: skip
def test_an_answer_that_is_armed_is_bounded_in_words_times_tools_and_a_day(answer: ArmedAnswer, fits: bool) -> None:
    assert (armed._problem(answer, NOW) == "") is fits


def test_of_advice_the_newest_six_treatments_and_of_an_opinion_500_characters_each_are_kept() -> None:
    done = tuple(Treated(number, "a", 1, "resume", "restart", 0.0, 0.0) for number in range(8))
    others = (replace(done[0], agent="b"), *done)
    case = Case("c1", "agent a", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("a",), 1, others)
    assert len(advice.again(case, "a", 1).tried) == 6
    said = bounded(Opinion("logic_error", "e" * 600, 0.9, "modify_prompt", "n" * 600))
    assert (said.explanation, said.note) == ("e" * 500, "n" * 500)
