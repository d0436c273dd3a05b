"""A journal of commit 958155c, written by its code: what was a sentence there is a fact here, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Running
from phoenixd.core.limits import outage
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.documents import older
from phoenixd.documents.codec import decode, encode
from tests.journaled import load_agent

OLD = json.loads(Path(__file__).with_name("journal_958155c.json").read_text(encoding="utf-8"))


def saved(name: str) -> Agent:
    return load_agent(json.dumps(OLD["agents"][name]))


def waits(name: str) -> Waiting:
    state = saved(name).state
    assert isinstance(state, Running)
    assert state.activity.waiting is not None
    return state.activity.waiting


@pytest.mark.parametrize("name", OLD["agents"])
def test_an_agent_of_an_older_journal_is_as_it_was(name: str) -> None:
    agent, old = saved(name), OLD["agents"][name]
    again = encode(agent)

    assert (agent.state.name, agent.reason, agent.incarnation) == (
        old["state"]["name"],
        old["reason"],
        old["incarnation"],
    )
    assert agent == load_agent(json.dumps(again))
    kept = [{key: now[key] for key in was} for now, was in zip(again["items"], old["items"], strict=True)]
    assert kept == old["items"]


@pytest.mark.parametrize(
    ("name", "cause", "told"),
    [
        ("a start that could not be executed", "not started", "there is no such command: agent"),
        ("its terminal was lost", "terminal_lost", "terminal_lost"),
        ("an end of a cause that nobody knows", "other", "of another kind"),
        ("parked and down", "exit", "exit"),
    ],
)
def test_the_cause_of_an_end_is_a_value_and_its_words_stay(name: str, cause: str, told: str) -> None:
    end = saved(name).last_exit

    assert end is not None
    assert (end.cause, end.told) == (cause, told)


def test_a_dialog_is_known_by_its_name_and_not_by_its_words() -> None:
    assert waits("a dialog on the screen").dialog == "trust"
    assert waits("a screen that nobody can read").dialog == "unread"
    assert waits("asks for permission").dialog == ""


@pytest.mark.parametrize(("name", "why", "owes"), [
    ("parked while it runs", "until the reset time that was named", True),
    ("parked and down", OLD["agents"]["parked and down"]["reason"], False),
])  # fmt: skip
def test_what_an_agent_waits_out_stands_once_whether_it_lives_or_is_down(name: str, why: str, owes: bool) -> None:
    agent = saved(name)

    assert agent.state_name == "parked"
    assert agent.limits == Limits(Parking(ParkingKind.LIMIT, 1_800_003_630.0, 0.0, why, owes), setbacks=1)
    assert saved("asks for permission").limits == Limits()


def test_an_alert_says_whose_outage_it_is_and_what_it_says_without_the_next_command() -> None:
    shared, behind = (decode(StandingAlert, older.alert(one)) for one in OLD["alerts"])

    assert outage.group_of(shared) == "account team"
    assert outage.group_of(behind) is None
    assert f"{behind.gist}. Do: phoenixctl recover" == behind.text
