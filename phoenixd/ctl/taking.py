"""`recover --take`: the agents of a runtime directory get another state directory, while no daemon runs."""

from __future__ import annotations

import json
import sys

from phoenixd.api import exits
from phoenixd.ctl import daemon_start
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import refuse
from phoenixd.drivers.files.ownership import take
from phoenixd.drivers.shims.handover import hand_over
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError
from phoenixd.runs import ASK, surroundings


def take_over(command: Command) -> int:
    """`recover --take [--state-dir DIR] [--runtime-dir DIR]`."""
    if runs := surroundings():
        return refuse(exits.CONFLICT, f"this is inside the run of {runs[0].agent}: its fleet is not its own", ASK)
    try:
        places = daemon_start.directories_of(command)
        if not places.runtime.is_dir():
            why = f"there is no runtime directory {places.runtime}, so there are no agents to be taken over"
            return refuse(exits.USAGE, why, "phoenixctl recover --take --runtime-dir DIR")
        taken, refused = take(
            places.state, places.runtime, lambda agent, owner: hand_over(places.runtime, agent, owner)
        )
    except ConfigurationError as error:
        return refuse(exits.USAGE, error.message, error.remedy or "phoenixctl recover --help")
    except AlreadyRunning as error:
        return refuse(exits.CONFLICT, error.message, error.remedy)
    except PhoenixdError as error:
        return refuse(exits.FAILED, error.message, error.remedy or "phoenixctl doctor")
    if command.as_json:
        print(json.dumps({"state": str(places.state), "taken": taken, "refused": refused}))
    else:
        print(f"{_counted(taken)} now of {places.state}")
    if not refused:
        if not command.as_json:
            print(f"See: phoenixctl up --state-dir {places.state} --runtime-dir {places.runtime}")
        return exits.OK
    for agent, why in refused.items():
        print(f"the shim of {agent} was not handed over: {why}", file=sys.stderr)
    print("do: the same again; or end that shim, with its agent, and start the agent anew", file=sys.stderr)
    return exits.FAILED


def _counted(taken: list[str]) -> str:
    if not taken:
        return "No shim lives; the runtime directory is"
    return f"{', '.join(taken)}: {'1 shim is' if len(taken) == 1 else f'{len(taken)} shims are'}"
