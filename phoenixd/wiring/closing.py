"""The end of the daemon's life, and of the shims and terminals that then serve nobody."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import structlog

from phoenixd.api.values import Dismiss
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.files.ownership import Ownership
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.errors import PhoenixdError

log = structlog.get_logger()


@dataclass(slots=True)
class Ending:
    """Whether the daemon's end has begun. dismiss: which shims and terminals end with it. why: by what."""

    owned: Ownership
    begun: anyio.Event = field(default_factory=anyio.Event)
    dismiss: Dismiss = "none"
    why: str = ""

    def begin(self, dismiss: Dismiss = "none", why: str = "phoenixctl down") -> None:
        self.dismiss, self.why = dismiss, why
        try:
            self.owned.say_ending()
        except OSError as error:
            log.warning("ending_not_said", reason=str(error))
        self.begun.set()


async def dismiss(shims: SeqpacketShims, terminal: TmuxTerminal, cgroups: CgroupTree | None, what: Dismiss) -> None:
    """End the shims, which have no run, and the tmux server where it is ours to end.

    idle: but for a server in which somebody opened panes by hand, who may be at work there.
    """
    for name in shims.living():
        try:
            shims.quit(name)
        except PhoenixdError as failure:
            # That of an agent that was removed a moment ago goes by itself.
            log.info("shim_goes_by_itself", agent=name, reason=failure.message)
    try:
        if what == "all" or not await terminal.foreign():
            await terminal.end()
    except PhoenixdError as failure:
        log.warning("terminal_not_ended", reason=failure.message)
    if cgroups is not None:
        cgroups.discard()
