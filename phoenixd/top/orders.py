"""Orders and questions as they go over the wire: method, target and body, as the table of operations spells them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from phoenixd.api.operations import BY_NAME
from phoenixd.ctl import wire
from phoenixd.top.effects import Fetch
from phoenixd.top.face import Order

LOG_LINES = 500
SCREEN_LINES = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the daemon. is_text: its answer is a page for people."""

    method: str
    target: str
    body: bytes | None = None
    is_text: bool = False


def order(given: Order) -> Call:
    """An order."""
    operation = BY_NAME[given.operation]
    assert operation.path is not None
    path = operation.path
    for parameter in operation.at("path"):
        path = path.replace(f"{{{parameter.name}}}", str(given.given[parameter.name]))
    fields = {one.name: given.given[one.name] for one in operation.at("body") if one.name in given.given}
    return Call(operation.method, path, json.dumps(fields).encode())


def fetch(given: Fetch, width: int) -> Call:
    """A page about an agent. Its name is of the API's own alphabet."""
    form = "&".join([f"width={min(999, max(20, width - 2))}", *wire.zone(), *wire.named()])
    match given.kind:
        case "screen":
            return Call("GET", f"/v1/agents/{given.name}/pane?lines={SCREEN_LINES}")
        case "lives":
            return Call("GET", f"/v1/agents/{given.name}/lives")
        case "explain":
            return Call("GET", f"/v1/agents/{given.name}/explain?{form}", is_text=True)
        case "closed":
            return Call("GET", f"/v1/items?state=closed&{form}", is_text=True)
        case "log":
            target = f"/v1/log?select={given.name}&lines={LOG_LINES}&{form}"
            return Call("GET", target, is_text=True)


def since(time: str, *, look: bool = False) -> Call:
    """What happened since a time. look: from now on it counts as looked at."""
    return Call("GET", f"/v1/since?time={time}{'&look=1' if look else ''}")
