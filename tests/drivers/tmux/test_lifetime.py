"""The end of the tmux server's process is told once, also where nobody listens yet."""

from __future__ import annotations

import subprocess

from phoenixd.drivers.tmux.lifetime import Lifetime
from tests.waiting import eventually


async def test_f_tmux_2_a_server_that_ends_while_the_daemon_begins_is_told_once_it_speaks_to_the_fleet() -> None:
    lifetime, told = Lifetime(), list[str]()
    server = subprocess.Popen(["sleep", "600"])
    try:
        lifetime.follow(server.pid)
        assert lifetime.is_alive
    finally:
        server.kill()
        server.wait()
    await eventually(lambda: not lifetime.is_alive, 60)

    lifetime.speak_to(lambda: told.append("ended"))
    lifetime.speak_to(lambda: told.append("ended again"))

    assert told == ["ended"]
