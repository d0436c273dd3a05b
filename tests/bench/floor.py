"""The floor: a bare asyncio loop with pidfds that forks its children itself: no Python daemon can be faster."""

from __future__ import annotations

import asyncio
import os
import sys


def spawn(argv: list[str], loop: asyncio.AbstractEventLoop) -> None:
    """Start a child, and start it again whenever it dies."""
    pid = os.posix_spawn(argv[0], argv, os.environ)
    pidfd = os.pidfd_open(pid)

    def died() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        os.waitpid(pid, 0)
        spawn(argv, loop)

    loop.add_reader(pidfd, died)


async def main() -> None:
    program, socket, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    loop = asyncio.get_running_loop()
    for name in names:
        spawn([program, socket, name], loop)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
