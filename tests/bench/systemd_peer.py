"""systemd, in a machine of its own beside the others: its services restart at once, and share the host's network."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from tests.bench.peers import Unavailable, cache_directory
from tests.systemd.machine import Machine, NoMachine, booted, control_groups

UNIT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart={child} {births} %i
Restart=always
RestartSec=0
"""


class Systemd:
    name = "systemd, RestartSec=0"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ends = contextlib.ExitStack()
        self._leader = 0

    def start(self, child: Path, births: str, names: list[str]) -> None:
        if os.geteuid() != 0:
            raise Unavailable("only root can boot a machine with systemd")
        for program in ("systemd-nspawn", "nsenter"):
            if shutil.which(program) is None:
                raise Unavailable(f"{program} is absent (apt-get install systemd-container util-linux)")
        # The guest has a /tmp of its own.
        seen = shutil.copy(child, cache_directory() / "bench-child")
        try:
            directory = self._ends.enter_context(tempfile.TemporaryDirectory(prefix="phx"))
            groups = self._ends.enter_context(control_groups())
            self._leader = self._ends.enter_context(booted(Path(directory), groups, network=()))
        except NoMachine as reason:
            self._ends.close()
            raise Unavailable(str(reason)) from reason
        guest = Machine(self._leader)
        guest.write("/etc/systemd/system/bench@.service", UNIT.format(child=seen, births=births))
        guest.systemctl("daemon-reload")
        guest.systemctl("start", *(f"bench@{name}" for name in names))

    def own_pids(self) -> list[int]:
        return [self._leader]

    def status_argv(self) -> list[str] | None:
        return None

    def environ(self) -> dict[str, str]:
        return dict(os.environ)

    def stop(self) -> None:
        self._ends.close()
