"""Who looks at an agent's terminal, and who of them may write there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.drivers.tmux.terminals import a_terminal
from tests.waiting import eventually


async def test_clients_are_counted_for_each_agent_with_those_who_may_write(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        for agent in ("a", "b"):
            await terminal.open_pane(agent, ["sleep", "1000"])
        assert await terminal.clients() == {}
        attach = ["tmux", "-N", "-S", str(short_tmp / "tmux.sock"), "attach-session", "-t", "=phx-a"]
        spawn = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *attach]
        environment = {**os.environ, "TERM": "xterm"}
        people = [
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            for command in (spawn, [*spawn, "-r"])
        ]
        try:
            found: dict[str, tuple[int, int]] = {}

            async def both() -> bool:
                found.clear()
                found.update(await terminal.clients())
                return found.get("a", (0, 0))[0] == 2

            await eventually(both)
            assert found == {"a": (2, 1)}
        finally:
            for person in people:
                person.kill()
                person.communicate()
