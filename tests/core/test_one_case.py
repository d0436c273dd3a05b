"""One failure has one Case, and what that claims follows all that is known of the failure (C2)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.causes import Disk
from phoenixd.core.events.evidence import FailureStatusSeen
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.rules import LimitRules
from phoenixd.documents.hooks import hook_of
from tests.core.patients import case, cases
from tests.core.story import Story, all_work, claude, spec

HOUR = 3600.0


def test_a_class_that_is_waited_out_while_the_facts_speak_of_another_cause_is_one_case(story: Story) -> None:
    """The agent waits by the class of its failure; what the Case claims follows all facts."""
    story.tell(TurnFailed("a", 1, text="no credit", error="rate_limit", failure="limit", named="other"))

    assert story.agent.parking is not None
    assert (case(story).cause, case(story).detail, case(story).incidents) == (None, "failed_turn", 1)
    assert [(one.treatment, one.by) for one in case(story).treated] == [("park", "limits")]


def test_an_exit_code_that_says_no_more_than_a_status_is_one_case_that_claims_no_cause() -> None:
    """429 is a limit or a bill (Gemini CLI, once without a terminal)."""
    story = Story(claude(harness="gemini")).works()
    story.exited(429 % 256)

    assert story.agent.state_name == "parked"
    assert (case(story).cause, case(story).rule) == (None, "by its exit code alone, a limit or a bill")
    assert [one.treatment for one in case(story).treated] == ["park"]
    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.occasion, told.evidence.code, told.evidence.status) == ("crash", 173, 429)


def test_an_exit_code_of_the_operators_own_choice_is_a_limit_and_one_case() -> None:
    story = Story(spec(limits=LimitRules(exit_codes=(75,)))).runs()
    story.exited(75)

    assert (case(story).cause, case(story).detail) == ("transient_error", "limit")
    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.evidence.code, told.evidence.told) == (75, "limit")


def test_who_waits_with_an_account_whose_limit_nothing_bears_out_has_no_case() -> None:
    story = all_work(claude("a", account="team"), claude("b", account="team"))
    story.tell(hook_of("b", 1, "stop"))
    story.tell(TurnFailed("a", 1, text="no credit", error="rate_limit", failure="limit", named="other"))

    assert {one.name for one in story.fleet.agents.values() if one.parking is not None} == {"a", "b"}
    assert (case(story).detail, case(story).agents) == ("failed_turn", ("a",))


def test_a_crash_while_its_account_waits_is_a_crash_and_the_next_run_is_what_was_done_about_it() -> None:
    story = all_work(claude("a", account="team"), claude("b", account="team"))
    story.tell(hook_of("b", 1, "stop-failure", error="rate_limit", text="429"))
    story.exited(signal=9)
    assert story.agent.state_name == "parked"

    story.wait(HOUR)

    limit, crash = cases(story)
    assert (limit.detail, limit.agents) == ("limit", ("b",))
    assert (crash.detail, crash.agents, [one.treatment for one in crash.treated]) == ("killed", ("a",), ["resume"])


@pytest.mark.parametrize(("full", "detail"), [((), "overload"), (("cwd",), "disk_full")])
def test_an_outage_claims_nothing_of_an_end_whose_cause_is_known(full: tuple[Disk, ...], detail: str) -> None:
    names = ("a", "b", "c")
    story = all_work(*(claude(name) for name in names))
    for name in names:
        run = story.fleet.agents[name].run
        assert run is not None
        story.tell(AgentExited(name, 1, run.run_id, 1, None, full_disks=full if name == "c" else ()))

    assert all(one.outage is not None for one in story.fleet.agents.values())
    (patient,) = story.fleet.cases.patients
    found = story.fleet.cases.find(patient.case)
    assert found is not None
    assert (patient.agent, found.detail) == ("c", detail)


def test_what_an_end_tells_of_its_newest_turn_is_what_its_case_rests_on(story: Story) -> None:
    """A run whose shim was lost, or that a boot ended: the end bears what its transcript says had failed."""
    failed = TurnFailed("a", 1, text="no credit", error="rate_limit", failure="limit", named="other")
    story.exited(1, failed=failed)

    assert story.agent.state_name == "parked"
    assert (case(story).cause, case(story).detail) == (None, "failed_turn")
    assert [one.treatment for one in case(story).treated] == ["park"]


def test_a_limit_that_is_known_after_a_boot_is_one_case(story: Story) -> None:
    run = story.run
    failed = TurnFailed("a", 1, text="no credit", error="rate_limit", failure="limit", named="other")
    story.tell(Rebooted("boot", (AgentExited("a", 1, run.run_id, 1, None, failed=failed),)))

    assert story.agent.state_name == "parked"
    assert (case(story).cause, case(story).detail) == (None, "failed_turn")


def test_a_status_that_shows_another_cause_is_no_second_failure(story: Story) -> None:
    story.hook("stop-failure", error="overloaded_error", text="API Error: 400 nein")
    story.kept.clear()
    story.tell(FailureStatusSeen("a", 1, 400, "request", "request"))

    assert (case(story).detail, case(story).cause, case(story).incidents) == ("request", "logic_error", 1)
    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.case, told.number, told.is_more, told.diagnosis.detail) == ("c1", 1, True, "request")


def test_a_status_of_one_failure_among_several_of_a_case_takes_that_one_out(story: Story) -> None:
    """The Case of the others stays what it is."""
    for _ in range(2):
        story.hook("prompt-submit", text="on")
        story.hook("stop-failure", error="invalid_request", text="Request too large")
    story.tell(FailureStatusSeen("a", 1, 413))

    first, second = cases(story)
    assert (first.detail, first.incidents, second.detail, second.incidents) == ("request", 2, "window", 1)


def test_a_status_that_shows_a_cause_that_was_there_before_joins_its_case(story: Story) -> None:
    for _ in range(2):
        story.hook("prompt-submit", text="on")
        story.hook("stop-failure", error="invalid_request", text="Request too large")
        story.tell(FailureStatusSeen("a", 1, 413))

    assert [(one.detail, one.incidents) for one in cases(story)] == [("window", 2), ("request", 1)]


@pytest.mark.parametrize(
    ("harness", "end", "cause", "detail"),
    [
        ("gemini", {"code": 41}, "logic_error", "login"),
        ("gemini", {"code": 52}, "logic_error", "configuration"),
        ("claude", {"code": 1, "full_disks": ("cwd",)}, "logic_error", "disk_full"),
        ("claude", {"signal": 9, "oom": "agent"}, "transient_error", "memory"),
        ("claude", {"signal": 15}, "transient_error", "terminated"),
        ("codex", {"signal": 9}, None, "killed"),
    ],
)
def test_c2_what_the_end_of_a_run_adds_to_its_failed_turn_is_one_case_that_claims_it(
    harness: str, end: dict[str, Any], cause: str | None, detail: str
) -> None:
    story = Story(claude(harness=harness)).works()
    story.tell(TurnFailed("a", 1, text="x", failure="other"))
    assert (case(story).cause, case(story).detail) == (None, "failed_turn")
    story.pass_over(1)
    story.kept.clear()
    story.exited(**end)

    assert (case(story).cause, case(story).detail, case(story).incidents) == (cause, detail, 1)
    told = [one for kept in story.kept for one in kept.noticed]
    assert [(one.case, one.occasion, one.diagnosis.detail) for one in told] == [("c1", "crash", detail)]
    assert {kept.case.detail for kept in story.kept if kept.treated} <= {detail}
    assert all(one.outcome != "failed" for one in case(story).treated), "nothing has come back"


@pytest.mark.parametrize(
    ("failed", "detail"),
    [
        (("login", "", 401), "login"),
        (("billing", "", None), "billing"),
        (("full", "", None), "window"),
        (("length", "", None), "output_limit"),
        (("request", "request", 400), "request"),
    ],
)
def test_c2_an_agent_that_rests_with_a_failure_whose_cause_is_known_and_runs_out_of_memory_keeps_its_case(
    failed: tuple[Any, Any, int | None], detail: str, story: Story
) -> None:
    """Its login is refused as before, whatever becomes of its process."""
    failure, named, status = failed
    story.tell(TurnFailed("a", 1, text="x", failure=failure, named=named, status=status))
    story.pass_over(1)
    story.exited(signal=9, oom="agent")

    assert (case(story).detail, case(story).incidents) == (detail, 1)


def test_c2_a_turn_that_was_begun_after_the_failed_one_makes_its_end_a_failure_of_its_own(story: Story) -> None:
    story.tell(TurnFailed("a", 1, text="x", failure="other"))
    story.hook("prompt-submit", text="once more")
    story.pass_over(100)
    story.exited(signal=9, oom="agent")

    assert [one.detail for one in cases(story)] == ["failed_turn", "memory"]


def test_c2_the_end_of_one_failed_turn_among_several_of_a_case_takes_that_one_out(story: Story) -> None:
    for _ in range(2):
        story.hook("prompt-submit", text="on")
        story.tell(TurnFailed("a", 1, text="x", failure="other"))
    story.exited(signal=15)

    first, second = cases(story)
    assert (first.detail, first.incidents, second.detail, second.incidents) == ("failed_turn", 2, "terminated", 1)
