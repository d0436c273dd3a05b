"""`resolve`: the daemon closes a loop; while none runs, the resolution is put on record for the next one."""

from __future__ import annotations

import json
import os
import sys
import time

from phoenixd.api import exits
from phoenixd.api.operations.operation import BODY_LIMIT
from phoenixd.ctl import absence, calls, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.errors import AlreadyRunning, PhoenixdError

PATIENCE = 60.0
"""Seconds for which a daemon that holds the state directory is waited for: on a busy machine it starts slowly."""
SILENCE = 3.0
"""Seconds after which it is said what is waited for."""
RETRY = 0.1


def resolve(command: Command) -> int:
    """Ask the daemon; where there is none, write the log under the lock that keeps one from starting meanwhile."""
    began, told = time.monotonic(), False
    while True:
        answer = calls.ask(command, command.operation, command.given)
        if answer is not None:
            return calls.tell(command, answer)
        held: AlreadyRunning | None = None
        try:
            code = _without_daemon(command)
        except AlreadyRunning as holder:
            code, held = None, holder
        if code is not None:
            return code
        waited = time.monotonic() - began
        if waited > PATIENCE and held is not None:
            return refuse(exits.UNREACHABLE, f"{held.message}, and it does not answer", "phoenixctl doctor")
        if waited > PATIENCE:
            return absence.explain(calls.places(command))
        if waited > SILENCE and not told:
            told = True
            print(f"phoenixd is there and does not answer yet; trying for {PATIENCE:.0f} s", file=sys.stderr)
        # A daemon that begins to answer announces itself by nothing that could be waited for.
        time.sleep(RETRY)


def _without_daemon(command: Command) -> int | None:
    """Do it here; None when a daemon is there after all."""
    # It reads an agent's documents, which no question to a daemon has to load.
    from phoenixd.api.problems import Problem
    from phoenixd.ctl import unattended

    places = calls.places(command)
    try:
        connection = wire.connect(places, 5.0)
    except OSError:
        return absence.explain(places)
    if connection is not None:
        connection.close()
        return None
    given = {key: str(value) for key, value in command.given.items()}
    if len(json.dumps(given)) > BODY_LIMIT:
        return refuse(exits.USAGE, f"the reason is longer than {BODY_LIMIT} bytes", "say it in a sentence")
    # A daemon that was named by its socket alone need not be the one of this environment.
    named = command.socket is not None or not os.environ.keys().isdisjoint(("PHOENIX_SOCKET", "PHOENIX_RUNTIME_DIR"))
    own_state = "PHOENIX_STATE_DIR" in os.environ or not named
    try:
        state = unattended.state_directory(places, os.environ, by_environment=own_state)
        if state is None:
            return absence.explain(places)
        up = absence.start_of_named(places)
        done = unattended.resolve(state, given["id"], given["reason"], given.get("agent"), os.environ, up=up)
    except Problem as problem:
        return refuse(problem.exit_code, problem.detail, problem.remedy)
    except AlreadyRunning:
        raise
    except PermissionError as error:
        return refuse(exits.DENIED, f"{error.filename} does not let you in", "ask as its owner, or as root")
    except (PhoenixdError, OSError) as error:
        return refuse(exits.FAILED, f"the resolution could not be put on record: {error}", "phoenixctl doctor")
    if command.as_json:
        print(json.dumps(done))
    else:
        print(done["message"])
    return exits.OK
