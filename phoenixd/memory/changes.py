"""An operator's edit of state.json, heard of when it is made: the file is read, merged and told, whatever else happens.

A look each minute finds what no watch told of (a network file system, a limit of the kernel).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from phoenixd.ports.evidence import Changes

DOCUMENT = "state.json"


async def follow_edits(changes: Changes, look: Callable[[str], Awaitable[None]]) -> None:
    """For ever: look at an agent's state.json whenever somebody has written, replaced or removed it."""
    try:
        while True:
            changed = await changes.next()
            names = {path.parent.name for path in changed if path.name == DOCUMENT}
            # Where the kernel lost count, it names the directory instead.
            names |= {path.name for path in changed if path.parent.name == "agents"}
            for name in sorted(names):
                await look(name)
    finally:
        changes.close()
