"""The supervisors that are measured side by side: each keeps the same children alive, with its own defaults."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from phoenixd.demo.stage import Stage
from tests.bench.arena import children_of
from tests.ctl.cost import installed

PEER_PACKAGES = ("supervisor==4.3.0", "circus==0.19.0")
PM2 = "pm2@7.0.4"

START_PATIENCE = 300.0
"""Seconds in which a daemon of 1,000 agents has to answer, also on a busy machine."""


class Peer(Protocol):
    """One supervisor, started with a set of children."""

    name: str

    def start(self, child: Path, births: str, names: list[str]) -> None: ...

    def own_pids(self) -> list[int]:
        """The processes that the supervisor itself costs."""
        ...

    def status_argv(self) -> list[str] | None: ...

    def environ(self) -> dict[str, str]: ...

    def stop(self) -> None: ...


class Unavailable(Exception):
    """A peer cannot be installed here; it is reported as not run."""


def cache_directory() -> Path:
    """Where peers are kept between runs, outside the repository."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phoenixd-tests" / "bench"
    root.mkdir(parents=True, exist_ok=True)
    return root


def python_peers() -> Path:
    """A virtual environment with supervisord and circus."""
    venv = cache_directory() / "venv"
    if not (venv / "bin" / "circusd").exists() or not (venv / "bin" / "supervisord").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        install = [str(venv / "bin" / "pip"), "install", "-q", "setuptools<81", *PEER_PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"pip could not install {', '.join(PEER_PACKAGES)}: {done.stderr.strip()[-200:]}")
    return venv / "bin"


def pm2_program() -> Path:
    """pm2 from npm."""
    place = cache_directory() / "pm2"
    program = place / "node_modules" / ".bin" / "pm2"
    if not program.exists():
        if shutil.which("npm") is None:
            raise Unavailable("npm is not installed")
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            ["npm", "install", "--prefix", str(place), "--no-fund", "--no-audit", PM2],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise Unavailable(f"npm could not install {PM2}: {done.stderr.strip()[-200:]}")
    return program


class Spawned:
    """A supervisor that runs in the foreground as our child."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self, argv: list[str], environ: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            argv, cwd=self.root, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def own_pids(self) -> list[int]:
        return [self.process.pid] if self.process else []

    def environ(self) -> dict[str, str]:
        return dict(os.environ)

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Floor(Spawned):
    name = "floor: asyncio + pidfd"

    def start(self, child: Path, births: str, names: list[str]) -> None:
        program = str(Path(__file__).with_name("floor.py"))
        self.launch([sys.executable, "-I", program, str(child), str(births), *names])

    def status_argv(self) -> list[str] | None:
        return None

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Supervisord(Spawned):
    name = "supervisord"

    def start(self, child: Path, births: str, names: list[str]) -> None:
        self.bin = python_peers()
        programs = "".join(
            f"[program:{name}]\ncommand={child} {births} {name}\nautorestart=true\nstartretries=1000000\n"
            "stdout_logfile=NONE\nstderr_logfile=NONE\n"
            for name in names
        )
        self.config = self.root / "supervisord.conf"
        self.config.write_text(
            f"[supervisord]\nnodaemon=true\nlogfile={self.root}/s.log\npidfile={self.root}/s.pid\n"
            f"[unix_http_server]\nfile={self.root}/s.sock\n"
            "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
            f"[supervisorctl]\nserverurl=unix://{self.root}/s.sock\n{programs}"
        )
        self.launch([str(self.bin / "supervisord"), "-c", str(self.config)])

    def status_argv(self) -> list[str] | None:
        return [str(self.bin / "supervisorctl"), "-c", str(self.config), "status"]


class Circus(Spawned):
    name = "circus"

    def start(self, child: Path, births: str, names: list[str]) -> None:
        self.bin = python_peers()
        watchers = "".join(
            f"[watcher:{name}]\ncmd={child}\nargs={births} {name}\nnumprocesses=1\nmax_retry=-1\n" for name in names
        )
        self.config = self.root / "circus.ini"
        self.config.write_text(
            f"[circus]\nendpoint=ipc://{self.root}/c.sock\npubsub_endpoint=ipc://{self.root}/p.sock\n"
            f"statsd=false\n{watchers}"
        )
        self.launch([str(self.bin / "circusd"), str(self.config)])

    def status_argv(self) -> list[str] | None:
        return [str(self.bin / "circusctl"), "--endpoint", f"ipc://{self.root}/c.sock", "status"]


class Pm2:
    name = "pm2"

    def __init__(self, root: Path) -> None:
        self.root = root

    def environ(self) -> dict[str, str]:
        return {**os.environ, "PM2_HOME": str(self.root / "pm2"), "HOME": str(self.root)}

    def start(self, child: Path, births: str, names: list[str]) -> None:
        self.program = pm2_program()
        apps = [
            {"name": name, "script": str(child), "args": [str(births), name], "interpreter": "none",
             "max_restarts": 10**9, "min_uptime": 0}
            for name in names
        ]  # fmt: skip
        ecosystem = self.root / "ecosystem.json"
        ecosystem.write_text(json.dumps({"apps": apps}))
        self._run("start", str(ecosystem))

    def _run(self, *words: str) -> None:
        subprocess.run([str(self.program), *words], env=self.environ(), capture_output=True, check=False)

    def own_pids(self) -> list[int]:
        return [int((self.root / "pm2" / "pm2.pid").read_text())]

    def status_argv(self) -> list[str] | None:
        return [str(self.program), "ls"]

    def stop(self) -> None:
        self._run("kill")


class Phoenixd:
    """Ours, with its shims and its tmux server counted."""

    name = "phoenixd"

    def __init__(self, root: Path) -> None:
        self.stage = Stage(root)

    def start(self, child: Path, births: str, names: list[str]) -> None:
        for name in names:
            self.stage.declare(
                name,
                f'[agent.{name}]\nargv = ["{child}", "{births}", "{name}"]\ncwd = "/"\n'
                # Every kill of the benchmark is a crash within five minutes; the limits are not what is measured.
                '[agent.%s.restart]\nproductive = "0s"\nearly_exit = "0s"\n' % name,
            )
        self.stage.up(wait=False)
        self.stage.until("the daemon answers", self.stage.answers, START_PATIENCE)

    def beat(self, names: list[str]) -> None:
        """A heartbeat of each agent in its own directory, written by any hand."""
        stamp = datetime.datetime.now(datetime.UTC).isoformat()
        for name in names:
            path = self.stage.state / "agents" / name / "heartbeat.json"
            temporary = path.with_suffix(".new")
            temporary.write_text(json.dumps({"agent": name, "timestamp": stamp}))
            temporary.replace(path)

    def own_pids(self) -> list[int]:
        assert self.stage.process is not None
        return [self.stage.process.pid]

    def shim_pids(self) -> list[int]:
        server = self.server_pid()
        return [] if server is None else children_of(server)

    def server_pid(self) -> int | None:
        done = subprocess.run(
            ["tmux", "-S", str(self.stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return int(done.stdout) if done.returncode == 0 else None

    def environ(self) -> dict[str, str]:
        return {**self.stage.environ, "PHOENIX_SOCKET": str(self.stage.runtime / "api.sock")}

    def status_argv(self) -> list[str] | None:
        # As an installation has it: this checkout may be installed in a way that has no package to point at.
        scripts = self.stage.root / "venv" / "bin"
        if not scripts.exists():
            installed(scripts.parent)
        return [str(scripts / "launcher"), "status"]

    def stop(self) -> None:
        self.stage.down()
