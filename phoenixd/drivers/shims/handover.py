"""Hand a living shim over to another state directory, while no daemon serves either."""

from __future__ import annotations

import os
from pathlib import Path

from phoenixd import __version__
from phoenixd.drivers.shims.link import credentials, dial
from phoenixd.drivers.shims.wire import PACKET_LIMIT, Malformed, decode, encode

PROTOCOL = 1
TIMEOUT = 5.0


def hand_over(runtime: Path, agent: str, owner: str) -> str | None:
    """Have the agent's shim take orders from the state directory of that id alone; returns why it did not, else None.

    A shim of a version that knows no owners obeys the daemon that has its runtime directory, and needs no telling.
    """
    try:
        connection = dial(runtime / "agents" / agent / "link.sock")
    except OSError as error:
        return f"it cannot be reached: {error.strerror}"
    if connection is None:
        return "it does not listen"
    with connection:
        if credentials(connection)[1] != os.geteuid():
            return "its socket is served by another user"
        connection.settimeout(TIMEOUT)
        try:
            message = {"op": "hello", "protocol": PROTOCOL, "version": __version__, "owner": owner, "take": True}
            connection.send(encode(message))
            said = decode(agent, connection.recv(PACKET_LIMIT))
        except TimeoutError:
            return "it does not answer"
        except OSError as error:
            return f"it hung up: {error.strerror}"
        except Malformed as error:
            return f"it said nonsense: {error}"
    if said.event != "hello":
        return str(said.body.get("message") or said.event)[:300]
    return None if said.body.get("owner") in (owner, None) else "it stays with its owner"
