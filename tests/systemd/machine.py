"""A machine with a real systemd: this very file system below an overlay, booted by systemd-nspawn in seconds.

Nothing is downloaded and nothing is left behind; what the machine writes goes to a tmpfs that ends with it.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import eventually_sync

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "phxbuilder"
PYTHON = sys.executable
"""The interpreter in the guest: the one that runs this, with what is installed for it."""
PLACES = tuple({ROOT, Path(sys.prefix), Path(sys.base_prefix)})
BOUND = tuple(place for place in PLACES if place.is_relative_to("/tmp"))
"""Those that the guest sees as they are, and cannot change: it has a /tmp of its own."""
BOOT_SECONDS = 60


class NoMachine(Exception):
    """No such machine can be had here; the message says why."""


class Machine:
    """A booted machine. Commands run inside it, as root or as the account of the agents."""

    def __init__(self, leader: int) -> None:
        self._leader = leader

    def run(
        self, *command: str, check: bool = True, user: str | None = None, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "--target", str(self._leader), "--all"]
        environment = [
            "env",
            "-i",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG=C.UTF-8",
        ]
        become = ["runuser", "-u", user, "--"] if user else []
        finished = subprocess.run(
            [*enter, *environment, *become, *command],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if check and finished.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {finished.returncode}\n{finished.stdout}{finished.stderr}")
        return finished

    def systemctl(self, *arguments: str) -> str:
        done = self.run("systemctl", *arguments, check=False)
        assert done.returncode == 0, f"systemctl {' '.join(arguments)}: {done.stderr}{self.journal()}"
        return done.stdout

    def property(self, unit: str, name: str) -> str:
        return self.systemctl("show", unit, f"--property={name}", "--value").strip()

    def write(self, path: str, text: str) -> None:
        self.run("install", "-D", "-m", "0644", "/dev/stdin", path, text=text)

    def journal(self) -> str:
        return self.run("journalctl", "--no-pager", "--lines=80", "--output=cat", check=False).stdout


@contextmanager
def machine() -> Iterator[Machine]:
    """Boot a machine that has this tree and this interpreter; raises NoMachine where that cannot be done."""
    if os.geteuid() != 0:
        raise NoMachine("only root can boot a machine with systemd")
    for program, package in (("systemd-nspawn", "systemd-container"), ("nsenter", "util-linux"), ("tmux", "tmux")):
        if shutil.which(program) is None:
            raise NoMachine(f"{program} is absent (apt-get install {package})")
    with tempfile.TemporaryDirectory(prefix="phx") as directory, control_groups() as groups:
        with booted(Path(directory), groups) as leader:
            guest = Machine(leader)
            install_tree(guest)
            yield guest


def install_tree(guest: Machine) -> None:
    """Make this tree and interpreter work for every account of the guest, wherever they lie here."""
    for place in PLACES:
        if place not in BOUND:
            guest.run("chmod", "o+x", *map(str, place.parents))
            guest.run("chmod", "o+rx", str(place))
    packages = Path(sysconfig.get_path("purelib"))
    if not any(packages.is_relative_to(place) for place in BOUND):
        guest.write(str(packages / "tree_under_test.pth"), f"{ROOT}\n")


@contextmanager
def control_groups() -> Iterator[list[Path]]:
    """A control group for the guest in each hierarchy that systemd could take for its own."""
    hierarchies = [Path("/sys/fs/cgroup", name) for name in ("", "unified", "systemd")]
    groups = [
        hierarchy / f"phx-machine-{os.getpid()}" for hierarchy in hierarchies if (hierarchy / "cgroup.procs").exists()
    ]
    try:
        for group in groups:
            group.mkdir()
    except OSError as error:
        raise NoMachine(f"no control group can be made: {error}") from error
    try:
        yield groups
    finally:
        for group in groups:
            # From the leaves up; the guest has left its own groups behind.
            for directory, _, _ in os.walk(group, topdown=False):
                eventually_sync(lambda directory=directory: removed(directory), 60, f"{directory} is empty")


def removed(group: str) -> bool:
    try:
        os.rmdir(group)
    except OSError as error:
        return error.errno not in (errno.EBUSY, errno.ENOTEMPTY)
    return True


# Mounts are made in a mount namespace of their own, so that they end with the last process in it.
BOOT = """
set -e
directory=$1 groups=$2
shift 2
for group in $groups; do echo $$ >"$group/cgroup.procs"; done
mount -t tmpfs tmpfs "$directory"
mkdir "$directory/upper" "$directory/work" "$directory/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
exec systemd-nspawn "--directory=$directory/root" "$@"
"""


@contextmanager
def booted(directory: Path, groups: list[Path], network: tuple[str, ...] = ("--private-network",)) -> Iterator[int]:
    """Boot and yield the pid of the guest's PID 1, as seen from here. network: none is the host's own."""
    log = tempfile.TemporaryFile(mode="w+")
    outermost = subprocess.Popen(
        [
            # All of it in a process namespace of its own: whatever kills the test takes the whole guest along.
            *(
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "--pid",
                "--mount-proc",
                "--fork",
                "--kill-child",
            ),
            *("sh", "-c", BOOT, "boot", str(directory), " ".join(map(str, groups))),
            "--boot",
            "--register=no",
            "--keep-unit",
            *network,
            f"--machine=phx{os.getpid()}",
            "--console=pipe",
            *(f"--bind-ro={place}" for place in BOUND),
            # The services of the machine below are none of ours.
            "systemd.unit=basic.target",
        ],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        start_new_session=True,
    )
    try:
        try:
            leader = eventually_sync(lambda: is_up(outermost), BOOT_SECONDS, "systemd in the guest is up")
        except (TimeoutError, ChildProcessError) as error:
            log.seek(0)
            raise NoMachine(f"systemd-nspawn did not boot: {error}: {log.read()[-500:].strip()}") from error
        yield leader
    finally:
        outermost.send_signal(signal.SIGKILL)
        outermost.wait(timeout=60)
        log.close()


def is_up(outermost: subprocess.Popen[bytes]) -> int:
    """The pid of the guest's systemd once it has booted: unshare's child is systemd-nspawn, and that one's systemd."""
    if outermost.poll() is not None:
        raise ChildProcessError(f"exit code {outermost.returncode}")
    leader = next((guest for nspawn in children(outermost.pid) for guest in children(nspawn)), 0)
    if not leader or Path(f"/proc/{leader}/comm").read_text() != "systemd\n":
        return 0
    asked = subprocess.run(
        ["nsenter", "--target", str(leader), "--all", "systemctl", "is-system-running"], capture_output=True, text=True
    )
    return leader if asked.stdout.strip() in {"running", "degraded"} else 0


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
