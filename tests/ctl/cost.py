"""What a status costs, by each way to start phoenixctl: `python -m tests.ctl.cost [ROUNDS]`. Prints, asserts nothing.

Milliseconds of wall time, median and lower decile, interleaved so that a busy machine is busy for all; then CPU time.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.api.conftest import serving
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import ROOT

AGENTS = 39


def installed(root: Path) -> Path:
    """A virtualenv laid out as installers do it, with each kind of script."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
    (packages,) = root.glob("lib/python3.*/site-packages")
    shutil.copytree(ROOT / "phoenixd", packages / "phoenixd", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([root / "bin/python", "-m", "compileall", "-qq", packages / "phoenixd"], check=False)
    shutil.copy(ROOT / "phoenixd/ctl/launcher.sh", root / "bin/launcher")
    call = "import sys\nfrom phoenixd.ctl.__main__ import entry\nsys.exit(entry())\n"
    for name, lines in (("wrapper", ""), ("wrapper-with-re", "import re\n")):
        script = root / "bin" / name
        script.write_text(f"#!{root}/bin/python\n{lines}{call}")
        script.chmod(0o755)
    return root / "bin"


def measure(commands: dict[str, list[str]], rounds: int, env: dict[str, str]) -> None:
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            began = time.perf_counter()
            process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=env)
            _, status, used = os.wait4(process.pid, 0)
            wall[name].append((time.perf_counter() - began) * 1000)
            cpu[name].append((used.ru_utime + used.ru_stime) * 1000)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, argv
    floor = statistics.median(next(iter(wall.values())))
    print(f"{'':<40} {'median':>7} {'10 %':>6} {'CPU':>6} {'ratio':>6}")
    for name, took in wall.items():
        decile = sorted(took)[len(took) // 10]
        median = statistics.median(took)
        print(f"{name:<40} {median:7.1f} {decile:6.1f} {statistics.median(cpu[name]):6.1f} {median / floor:6.2f}")


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="phx") as directory:
        place = Path(directory)
        scripts = installed(place / "venv")
        daemon = FakeDaemon()
        for number in range(AGENTS):
            daemon.declare(f"agent-{number:02d}")
        python = os.fspath(scripts / "python")
        commands = {
            "python -S -E -I -c pass (the floor)": [python, "-S", "-E", "-I", "-c", "pass"],
            "python -c pass": [python, "-c", "pass"],
            "launcher.sh status": [os.fspath(scripts / "launcher"), "status"],
            "launcher.sh status --json": [os.fspath(scripts / "launcher"), "status", "--json"],
            "console script (uv, newer pip) status": [os.fspath(scripts / "wrapper"), "status"],
            "console script (older pip: re) status": [os.fspath(scripts / "wrapper-with-re"), "status"],
            "python -m phoenixd.ctl status": [python, "-m", "phoenixd.ctl", "status"],
            "launcher.sh plan (argparse)": [os.fspath(scripts / "launcher"), "plan"],
        }
        async with serving(daemon, place) as live:
            env = {"PHOENIX_SOCKET": os.fspath(live.socket), "PATH": os.environ["PATH"]}
            await asyncio.to_thread(measure, commands, rounds, env)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
