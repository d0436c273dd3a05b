"""`handoff status`: where a handoff is, its checks (E75 to E77), each step's time, and those before it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import jsonschema
import pytest

from phoenixd.api.cases import Replayed
from phoenixd.api.pages import clinic
from phoenixd.api.pages.agent_lines import table
from phoenixd.api.pages.history import explain
from phoenixd.api.pages.layout import Page
from phoenixd.api.pages.next_commands import next_commands
from phoenixd.api.schemas import SCHEMAS
from phoenixd.core.events.handoffs import PapersUpdated
from phoenixd.core.events.orders import HandoffRequested, RollbackRequested, StopRequested
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff import following
from phoenixd.core.handoff.state import Handoff, Step, StepTime, Trigger
from phoenixd.core.projection import project
from phoenixd.core.seat import finding
from phoenixd.core.seat.state import Seat
from phoenixd.ports.journal import Entry
from tests.api.conftest import Answer, Live
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon
from tests.core.handing import at
from tests.documents.project.projects import PLANNING, plan_of, tree_of

TIMES = (StepTime(Step.FREEZE, FIXTURE_EPOCH, 0.5), StepTime(Step.DRAIN, FIXTURE_EPOCH, 7.25))

HERE = Page(FIXTURE_EPOCH, 100)


@pytest.fixture
def boss(daemon: FakeDaemon) -> FakeDaemon:
    daemon.declare("boss", kind="orchestrator", cwd="/srv", project="shop")
    daemon.hand_over("boss")
    daemon.trees["/srv", "shop"] = tree_of({PLANNING: plan_of(("1", "completed"), ("2", "pending"))})
    return daemon


def ended(number: int, step: Step = Step.DONE, **changes: Any) -> Handoff:
    began = FIXTURE_EPOCH + number
    made = Handoff(f"h{number}", "boss", "shop", number, "meter", "full", began, step, 1.0, began + 9, times=TIMES)
    return replace(made, **changes)


def past(daemon: FakeDaemon, *handoffs: Handoff) -> None:
    for one in handoffs:
        daemon.journal.append(Entry(1.0, FIXTURE_EPOCH, "boss", 1, "tick", {}, facts=(HandoffEnded(one),)))


async def status(live: Live) -> dict[str, Any]:
    answer = await live.ask("GET", "/v1/handoff?agent=boss")
    assert answer.status == 200, answer.text
    told: dict[str, Any] = answer.json
    return told


async def test_e88_explain_says_why_a_recycle_was_no_handoff_also_once_it_runs_again(
    live: Live, boss: FakeDaemon
) -> None:
    boss.stands_at = FIXTURE_EPOCH + 100.0
    seats = {"boss": replace(boss.fleet().seats["boss"], handoff=ended(1, ended=100.0))}
    boss.state = replace(boss.state, seats=seats)
    boss.die("boss", 100)
    boss.pass_time(60)
    boss.hook("boss", "session-start", source="startup")

    answer = await live.ask("GET", "/v1/agents/boss/explain", text=True)

    assert answer.text.startswith("boss is running"), answer.text
    said = " ".join(answer.text.partition("before that")[2].split())
    assert "it asks to be recycled; no handoff begins before 10 min from now" in said
    assert "it starts fresh with its brief, and without a package" in said
    assert said.count("agent exited") == 2, "what began the next run stands above"


async def test_the_last_ones_are_told_with_each_steps_time_and_as_many_as_are_kept(
    live: Live, boss: FakeDaemon
) -> None:
    back = ended(2, Step.ROLLED_BACK, why_back="asked by operator", degraded=("the planner failed",))
    past(boss, ended(1, acked=True, package="5f" * 32, share=0.25), back)

    first, second = reversed((await status(live))["history"])

    assert (first["id"], first["outcome"], first["predecessor"], first["successor"]) == ("h1", "done", 1, 2)
    assert [(one["step"], one["seconds"]) for one in first["times"]] == [("freeze", 0.5), ("drain", 7.25)]
    wells = {one["name"]: one["well"] for one in first["checks"]}
    assert wells["package written"] is wells["package loaded"] is wells["predecessor down"] is True
    assert wells["room in the successor"] is True
    assert (second["outcome"], second["why_back"]) == ("rolled_back", "asked by operator")
    assert {one["name"]: one["well"] for one in second["checks"]}["predecessor down"] is False

    past(boss, *(ended(number) for number in range(3, 10)))
    assert [one["id"] for one in (await status(live))["history"]] == ["h9", "h8", "h7", "h6", "h5"]


async def test_of_a_handoff_that_was_called_off_early_no_check_is_said_to_have_failed(
    live: Live, boss: FakeDaemon
) -> None:
    boss.declare("chief", kind="orchestrator", cwd="/srv/other", project="docs")
    boss.hook("chief", "session-start")
    boss.hook("chief", "prompt-submit", text="go on")
    boss.happen(HandoffRequested("chief"))
    boss.happen(RollbackRequested("chief"))
    handoff = boss.fleet().seats["chief"].handoff
    assert handoff is not None
    assert Step.UPDATE not in [one.step for one in handoff.times]
    lines = (await live.ask("GET", "/v1/handoff?agent=chief", accept="text/plain")).text.splitlines()
    for name in ("updates finished", "package written", "package loaded"):
        assert f"? {name}: it did not come to that" in lines


async def test_e80_a_rollback_is_told_with_who_ordered_it_and_where_the_work_stands(
    live: Live, boss: FakeDaemon
) -> None:
    """A newcomer read "is at rolled_back", and asked whether the work was lost."""
    boss.hook("boss", "prompt-submit", text="go on")
    boss.happen(RollbackRequested("boss", by="ada"))

    def page() -> Awaitable[Answer]:
        return live.ask("GET", "/v1/handoff?agent=boss&width=400", accept="text/plain")

    handoff = boss.fleet().seats["boss"].handoff
    assert handoff is not None
    said = (await page()).text.splitlines()[1:3]
    assert handoff.step is Step.ROLLED_BACK
    assert said[0].startswith(f"handoff {handoff.id} (operator) was rolled back ")
    assert said[0].endswith(" ago: asked by ada")
    assert said[1] == "generation 1 holds the seat and goes on with the work (working); generation 2 is gone"

    boss.happen(StopRequested("boss"))
    assert "generation 1 holds the seat, and is stopped; generation 2 is gone" in (await page()).text
    seat = boss.fleet().seats["boss"]
    failed = replace(handoff, recalled=False, why_back="no ack within 5 min")
    boss.state = replace(boss.state, seats={"boss": replace(seat, handoff=failed)})
    assert " was rolled back by phoenixd " in (await page()).text
    back = replace(handoff, step=Step.ROLLBACK)
    boss.state = replace(boss.state, seats={"boss": replace(seat, handoff=back)})
    assert " is being rolled back, since " in (await page()).text
    assert "generation 1 holds the seat, and is stopped; generation 2 is to end" in (await page()).text


async def test_people_read_one_line_for_each_that_went_before(live: Live, boss: FakeDaemon) -> None:
    late = (*TIMES, StepTime(Step.UPDATE, FIXTURE_EPOCH, 1.0), StepTime(Step.SNAPSHOT, FIXTURE_EPOCH, 2.0))
    early = ended(2, Step.ROLLED_BACK, why_back="asked\x1b[2J by\noperator")
    past(boss, ended(1), early, replace(early, id="h3", times=late))

    answer = await live.ask("GET", "/v1/handoff?agent=boss&width=400", accept="text/plain")

    assert "h1 (meter), generation 1 to 2, done; freeze 0.5 s, drain 7.2 s" in answer.text
    assert "h2 (meter), generation 2 to 3, rolled back: asked[2J by operator; not: predecessor down" in answer.text
    assert "h3 (meter), generation 2 to 3, rolled back: asked[2J by operator; not: package written, pred" in answer.text
    assert "\x1b" not in answer.text


async def test_what_a_model_took_to_word_the_papers_is_told(live: Live, boss: FakeDaemon) -> None:
    past(boss, ended(1, tokens=12_345), ended(2))

    first, second = reversed((await status(live))["history"])
    answer = await live.ask("GET", "/v1/handoff?agent=boss&width=400", accept="text/plain")

    assert (first["writer_tokens"], second["writer_tokens"]) == (12_345, 0)
    assert answer.text.count("12,345 tokens to word its papers") == 1
    handoff = boss.fleet().seats["boss"].handoff
    assert handoff is not None
    boss.happen(PapersUpdated("boss", handoff.id, tokens=700))
    answer = await live.ask("GET", "/v1/handoff?agent=boss&width=400", accept="text/plain")
    assert "wording its papers took 700 tokens" in answer.text
    assert (await status(live))["handoff"]["writer_tokens"] == 700


@pytest.mark.parametrize("trigger", get_args(Trigger))
async def test_every_trigger_of_a_handoff_is_told(live: Live, boss: FakeDaemon, trigger: Trigger) -> None:
    past(boss, ended(1, trigger=trigger))
    told = await status(live)
    assert told["history"][0]["trigger"] == trigger
    schema = {"$ref": "#/components/schemas/Handoff", "components": {"schemas": SCHEMAS}}
    jsonschema.validate(told, schema)


async def test_e75_e77_the_disk_is_looked_at_whether_the_package_can_be_read_and_the_plans_are_short(
    live: Live, boss: FakeDaemon
) -> None:
    assert {one["name"]: one["well"] for one in (await status(live))["checks"]}["files short enough"] is True

    tree = boss.trees["/srv", "shop"]
    plan = tree.paths.plan(PLANNING)
    boss.trees["/srv", "shop"] = replace(tree, files={**tree.files, plan: b"a line\n" * 3001})
    boss.changed_packages = frozenset({"boss"})
    told = {one["name"]: one for one in (await status(live))["checks"]}

    assert told["files short enough"]["well"] is False
    assert f"{plan} has 3001 lines" in told["files short enough"]["what"]
    assert "phoenixctl phase split" in told["files short enough"]["what"]
    assert (told["package readable"]["well"], told["package readable"]["what"]) == (False, "it was changed")


async def test_e87_the_row_of_a_seat_that_hands_off_tells_the_step(live: Live, boss: FakeDaemon) -> None:
    handoff = boss.fleet().seats["boss"].handoff
    assert handoff is not None
    status = (await live.ask("GET", "/v1/agents", text=True)).text

    (line,) = [line for line in status.splitlines() if line.startswith("~ boss ")]
    assert f"handing off  step {handoff.step.value}: " in line
    assert "1 healing" in status
    assert (await live.ask("GET", "/v1/agents/boss")).json["agents"][0]["step"] == f"handoff: {handoff.step.value}"


def test_nobody_is_told_to_start_a_seat_whose_handoff_goes_on_without_its_holder() -> None:
    """Newcomer's list, 20: a start would change nothing, and the successor has minutes left."""
    story = at("await_ack")
    story.exits("o", None, 9, cause="terminal_lost")
    (row,) = project(story.fleet, story.now)
    for told in (next_commands([row], HERE), explain(row, (), HERE)):
        assert "next: phoenixctl handoff status o" in told
        assert "phoenixctl start" not in told
    (line,) = table([row], HERE)
    assert line.startswith("~ o ")
    assert "step await_ack: " in line


async def test_the_alert_of_a_handoff_says_the_word_once(live: Live, boss: FakeDaemon) -> None:
    seat = boss.fleet().seats["boss"]
    assert seat.handoff is not None
    over = replace(seat.handoff, step=Step.ROLLED_BACK, why_back="no ack within 5 min")
    (alert,) = following._alerts(boss.state.agents["boss"], over)

    assert alert.text.startswith(f"{over.id} was rolled back: no ack within 5 min. ")


async def test_f_ho_13_the_page_of_a_handoff_without_a_project_says_what_begins_one(
    live: Live, boss: FakeDaemon
) -> None:
    seat = boss.fleet().seats["boss"]
    assert seat.handoff is not None
    anew = "phoenixctl phase init --standard --project shop --workspace /srv/shop"
    over = replace(seat.handoff, step=Step.ROLLED_BACK, why_back="it is gone", remedy=anew)
    boss.state = replace(boss.state, seats={"boss": replace(seat, handoff=over)})

    page = (await live.ask("GET", "/v1/handoff?agent=boss", text=True)).text

    assert f"Bring that back, or begin it anew:\n  {anew}\n" in page


async def test_e80_what_a_successor_asks_leads_to_its_own_terminal_and_is_waited_for_by_nobody(
    live: Live, boss: FakeDaemon
) -> None:
    boss.report("boss")
    boss.hook("boss", "prompt-submit", text="Go on.")
    boss.hook("boss", "stop")
    boss.wait("boss-g2", text="phoenixctl handoff ack")

    page = (await live.ask("GET", "/v1/agents", text=True)).text
    assert "phoenixctl attach boss-g2" in page, page
    row = (await live.ask("GET", "/v1/agents")).json["agents"][0]
    assert (row["name"], row["activity"], row["group"]) == ("boss", "waiting", "needs_you")
    (item,) = (await live.ask("GET", "/v1/inbox")).json["items"]
    found = await live.ask("GET", "/v1/inbox/boss")
    assert (found.status, found.json.get("item", {}).get("id")) == (200, item["id"]), found.text
    idle = await live.ask("GET", "/v1/agents/boss/wait?for=idle&timeout=0.01s")
    assert (idle.exit, idle.json["needs_person"]) == (6, True)
    assert "phoenixctl attach boss-g2" in idle.json["message"]
    assert (await live.ask("GET", "/v1/agents/boss/wait?for=waiting&timeout=0.01s")).exit == 0


@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/handoff"])
async def test_e15_a_seats_name_is_its_holder_wherever_a_session_is_named(
    live: Live, boss: FakeDaemon, path: str
) -> None:
    """A script that names the session stopped in silence after the first handoff."""
    succeeded(boss)
    assert list(boss.fleet().agents) == ["boss-g2"]

    for name in ("boss", "boss-g2"):
        told = await live.ask("GET", f"{path}?session_id={name}")
        assert (told.status, told.json["name"]) == (200, "boss"), told.text
    assert (await live.ask("GET", f"{path}?session_id=boss-g1")).status == 404
    assert (await live.ask("GET", "/v1/agents/boss/breaker")).json["name"] == "boss"


async def test_e15_what_a_page_names_is_taken_by_every_verb_that_takes_a_name(live: Live, boss: FakeDaemon) -> None:
    """Pages name a generation where it matters, and the name that stays is another word."""
    succeeded(boss)
    boss.hook("boss-g2", "session-start", source="startup")

    for path in ("/v1/agents", "/v1/log", "/v1/inbox", "/v1/events", "/v1/breakers"):
        told = await live.ask("GET", f"{path}?select=boss-g2", text=True)
        assert told.exit in (0, 3), (path, told.text)
    listed = await live.ask("GET", "/v1/agents?select=boss-g2")
    assert [one["name"] for one in listed.json["agents"]] == ["boss"]
    rows = (await live.ask("GET", "/v1/events?select=boss-g2")).json["events"]
    assert {one["agent"] for one in rows} == {"boss-g2"}, "and its own story is no other generation's"
    done = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "boss-g2", "dry_run": True})
    assert [one["name"] for one in done.json["agents"]] == ["boss"]


async def test_e80_a_generation_that_is_gone_is_said_to_be_and_the_journal_tells_of_it(
    live: Live, boss: FakeDaemon
) -> None:
    boss.hook("boss-g2", "session-start", source="startup")
    boss.happen(RollbackRequested("boss"))
    assert list(boss.fleet().agents) == ["boss"]

    rows = (await live.ask("GET", "/v1/events?select=boss-g2")).json["events"]
    assert {one["agent"] for one in rows} == {"boss-g2"}
    for path in ("agents/boss-g2", "agents/boss-g2/explain", "agents/boss-g2/pane", "log?select=boss-g2"):
        told = await live.ask("GET", f"/v1/{path}")
        assert told.exit == 4
        assert told.json["detail"].startswith("boss-g2 is gone"), told.text
        assert told.json["remedy"] == "phoenixctl events boss-g2 --all"
    assert (await live.ask("GET", "/v1/agents/boss-g3")).json["detail"].startswith("there is no agent boss-g3")


async def test_e80_every_verb_says_the_same_of_a_generation_that_is_gone(live: Live, boss: FakeDaemon) -> None:
    boss.hook("boss-g2", "session-start", source="startup")
    boss.happen(RollbackRequested("boss"))
    asked: list[tuple[str, str, dict[str, object]]] = [
        ("GET", "inbox/boss-g2", {}),
        ("POST", "inbox/boss-g2/answer", {"verdict": "allow"}),
        ("GET", "loops?agent=boss-g2", {}),
        ("GET", "tokens?agent=boss-g2", {}),
        ("POST", "undo", {"select": "boss-g2"}),
        ("POST", "tasks", {"prompt": "look", "agent": "boss-g2"}),
    ]
    for method, path, body in asked:
        told = await live.ask(method, f"/v1/{path}", body) if body else await live.ask(method, f"/v1/{path}")
        assert told.exit == 4, (path, told.text)
        assert told.json["detail"].startswith("boss-g2 is gone"), (path, told.text)
        assert told.json["remedy"] == "phoenixctl events boss-g2 --all"


async def test_e80_the_events_of_a_generation_that_is_gone_lead_to_no_explanation(live: Live, boss: FakeDaemon) -> None:
    boss.hook("boss-g2", "session-start", source="startup")
    assert "phoenixctl explain boss-g2" in (await live.ask("GET", "/v1/events?agent=boss-g2", text=True)).text
    boss.happen(RollbackRequested("boss"))
    told = (await live.ask("GET", "/v1/events?agent=boss-g2", text=True)).text
    assert "boss-g2" in told
    assert "phoenixctl explain" not in told


def succeeded(daemon: FakeDaemon) -> None:
    """The handoff is done: the second generation holds the seat alone."""
    fleet = daemon.fleet()
    holder, seat = fleet.agents["boss-g2"], replace(fleet.seats["boss"], generation=2, handoff=None)
    daemon.state = replace(fleet, agents={"boss-g2": holder}, seats={"boss": seat})


async def test_e29_who_is_meant_is_found_by_the_project_alone_and_a_slip_is_told(live: Live, boss: FakeDaemon) -> None:
    told = await live.ask("POST", "/v1/handoff", {"project": "shop"})
    assert "whose handoff is meant" not in told.text
    assert "boss" in told.text
    assert (await live.ask("POST", "/v1/handoff", {})).status == 400
    slip = await live.ask("POST", "/v1/handoff/rollback", {"agent": "bos"})
    assert (slip.status, slip.json["remedy"]) == (404, "phoenixctl status boss")
    assert "did you mean boss" in slip.text


@pytest.mark.parametrize("given", [{"project": "shed"}, {"project": "shed", "agent": "boss"}])
async def test_e32_a_project_that_nobody_leads_is_refused_by_name(
    live: Live, boss: FakeDaemon, given: dict[str, object]
) -> None:
    before = boss.fleet().seats["boss"].handoff
    told = await live.ask("POST", "/v1/handoff", given)

    assert (told.status, told.exit) == (404, 4), told.text
    assert "'shed'" in told.json["detail"]
    assert boss.fleet().seats["boss"].handoff is before


async def test_e32_a_session_that_leads_another_project_is_refused(live: Live, boss: FakeDaemon) -> None:
    session = boss.state.agents["boss"].session
    assert session is not None
    named = {"session_id": session.session_id, "project": "shed"}
    told = await live.ask("POST", "/v1/handoff", named)

    assert (told.status, told.exit) == (404, 4), told.text
    assert "it leads shop" in told.json["detail"]


@pytest.mark.parametrize("verb", ["", "/rollback", "/ack"])
async def test_e29_an_order_refuses_a_generation_that_never_was_or_is_gone(
    live: Live, boss: FakeDaemon, verb: str
) -> None:
    succeeded(boss)
    for name, said in (("boss-g7", "there is no agent boss-g7"), ("boss-g1", "boss-g1 is gone, a generation")):
        told = await live.ask(
            "POST", f"/v1/handoff{verb}", {"agent": name, "said": "{}"} if verb == "/ack" else {"agent": name}
        )
        assert (told.status, told.exit) == (404, 4), told.text
        assert told.json["detail"].startswith(said)
    assert boss.fleet().seats["boss"].handoff is None


async def test_e77_a_look_shows_the_seat_of_a_generation_that_is_gone_and_none_that_never_was(
    live: Live, boss: FakeDaemon
) -> None:
    succeeded(boss)
    shown = await live.ask("GET", "/v1/handoff?agent=boss-g1")
    assert (shown.status, shown.json["name"]) == (200, "boss")
    assert (await live.ask("GET", "/v1/handoff?agent=boss-g7")).json["detail"].startswith("there is no agent boss-g7")


async def test_e47_an_ack_where_no_successor_is_there_is_refused_with_that(live: Live, boss: FakeDaemon) -> None:
    boss.happen(RollbackRequested("boss"))
    boss.state = replace(boss.fleet(), agents={"boss": boss.fleet().agents["boss"]})
    told = await live.ask("POST", "/v1/handoff/ack", {"agent": "boss", "said": "{}"})
    assert (told.status, told.exit) == (409, 6), told.text
    assert "nothing waits for an acknowledgement" in told.text


async def test_events_name_a_seats_holder_as_people_do_and_earlier_generations_by_their_number(
    live: Live, boss: FakeDaemon
) -> None:
    """The journal has the names of processes, and so has JSON."""
    seats = boss.fleet().seats
    boss.state = replace(boss.state, seats={**seats, "boss": replace(seats["boss"], generation=2)})

    lines = (await live.ask("GET", "/v1/events", text=True)).text.splitlines()

    (first,) = [line for line in lines if "starting incarnation 1, fresh" in line and "boss" in line.split()[1]][:1]
    (second,) = [line for line in lines if "declared as generation 2" in line]
    assert (first.split()[1], second.split()[1]) == ("boss-g1", "boss")
    rows = (await live.ask("GET", "/v1/events")).json["events"]
    assert {one["agent"] for one in rows if one["agent"] != "docs"} >= {"boss", "boss-g2"}


def test_a_name_of_the_journal_is_that_under_which_people_know_the_agent() -> None:
    fleet = Fleet(seats={"boss": Seat("boss", "shop", generation=3)})
    known = {name: finding.known_as(fleet, name) for name in ("boss", "boss-g2", "boss-g3", "docs", "docs-g2")}
    assert known == {"boss": "boss-g1", "boss-g2": "boss-g2", "boss-g3": "boss", "docs": "docs", "docs-g2": "docs-g2"}


def test_a_case_names_its_agents_as_people_know_them() -> None:
    fleet = Fleet(seats={"boss": Seat("boss", "shop", generation=2)})
    found = Replayed("boss-g2", 7, "end", None, "none", None, "none", "restart")
    told = clinic.replay("c1", [found], Page(0.0), partial(finding.known_as, fleet))
    assert " boss run 7, end: " in told


@pytest.mark.parametrize(
    ("method", "path", "command"),
    [
        ("POST", "", "handoff start NAME"),
        ("GET", "", "handoff status NAME"),
        ("POST", "/rollback", "handoff rollback NAME"),
    ],
)
async def test_an_order_that_names_no_seat_is_answered_with_that_order(
    live: Live, daemon: FakeDaemon, method: str, path: str, command: str
) -> None:
    """`handoff start` advised `handoff status NAME`, which begins nothing."""
    refused = await live.ask(method, f"/v1/handoff{path}", {} if method == "POST" else None)

    assert (refused.status, refused.exit) == (400, 2), refused.text
    assert refused.json["remedy"] == f"phoenixctl {command}"
