"""Rules of a few lines that no story brings to all of their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, cast

import pytest

from phoenixd.core import alert_kinds, armed, cleanup, durations, glance, hooks, unproven, weights, workplaces
from phoenixd.core import waiting as waits
from phoenixd.core.actions import Disarm, PlantCodes, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Doubted, Lease, Waiting
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import BackingOff, Desired, Outage, Quarantined, Running, Stopped
from phoenixd.core.behind import plan
from phoenixd.core.breaker import Signals
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.fleet import Step
from phoenixd.core.handoff import following, triggers
from phoenixd.core.handoff.move import Move
from phoenixd.core.iteration import Passing, Turn
from phoenixd.core.limits import groups, outage
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import codes, restoring
from phoenixd.core.resonance.state import Resonance, Restoration
from phoenixd.core.resonance.state import Step as RestoringStep
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.seat import finding
from phoenixd.core.sequence import rules
from phoenixd.core.signals import at_end
from phoenixd.core.tasks import queue, steps
from phoenixd.core.tasks.state import Cut, JobRules, Task, Tasks
from phoenixd.core.treatment import effects
from phoenixd.core.treatment.case import Case
from phoenixd.core.turn import calls
from phoenixd.core.turn.liveness import settled
from phoenixd.core.typing import answering as answers
from phoenixd.core.typing.answering import HeldLetGo
from phoenixd.documents.hooks import hook_of
from tests.core.handing import HandoffStory
from tests.core.story import EPOCH, Story, claude
from tests.core.workers import Works

NOW = Moment(100.0, EPOCH, 0.5)
FIRST, SECOND, THIRD = (Waiting("permission", f"{n}", EPOCH, hold=n, since=float(10 * n)) for n in (1, 2, 3))
ASKS = Activity(True, 50.0, EPOCH, waiting=FIRST, also_asked=(SECOND, THIRD))


def test_a_held_question_that_is_settled_makes_way_for_those_that_it_covered() -> None:
    after = settled(ASKS, 1, NOW)
    assert (after.waiting, after.also_asked) == (replace(SECOND, since=FIRST.since), (THIRD,))
    assert settled(ASKS, 3, NOW) == replace(ASKS, also_asked=(SECOND,)), "a covered one is settled where it stands"
    assert settled(ASKS, 9, NOW) == ASKS
    alone = settled(replace(ASKS, also_asked=()), 1, NOW)
    assert (alone.waiting, alone.turn_open) == (None, True)
    nobody = replace(ASKS, waiting=None, also_asked=())
    assert settled(nobody, 1, NOW) == nobody


@pytest.mark.parametrize(
    ("before", "end", "asks", "after"),
    [
        (Signals(), {"limited": True}, True, Signals(excuse="it met a limit", error="exit 1")),
        (Signals(excuse="refused"), {"limited": True}, True, Signals(excuse="refused", error="exit 1")),
        (Signals(), {}, True, Signals(excuse="it waited for a person (permission)", error="exit 1")),
        (Signals(), {}, False, Signals(error="exit 1")),
        (Signals(error="its own"), {}, False, Signals(error="its own")),
        (Signals(), {"code": 0}, False, Signals()),
    ],
)
def test_what_an_end_says_of_an_iteration_adds_to_what_was_said_and_replaces_nothing(
    before: Signals, end: dict[str, Any], asks: bool, after: Signals
) -> None:
    ended = LastExit(
        **{"incarnation": 1, "code": 1, "signal": None, "cause": "exit", "lived": 60.0, "at_wall": EPOCH, **end}
    )
    activity = ASKS if asks else replace(ASKS, waiting=None)

    assert at_end(before, claude(), activity, ended) == after
    assert at_end(before, claude(), None, ended).error == after.error


def test_a_task_waits_for_those_that_it_follows_and_for_none_that_is_forgotten() -> None:
    jobs = JobRules(at_once=1)
    done, failed = Task("t1", "a-t1", state="done"), Task("t2", "a-t2", state="failed", why="it crashed")
    waits = Task("t3", "a-t3", workspace="/srv")

    def held(*after: str, busy: tuple[Task, ...] = (), **changes: Any) -> queue.Held | None:
        tasks = Tasks(open=(*busy, waits), ended=(done, failed))
        return queue.held(replace(waits, after=after, **changes), queue.others(tasks, jobs), NOW)

    assert held("t1") is None
    assert held("gone", "t1") is None
    found = held("gone", "t2")
    assert found is not None
    assert found.hopeless
    found = held("t3")
    assert found is not None
    assert not found.hopeless
    assert held(due=NOW.at) is None
    assert held(due=NOW.at + 0.1) is not None
    assert held(busy=(Task("t4", "a-t4", state="running"),)) is not None


@pytest.mark.parametrize(("kind", "state"), [("timeout", "failed"), ("canceled", "canceled")])
def test_a_task_whose_worker_is_gone_ends_by_what_cut_it_off(kind: Any, state: str) -> None:
    works = Works()
    works.ask()
    task = replace(works.task("t1"), cut=Cut(kind, "45 min are over"))
    agents = {name: agent for name, agent in works.fleet.agents.items() if name != task.agent}

    found = steps.cut_off(Step(replace(works.fleet, agents=agents)), task, works.now)

    ended = found.fleet.tasks.find("t1")
    assert ended is not None
    assert (ended.state, ended.why) == (state, "45 min are over")


def test_c42_giving_up_starts_no_more_and_calls_a_person_where_a_start_was_due() -> None:
    case = cast(Case, SimpleNamespace(id="c1", rule="it crashed"))
    runs = Story(claude()).works().agent

    given_up = effects.give_up(runs, case, "nothing helped", NOW).agent
    assert given_up is not None
    assert (given_up.desired, given_up.state) == (Desired.STOPPED, runs.state)
    due = replace(runs, state=BackingOff(5.0, *(getattr(runs.run, name) for name in ("mode", "prompt"))))
    decision = effects.give_up(due, case, "nothing helped", NOW)
    assert decision.agent is not None
    assert isinstance(decision.agent.state, Quarantined)
    assert [item.kind for item in decision.agent.items] == ["quarantined"]
    assert len(decision.actions) == 1


def test_a_person_who_is_asked_about_a_case_reads_what_was_tried_with_this_agent() -> None:
    done = [SimpleNamespace(agent=name, treatment=what) for name, what in (
        ("a", "resume"), ("b", "park"), ("a", "fresh"), ("a", "resume"),
    )]  # fmt: skip
    case = cast(Case, SimpleNamespace(id="c1", rule="it crashed", incidents=4, treated=done))
    agent = Story(claude()).agent

    asked = effects.question(agent, case)
    assert asked == "it crashed, noticed 4 times in Case c1; tried so far: resume, fresh"
    other = effects.question(replace(agent, spec=claude("c")), case)
    assert other == "it crashed, noticed 4 times in Case c1"


@pytest.mark.parametrize(
    ("kind", "hung", "in_outage", "harness", "told"),
    [
        ("hung", 0, 0, "claude", False), ("hung", 1, 0, "claude", False), ("hung", 2, 0, "claude", True),
        ("hung", 2, 0, "codex", False), ("hung", 0, 1, "claude", True), ("hung", 0, 1, "codex", False),
        ("outage", 1, 0, "claude", False), ("crashes", 2, 1, "claude", False),
    ],
)  # fmt: skip
def test_what_one_cause_does_to_many_is_told_once(
    kind: str, hung: int, in_outage: int, harness: str, told: bool
) -> None:
    fleet = Story(claude("me", harness=harness), *(claude(f"b{number}") for number in range(3))).fleet
    alert = StandingAlert(7, "hung", "it hangs", EPOCH)
    agents = dict(fleet.agents)
    for number in range(hung):
        agents[f"b{number}"] = replace(agents[f"b{number}"], alerts=(alert,))
    for number in range(in_outage):
        agents[f"b{number}"] = replace(agents[f"b{number}"], outage=Outage("harness claude", EPOCH))
    fleet = replace(fleet, agents={**agents, "me": replace(agents["me"], alerts=(alert,))})

    assert outage.is_told(fleet.roster, fleet.agents["me"], kind) is told


def test_a_directory_counts_for_work_that_is_measured_and_is_noted_once() -> None:
    agent = Story(claude()).works().agent
    agent = replace(
        agent, spec=replace(agent.spec, breaker=replace(agent.spec.breaker, per_turn=True)), turns=(Turn(1, False),)
    )

    def places(of: Agent, seq: int, cwd: str | None = "/srv/side", *, heard: int = 5) -> tuple[str, ...]:
        assert isinstance(of.state, Running)
        of = replace(of, state=replace(of.state, run=replace(of.state.run, hook_seq=heard)))
        event = replace(hook_of("a", 1, "tool-end", tool_name="Bash", cwd=cwd), seq=seq)
        after = workplaces.hear(of, event, Seen(of, Decision(of)), NOW).agent
        assert after is not None
        return after.workplaces

    assert places(agent, 6) == ("/srv/side",)
    assert places(agent, 0) == ("/srv/side",), "an older shim counts no hooks"
    assert places(agent, 5) == (), "heard before"
    assert places(replace(agent, turns=()), 6) == ()
    assert places(replace(agent, spec=claude()), 6) == ()
    for cwd in (None, "side", agent.spec.cwd, "/srv/\0"):
        assert places(agent, 6, cwd) == ()
    assert places(replace(agent, workplaces=("/srv/side",)), 6) == ("/srv/side",)
    many = tuple(f"/srv/{number}" for number in range(workplaces.MOST_WORKPLACES))
    assert places(replace(agent, workplaces=many), 6) == (*many[1:], "/srv/side")


def test_what_a_member_waited_for_is_over_once_the_turn_is_its_own_or_the_next_ones() -> None:
    waited = Passing(
        1, None, Signals(), "", turn=2, awaits="file", since=4, due=500.0, asked=3, heard=Signals(denials=1)
    )

    member = rules._to_member(waited)
    assert (member.awaits, member.turn, member.since, member.due, member.heard) == ("member", 2, -1, None, waited.heard)
    following = rules._to_next(waited)
    assert (following.awaits, following.turn, following.since, following.due) == ("nothing", 3, -1, None)
    assert following.heard == Signals()


def test_a_run_is_calm_once_it_has_lived_as_long_as_an_outage_lets_nobody_live_without_what_it_waited() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    rests = story.agent
    assert isinstance(rests.state, Running)
    waited = replace(rests, state=replace(rests.state, activity=replace(rests.state.activity, waited=50.0)))

    assert groups.calm(rests) == rests.state.run.began + groups.WINDOW
    assert groups.calm(waited) == rests.state.run.began + groups.WINDOW + 50.0
    assert groups.calm(Story(claude()).works().agent) is None


@pytest.mark.parametrize(
    ("tells", "most"),
    [
        (lambda names: unproven._named(names), unproven.NAMED),
        (lambda names: plan._named(list(names)), plan.NAMED),
        (lambda names: cleanup._counted(names), cleanup.TOLD),
    ],
    ids=("unproven", "behind", "cleanup"),
)
def test_a_sentence_names_the_first_few_and_counts_the_others(tells: Callable[[Any], str], most: int) -> None:
    def names(count: int) -> tuple[str, ...]:
        return tuple(f"p{number:03}" for number in range(count))

    for count in (2, most):
        assert ", ".join(names(count)) in tells(names(count))
        assert " more" not in tells(names(count))
    assert f"p{most - 1:03} and 2 more" in tells(names(most + 2))
    assert f"p{most - 1:03} and 1 more" in tells(names(most + 1))
    assert f"p{most:03}" not in tells(names(most + 1))


def test_a_kind_of_alert_that_nobody_knows_has_a_row_of_its_own_and_all_outages_have_one() -> None:
    assert alert_kinds.of("no such kind").name == "no such kind"
    assert alert_kinds.of("outage: account team") is alert_kinds.KINDS[alert_kinds.SHARED_OUTAGE]
    for name, kind in alert_kinds.KINDS.items():
        assert alert_kinds.of(name) is kind


def test_a_call_that_is_denied_without_its_number_is_the_newest_of_its_tool() -> None:
    first, second = (Lease(name, 50.0, 40.0, tool="Bash") for name in ("t1", "t2"))
    other, sub = Lease("t3", 50.0, 40.0, tool="Read"), Lease("t4", 50.0, 40.0, tool="Bash", sub=True)
    task = Lease("t5", 50.0, 40.0, tool="Task", is_subagent=True)
    every = (first, second, other, sub, task)

    def left(denied: dict[str, Any], leases: tuple[Lease, ...] = every) -> tuple[Lease, ...]:
        return calls.end(leases, cast(Any, hook_of("a", 1, "permission-denied", **denied)))

    assert left({"tool": "Bash"}) == (first, other, sub, task)
    assert left({"tool": "Bash", "tool_use_id": "t1"}) == (second, other, sub, task)
    assert left({"tool": "Bash", "sub": True}) == (first, second, other, task)
    assert left({"tool": "Write"}) == every
    assert left({"tool": "Task"}) == (first, second, other), "with the last call of a subagent go its own calls"
    assert left({"tool": "Read"}, (first, other)) == (first,)


def test_a_restoration_of_one_that_is_down_is_never_overdue() -> None:
    going = Restoration(RestoringStep.SEED, "two checks were missed", EPOCH, 90.0, 1, deadline=150.0)
    agent = replace(Story(claude()).works().agent, resonance=Resonance(state="lost", restoration=going))

    assert restoring.deadline(agent) == 150.0
    for state in (Stopped(), Quarantined("crashes")):
        assert restoring.deadline(replace(agent, state=state)) is None
    over = replace(going, step=RestoringStep.RESUME)
    assert restoring.deadline(replace(agent, resonance=Resonance(restoration=over))) is None
    assert restoring.deadline(replace(agent, resonance=None)) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0), (" 1h30m ", 5400.0), ("500ms", 0.5), ("1w", 604_800.0), ("2d", 172_800.0), ("1m1m", 120.0),
        ("5", None), ("1.5", None), ("soon", None), ("", None), ("1h 30m", None), ("5x", None), ("-5m", None),
    ],
)  # fmt: skip
def test_a_length_that_a_person_types_has_its_units(text: str, seconds: float | None) -> None:
    assert durations.is_duration(text.strip()) is (seconds is not None)
    if seconds is not None:
        assert durations.parse_length(text) == seconds
        return
    with pytest.raises(ValueError, match="no unit" if text[:1].isdigit() and text[-1:].isdigit() else "no duration"):
        durations.parse_length(text)


def test_what_a_status_says_goes_by_its_name() -> None:
    of = HTTPStatus
    assert {of.REQUEST_TIMEOUT, of.CONFLICT, of.TOO_EARLY, of.TOO_MANY_REQUESTS} == hooks.PASSING
    beside_http = {499, 520, 521, 522, 523, 524, 529}
    assert beside_http | {
        of.REQUEST_TIMEOUT, of.TOO_EARLY, of.INTERNAL_SERVER_ERROR, of.BAD_GATEWAY, of.SERVICE_UNAVAILABLE,
        of.GATEWAY_TIMEOUT,
    } == hooks.OF_A_SERVICE  # fmt: skip
    assert {
        of.METHOD_NOT_ALLOWED, of.NOT_ACCEPTABLE, of.PROXY_AUTHENTICATION_REQUIRED, of.GONE, of.LENGTH_REQUIRED,
        of.UNSUPPORTED_MEDIA_TYPE, of.UPGRADE_REQUIRED, of.PRECONDITION_REQUIRED, of.REQUEST_HEADER_FIELDS_TOO_LARGE,
        of.UNAVAILABLE_FOR_LEGAL_REASONS, of.NOT_IMPLEMENTED, of.HTTP_VERSION_NOT_SUPPORTED,
        of.NETWORK_AUTHENTICATION_REQUIRED,
    } == hooks.WRONG_BY_STATUS  # fmt: skip


def test_a_question_covers_the_one_before_and_brings_back_what_is_not_sure_to_be_over() -> None:
    item = InboxItem(7, "a", 1, "permission", "1", "h", EPOCH, "answer")
    doubted = Doubted(FIRST, item, 90.0, 95.0, also_asked=(SECOND,))
    nobody = replace(ASKS, waiting=None, also_asked=(), doubted=doubted)

    again = replace(nobody, waiting=FIRST, also_asked=(FIRST, SECOND), doubted=None)
    assert waits.with_question(nobody, THIRD) == again
    assert waits.with_question(nobody, None) == nobody
    assert waits.with_question(ASKS, THIRD).also_asked == (FIRST, SECOND, THIRD)
    limit = replace(ASKS, waiting=replace(FIRST, kind="limit"))
    assert waits.with_question(limit, THIRD) == limit, "a limit is no question that comes up again"
    many = replace(ASKS, also_asked=(SECOND,) * waits.MAX_QUESTIONS)
    assert len(waits.with_question(many, THIRD).also_asked) == waits.MAX_QUESTIONS


def test_plans_were_told_of_all_that_had_ended_before_that_moment_and_of_no_other_project() -> None:
    def ended(name: str, at: float, project: str = "shop", workspace: str = "/srv") -> Task:
        return Task(name, f"a-{name}", state="done", project=project, workspace=workspace, since_wall=at)

    before, then, other, elsewhere, older = (
        ended("t1", 99.9), ended("t2", 100.0), ended("t3", 50.0, "till"), ended("t4", 50.0, workspace="/opt"),
        ended("t5", 50.0, workspace=""),
    )  # fmt: skip
    tasks = Tasks(untold=(before, then, other, elsewhere, older))

    assert tasks.told_of("shop", "/srv/", 100.0).untold == (then, other, elsewhere)
    assert tasks.told_of("shop", "/srv", 40.0) is tasks


def test_what_a_shim_holds_is_met_with_by_a_run_that_lives() -> None:
    agent = Story(claude()).works().agent
    adopted = RunAdopted("a", 1, 100, 1000, link=armed.LINK, armed=(("c9", 1),))

    lives = armed.meet(agent, adopted, Seen(agent, Decision(agent)), NOW)
    assert lives.actions == (Disarm("a", 1, "c9"),)
    assert lives.agent is not None
    assert lives.agent.run is not None
    assert lives.agent.run.link == armed.LINK
    silent = replace(adopted, link=0, armed=None)
    known = armed.meet(lives.agent, silent, Seen(lives.agent, Decision(lives.agent)), NOW).agent
    assert known == lives.agent, "an older shim does not say what its link speaks"
    down = replace(agent, state=Stopped())
    assert armed.meet(down, adopted, Seen(down, Decision(down)), NOW) == Decision(down)


def test_codes_are_ordered_with_a_spawn_and_with_nothing_else() -> None:
    agent = Story(claude(resonance=ResonanceRules(enabled="on"))).works().agent
    assert agent.run is not None
    plain = Decision(agent, (Disarm("a", 1, "c9"),))
    spawn = Spawn("a", 1, agent.run.run_id, agent.run.mode, agent.run.session_id, agent.run.prompt)

    assert codes.begin(plain, NOW) is plain
    assert codes.begin(replace(plain, agent=None), NOW).actions == plain.actions
    begun = codes.begin(replace(plain, actions=(spawn,)), NOW)
    assert [type(action) for action in begun.actions] == [PlantCodes, Spawn]
    other = Decision(Story(claude()).works().agent, (spawn,))
    assert codes.begin(other, NOW) is other, "it bears no marker"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, None), ({"pid": None, "state": "stopped"}, "stopped"), ({"pid": None, "state": "starting"}, "starting"),
        ({"pid": None, "state": "running"}, None), ({"pid": None, "group": "healing", "state": "stopped"}, None),
        ({"pid": None, "group": "unknown", "state": "starting"}, None),
        ({"pid": None, "state": "parked", "parked_until": EPOCH}, "parked by a limit"),
        ({"pid": None, "state": "quarantined"}, "quarantined"),
    ],
)  # fmt: skip
def test_one_without_a_process_is_what_its_group_does_not_say(changes: dict[str, Any], word: str | None) -> None:
    one = glance.Glance("a", "healthy", "running", "running", None, 100, EPOCH, None, None)
    assert glance._down(one._replace(**changes)) == word


def test_what_happens_to_a_handoff_whose_holder_is_gone_is_told_of_nobody() -> None:
    story = HandoffStory().drained()
    gone = replace(story.fleet, agents={name: one for name, one in story.fleet.agents.items() if name != "o"})
    after = following.taken(Step(gone), Move(story.handoff, "its holder is gone"), story.now)
    (told,) = after.decisions
    assert (told.agent, told.weight) == (None, "story")
    assert "its holder is gone" in told.reason


def test_an_alert_of_an_old_journal_that_an_older_version_raised_stays_as_it_is() -> None:
    older = StandingAlert(3, plan.BEHIND, "it is old", EPOCH, gist="old")
    again = plan.renewed(older, {}, Tasks())
    assert again is not None
    assert (again.kind, again.text, again.watched, again.gist) == (plan.BEHIND, "it is old", True, "old")


def test_of_a_seat_that_is_not_there_nobody_is_the_holder() -> None:
    story = HandoffStory().works()
    assert finding.holder(story.fleet, "o") is story.agent
    with pytest.raises(KeyError):
        finding.holder(story.fleet, "nobody")


def test_where_no_handoff_was_before_a_full_context_waits_for_no_spacing() -> None:
    holder = HandoffStory().works().agent
    assert triggers._is_urgent("meter", holder, None)
    assert triggers._is_urgent("full", holder, None)


def test_what_was_seen_and_not_asked_for_is_a_fault_of_ours() -> None:
    answering, _, _ = answers.begin(NOW, allow=True, shows=True, was_seen=False)
    with pytest.raises(ValueError, match="HeldLetGo was not asked for"):
        answers.hear(answering, HeldLetGo(), NOW)


def test_a_decision_about_no_agent_is_of_the_story_unless_it_says_otherwise() -> None:
    assert weights.weighed(None, Decision(None, reason="x")).weight == "story"
    assert weights.weighed(None, Decision(None, reason="x", weight="detail")).weight == "detail"
