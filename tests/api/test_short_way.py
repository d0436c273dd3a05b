"""What phoenixctl asks all day is answered without an HTTP parser, and nobody can tell by the answer."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import pytest

from phoenixd.api import short_way
from phoenixd.api.handlers import queries
from phoenixd.ctl import wire
from tests.api.conftest import Live
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon

TOKEN = "a1b2c3"
TARGETS = (
    "/v1/prompt",
    "/v1/prompt?width=40&colour=1",
    "/v1/agents",
    "/v1/agents?width=60",
    "/v1/agents?all=1&width=1000&colour=1",
    "/v1/agents?look=1",
    "/v1/agents?select=group%3Dhealing",
    "/v1/agents?select=lost",
    "/v1/agents?width=wide",
    "/v1/prompt?color=1",
    "/v1/prompt?width=40&width=50",
    "/v1/prompt?" + "&".join(f"a{number}=1" for number in range(40)),
)


def _request(target: str, *lines: str) -> bytes:
    return "\r\n".join((f"GET {target} HTTP/1.0", "host: phoenixd", "accept: text/plain", *lines, "", "")).encode()


@pytest.fixture
def fleet(daemon: FakeDaemon) -> FakeDaemon:
    daemon.stands_at = FIXTURE_EPOCH
    daemon.tokens[TOKEN] = "docs"
    for name in ("docs", "web", "build"):
        daemon.declare(name)
    daemon.fails_with = 126
    daemon.declare("broken")
    return daemon


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lines", [(), (f"authorization: Bearer {TOKEN}",), ("authorization: Bearer stolen1",)])
async def test_the_short_way_answers_byte_for_byte_as_the_long_one(
    live: Live, fleet: FakeDaemon, target: str, lines: tuple[str, ...]
) -> None:
    short, long = _request(target, *lines), _request(target, "x-any: other", *lines)
    assert short_way.read(short) is not None
    assert short_way.read(long) is None

    told = await live.raw(short)

    assert told.startswith(b"HTTP/1.1 ")
    assert told == await live.raw(long)


async def test_a_bug_is_told_alike_on_both_ways(live: Live, fleet: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> Mapping[str, int]:
        raise RuntimeError("planted")

    monkeypatch.setattr(queries.glance, "counts", fails)

    told = await live.raw(_request("/v1/prompt"), timeout=60)

    assert b"RuntimeError" in told
    assert told == await live.raw(_request("/v1/prompt", "x-any: other"), timeout=60)


@pytest.mark.parametrize("target", ["/v1/agents", "/v1/prompt"])
def test_what_phoenixctl_writes_goes_the_short_way(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "environment", lambda: {b"PHOENIX_TOKEN": TOKEN.encode(), b"COLUMNS": b"60"})
    wire.show()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        look = short_way.read(wire.request(ours, "GET", wire.with_query(target, [])))

    assert look == short_way.Look(short_way.LOOKS[target.encode()], b"width=60", f"Bearer {TOKEN}")


@pytest.mark.parametrize(
    "received",
    [
        _request("/v1/prompt")[:-2],
        _request("/v1/prompt") + b"GET",
        _request("/v1/prompt").replace(b"\r\n", b"\n"),
        _request("/v1/prompt").replace(b"1.0", b"1.1"),
        _request("/v1/prompt").replace(b"GET", b"POST"),
        _request("/v1/prompt").replace(b"text/plain", b"application/json"),
        _request("/v1/prompt?a b"),
        _request("/v1/doctor"),
        _request("/v1/agents/docs"),
        _request("/v1/prompt", "content-length: 3"),
        _request("/v1/prompt", "authorization: Basic abc"),
    ],
)
def test_all_else_is_read_as_http(received: bytes) -> None:
    assert short_way.read(received) is None


async def test_what_follows_a_look_is_not_answered(live: Live, fleet: FakeDaemon) -> None:
    told = await live.raw(_request("/v1/prompt"))

    assert told.count(b"HTTP/1.1") == 1
    assert (await live.raw(_request("/v1/prompt") * 2)).count(b"HTTP/1.1") == 1
