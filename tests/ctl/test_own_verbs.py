"""Verbs that phoenixctl answers itself, with the options of every verb before and after them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phoenixd.api.operations import OPERATIONS
from tests.api.conftest import Live
from tests.ctl.conftest import environment
from tests.ctl.forked import run_forked
from tests.ctl.ran import Ran

BEGINS = ("up", "run")
"""Verbs that would begin a daemon at the socket."""
OWN = [one.words for one in OPERATIONS if one.path is None and one.words and one.words[0] not in BEGINS]
TAKEN = {"attach": ["docs"], "logs": ["docs"], "completion": ["bash"], "split": ["one"], "archive": ["one"],
         "summarise": ["one"], "import": ["plan.md"], "test": ["--help"]}  # fmt: skip


async def asked(home: Path, *words: str) -> Ran:
    return await run_forked(*words, env=environment(home), cwd=home)


@pytest.mark.parametrize("verb", OWN, ids=" ".join)
async def test_a_verb_of_its_own_takes_socket_before_it_as_after_it(home: Path, verb: tuple[str, ...]) -> None:
    named, more = ("--socket", os.fspath(home / "run" / "api.sock")), TAKEN.get(verb[-1], [])

    before, after = await asked(home, *named, *verb, *more), await asked(home, *verb, *named, *more)

    assert "Traceback" not in before.err + after.err
    assert (before.code, before.out, before.err) == (after.code, after.out, after.err)


@pytest.mark.parametrize("option", [["--socket", "x.sock"], ["--socket=x.sock"], ["--json"], ["--color", "never"]])
@pytest.mark.parametrize("words", [["demo"], ["install-service", "--user", "--dry-run", "--allow-root"]], ids=" ".join)
async def test_what_begins_a_daemon_of_its_own_says_that_it_takes_none(
    home: Path, words: list[str], option: list[str]
) -> None:
    ran = await asked(home, *option, *words)

    named = option[0].partition("=")[0]
    assert (ran.code, ran.err.splitlines()) == (
        2,
        [f"{words[0]} begins a phoenixd of its own, and takes no {named}", f"do: phoenixctl {' '.join(words)}"],
    )


async def test_the_page_of_an_empty_daemon_advises_a_demo_that_can_be_typed(live: Live, home: Path) -> None:
    there = os.fspath(live.socket)

    page = (await asked(home, "--socket", there, "status")).out

    assert f"Try: phoenixctl demo, or phoenixctl --socket {there} run NAME -- " in page
