"""`clinic list|show|replay` (C2, C44): figures, one Case with its steps, and what today's rules say of it."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import get_args

import pytest

from phoenixd.api.pages import clinic as pages
from phoenixd.api.pages.facts import WORDS, in_words
from phoenixd.api.pages.layout import Page
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.events.fleet import LimitsDeclared, Tick
from phoenixd.core.events.handoffs import PapersFailed
from phoenixd.core.events.orders import HandoffRequested, StopRequested
from phoenixd.core.inbox import inbox
from phoenixd.core.spec import FleetLimits
from phoenixd.core.treatment.authority import AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import Opinion, ReaderRules
from phoenixd.core.treatment.words import Occasion
from phoenixd.documents import clinic
from phoenixd.documents.codec import encode
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon


@pytest.fixture
def ill(daemon: FakeDaemon) -> FakeDaemon:
    """An agent that died, runs again, and whose run was productive."""
    daemon.declare("docs", harness="claude")
    daemon.hook("docs", "session-start", source="startup")
    daemon.hook("docs", "prompt-submit", text="go on")
    daemon.die("docs")
    return daemon


async def test_c44_show_prints_the_four_steps_and_the_outcome(live: Live, ill: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/clinic/c1", text=True)

    assert answer.exit == 0
    steps = [
        line for line in answer.text.splitlines() if line in ("triage", "diagnosis", "prescription", "rehabilitation")
    ]
    assert steps == ["triage", "diagnosis", "prescription", "rehabilitation"]
    assert "Case c1 is open: docs" in answer.text
    below = [line for line in answer.text.splitlines()[1:-1] if line and line not in (*steps, "reading")]
    assert below
    assert all(line.startswith("  ") for line in below), "a heading stands out from what is below it"
    assert max(map(len, answer.text.splitlines())) <= 80


async def test_c44_explain_names_the_case_that_stands_and_what_shows_it(live: Live, ill: FakeDaemon) -> None:
    told = await live.ask("GET", "/v1/agents/docs/explain", text=True)

    assert "case       c1, crash, noticed once; what was done about it:" in told.text
    assert "phoenixctl clinic show c1" in told.text
    assert max(map(len, told.text.splitlines())) <= 80
    assert (await live.ask("GET", "/v1/agents/docs/explain")).json["case"] == "c1"

    ill.declare("shop")
    assert (await live.ask("GET", "/v1/agents/shop/explain")).json["case"] is None
    cases = tuple(replace(one, closed=ill.now().wall) for one in ill.state.cases.cases)
    ill.state = replace(ill.state, cases=replace(ill.state.cases, cases=cases))
    assert "clinic show" not in (await live.ask("GET", "/v1/agents/docs/explain", text=True)).text


async def test_c41_show_prints_what_was_said_at_the_end_and_draws_nothing_with_it(live: Live, ill: FakeDaemon) -> None:
    kept = ill.journal.kept_incidents
    evidence = Evidence(occasion="failed_turn", harness="claude", said="tools.3 is no \x1b[2Jtool\n\nhere")
    kept[0] = replace(kept[0], evidence=json.dumps(encode(evidence)))

    answer = await live.ask("GET", "/v1/clinic/c1", text=True)

    lines = answer.text.splitlines()
    assert lines[lines.index("  what was said:") + 1].startswith("    | tools.3 is no")
    assert "\x1b" not in answer.text


async def test_c44_the_case_of_a_handoff_that_came_to_nothing_says_why_and_what_is_proposed(
    live: Live, daemon: FakeDaemon
) -> None:
    """phoenixd decided it, so it knows why; the terminal of a predecessor that lives well has nothing to do with it."""
    daemon.declare("boss", kind="orchestrator", harness="claude", argv=("claude",), project="kp")
    daemon.hook("boss", "session-start", source="startup")
    for _ in range(2):
        daemon.happen(HandoffRequested("boss"))
        handoff = daemon.fleet().seats["boss"].handoff
        assert handoff is not None
        daemon.happen(PapersFailed("boss", handoff.id, "there is no project of that name", final=True))
    kept = daemon.journal.kept_incidents
    kept[:] = [replace(one, body=json.dumps({"pane": ["> never mind"]})) for one in kept]

    answer = await live.ask("GET", "/v1/clinic/c1", text=True)

    assert "no rule knows why" not in answer.text
    assert "never mind" not in answer.text
    said = " ".join(answer.text.split())
    assert "why it was rolled back: | there is no project of that name" in said
    (asked,) = [item for item in inbox(daemon.fleet()) if item.kind == "proposal"]
    assert f"prescription handoff is proposed, and waits for a person: #{asked.id}" in said
    assert "none so far" not in said


async def test_c2_the_json_is_the_clinics_document(live: Live, ill: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/clinic/c1")

    case = clinic.Case.model_validate(answer.json["case"])
    assert case.outcome == "open"
    assert case.triage[0].agent == "docs"
    assert case.triage[0].evidence["harness"] == "claude"
    assert case.rehabilitation[0].outcome == "open"
    assert case.prescription is not None
    assert case.prescription.action in ("retry", "abort")


async def test_list_counts_what_is_known_and_shows_the_cases(live: Live, ill: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/clinic")

    (figure,) = answer.json["treatments"]
    assert (figure["tried"], figure["held"], figure["open"], figure["low"]) == (0, 0, 1, None)
    assert figure["harness"] == "claude"
    assert [one["id"] for one in answer.json["cases"]] == ["c1"]
    shown = await live.ask("GET", "/v1/clinic", text=True)
    assert "phoenixctl clinic show c1" in shown.text
    assert shown.text.startswith("cause  "), "the column has causes"
    assert "1 time, 1 treatment, open" in " ".join(shown.text.split())
    assert max(map(len, shown.text.splitlines())) <= 80


async def test_list_tells_the_interval_once_something_is_known(live: Live, ill: FakeDaemon) -> None:
    kept = ill.journal.kept_treatments
    key, one = next(iter(kept.items()))
    for number in range(8):
        kept["c9", number] = replace(one, case_id="c9", number=number, outcome="failed")
    kept[key] = replace(one, outcome="moot")
    (figure,) = (await live.ask("GET", "/v1/clinic")).json["treatments"]

    assert (figure["tried"], figure["held"], figure["moot"]) == (8, 0, 1)
    assert figure["low"] == 0.0
    assert figure["high"] == pytest.approx(0.3244, abs=1e-3)
    assert " 0  0 of 8 (0%-32%)" in (await live.ask("GET", "/v1/clinic", text=True)).text, "two numbers side by side"


async def test_a_limit_stands_in_a_table_of_its_own(live: Live, ill: FakeDaemon) -> None:
    ill.declare("web", harness="claude")
    ill.hook("web", "session-start", source="startup")
    ill.hook("web", "prompt-submit", text="go on")
    ill.hook("web", "stop-failure", error="rate_limit", text="429")

    body = (await live.ask("GET", "/v1/clinic")).json
    assert [one["detail"] for one in body["limits"]] == ["limit"]
    assert "limit" not in [one["detail"] for one in body["treatments"]]


async def test_replay_says_whether_todays_rules_differ(live: Live, ill: FakeDaemon) -> None:
    same = await live.ask("GET", "/v1/clinic/c1/replay")
    assert not same.json["differs"]

    kept = ill.journal.kept_incidents
    kept[0] = replace(kept[0], cause="ambiguous_instruction", rule="a rule of old")
    answer = await live.ask("GET", "/v1/clinic/c1/replay")

    assert answer.json["differs"]
    assert answer.json["incidents"][0]["then"] == {"cause": "ambiguous_instruction", "rule": "a rule of old"}
    assert "now " in (await live.ask("GET", "/v1/clinic/c1/replay", text=True)).text


@pytest.mark.parametrize("verb", ["", "/replay"])
async def test_a_case_whose_rows_are_not_saved_yet_is_not_called_unknown(
    live: Live, ill: FakeDaemon, verb: str
) -> None:
    """`list` names it already: the fleet knows it before its commit has landed."""
    kept = ill.journal.kept_incidents[:]
    ill.journal.kept_incidents.clear()
    ill.journal.kept_treatments.clear()

    early = await live.ask("GET", f"/v1/clinic/c1{verb}")
    unknown = await live.ask("GET", f"/v1/clinic/c2{verb}")

    assert (early.json["code"], unknown.json["code"]) == ("busy", "not_found")
    assert early.json["remedy"] == "phoenixctl clinic show c1"
    ill.journal.kept_incidents.extend(kept)
    assert (await live.ask("GET", f"/v1/clinic/c1{verb}")).exit == 0


@pytest.mark.parametrize("stored", ["", "{", "[]", '{"lived": "long"}', json.dumps({"occasion": "a new one"})])
async def test_what_another_version_stored_is_read_or_told_by_name(live: Live, ill: FakeDaemon, stored: str) -> None:
    kept = ill.journal.kept_incidents
    kept[0] = replace(kept[0], evidence=stored)

    answer = await live.ask("GET", "/v1/clinic/c1/replay")

    assert answer.exit == 0
    assert answer.json["incidents"][0]["problem"].startswith("cannot be replayed: ")
    assert (await live.ask("GET", "/v1/clinic/c1")).exit == 0


@pytest.mark.parametrize("occasion", get_args(Occasion))
async def test_each_kind_of_incident_that_is_stored_can_be_replayed(live: Live, ill: FakeDaemon, occasion: str) -> None:
    kept = ill.journal.kept_incidents
    evidence = Evidence(occasion=occasion, harness="claude", mode="resume", fill=0.9, said="x" * 2000)  # type: ignore[arg-type]
    kept[0] = replace(kept[0], kind=occasion, evidence=json.dumps(encode(evidence)))

    answer = await live.ask("GET", "/v1/clinic/c1/replay")

    assert answer.json["incidents"][0]["problem"] is None
    assert answer.json["incidents"][0]["now"]["rule"]
    assert (await live.ask("GET", "/v1/clinic/c1", text=True)).exit == 0


@pytest.mark.parametrize("word", ["\x1b]0;owned\x07", "\x1b[2J\x1b[31mred", "\u202egnorw", "a\nb\rc", "\ud800"])
async def test_what_an_agent_calls_its_failure_draws_nothing_on_the_terminal(
    live: Live, ill: FakeDaemon, word: str
) -> None:
    ill.hook("docs", "session-start", source="resume")
    ill.hook("docs", "prompt-submit", text="go on")
    ill.hook("docs", "stop-failure", error=word, text=word * 5_000_000)

    for path in ("/v1/clinic", "/v1/clinic/c2", "/v1/clinic/c2/replay"):
        answer = await live.ask("GET", path, text=True)
        assert answer.exit == 0
        assert not any(sign in answer.text for sign in "\x1b\x07\r\u202e")
    (incident,) = [one for one in ill.journal.kept_incidents if one.case_id == "c2"]
    assert len(incident.evidence) < 20_000


async def test_a_journal_without_its_treatments_calls_nothing_held(live: Live, ill: FakeDaemon) -> None:
    ill.journal.kept_treatments.clear()

    case = clinic.Case.model_validate((await live.ask("GET", "/v1/clinic/c1")).json["case"])

    assert case.outcome == "open"
    assert (await live.ask("GET", "/v1/clinic")).json["treatments"] == []


async def test_a_case_about_which_nothing_was_done_is_over_when_the_fleet_has_closed_it(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs", harness="claude")
    daemon.hook("docs", "session-start", source="startup")
    daemon.hook("docs", "prompt-submit", text="go on")
    daemon.hook("docs", "stop-failure", error="odd", text="what nobody knows")
    daemon.journal.kept_treatments.clear()
    shown = (await live.ask("GET", "/v1/clinic/c1")).json["case"]
    assert (shown["outcome"], shown["closed_at"]) == ("open", None)

    daemon.hook("docs", "prompt-submit", text="go on")
    daemon.hook("docs", "stop")
    assert await daemon.order(StopRequested("docs")) is None
    shown = (await live.ask("GET", "/v1/clinic/c1")).json["case"]
    assert shown["outcome"] == "moot"
    assert shown["closed_at"] is not None


async def test_a_clock_that_was_set_back_makes_no_negative_median(live: Live, ill: FakeDaemon) -> None:
    key, one = next(iter(ill.journal.kept_treatments.items()))
    ill.journal.kept_treatments[key] = replace(one, outcome="held", productive=one.failed - 3600)

    (figure,) = (await live.ask("GET", "/v1/clinic")).json["treatments"]

    assert figure["seconds"] is None


async def test_a_case_that_is_not_kept_is_not_found(live: Live, ill: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/clinic/c77")

    assert (answer.status, answer.exit) == (404, 4)


async def test_nothing_has_failed_so_far(live: Live, daemon: FakeDaemon) -> None:
    assert (await live.ask("GET", "/v1/clinic", text=True)).text == "Nothing has failed so far.\n"


async def test_a_proposal_is_shown_whole_and_answered_by_its_number(live: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = 1_800_000_000.0
    daemon.declare("docs", harness="claude", clinic=ClinicRules(AuthorityRules(advise="propose")))
    daemon.hook("docs", "session-start", source="startup")
    for _ in range(2):
        daemon.hook("docs", "prompt-submit", text="go on")
        daemon.pass_time(400)
        daemon.die("docs")
        daemon.hook("docs", "session-start", source="resume")
    (item,) = (await live.ask("GET", "/v1/inbox")).json["items"]

    assert (item["kind"], item["answer_by"]) == ("proposal", "answer")
    assert item["advice"] == f"phoenixctl answer {item['id']} allow"
    shown = await live.ask("GET", f"/v1/inbox/{item['id']}", text=True)
    assert "tells its next run the facts of this failure" in " ".join(shown.text.split())
    answer = await live.ask("POST", f"/v1/inbox/{item['id']}/answer", {"answer": ["allow"]})
    assert answer.exit == 0, answer.text
    assert daemon.fleet().agents["docs"].advice is not None
    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []


OPINION = Opinion("logic_error", "It asks for a library.", 0.9, "modify_prompt", "Install it first.")
READER = Caps(reader=ReaderRules(model="test:reader"))


@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_c44_show_says_what_a_model_read_of_it_and_what_it_cost(
    live: Live, daemon: FakeDaemon, is_forgotten: bool
) -> None:
    """Also once the fleet has forgotten the Case: the journal's rows tell it."""
    daemon.happen(LimitsDeclared(FleetLimits(), clinic=READER))
    daemon.declare("docs", harness="claude")
    daemon.hook("docs", "session-start", source="startup")
    daemon.hook("docs", "prompt-submit", text="go on")
    daemon.die("docs")
    assert "in force: the model test:reader; today 1 of 24 questions and 0 of 200000 tokens" in await _page(live)
    assert "the rules alone: the model test:reader was asked 1 time: it has not answered yet" in await _page(live)
    daemon.happen(CaseExamined("docs", 1, "c1", 1, OPINION, tokens=321))
    if is_forgotten:
        daemon.state = replace(daemon.state, cases=replace(daemon.state.cases, cases=()))

    case = (await live.ask("GET", "/v1/clinic/c1")).json
    assert case["case"]["reading"]["diagnosis"]["root_cause"] == "logic_error"
    assert case["case"]["reading"]["tokens"] == case["reader"]["tokens_today"] == 321
    assert (
        "the model test:reader (321 tokens) says logic error, confidence 90%, prescribes modify prompt: "
        "It asks for a library. It would add: Install it first." in await _page(live)
    )


async def _page(live: Live) -> str:
    answer = await live.ask("GET", "/v1/clinic/c1", text=True)
    assert max(map(len, answer.text.splitlines())) <= 80
    return " ".join(answer.text.split())


async def test_without_a_reader_the_rules_are_alone_and_that_is_told(live: Live, ill: FakeDaemon) -> None:
    assert "reading nobody was asked about it in force: the rules alone" in await _page(live)


async def test_what_was_allowed_and_is_not_done_is_told_to_who_answered(live: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = 1_800_000_000.0
    daemon.declare("docs", harness="claude", clinic=ClinicRules(AuthorityRules(advise="propose")))
    daemon.hook("docs", "session-start", source="startup")
    for _ in range(2):
        daemon.hook("docs", "prompt-submit", text="go on")
        daemon.pass_time(400)
        daemon.die("docs")
        daemon.hook("docs", "session-start", source="resume")
    (item,) = (await live.ask("GET", "/v1/inbox")).json["items"]
    assert await daemon.order(StopRequested("docs", after_iteration=True)) is None

    answer = await live.ask("POST", f"/v1/inbox/{item['id']}/answer", {"answer": ["allow"]})

    assert (answer.status, answer.exit) == (409, 6)
    assert "advise, which" in answer.text
    assert "is dropped: its owner is operator: it is to be down" in answer.text
    assert "phoenixctl explain docs" in answer.text
    shown = clinic.Case.model_validate((await live.ask("GET", "/v1/clinic/c1")).json["case"])
    assert [one.outcome for one in shown.rehabilitation][-1] == "moot"
    assert "allowed by" in shown.rehabilitation[-1].why


def test_every_fact_of_a_failure_has_words() -> None:
    told_before = {"occasion", "said"}
    assert {one.name for one in fields(Evidence)} == told_before | WORDS.keys()


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (
            {"harness": "claude", "code": 127, "cause": "not started", "lived": 0.0, "mode": "fresh", "turn_open": True,
             "obstacle": "other", "crashes": 0},
            "claude, exit code 127, cause: not started, lived 0.0 s, a fresh session, a turn was open",
        ),
        ({"code": 0, "cause": "exit", "crashes": 1}, "exit code 0, ended by itself, 1 crash in a row"),
        ({"signal": 9, "oom": "agent"}, "SIGKILL, killed for memory, at the limit of the agent"),
        ({"fill": 0.912, "session_seen": False, "worked": True}, "context 91% full, it had worked"),
        ({"mode": "resume", "sessionless": True, "code": 1}, "a resumed session, as far as it keeps any, exit code 1"),
        ({"of_a_newer_version": "x"}, "of_a_newer_version x"),
    ],
)  # fmt: skip
def test_what_was_known_of_a_failure_is_told_in_words(evidence: dict[str, object], words: str) -> None:
    """A newcomer read `turn_open True, obstacle other, crashes 0`."""
    assert in_words(evidence) == words


async def test_cases_of_which_the_same_is_to_be_told_are_one_line_with_what_differs(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.fails_with = 127
    for number in range(3):
        daemon.declare(f"a{number}")
    daemon.fails_with = None
    daemon.declare("docs", harness="claude")
    daemon.hook("docs", "session-start", source="startup")
    daemon.die("docs")

    page = " ".join((await live.ask("GET", "/v1/clinic", text=True)).text.split())

    assert re.search(
        r"~ 3 Cases of configuration, each 1 time, 1 treatment, open: "
        r"c3 agent a2 [0-9:]+, c2 agent a1 [0-9:]+, c1 agent a0 [0-9:]+ ",
        page,
    )
    assert re.search(r"~ c4 [^:]+: agent docs, 1 time, 1 treatment, open, [0-9:]+ ", page)


async def test_the_crash_that_led_to_a_quarantine_is_counted_with_those_before(live: Live, daemon: FakeDaemon) -> None:
    """A newcomer read "crashes 4" of the fourth run and of the fifth."""
    daemon.declare("docs")
    while daemon.state.agents["docs"].state.name != "quarantined":
        if daemon.state.agents["docs"].run is not None:
            daemon.die("docs")
        daemon.wall_offset += 1
        daemon.happen(Tick())

    counts = [json.loads(one.evidence)["crashes"] for one in daemon.journal.kept_incidents if one.kind == "crash"]

    assert counts == [1, 2, 3, 4, 5]


async def test_since_and_the_clinic_call_the_same_runs_healed(live: Live, ill: FakeDaemon) -> None:
    """A newcomer read "healed 1" of `since` and "0 of 0" of the clinic."""
    (before,) = (await live.ask("GET", "/v1/clinic")).json["treatments"]
    assert (before["healed"], before["open"]) == (0, 1)
    ill.hook("docs", "session-start", source="resume")
    ill.hook("docs", "prompt-submit", text="go on")
    ill.hook("docs", "tool-start", tool="Bash")
    ill.hook("docs", "tool-end", tool="Bash")
    ill.hook("docs", "stop")

    deaths = (await live.ask("GET", "/v1/since?time=8h")).json["deaths"]
    (figure,) = (await live.ask("GET", "/v1/clinic")).json["treatments"]

    assert (figure["healed"], figure["tried"], figure["open"]) == (deaths["healed"], 0, 1)
    assert deaths["healed"] == 1
    assert figure["seconds"] == pytest.approx(deaths["slowest"], abs=0.01)
    heading, row = (await live.ask("GET", "/v1/clinic", text=True)).text.splitlines()[:2]
    assert row[: heading.index("healed") + len("healed")].endswith("  1")
    assert row[heading.index("treatment held") :].startswith("1 not yet known")


async def test_show_says_what_it_leaves_out_and_replay_what_it_compares(live: Live, ill: FakeDaemon) -> None:
    """A newcomer read 5 of 9 incidents as all, and of another treatment than the one that was done."""
    (only,) = ill.journal.kept_incidents
    ill.journal.kept_incidents += [replace(only, opened=only.opened + more) for more in range(1, 5)]
    assert "older incident" not in (await live.ask("GET", "/v1/clinic/c1", text=True)).text
    ill.journal.kept_incidents += [replace(only, opened=only.opened + more) for more in range(5, 9)]

    shown = (await live.ask("GET", "/v1/clinic/c1", text=True)).text
    again = (await live.ask("GET", "/v1/clinic/c1/replay", text=True)).text

    assert "triage\n  4 older incidents are left out here: phoenixctl clinic show c1 --json\n" in shown
    assert "today's rules make the same diagnosis of 9 incidents; treatments that" in again
    assert "untried, it begins with" in " ".join(again.split())


async def test_of_what_no_rule_knows_the_diagnosis_cites_the_end_of_the_terminal(live: Live, ill: FakeDaemon) -> None:
    """A newcomer read "nothing says why" of a run whose terminal said it in its last lines."""
    kept = ill.journal.kept_incidents
    lines = ["starting", "", *(f"line {number}" for number in range(9)), "fatal: unknown key \x1b[31mmodle " + "x" * 99]
    kept[0] = replace(kept[0], body=json.dumps({"pane": lines}))
    assert kept[0].cause is None

    told = (await live.ask("GET", "/v1/clinic/c1", text=True)).text.splitlines()

    below = told[told.index("diagnosis") + 1 : told.index("reading") - 1]
    assert below[0] == "  unknown, crash: no rule knows why. Its terminal ended with"
    assert "nothing says why" not in "\n".join(told[: told.index("reading")])
    assert below[1:5] == [f"    | line {number}" for number in range(5, 9)]
    assert below[5].startswith("    | fatal: unknown key ")
    assert max(map(len, told)) <= 80
    assert "\x1b" not in "".join(told)


async def test_unknown_is_said_once_and_no_name_of_ours_has_its_underscore(live: Live, ill: FakeDaemon) -> None:
    """A CLI calls a failure "unknown" itself; and `given_up` is a name for programs."""
    case = clinic.Case.model_validate((await live.ask("GET", "/v1/clinic/c1")).json["case"])
    unknown = case.model_copy(update={"diagnosis": None, "detail": "unknown", "rule": None})
    shown = pages.case(unknown, Page(0.0, 80))
    assert "unknown: no rule knows" in " ".join(shown.split())
    assert "unknown, unknown" not in shown
    given_up = case.model_copy(update={"diagnosis": None, "detail": "given_up", "rule": None})
    assert "unknown, given up" in pages.case(given_up, Page(0.0, 80))
