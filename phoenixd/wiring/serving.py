"""The control API on its socket, for as long as the daemon lives."""

from __future__ import annotations

import grp
import shlex
import socket

import anyio
import structlog

from phoenixd.api.application import Api
from phoenixd.api.rights import Doorkeeper
from phoenixd.api.server import LOOK_EVERY, bind, serve
from phoenixd.drivers.files.plain import ensure_private_dir
from phoenixd.remedies import anew
from phoenixd.runtime.floodgate import Floodgate
from phoenixd.start.fences import offer_api
from phoenixd.wiring.parts import Daemon

log = structlog.get_logger()


def _group(name: str) -> int | None:
    """The group whose members may ask; None for none, and for one that is not there: the agents cannot wait for it."""
    try:
        return grp.getgrnam(name).gr_gid if name else None
    except KeyError:
        remedy = f"groupadd {shlex.quote(name)}, then: {anew()}"
        log.error("api_group_missing", group=name, reason="the socket is its owner's alone", remedy=remedy)
        return None


async def serve_api(daemon: Daemon, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """Answer the control API until the daemon stops."""
    name = daemon.ground.configuration.settings.daemon.api_group
    group = _group(name)
    directories, runtime = daemon.ground.directories, daemon.ground.directories.runtime

    def listening() -> socket.socket:
        ensure_private_dir(runtime)
        try:
            daemon.ending.owned.keep()
        except OSError as error:
            log.warning("runtime_directory_not_owned", reason=str(error))
        listener = bind(runtime / "api.sock", group)
        for agent in daemon.ground.supervisor.everybody():
            if agent.spec.fence == "namespace" and directories.agent_runtime(agent.name).is_dir():
                try:
                    offer_api(runtime, agent.name)
                except OSError as error:
                    # What an agent makes of its own directory is its own loss.
                    log.warning("api_not_offered", agent=agent.name, reason=str(error))
        return listener

    def flood_waits(is_shut: bool) -> None:
        daemon.world.shims.pause(is_shut)
        daemon.ground.supervisor.leave_floods(is_shut)
        daemon.publisher.pause(is_shut)

    doorkeeper = Doorkeeper(daemon.service.agent_of_token, group, seated=daemon.service.seated)
    api = Api(daemon.service, doorkeeper, gate=Floodgate(flood_waits))
    await serve(
        api,
        listening(),
        on_ready=lambda server: task_status.started(),
        bind_again=listening,
        rest=lambda: daemon.rounds.rest(LOOK_EVERY),
    )
