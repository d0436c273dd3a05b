"""What explain tells of an agent: the row that opened its state, and why, in words that are true."""

from __future__ import annotations

from pathlib import Path

from phoenixd.core.agent.state import Quarantined
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.rules import RestartRules
from tests.api.conftest import Live, serving
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon


async def test_explain_begins_with_the_row_that_opened_the_present_state(daemon: FakeDaemon, runtime: Path) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    daemon.declare("docs")
    daemon.pass_time(60)
    opened = next(row for row in daemon.journal.rows if row.entry.state == "running")
    for _ in range(40):
        daemon.pass_time(1)
        daemon.hook("docs", "prompt-submit", text="again")
        daemon.hook("docs", "stop")
    daemon.change("docs", looks=7)
    async with serving(daemon, runtime) as live:
        told = (await live.ask("GET", "/v1/agents/docs/explain")).json
        page = (await live.ask("GET", "/v1/agents/docs/explain", text=True)).text

    assert [told["decisions"][0]["id"], told["decisions"][-1]["id"]] == [opened.seq, daemon.journal.rows[-1].seq]
    assert len(told["decisions"]) == 12
    assert told["looks"] == 7
    assert "looked     7 times since then" in page
    assert page.index("its program began, pid") < page.index("the turn ended") < page.index("before that")
    assert told["before"]["facts"][0]["name"] == "ordered"


async def test_explain_names_the_kind_of_a_job_where_a_start_failed_by_an_end_with_0(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("deploy")
    running = (await live.ask("GET", "/v1/agents/deploy/explain", text=True)).text
    daemon.die("deploy", 0)
    ended = (await live.ask("GET", "/v1/agents/deploy/explain", text=True)).text

    assert "Is it done then? A job is of --kind ephemeral: phoenixctl help run" in ended
    assert "ephemeral" not in running


def given_up(daemon: FakeDaemon, name: str, code: int) -> None:
    """Have its program end so until it is given up."""
    for _ in range(1000):
        if isinstance(daemon.fleet().agents[name].state, Quarantined):
            return
        if daemon.fleet().agents[name].run is not None:
            daemon.die(name, code)
        daemon.pass_time(30)
    raise AssertionError(f"{name} is never given up")


async def test_explain_names_the_code_that_asks_for_the_next_run_where_a_plain_program_was_given_up_by_its_ends(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    daemon.declare("docs", restart=RestartRules(period=1e6))
    given_up(daemon, "docs", 3)
    told = (await live.ask("GET", "/v1/agents/docs/explain?width=200", text=True)).text

    assert "5 crashes in " in told
    assert "A program asks for a fresh start by ending with exit 100: that counts as no crash." in told

    daemon.declare("shop", restart=RestartRules(period=1e6))
    given_up(daemon, "shop", 100)
    told = (await live.ask("GET", "/v1/agents/shop/explain?width=200", text=True)).text

    assert "shop is quarantined: exit 100 asks to be recycled; 8 runs in a row ended within " in told
    assert "(unproductive = 8, restart.max_unproductive = 8, within = " in told
    assert "exit 100: that counts" not in told, "it knows"

    daemon.declare("lead", harness="claude", restart=RestartRules(period=1e6))
    given_up(daemon, "lead", 1)
    told = (await live.ask("GET", "/v1/agents/lead/explain?width=200", text=True)).text
    assert "5 crashes in " in told
    assert "exit 100: that counts" not in told, "an agent CLI that ends so has failed"


async def test_a_cut_answer_stands_in_explain_and_since(daemon: FakeDaemon, runtime: Path) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    daemon.declare("docs")
    daemon.pass_time(60)
    daemon.hook("docs", "prompt-submit", text="report")
    daemon.hook("docs", "stop")
    daemon.happen(AnswerCut("docs", 1, "output_limit", 7.0, went_on=True, calls=("Bash",)))
    async with serving(daemon, runtime) as live:
        explained = (await live.ask("GET", "/v1/agents/docs/explain", text=True)).text
        digest = (await live.ask("GET", "/v1/since?time=8h")).json
        page = (await live.ask("GET", "/v1/since?time=8h", text=True)).text

    assert "its answer was cut by the output limit, and its CLI went on" in " ".join(explained.split())
    assert (digest["cut_answers"], digest["cut_gone_on"]) == (1, 1)
    assert "answers      1 cut at the end; after 1 the CLI went on by itself" in page
