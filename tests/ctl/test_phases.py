"""`phase` and `schema export`: without a daemon, as an operator types them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import jsonschema
import pytest

from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.project import layout
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.architecture.test_docs import commands_of
from tests.ctl.conftest import ROOT, Ctl, Ran, environment
from tests.ctl.forked import run_forked
from tests.documents.project.projects import PLANNING, SEED_PACKAGE, SEED_STATE, plan_of, tree_of

PHASE = "phase-03-implementation"


def files(workspace: Path) -> dict[str, bytes]:
    return {str(path.relative_to(workspace)): path.read_bytes() for path in workspace.rglob("*") if path.is_file()}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


async def test_e61_a_standard_project_is_made_listed_and_in_order(alone: Ctl, workspace: Path) -> None:
    where = ("--project", "shop", "--workspace", str(workspace))

    made = await alone("phase", "init", "--standard", *where)
    assert (made.code, made.err) == (0, "")
    assert made.out.splitlines()[0] == f"made in {workspace}:"
    assert "see: phoenixctl phase list" in made.out
    listed = await alone("phase", "list", "--workspace", str(workspace), "--json")
    assert [one["phase"] for one in listed.json["phases"]] == list(layout.STANDARD_PHASES)
    checked = await alone("phase", "check", *where)
    assert (checked.code, checked.err) == (0, "")
    assert "is in order" in " ".join(checked.out.split())
    before = files(workspace)
    again = await alone("phase", "init", "--standard", *where)
    assert "lacks nothing" in again.out
    assert files(workspace) == before


async def test_what_is_told_to_be_done_next_names_the_same_place(alone: Ctl, tmp_path: Path) -> None:
    odd = tmp_path / "my shop's; work"
    odd.mkdir()
    where = ("--workspace", str(odd))

    made = await alone("phase", "init", PHASE, "--project", "shop", *where)
    await obeyed(alone, made.out, "see: ", 0)
    plan = odd / layout.PROJECTS / "shop" / PHASE / "plan.md"
    plan.write_bytes(plan_of(("1", "completed"), ("2", "pending")) * 200)
    await obeyed(alone, (await alone("phase", "list", *where)).out, "what is wrong with it: ", 3)
    plan.write_bytes(plan_of(("1", "completed"), ("2", "pending")))
    shown = await alone("phase", "split", PHASE, *where)
    done = await obeyed(alone, shown.out, "do it: ", 0)
    undone = await obeyed(alone, done.out, "to take it back: ", 0)
    assert undone.err == ""
    refused = await alone("phase", "split", PHASE, "--undo", "--project", "shop", *where)
    await obeyed(alone, refused.err, "do: ", 0)
    assert "--workspace" not in (await alone("phase", "list", cwd=odd)).out


async def test_what_the_daemon_tells_to_be_done_names_the_same_place(
    ctl: Ctl, daemon: FakeDaemon, tmp_path: Path
) -> None:
    shop = str(tmp_path / "my shop")
    daemon.trees[shop, "shop"] = tree_of({PLANNING: b"## Task 1: a\n" * 2})
    quoted = shlex.quote(shop)

    listed = await ctl("phase", "list", "--workspace", shop)
    assert listed.out.endswith(f"phoenixctl phase check --workspace {quoted}\n")
    refused = await ctl("phase", "check", "--workspace", shop, "--project", "shp")
    assert refused.err.endswith(f"do: phoenixctl phase list --project shop --workspace {quoted}\n")
    daemon.trees[shop, "shop"] = tree_of({PLANNING: b"words\n" * 3001})
    checked = await ctl("phase", "check", "--workspace", shop)
    assert f"do: phoenixctl phase split {PLANNING} --workspace {quoted}\n" in checked.out
    told = await ctl("phase", "check", "--workspace", shop, "--json")
    assert all("--workspace" not in one["remedy"] for one in told.json["findings"]), "JSON names it once"
    assert told.json["workspace"] == shop


async def obeyed(ctl: Ctl, told: str, before: str, code: int) -> Ran:
    """What comes of the command that a text ends with, typed elsewhere."""
    (line,) = [one for one in told.splitlines() if before in one]
    program, *words = shlex.split(line.split(before, 1)[1])
    assert program == "phoenixctl"
    answer = await ctl(*words)
    assert answer.code == code, (line, answer)
    return answer


async def test_e64_a_split_is_shown_done_and_undone_to_the_same_bytes(alone: Ctl, workspace: Path) -> None:
    where = ("--workspace", str(workspace))
    await alone("phase", "init", PHASE, "--project", "shop", *where)
    plan = workspace / layout.PROJECTS / "shop" / PHASE / "plan.md"
    plan.write_bytes(plan_of(("1", "completed"), ("2", "pending")).replace(b"\n", b"\r\n"))
    before = files(workspace)

    shown = await alone("phase", "split", PHASE, *where)
    assert shown.code == 0
    assert f"nothing was changed yet; do it: phoenixctl phase split {PHASE} --yes" in shown.out
    assert files(workspace) == before
    done = await alone("phase", "split", PHASE, "--yes", *where, "--json")
    assert (done.code, done.json["done"], done.json["kind"]) == (0, True, "split")
    assert (plan.parent.parent / f"{PHASE}-part2").is_dir()
    checked = await alone("phase", "check", *where, "--json")
    assert checked.json["findings"] == []
    await alone("phase", "split", PHASE, "--undo", *where)
    assert (plan.parent.parent / f"{PHASE}-part2").is_dir()
    undone = await alone("phase", "split", PHASE, "--undo", "--yes", *where)
    assert undone.code == 0, undone.err
    assert files(workspace) == before
    assert not (plan.parent.parent / f"{PHASE}-part2").exists()


@pytest.mark.parametrize("verb", [("split", PHASE), ("list",)])
async def test_a_project_that_is_not_there_is_named_with_those_that_are(
    alone: Ctl, workspace: Path, verb: tuple[str, ...]
) -> None:
    where = ("--workspace", str(workspace))
    for project in ("mall", "shop"):
        await alone("phase", "init", PHASE, "--project", project, *where)
    before = files(workspace)

    refused = await alone("phase", *verb, "--project", "shp", *where)

    assert (refused.code, refused.out) == (4, "")
    assert "has no project shp; there are mall, shop" in " ".join(refused.err.split())
    told = f"do: phoenixctl phase list --project shop --workspace {workspace}\n"
    assert refused.err.endswith(told), "the one that may be meant"
    assert files(workspace) == before


async def test_e77_archive_and_summarise(alone: Ctl, workspace: Path) -> None:
    where = ("--workspace", str(workspace))
    await alone("phase", "init", PHASE, "--project", "shop", *where)
    root = workspace / layout.PROJECTS / "shop" / PHASE
    root.joinpath("plan.md").write_bytes(plan_of(("1", "completed"), ("2", "pending")) + b"\nwords\n" * 9)
    root.joinpath("plan.md").write_bytes(b"## Task 1: a\n- **Status**: done\n\n" + b"words\n\n" * 9 + b"## Task 2: b\n")
    root.joinpath("claude.md").write_bytes(b"# C\n\n" + b"words\n\n" * 30)

    archived = await alone("phase", "archive", PHASE, "--yes", *where)
    assert (archived.code, archived.err) == (0, "")
    assert b"archive/001-archive/plan.md" in root.joinpath("plan.md").read_bytes()
    summarised = await alone("phase", "summarise", PHASE, "--yes", *where)
    assert (summarised.code, summarised.err) == (0, "")
    assert b"Shortened" in root.joinpath("claude.md").read_bytes()
    nothing = await alone("phase", "split", PHASE, "--undo", "--yes", *where)
    assert nothing.code == 0
    assert root.joinpath("claude.md").read_bytes() == b"# C\n\n" + b"words\n\n" * 30


async def test_e91_a_long_plan_is_taken_apart(alone: Ctl, workspace: Path, tmp_path: Path) -> None:
    plan = tmp_path / "old.md"
    plan.write_bytes(b"# Phase 1: One\n\n## Task 1: a\n\n# Phase 2: Two\n\n## Task 2: b\n")
    where = ("--project", "shop", "--workspace", str(workspace))

    shown = await alone("phase", "import", str(plan), *where)
    assert "nothing was made yet" in shown.out
    assert files(workspace) == {}
    assert (await alone("phase", "import", str(plan), "--yes", *where)).code == 0
    listed = await alone("phase", "list", *where, "--json")
    assert [one["phase"] for one in listed.json["phases"]] == ["phase-01-one", "phase-02-two"]
    again = await alone("phase", "import", str(plan), "--yes", *where)
    assert (again.code, "is there already" in again.err) == (6, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("list",), 4), (("check", "--project", "x"), 4), (("init", "--standard"), 2),
     (("init", "--standard", "--project", "../x"), 6), (("init", "../x", "--project", "p"), 6),
     (("init", "--project", "p"), 6), (("split", "phase-01-x", "--project", "p"), 4),
     (("import", "/nonexistent", "--project", "p"), 1)],
)  # fmt: skip
async def test_what_cannot_be_done_is_refused_with_a_remedy_and_nothing_is_made(
    alone: Ctl, workspace: Path, words: tuple[str, ...], code: int
) -> None:
    ran = await alone("phase", *words, "--workspace", str(workspace))

    assert (ran.code, ran.out) == (code, "")
    assert "\ndo: " in ran.err
    assert files(workspace) == {}


async def test_a_link_in_the_projects_place_is_refused_by_name(alone: Ctl, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / ".claude").symlink_to(tmp_path / "elsewhere")

    ran = await alone("phase", "init", "--standard", "--project", "p", "--workspace", str(workspace))
    assert (ran.code, ".claude was not entered" in ran.err) == (6, True)
    assert os.listdir(tmp_path / "elsewhere") == []


async def test_e69_and_e70_the_schemas_are_exported(alone: Ctl, tmp_path: Path) -> None:
    exported = (await alone("schema", "export")).json
    jsonschema.validate(SEED_PACKAGE, exported["handoff-package"])
    jsonschema.validate(SEED_STATE, exported["orchestrator-state"])
    assert "phase-plan" in exported

    written = await alone("schema", "export", "--to", str(tmp_path), "--json")
    assert len(written.json["written"]) == len(exported)
    path = tmp_path / "orchestrator-state.schema.json"
    assert json.loads(path.read_text()) == exported["orchestrator-state"]
    assert (await alone("schema", "export", "--to", str(tmp_path / "none"))).code == 2


@pytest.mark.parametrize("page", ["reference/projects.md", "explanation/everlasting.md"])
async def test_the_pages_commands_do_what_they_say(runtime: Path, home: Path, workspace: Path, page: str) -> None:
    # Those of handoffs need a seat: tests/e2e/test_handoff.py gives them.
    commands = [words for words in commands_of(ROOT / "docs" / page) if words[0] != "handoff"]
    env = environment(home, PHOENIX_RUNTIME_DIR=str(runtime))
    root = workspace / layout.PROJECTS / "shop" / PHASE

    assert len(commands) >= 3
    for number, words in enumerate(commands):
        ran = await run_forked(*words, env=env, cwd=workspace)
        assert (ran.code, ran.err) == (0, ""), words
        if number == 0:
            text = b"\n" + b"words\n\n" * 20
            root.joinpath("plan.md").write_bytes(b"## Task 1: a\n- **Status**: done\n" + text + b"## Task 2: b\n")
            root.joinpath("claude.md").write_bytes(b"# C\n" + text)
            (workspace / "old-plan.md").write_bytes(b"# Phase 1: One\n\n# Phase 2: Two\n")


async def test_with_a_daemon_the_daemon_answers(ctl: Ctl, live: Live) -> None:
    live.daemon.happen(AgentDeclared(AgentSpec("boss", ("a",), "/srv/shop", Kind.ORCHESTRATOR, project="shop"), True))
    live.daemon.trees["/srv/shop", "shop"] = tree_of({PLANNING: plan_of(("1", "pending"))})
    live.daemon.tokens["secret"] = "boss"

    own = await ctl("phase", "list", "--json", PHOENIX_AGENT="boss", PHOENIX_TOKEN="secret")
    assert (own.code, own.json["project"]) == (0, "shop")
    other = await ctl("phase", "list", "--project", "x", PHOENIX_AGENT="boss", PHOENIX_TOKEN="secret")
    assert other.code == 5
