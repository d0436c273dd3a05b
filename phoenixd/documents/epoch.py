"""`epoch` and `wish.json`: a record of fixed length, so that a new one takes the old one's place without new room.

One JSON object with a checksum, filled up with blanks. What fails its checksum is no record: a torn or foreign one says
nothing. agents/<name>/wish.json: {"wish": "running|ending|stopped|removed", "epoch": N, "incarnation": N, "crc": N},
with "left_out": true of a member of a sequence that is to have no turns, and of one in quarantine "given_up", its cause
behind letters for what the quarantine is; STATE_DIR/epoch: {"epoch": N, "crc": N}.
"""

from __future__ import annotations

import json
from typing import Any, get_args
from zlib import crc32

from phoenixd.core.behind.world import GivenUp, Wish, Word, cause_of

LENGTH = 256
LETTERS = (("counted", "c"), ("misdeclared", "m"), ("refused", "r"))
MOST = 2**62


def render_epoch(number: int) -> bytes:
    return _render({"epoch": number})


def parse_epoch(content: bytes) -> int | None:
    """The epoch; None for anything that was not written whole."""
    fields = _parse(content)
    return _number(fields, "epoch") if fields is not None else None


def render_wish(wish: Wish) -> bytes:
    more: dict[str, Any] = {"left_out": True} if wish.left_out else {}
    if (found := wish.given_up) is not None:
        letters = "".join(letter for name, letter in LETTERS if getattr(found, name))
        more["given_up"] = f"{letters}:{found.cause}"
    return _render({"wish": wish.word, "epoch": wish.epoch, "incarnation": wish.incarnation, **more})


def parse_wish(content: bytes) -> Wish | None:
    """The wish; None for anything that was not written whole, or by a version that knows other wishes."""
    fields = _parse(content)
    if fields is None or fields.get("wish") not in get_args(Word):
        return None
    epoch, incarnation = _number(fields, "epoch"), _number(fields, "incarnation")
    if epoch is None or incarnation is None:
        return None
    return Wish(fields["wish"], epoch, incarnation, fields.get("left_out") is True, _given_up(fields.get("given_up")))


def _given_up(found: object) -> GivenUp | None:
    if not isinstance(found, str) or ":" not in found:
        return None
    letters, _, cause = found.partition(":")
    return GivenUp(cause_of(cause), **{name: letter in letters for name, letter in LETTERS})


def _render(fields: dict[str, Any]) -> bytes:
    text = json.dumps({**fields, "crc": _checksum(fields)})
    return text.ljust(LENGTH - 1).encode("ascii") + b"\n"


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    crc = fields.pop("crc", None)
    return fields if crc == _checksum(fields) else None


def _checksum(fields: dict[str, Any]) -> int:
    return crc32(json.dumps(sorted(fields.items())).encode())


def _number(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None
