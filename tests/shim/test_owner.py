"""Promise 9: a shim takes orders from the state directory that it was started for, and from no other."""

from __future__ import annotations

import contextlib

import pytest

from tests.shim.pane import Daemon, Pane

MINE, OTHER = "1" * 32, "2" * 32


def hello(daemon: Daemon, **more: object) -> dict[str, object]:
    daemon.send(op="hello", protocol=1, version="0.1.0", **more)
    return daemon.expect("hello")


def is_refused(pane: Pane, **more: object) -> str:
    """What the shim says to such a hello, behind which it hangs up."""
    stranger = pane.connect()
    stranger.send(op="hello", protocol=1, version="0.1.0", **more)
    said = stranger.expect("error")["message"]
    with pytest.raises(EOFError):
        stranger.receive()
    return str(said)


def test_without_an_owner_it_takes_the_first_and_no_second(pane: Pane) -> None:
    """One that an older version started; and a daemon of an older version, which says none, goes on being heard."""
    assert hello(pane.connect())["owner"] is None
    owner = pane.connect()
    assert hello(owner, owner=MINE)["owner"] == MINE
    assert "another state directory" in is_refused(pane, owner=OTHER)
    # The owner's line was not cut meanwhile.
    assert owner.start(["sleep", "1000"])["incarnation"] == 1
    assert hello(pane.connect())["owner"] == MINE


def test_who_is_refused_can_give_no_order(pane: Pane) -> None:
    owner = pane.connect()
    hello(owner, owner=MINE)
    owner.start(["sleep", "1000"])
    stranger = pane.connect()
    stranger.send(op="hello", protocol=1, version="0.1.0", owner=OTHER)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stranger.send(op="kill", incarnation=1)
    owner.send(op="terminate", incarnation=7)
    assert owner.expect("ignored")["op"] == "terminate"
    assert "exited" not in [event["event"] for event in owner.events]


def test_it_is_handed_over_by_a_word_and_stays_so(pane: Pane) -> None:
    hello(pane.connect(), owner=MINE)
    assert hello(pane.connect(), owner=OTHER, take=True)["owner"] == OTHER
    assert "another state directory" in is_refused(pane, owner=MINE)
    assert hello(pane.connect(), owner=OTHER)["owner"] == OTHER


@pytest.mark.parametrize("nonsense", [7, None, [], {}, True])
def test_an_owner_that_is_none_changes_nothing(pane: Pane, nonsense: object) -> None:
    hello(pane.connect(), owner=MINE)
    assert hello(pane.connect(), owner=nonsense)["owner"] == MINE
