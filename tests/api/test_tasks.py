"""Who may hand out tasks, for which project and by whose login (E58); what is refused, and with which exit code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import Task
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.documents.project.projects import BUILDING, PLANNING, plan_of, tree_of

TOKENS = {"boss's": "shop", "worker's": "shop-t1", "plain's": "docs"}


@pytest.fixture
def fleet(daemon: FakeDaemon) -> FakeDaemon:
    """Two orchestrators, a hand of one of them, and an agent that leads nothing."""
    daemon.declare("shop", kind=Kind.ORCHESTRATOR, cwd="/srv/shop", argv=("agent", "{prompt}"))
    daemon.declare("bank", kind=Kind.ORCHESTRATOR, cwd="/srv/bank", project="money", argv=("agent", "{prompt}"))
    daemon.declare("hand", project="shop", cwd="/srv/hand", argv=("hand", "{prompt}"), start=False)
    daemon.declare("docs")
    daemon.tokens |= TOKENS
    return daemon


def newest(daemon: FakeDaemon) -> Task:
    return max((*daemon.state.tasks.open, *daemon.state.tasks.ended), key=lambda one: int(one.id[1:]))


async def run(live: Live, who: str = "", **given: Any) -> Any:
    token = {"authorization": f"Bearer {who}"} if who else {}
    return await live.ask("POST", "/v1/tasks", {"prompt": "Do it.", **given}, **token)


async def test_e58_an_orchestrator_hands_out_its_own_tasks(live: Live, fleet: FakeDaemon) -> None:
    answer = await run(live, "boss's", task="4")

    assert (answer.status, answer.json["task"]["id"]) == (201, "t1")
    task = newest(fleet)
    assert (task.asked_by, task.project, task.plan, task.agent) == ("shop", "shop", "4", "shop-t1")
    assert task.spec is not None
    assert (task.spec.cwd, task.spec.env_of, task.spec.task) == ("/srv/shop", "shop", "t1")


@pytest.mark.parametrize(("tokens", "status", "code"), [(179_999, 201, 0), (180_000, 409, 6)])
async def test_e17_usage_is_read_before_a_task_is_dispatched_and_a_full_context_is_handed_over_instead(
    live: Live, fleet: FakeDaemon, tokens: int, status: int, code: int
) -> None:
    """The newest request is known before the task, though no hook has told of it."""
    agent = fleet.state.agents["shop"]
    session = agent.session.session_id if agent.session is not None else ""
    fleet.happen(UsageSeen("shop", agent.incarnation, None, 200_000, "status line", None, session, "opus"))
    fleet.happen(UsageSeen("shop", agent.incarnation, 100_000, None, "transcript", 1.0, session))
    fleet.usage["shop"] = UsageSeen("shop", agent.incarnation, tokens, None, "transcript", 2.0, session)
    answer = await run(live, "boss's")

    assert (answer.status, answer.exit) == (status, code)
    assert fleet.metered == ["shop"]
    assert len(fleet.state.tasks.open) == (status == 201)
    assert ("begins nothing new" in str(answer.json)) == (status == 409)


async def test_e17_an_operators_task_hangs_on_no_context(live: Live, fleet: FakeDaemon) -> None:
    await run(live, project="money")

    assert fleet.metered == []


@pytest.mark.parametrize(
    ("who", "given"),
    [
        ("plain's", {}),
        ("worker's", {}),
        ("boss's", {"project": "money"}),
        ("boss's", {"agent": "docs"}),
        ("boss's", {"agent": "bank"}),
    ],
)
async def test_e58_nobody_else_may_and_no_orchestrator_for_another_project(
    live: Live, fleet: FakeDaemon, who: str, given: dict[str, str]
) -> None:
    await run(live, "boss's")
    answer = await run(live, who, **given)

    assert (answer.status, answer.exit) == (403, 5)
    assert newest(fleet).id == "t1"


async def test_a_hand_of_its_project_lends_its_command_and_place(live: Live, fleet: FakeDaemon) -> None:
    await run(live, "boss's", agent="hand")

    spec = newest(fleet).spec
    assert spec is not None
    assert (spec.cwd, spec.env_of, spec.name) == ("/srv/hand", "hand", "shop-t1")


async def test_another_cli_has_the_orchestrators_place_and_not_its_account(live: Live, fleet: FakeDaemon) -> None:
    await run(live, "boss's", agent="codex")

    spec = newest(fleet).spec
    assert spec is not None
    assert (spec.harness, spec.argv, spec.cwd, spec.account) == ("codex", ("codex",), "/srv/shop", None)


async def test_an_orchestrator_sees_and_ends_its_own_tasks_alone(live: Live, fleet: FakeDaemon) -> None:
    await run(live, "boss's")
    await run(live, project="money")
    boss = {"authorization": "Bearer boss's"}

    assert [one["id"] for one in (await live.ask("GET", "/v1/tasks", **boss)).json["tasks"]] == ["t1"]
    assert [one["id"] for one in (await live.ask("GET", "/v1/tasks")).json["tasks"]] == ["t1", "t2"]
    for path, method in (("/v1/tasks/t2", "GET"), ("/v1/tasks/t2/cancel", "POST")):
        assert (await live.ask(method, path, **boss)).exit == 4
    assert (await run(live, "boss's", after="t2")).exit == 4
    assert (await live.ask("POST", "/v1/tasks/t1/cancel", **boss)).status == 200


@pytest.fixture
def namesakes(daemon: FakeDaemon) -> FakeDaemon:
    """Two orchestrators whose projects have one name, each in a workspace of its own."""
    for name in ("shop", "branch"):
        daemon.declare(name, kind=Kind.ORCHESTRATOR, cwd=f"/srv/{name}", project="till", argv=("agent", "{prompt}"))
    daemon.tokens |= {"boss's": "shop", "other's": "branch"}
    return daemon


async def test_e58_a_project_of_the_same_name_in_another_workspace_is_another_project(
    live: Live, namesakes: FakeDaemon
) -> None:
    await run(live, "boss's")
    await run(live, "other's")

    for who, own, others in (("boss's", "t1", "t2"), ("other's", "t2", "t1")):
        token = {"authorization": f"Bearer {who}"}
        assert [one["id"] for one in (await live.ask("GET", "/v1/tasks", **token)).json["tasks"]] == [own]
        for path, method in ((f"/v1/tasks/{others}", "GET"), (f"/v1/tasks/{others}/cancel", "POST")):
            assert (await live.ask(method, path, **token)).exit == 4
        assert (await run(live, who, after=others)).exit == 4
    assert (await run(live, "boss's", agent="branch")).exit == 5


async def test_an_operator_says_which_of_two_projects_of_one_name_is_meant(live: Live, namesakes: FakeDaemon) -> None:
    unclear = await run(live, project="till")
    assert (unclear.exit, "shop, branch" in unclear.text) == (2, True)

    await run(live, project="till", agent="branch")
    assert newest(namesakes).workspace == "/srv/branch"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, 2),
        ({"prompt": "  ", "project": "shop"}, 2),
        ({"project": "nobodys"}, 4),
        ({"agent": "nobody"}, 4),
        ({"project": "shop", "reads": True, "writes": True}, 2),
        ({"project": "shop", "after": "t1"}, 4),
        ({"project": "shop", "after": "../x"}, 2),
        ({"project": "shop", "task": "../x"}, 2),
        ({"project": "../x"}, 2),
        ({"project": "shop", "tries": 0}, 2),
        ({"project": "shop", "prompt": "a\0b"}, 2),
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_queued(
    live: Live, fleet: FakeDaemon, given: dict[str, Any], code: int
) -> None:
    answer = await run(live, **given)

    assert answer.exit == code, answer.text
    assert fleet.state.tasks.open == ()
    assert answer.json["remedy"]


async def test_the_same_key_is_the_same_task(live: Live, fleet: FakeDaemon) -> None:
    """Also where the daemon that took it has died meanwhile: the key stands with the task."""
    key = {"idempotency_key": "a-word-of-mine"}
    first = await live.ask("POST", "/v1/tasks", {"prompt": "Do it.", "project": "shop"}, **key)
    second = await live.ask("POST", "/v1/tasks", {"prompt": "Do it.", "project": "shop"}, **key)

    assert first.json["task"]["id"] == second.json["task"]["id"] == "t1"


async def test_an_equal_key_of_another_caller_is_another_task(live: Live, fleet: FakeDaemon) -> None:
    fleet.tokens["bank's"] = "bank"
    made = []
    for who in ("boss's", "bank's", "boss's"):
        words = {"authorization": f"Bearer {who}"}
        made.append(await live.ask("POST", "/v1/tasks", {"prompt": "Do it."}, idempotency_key="k", **words))

    assert [one.json["task"]["id"] for one in made] == ["t1", "t2", "t1"]
    assert [one.json["task"]["project"] for one in made] == ["shop", "money", "shop"]


async def test_a_command_that_nobody_tells_its_task_does_none(live: Live, fleet: FakeDaemon) -> None:
    """A worker began, was told nothing, and kept the turn to write until its timeout."""
    fleet.declare("reader", cwd="/srv/reader", argv=("reader.sh",))
    answer = await run(live, agent="reader")

    assert (answer.exit, fleet.state.tasks.open) == (2, ())
    assert "reader would not be told its task: its argv has no argument {prompt}" in answer.text
    assert 'prompt_via = "paste" types it' in answer.json["remedy"]

    for name, keys in (
        ("types", {"prompt_via": "paste"}), ("reads", {"prompt_via": "none"}), ("told", {"argv": ("a", "{prompt}")}),
        ("brief", {"fresh_args": ("{brief}",)}),
    ):  # fmt: skip
        fleet.declare(name, cwd=f"/srv/{name}", **{"argv": ("reader.sh",), **keys})
        assert (await run(live, agent=name)).exit == 0, name


@pytest.mark.parametrize("agent", [None, "command", "loop"])
async def test_an_orchestrators_program_that_takes_no_prompt_is_not_begun_a_second_time(
    live: Live, fleet: FakeDaemon, agent: str | None
) -> None:
    fleet.declare("loop", kind=Kind.ORCHESTRATOR, cwd="/srv/loop", argv=("python3", "loop.py"))
    answer = await run(live, project="loop", agent=agent)

    assert (answer.exit, fleet.state.tasks.open) == (2, ())
    assert "the command of loop takes no prompt" in answer.text
    assert "--agent NAME" in answer.json["remedy"]
    assert (await run(live, project="loop", agent="codex")).status == 201


async def test_what_people_read_fits_and_ends_with_the_next_command(live: Live, fleet: FakeDaemon) -> None:
    await run(live, "boss's", task="4")
    await run(live, "boss's")
    listed = (await live.ask("GET", "/v1/tasks", text=True)).text
    one = (await live.ask("GET", "/v1/tasks/t2", text=True)).text

    assert max(map(len, (listed + one).splitlines())) <= 80
    assert "1 of 2 workers run, 1 task waits." in listed
    assert "t2 is waiting: t1 writes in /srv/shop" in one
    assert one.splitlines()[-1] == "end it: phoenixctl task cancel t2"


PLAN = b"# Phase 1\n\n## Tasks\n\n### Task 1: Ask around\n\n### Task 2: Draw the till\n- **Dependencies**: Task 1\n"


async def test_e65_e86_a_task_of_the_plan_is_checked_against_it_and_its_worker_is_told_of_this_phase_alone(
    live: Live, fleet: FakeDaemon
) -> None:
    fleet.trees["/srv/shop", "shop"] = tree_of({PLANNING: PLAN, BUILDING: plan_of(("7", "pending"))})

    unknown = await run(live, "boss's", task="12")
    assert (unknown.exit, "Task 1: Ask around" in unknown.json["detail"]) == (4, True), unknown.json
    early = await run(live, "boss's", task="2")
    assert early.exit == 6
    assert "waits for Task 1: Ask around" in early.json["detail"]
    assert not fleet.state.tasks.open

    first = await run(live, "boss's", task="1")
    assert first.status == 201, first.json
    begun = newest(fleet)
    assert (begun.plan, begun.phase) == ("1", PLANNING)
    assert begun.spec is not None
    assert begun.spec.prompt is not None
    assert begun.spec.prompt.startswith("Do it.\n\nThis is Task 1: Ask around of .claude/projects/shop/")
    assert BUILDING not in begun.spec.prompt
    assert (await run(live, "boss's", task="2", after=begun.id)).status == 201
    assert (await run(live, "boss's", task="1")).exit == 6


async def test_the_remedy_of_a_plan_that_hands_nothing_out_names_the_place_of_the_plan(
    live: Live, fleet: FakeDaemon
) -> None:
    tasks = b"### Task 1: A\n- **Dependencies**: Task 2\n\n### Task 2: B\n- **Dependencies**: Task 1\n"
    circle = b"# Phase 1\n\n## Tasks\n\n" + tasks
    fleet.trees["/srv/shop", "shop"] = tree_of({PLANNING: circle})

    refused = await run(live, "boss's", task="1")

    assert refused.json["remedy"] == "phoenixctl phase check --project shop --workspace /srv/shop"


async def test_a_task_of_a_project_without_files_goes_by_any_name(live: Live, fleet: FakeDaemon) -> None:
    assert (await run(live, "boss's", task="4")).status == 201
    assert newest(fleet).phase == ""


async def test_e67_what_a_person_opened_again_since_its_worker_did_it_can_be_handed_out(
    live: Live, fleet: FakeDaemon
) -> None:
    """What workers did counts until the plans tell it; from then on the plans alone count."""
    tree = tree_of({PLANNING: PLAN, BUILDING: plan_of(("7", "pending"))})
    fleet.trees["/srv/shop", "shop"] = tree
    done = tuple(
        Task(f"t{n}", f"shop-t{n}", project="shop", plan=str(n), phase=PLANNING, state="done", since_wall=1000.0,
             told="told")
        for n in (1, 2)
    )  # fmt: skip
    fleet.state = replace(fleet.state, tasks=replace(fleet.state.tasks, next=3, ended=done))
    assert (await run(live, "boss's", task="1")).exit == 4, "the phase at work is the next one"
    state = b'{"project_name": "shop", "updated_at": "1970-01-01T01:00:00Z"}'
    fleet.trees["/srv/shop", "shop"] = replace(tree, files={**tree.files, tree.paths.state: state})

    assert (await run(live, "boss's", task="1")).status == 201


async def test_a_project_of_the_same_name_in_another_workspace_has_tasks_of_its_own(
    live: Live, fleet: FakeDaemon
) -> None:
    fleet.declare("kiosk", kind=Kind.ORCHESTRATOR, cwd="/srv/kiosk", project="shop", argv=("agent", "{prompt}"))
    fleet.tokens |= {"other's": "kiosk"}
    tree = tree_of({PLANNING: PLAN})
    fleet.trees |= {("/srv/shop", "shop"): tree, ("/srv/kiosk", "shop"): tree}

    assert (await run(live, "boss's", task="1")).status == 201
    answer = await run(live, "other's", task="1")
    assert answer.status == 201, answer.json
    assert [one.workspace for one in fleet.state.tasks.open] == ["/srv/shop", "/srv/kiosk"]
