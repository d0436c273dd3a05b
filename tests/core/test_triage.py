"""Triage (C4, X12): which cause the rules find in which evidence, and that they find none in words."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields, replace
from typing import get_args

import pytest

from phoenixd.core.agent.run import LastExit
from phoenixd.core.causes import BLAMELESS, EndCause
from phoenixd.core.events.evidence import FailureStatusSeen
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.treatment import gather, rules
from phoenixd.core.treatment.case import Patient
from phoenixd.core.treatment.evidence import Evidence, known
from phoenixd.core.treatment.rules import RULES
from phoenixd.core.treatment.triage import diagnose, explanation, prescribe
from phoenixd.core.treatment.words import ACTION_OF, RootCause
from tests.core.story import Story, claude

TURN = Evidence(occasion="failed_turn", harness="claude", is_alive=True, session_seen=True, worked=True)
END = Evidence(harness="claude", cause="exit", session_seen=True, worked=True, lived=900.0)

CASES = [
    (replace(TURN, failure="full"), "context_length_exceeded", "window"),
    (replace(TURN, cut="window"), "context_length_exceeded", "window"),
    (replace(TURN, failure="request", fill=0.9), "context_length_exceeded", "window"),
    (replace(TURN, failure="request", fill=0.9, named="request"), "logic_error", "request"),
    (replace(TURN, failure="request", fill=0.2), None, "request"),
    (replace(TURN, failure="request", fill=0.2, named="request"), "logic_error", "request"),
    (replace(TURN, failure="request", status=407), "logic_error", "request"),
    (replace(TURN, failure="request", status=413, named="limit"), None, "request"),
    (replace(TURN, failure="request", reset=True), "transient_error", "limit"),
    (replace(TURN, failure="overload", reset=True, status=400), "transient_error", "limit"),
    (replace(TURN, failure="overload", word="unknown", status=400), None, "request"),
    (replace(TURN, failure="overload", word="server_error"), None, "failed_turn"),
    (replace(TURN, failure="overload", word="server_error", named="service"), "transient_error", "overload"),
    (replace(TURN, failure="overload", word="server_error", named="other", status=503), None, "failed_turn"),
    (replace(TURN, failure="overload", word="server_error", named="certificate"), "logic_error", "configuration"),
    (replace(TURN, failure="overload", word="server_error", status=526), None, "failed_turn"),
    (replace(TURN, failure="limit", word="rate_limit", named="other"), None, "failed_turn"),
    (replace(TURN, failure="limit", word="rate_limit", named="other", reset=True), "transient_error", "limit"),
    (replace(TURN, failure="login", word="authentication_failed", named="other"), None, "failed_turn"),
    (replace(TURN, failure="other", word="other", cut="stream", named="other"), None, "failed_turn"),
    (replace(END, signal=9, turn_open=True, cut="stream"), None, "killed"),
    (replace(END, code=1, oom="agent"), None, "crash"),
    (replace(END, code=137, oom="agent", failure="limit"), "transient_error", "memory"),
    (replace(TURN, failure="overload", word="unknown", status=429), "transient_error", "limit"),
    (replace(TURN, failure="overload", word="unknown", status=408), "transient_error", "overload"),
    (replace(TURN, failure="request", status=413), "context_length_exceeded", "window"),
    (replace(TURN, failure="login", word="authentication_failed"), "logic_error", "login"),
    (replace(TURN, failure="billing"), "logic_error", "billing"),
    (replace(TURN, failure="other", word="model_not_found"), "logic_error", "model"),
    (replace(TURN, failure="request", status=404), "logic_error", "model"),
    (replace(TURN, cut="filtered"), "logic_error", "content_filter"),
    (replace(TURN, failure="limit"), "transient_error", "limit"),
    (replace(TURN, failure="overload", status=529), "transient_error", "overload"),
    (replace(TURN, cut="stream"), "transient_error", "stream"),
    (replace(TURN, failure="length"), "logic_error", "output_limit"),
    (replace(TURN, cut="output_limit"), "logic_error", "output_limit"),
    (replace(TURN, failure="other", word="what nobody knows"), None, "failed_turn"),
    (Evidence(code=127, cause="not started", occasion="failed_start"), "logic_error", "configuration"),
    (Evidence(code=126, cause="exit"), "logic_error", "configuration"),
    (Evidence(obstacle="resume refused", occasion="refused_resume"), None, "resume_refused"),
    (Evidence(obstacle="session in use"), "transient_error", "session_in_use"),
    (Evidence(code=1, cause="exit", mode="resume", lived=0.8), None, "resume_refused"),
    *((Evidence(cause=cause, mode="resume", lived=0.8), "transient_error", "host") for cause in sorted(BLAMELESS)),
    (Evidence(cause="start interrupted", mode="resume", harness="claude"), "transient_error", "host"),
    (Evidence(cause="not started", mode="resume", harness="claude", obstacle="other"), None, "failed_start"),
    (replace(END, signal=9, oom="agent"), "transient_error", "memory"),
    (replace(END, signal=9, oom="host"), "transient_error", "memory"),
    (replace(END, code=1, disk_full=True), "logic_error", "disk_full"),
    (replace(END, code=145, status=401), "logic_error", "login"),
    (replace(END, code=173, status=429), None, "limit"),
    (replace(TURN, failure="other", word="model_not_found", status=503), None, "failed_turn"),
    (replace(END, code=247, status=503), "transient_error", "overload"),
    *((replace(END, code=1, status=status), "transient_error", "overload") for status in (500, 502, 504, 529)),
    (replace(END, code=144, status=400), None, "failed_turn"),
    (replace(END, code=41, told="login"), "logic_error", "login"),
    (replace(END, code=52, told="configuration"), "logic_error", "configuration"),
    (replace(END, code=53, told="usage_limit"), "logic_error", "usage_limit"),
    (Evidence(code=52, cause="exit", mode="resume", lived=0.8, told="configuration"), "logic_error", "configuration"),
    (replace(END, cause="terminal_lost"), "transient_error", "host"),
    (replace(END, code=124, cause="hung", call="Bash", turn_open=True), "logic_error", "hang_in_call"),
    (replace(END, code=124, cause="hung", turn_open=True), "transient_error", "hang"),
    (replace(END, code=124, cause="hung", call="mcp__shop__stock", turn_open=True), None, "hang"),
    (replace(END, code=124, cause="hung", call="WebFetch", turn_open=True), None, "hang"),
    (replace(END, code=124, cause="hung", call="Task", turn_open=True), None, "hang"),
    (replace(END, code=124, cause="hung"), None, "hang"),
    (replace(END, signal=15), "transient_error", "terminated"),
    (replace(END, code=143), "transient_error", "terminated"),
    (replace(END, signal=9), None, "killed"),
    (replace(END, code=137), None, "killed"),
    (replace(END, signal=11), None, "crash"),
    (replace(END, code=1), None, "crash"),
    # What a turn failed for explains the end of its run.
    (replace(END, code=1, failure="login"), "logic_error", "login"),
    (
        Evidence(code=1, cause="not started", occasion="failed_start", obstacle="no directory"),
        "logic_error",
        "configuration",
    ),
    (
        Evidence(code=1, cause="not started", occasion="failed_start", obstacle="directory closed"),
        "logic_error",
        "configuration",
    ),
    (Evidence(code=1, cause="not started", occasion="failed_start", obstacle="other"), None, "failed_start"),
    (Evidence(code=1, cause="exit", mode="resume", lived=0.8, sessionless=True), None, "crash"),
]


@pytest.mark.parametrize(("evidence", "cause", "detail"), CASES)
def test_c4_a_failure_has_the_cause_that_its_evidence_proves(
    evidence: Evidence, cause: RootCause | None, detail: str
) -> None:
    """F-CL-9, X12: a login, a bill and a missing model are logic_error with a detail, and are not tried again."""
    found = diagnose(evidence)

    assert (found.cause, found.detail) == (cause, detail)
    assert found.readings
    assert all(name in {one.name for one in fields(Evidence)} for name, _ in found.readings)


def test_each_rule_is_the_first_that_fits_some_evidence() -> None:
    """A rule that nothing reaches is a rule that nobody tries."""
    others = [
        Evidence(occasion="overtime"), Evidence(occasion="rolled_back"), Evidence(occasion="lost_marker"),
        Evidence(occasion="quarantine"), Evidence(occasion="failed_start"),
    ]  # fmt: skip
    reached = {diagnose(evidence).rule for evidence in [*(case[0] for case in CASES), *others]}

    assert [rule.name for rule in RULES if rule.name not in reached] == []


def test_no_rule_reads_words_where_a_type_exists() -> None:
    """Planted and caught: an agent's words speak of a full context, and the type says that it was a limit."""
    said = "prompt is too long: 210000 tokens > 200000 maximum; authentication_failed; credit balance is too low"

    assert diagnose(replace(TURN, failure="limit", said=said)).detail == "limit"
    assert diagnose(replace(END, code=1, said=said)).cause is None
    tree = ast.parse(inspect.getsource(rules))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "said"]
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert "re" not in imported


def test_every_fact_that_a_rule_may_rest_on_is_gathered_by_the_daemon() -> None:
    """What nobody supplies is a condition that is never met, and a rule that only a test reaches."""
    tree = ast.parse(inspect.getsource(gather))
    gathered = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    gathered |= {
        key.value for node in ast.walk(tree) if isinstance(node, ast.Dict)
        for key in node.keys if isinstance(key, ast.Constant)
    }  # fmt: skip
    assert {one.name for one in fields(Evidence)} - gathered == set()


def test_c13_rules_claim_the_six_causes_and_nothing_else() -> None:
    """C15: a confidence lies between nothing and one, and what nobody knows is not sure."""
    assert {rule.cause for rule in RULES} - {None} <= set(get_args(RootCause))
    assert all(0 < rule.confidence <= 1 for rule in RULES)
    assert all(set(rule.treatments) <= set(ACTION_OF) for rule in RULES)
    assert all(rule.rests_on for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_c14_an_explanation_says_what_it_rests_on() -> None:
    assert explanation(diagnose(replace(TURN, failure="limit", reset=True))) == (
        "a limit of the account (failure limit, reset yes)"
    )


def test_f_cl_7_the_same_prescription_is_never_given_twice_for_the_same_cause() -> None:
    found = diagnose(replace(END, code=1))

    given: list[str] = []
    while (one := prescribe(found, tuple(given))) != "abort":  # type: ignore[arg-type]
        assert one not in given
        given.append(one)

    assert given == ["resume", "fresh"]


def test_c28_a_transient_error_is_waited_out_or_tried_again() -> None:
    assert prescribe(diagnose(replace(TURN, failure="limit"))) == "park"
    assert prescribe(diagnose(replace(END, signal=9))) == "resume"


def test_c42_a_login_that_is_refused_is_for_a_person() -> None:
    assert ACTION_OF[prescribe(diagnose(replace(TURN, failure="login")))] == "abort"


def test_evidence_tells_what_is_known_alone() -> None:
    told = dict(known(replace(END, code=1, lived=2.5)))

    assert told == {
        "occasion": "end", "harness": "claude", "code": 1, "cause": "exit", "lived": 2.5, "session_seen": "yes",
        "worked": "yes",
    }  # fmt: skip


def test_c4_what_fails_in_a_living_run_is_told_as_such() -> None:
    """A turn that an error ended leaves its run alive, so nothing is concluded from an end that never came."""
    story = Story(claude()).works()
    failed = gather.of_failed_turn(story.agent, TurnFailed("a", 1, error="strange", text="x" * 10))
    assert (failed.occasion, failed.is_alive, failed.word) == ("failed_turn", True, "strange")
    cut = gather.of_cut(story.agent)
    assert (cut.occasion, cut.is_alive) == ("cut_answer", True)


def test_c4_all_that_is_known_of_a_failed_turn_is_evidence() -> None:
    agent = replace(Story(claude()).works().agent, crashes=(1.0, 2.0))
    event = TurnFailed(
        "a", 1, error="strange", text="x" * 10, failure="request", named="limit", status=413, reset_wall=5.0,
        full_disks=("/", "/home"),
    )  # fmt: skip
    found = gather.of_failed_turn(agent, event)
    assert (found.failure, found.word, found.named, found.status) == ("request", "strange", "limit", 413)
    assert (found.reset, found.said, found.disk_full, found.disks) == (True, "x" * 10, True, "/, /home")
    assert (found.mode, found.session_seen, found.worked, found.turn_open) == ("fresh", True, True, True)
    assert (found.call, found.fill, found.crashes) == ("", None, 2)

    patient = Patient("a", 1, "c1", 0.0, failure="limit", word="w", named="service", said="it said", disks="/srv")
    later = gather.of_status(agent, patient, FailureStatusSeen("a", 1, status=529))
    assert (later.failure, later.word, later.named, later.status) == ("limit", "w", "service", 529)
    assert (later.said, later.disk_full, later.disks, later.turn_open, later.is_alive) == (
        "it said", True, "/srv", True, True
    )  # fmt: skip
    end = LastExit(1, 1, None, "exit", 3.0, 0.0, note="its note", full_disks=("/",), oom="host")
    ended = gather.of_end(agent, agent, end, replace(patient, status=500))
    assert (ended.failure, ended.status, ended.said, ended.lived) == ("limit", 500, "it said", 3.0)
    other = gather.of_end(agent, agent, end, replace(patient, incarnation=2))
    assert (other.failure, other.said, other.disks, other.oom, other.code) == ("", "its note", "/", "host", 1)
    assert gather.of_end(agent, agent, end, replace(patient, said="")).said == "its note"


def test_a_start_without_a_run_is_a_failed_start_unless_its_session_was_refused() -> None:
    agent = Story(claude()).agent
    refused = gather.of_start(agent, StartFailed("a", 1, 0, "no such session", "resume refused"))
    failed = gather.of_start(agent, StartFailed("a", 1, 0, "no room", "disk full"))
    assert (refused.occasion, failed.occasion) == ("refused_resume", "failed_start")


@pytest.mark.parametrize(
    ("cause", "ran", "occasion"),
    [
        ("hung", True, "hung"), ("overtime", True, "overtime"), ("exit", True, "crash"),
        ("terminal_lost", True, "crash"), ("not started", False, "failed_start"), ("exit", False, "failed_start"),
    ],
)  # fmt: skip
def test_c4_the_end_of_a_run_is_a_crash_only_where_its_command_ran_and_nobody_ended_it(
    cause: EndCause, ran: bool, occasion: str
) -> None:
    agent = Story(claude()).works().agent

    assert gather.of_end(agent, agent, LastExit(1, 1, None, cause, 3.0, 0.0, ran=ran), None).occasion == occasion


@pytest.mark.parametrize(
    ("harness", "code", "cause", "told"),
    [
        ("gemini", 41, "exit", "login"),
        ("gemini", 52, "exit", "configuration"),
        ("gemini", 53, "exit", "usage_limit"),
        ("gemini", 1, "exit", ""),
        # What it ends by once we end it says nothing of its own.
        ("gemini", 53, "hung", ""),
        ("claude", 53, "exit", ""),
    ],
)
def test_c4_an_exit_code_says_what_its_own_program_means_by_it(
    harness: str, code: int, cause: EndCause, told: str
) -> None:
    story = Story(replace(claude(), harness=harness)).works()
    agent = story.agent
    end = LastExit(1, code, None, cause, 3.0, story.wall)

    assert gather.of_end(agent, agent, end, None).told == told
