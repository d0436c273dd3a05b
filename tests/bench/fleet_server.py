"""A fleet in memory behind the real API, in a process of its own: `-m tests.bench.fleet_server AGENTS DIRECTORY RATE`.

RATE rows change in each second. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from phoenixd.core.sight import Sight, Words
from tests.api.conftest import serving
from tests.api.daemon import FakeDaemon

BEAT = 2.0


async def main(agents: int, directory: Path, rate: float) -> None:
    daemon = FakeDaemon()
    for number in range(agents):
        daemon.declare(f"agent-{number:04d}", harness="claude")
    async with serving(daemon, directory, beat=BEAT):
        print("ready", flush=True)
        over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for number in itertools.count():
            done, _ = await asyncio.wait((over,), timeout=1 / rate if rate else None)
            if done:
                return
            name = f"agent-{number % agents:04d}"
            said = Words(f"make {number}", daemon.now().wall)
            daemon.see(name, Sight(daemon.state.agents[name].incarnation, said=said))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])))
