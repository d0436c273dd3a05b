"""What a link to a shim carries: one JSON object a packet, and the hello that identifies the peer."""

from __future__ import annotations

import json
import re
from typing import Any

from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun

PACKET_LIMIT = 65536
MOST_ARMED, MOST_USES = 64, 1_000_000
ARMED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Malformed(ValueError):
    """A packet that no shim of ours sends."""


def encode(message: dict[str, Any]) -> bytes:
    """One packet; raises Malformed when it does not fit."""
    packet = json.dumps(message, separators=(",", ":")).encode()
    if len(packet) > PACKET_LIMIT:
        raise Malformed(f"a message of {len(packet)} bytes does not fit into a packet")
    return packet


def decode(agent: str, packet: bytes) -> ShimMessage:
    """Take a packet apart; raises Malformed."""
    try:
        message = json.loads(packet)
    except (ValueError, RecursionError) as error:
        raise Malformed("no JSON") from error
    if not isinstance(message, dict) or not isinstance(event := message.pop("event", None), str):
        raise Malformed("no event")
    return ShimMessage(agent, event, message)


def parse_hello(body: dict[str, Any]) -> ShimHello:
    """Read a hello event's body; raises Malformed. Newer protocols may say more, and must say this."""
    try:
        shim = ProcessIdentity(str(body["boot_id"]), _number(body["pid"]), _number(body["start_time"]))
        return ShimHello(
            agent=str(body["agent"]),
            shim=shim,
            protocol=_number(body["protocol"]),
            version=str(body["version"])[:100],
            hook_port=_number(body["hook_port"]),
            run=None if body.get("run") is None else parse_run(body["run"]),
            exit=_object(body.get("exit")),
            held=tuple(_number(one) for one in body.get("held") or ()),
            last_seq=_number(body.get("last_seq", 0)),
            told=_number(body.get("epoch", 0)),
            knows_epochs="epoch" in body,
            unswept=body.get("unswept"),
            armed=parse_uses(body.get("armed")),
            answered=parse_answered(body.get("answered")),
        )
    except (KeyError, TypeError) as error:
        raise Malformed(f"the hello lacks {error}") from error


def parse_run(body: dict[str, Any]) -> ShimRun:
    """Read a run as hello and started name it; raises Malformed."""
    try:
        return ShimRun(
            _number(body["incarnation"]),
            str(body["run_id"]),
            _number(body["pid"]),
            _number(body["start_time"]),
            str(body.get("session_id") or "")[:200],
            str(body.get("mode") or "")[:20],
            _number(body.get("epoch", 0)),
        )
    except (KeyError, TypeError) as error:
        raise Malformed(f"the run lacks {error}") from error


def parse_answered(told: Any) -> tuple[tuple[int, bool], ...] | None:
    """The answers that a shim was given, and whether each was taken; raises Malformed. None where nothing is told."""
    if told is None:
        return None
    if not isinstance(told, list):
        raise Malformed("answers that are no list")
    found = []
    for one in told:
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[1], bool):
            raise Malformed("an answer that is no pair")
        found.append((_number(one[0]), one[1]))
    return tuple(found)


def parse_uses(told: Any) -> tuple[tuple[str, int], ...] | None:
    """How often armed answers were given, as hello and exit tell it; raises Malformed. None where nothing is told."""
    if told is None:
        return None
    if not isinstance(told, list) or len(told) > MOST_ARMED:
        raise Malformed("no list of armed answers")
    return tuple(parse_use(one) for one in told)


def parse_use(body: Any) -> tuple[str, int]:
    """The name of an armed answer, and how often it was given; raises Malformed."""
    if not isinstance(body, dict) or not isinstance(id := body.get("id"), str) or not ARMED_ID.fullmatch(id):
        raise Malformed("no name of an armed answer")
    uses = _number(body.get("uses"))
    if not 0 <= uses <= MOST_USES:
        raise Malformed(f"no number of uses: {uses!r:.40}")
    return id, uses


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Malformed(f"no whole number: {value!r:.40}")
    return value


def _object(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise Malformed(f"no object: {value!r:.40}")
    return value
