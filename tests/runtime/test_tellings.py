"""Whether alerts reach the operator is an alert of its own: told when a way begins to fail, and when it works again."""

from __future__ import annotations

import pytest

from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.runtime.tellings import Tellings


@pytest.fixture
def told() -> list[TroubleSeen | TroubleGone]:
    return []


@pytest.fixture
def tellings(told: list[TroubleSeen | TroubleGone]) -> Tellings:
    return Tellings(told.append)


def test_where_no_way_is_configured_an_alert_of_before_is_over(
    tellings: Tellings, told: list[TroubleSeen | TroubleGone]
) -> None:
    tellings.begin({"ntfy": "https://x"})
    assert told == []
    tellings.begin(())
    assert told == [TroubleGone(None, NOT_TOLD, "nothing is configured that alerts are told by")]


def test_a_way_that_begins_to_fail_is_told_once_with_all_that_fail(
    tellings: Tellings, told: list[TroubleSeen | TroubleGone]
) -> None:
    for route, problem in (("command", "exit 1"), ("command", "exit 1"), ("webhook", "timeout"), ("webhook", "404")):
        tellings.hear(route, problem)
    assert [one.text for one in told if isinstance(one, TroubleSeen)] == [
        "alerts are not told by the command (exit 1)",
        "alerts are not told by the command (exit 1) and the webhook (timeout)",
        "alerts are not told by the command (exit 1) and the webhook (404)",
    ]
    assert {(type(one), one.agent, one.kind) for one in told} == {(TroubleSeen, None, NOT_TOLD)}


def test_a_way_that_works_again_ends_it_once_and_not_while_another_fails(
    tellings: Tellings, told: list[TroubleSeen | TroubleGone]
) -> None:
    tellings.hear("command", "exit 1")
    tellings.hear("webhook", None)
    assert told[-1] == TroubleSeen(None, NOT_TOLD, "alerts are not told by the command (exit 1)")
    tellings.hear("command", None)
    assert told[-1] == TroubleGone(None, NOT_TOLD, "an alert was told by the command")
    heard = len(told)
    tellings.hear("command", None)
    assert len(told) == heard


def test_the_first_alert_that_is_told_ends_what_an_earlier_daemon_told(
    tellings: Tellings, told: list[TroubleSeen | TroubleGone]
) -> None:
    tellings.hear("command", None)
    assert told == [TroubleGone(None, NOT_TOLD, "an alert was told by the command")]


def test_after_a_restart_the_way_that_left_some_untold_has_to_show_that_it_works(
    tellings: Tellings, told: list[TroubleSeen | TroubleGone]
) -> None:
    tellings.begin(("command", "webhook"), ["webhook"])
    tellings.hear("command", None)
    assert told == [], "the other one may fail as before"
    tellings.hear("webhook", "status 503")
    assert [one.text for one in told if isinstance(one, TroubleSeen)] == [
        "alerts are not told by the webhook (status 503)"
    ]
    tellings.hear("webhook", None)
    assert told[-1] == TroubleGone(None, NOT_TOLD, "an alert was told by the webhook")
