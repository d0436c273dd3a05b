"""`[sequence.NAME]`: who has turns in it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.config import read_configuration
from phoenixd.core.rules import Member
from phoenixd.core.spec import Kind

LOOPS = "".join(
    f'[agent.{name}]\nkind = "loop"\nargv = ["{name}"]\ncwd = "/"\n' for name in ("builder", "criticizer", "planner")
)
SEQUENCE = LOOPS + '[sequence.shop]\nmembers = ["builder", "criticizer", "planner"]\n'


def read(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    (tmp_path / "phoenixd.toml").write_text(text)
    return read_configuration(tmp_path, tmp_path / "state", {})


def test_g36_the_first_leads_and_the_others_have_turns(tmp_path: Path) -> None:
    more = '[sequence.shop.when.criticizer]\nexists = "src/*.py"\n'
    configuration = read(tmp_path, SEQUENCE + more)
    agents = configuration.agents

    assert configuration.problems == ()
    assert agents["builder"].loop.sequence == (Member("criticizer", when_exists="src/*.py"), Member("planner"))
    assert [(agents[name].turn_of, agents[name].autostart) for name in ("criticizer", "planner")] == [
        ("builder", False)
    ] * 2
    assert (agents["builder"].turn_of, agents["builder"].autostart) == (None, True)


def test_a_command_that_decides_on_a_turn_is_an_agent_with_a_time_limit(tmp_path: Path) -> None:
    more = '[sequence.shop.when.planner]\ncommand = ["make", "-q", "plan"]\ntime_limit = "5s"\n'
    agents = read(tmp_path, SEQUENCE + more).agents
    asked = agents["planner-when"]

    assert agents["builder"].loop.sequence[1] == Member("planner", when_agent="planner-when")
    assert (asked.argv, asked.cwd, asked.kind, asked.turn_of) == (("make", "-q", "plan"), "/", Kind.LOOP, "builder")
    assert (asked.loop.max_runtime, asked.autostart) == (5.0, False)


def test_x8b_two_loops_in_one_directory_are_a_warning_and_a_sequence_is_not(tmp_path: Path) -> None:
    assert read(tmp_path, SEQUENCE).problems == ()
    told = read(tmp_path, LOOPS)

    assert told.errors == ()
    assert [problem.agent for problem in told.problems] == ["builder", "criticizer", "planner"]
    assert "count as the other's progress" in str(told.problems[0])
    assert len({problem.together for problem in told.problems}) == 1, "of all three the same can be told at once"


def test_x8b_two_agents_in_one_worktree_are_a_warning_for_either_unless_their_roots_lie_apart(tmp_path: Path) -> None:
    for path in ("shop/.git", "shop/one", "shop/two", "shop-2/.git"):
        (tmp_path / path).mkdir(parents=True)

    def agent(name: str, cwd: str, kind: str = "resident", breaker: str = "") -> str:
        table = f'[agent.{name}]\nkind = "{kind}"\nargv = ["x"]\ncwd = "{tmp_path}/{cwd}"\n'
        return table + (f"[agent.{name}.breaker]\n{breaker}\n" if breaker else "")

    def warned(*tables: str) -> list[str | None]:
        return [problem.agent for problem in read(tmp_path, "".join(tables)).problems]

    loop = agent("a-loop", "shop/one", "loop")
    assert warned(loop, agent("b", "shop")) == ["a-loop", "b"]
    assert warned(loop, agent("b", "shop-2")) == []
    assert warned(agent("a", "shop"), agent("b", "shop/two")) == [], "nobody is judged"
    assert warned(agent("a", "shop"), agent("b", "shop/two", breaker="per_turn = true")) == ["a", "b"]
    roots = [agent(name, "shop", "loop", f'roots = ["{tmp_path}/shop/{name}"]') for name in ("one", "two")]
    assert warned(*roots) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LOOPS + '[sequence.s]\nmembers = ["builder", "nobody"]\n', "there is no agent nobody"),
        (LOOPS + '[sequence.s]\nmembers = ["builder", "builder"]\n', "members names one of them twice"),
        (LOOPS + "[sequence.s]\nmembers = []\n", "sequence.s.members"),
        (SEQUENCE + '[sequence.t]\nmembers = ["planner"]\n', "planner is in the sequence shop already"),
        (SEQUENCE + '[sequence.shop.when.builder]\nexists = "x"\n', "builder is none of the members after the first"),
        (SEQUENCE + '[sequence.shop.when.planner]\ntime_limit = "1s"\n', "either exists or command"),
        (
            SEQUENCE + '[sequence.shop.when.planner]\ncommand = ["x"]\n[agent.planner-when]\nargv = ["y"]\ncwd = "/"\n',
            "its command runs as planner-when, which is taken",
        ),
        (SEQUENCE.replace('kind = "loop"', 'kind = "resident"', 1), "builder is no loop"),
    ],
)
def test_what_is_no_sequence_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    told = " ".join(str(problem) for problem in read(tmp_path, text).errors)

    assert complaint in told
