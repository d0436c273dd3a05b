"""The host has no descriptor, no memory, no process and no writable disk left for the daemon, and then has again."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.proof.host.fleet import Fleet, descriptors

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]

HELD = 12.0
"""Seconds that a fault lasts: longer than whatever the daemon tries again by itself."""


def lasts(fleet: Fleet) -> None:
    """Let the fault last. Time is what is tested here, and no event says that nothing happened."""
    deadline = time.monotonic() + HELD
    while time.monotonic() < deadline:
        assert fleet.stage.process is not None
        assert fleet.stage.process.poll() is None, f"the daemon ended:\n{fleet.stage.log_tail()}"
        time.sleep(0.2)


def test_f_sy_10_without_descriptors_the_daemon_lives_and_heals(fleet: Fleet) -> None:
    fleet.up()
    soft, hard = resource.prlimit(fleet.daemon, resource.RLIMIT_NOFILE)
    resource.prlimit(fleet.daemon, resource.RLIMIT_NOFILE, (descriptors(fleet.daemon), hard))
    os.kill(fleet.pids["a0"], signal.SIGKILL)
    lasts(fleet)
    resource.prlimit(fleet.daemon, resource.RLIMIT_NOFILE, (soft, hard))
    fleet.settles(healed=("a0",))


def test_without_memory_the_daemon_lives_or_ends_loudly_and_the_agents_live(fleet: Fleet) -> None:
    """Address space is what it may have not one page more of; a daemon that ends is started again, as systemd does."""
    fleet.up()
    size = int(Path(f"/proc/{fleet.daemon}/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.prlimit(fleet.daemon, resource.RLIMIT_AS)
    resource.prlimit(fleet.daemon, resource.RLIMIT_AS, (size, hard))
    os.kill(fleet.pids["a0"], signal.SIGKILL)
    deadline = time.monotonic() + HELD
    assert fleet.stage.process is not None
    while time.monotonic() < deadline and fleet.stage.process.poll() is None:
        fleet.stage.ctl("status")
    if fleet.stage.process.poll() is None:
        resource.prlimit(fleet.daemon, resource.RLIMIT_AS, (soft, hard))
    else:
        fleet.again()
    fleet.settles(healed=("a0",))


def test_the_kernel_ends_the_daemon_for_its_memory_and_the_agents_live(fleet: Fleet) -> None:
    fleet.up()
    with control_group("memory") as group:
        (group / "cgroup.procs").write_text(str(fleet.daemon))
        try:
            (group / "memory.force_empty").write_text("0")
        except OSError:
            pass  # What cannot be given back now is counted where it was.
        (group / "memory.limit_in_bytes").write_text("256K")
        deadline = time.monotonic() + 60
        assert fleet.stage.process is not None
        while fleet.stage.process.poll() is None:
            assert time.monotonic() < deadline, "it is ended for want of memory"
            fleet.stage.ctl("doctor")  # Programs that it runs are in its group, and want memory of their own.
    os.kill(fleet.pids["a0"], signal.SIGKILL)
    fleet.again()
    fleet.settles(healed=("a0",))


@contextmanager
def control_group(controller: str) -> Iterator[Path]:
    """A group of the first hierarchy of our own, or the test is not run."""
    group = Path("/sys/fs/cgroup") / controller / f"phoenixd-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"not run: no control group of {controller} can be made here: {error.strerror}")
    try:
        yield group
    finally:
        parent = group.parent / "cgroup.procs"
        for pid in (group / "cgroup.procs").read_text().split():
            try:
                parent.write_text(pid)
            except ProcessLookupError:
                continue
        group.rmdir()


def test_f_proc_12_a_fork_bomb_at_the_limit_of_processes_is_stopped_and_the_others_live(fleet: Fleet) -> None:
    """Daemon, shims and agents share a limit, which one agent eats up: not one process more can be made."""
    with control_group("pids") as group:
        below = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        fleet.stage.declare(
            "bomb",
            '[agent.bomb]\nargv = ["sh", "-c", "while :; do sleep 100000 & done"]\ncwd = "/"\nautostart = false\n',
        )
        fleet.up(below)
        (group / "pids.max").write_text(str(int((group / "pids.current").read_text()) + 60))
        fleet.stage.ask("start", "bomb")
        fleet.stage.until("no process can be made", lambda: denied(group) > 0)
        os.kill(fleet.pids["a0"], signal.SIGKILL)
        lasts(fleet)
        stopped = fleet.stage.ctl("stop", "bomb")
        assert stopped.returncode == 0, stopped.stderr
        assert incarnations(fleet.stage.root, "bomb") == {}
        fleet.settles(healed=("a0",))
        fleet.stage.down()


def denied(group: Path) -> int:
    """How often a process was refused."""
    return int((group / "pids.events").read_text().split()[1])


def test_f_st_4_a_disk_that_became_read_only_is_told_once_and_all_is_well_on_the_repaired_one(stage: Stage) -> None:
    """The kernel takes a damaged ext4 for reading only; the operator who repairs it mounts it again."""
    fleet, image = Fleet(stage), stage.root / "image"
    with damageable(image, stage.state):
        fleet.up()
        (Path("/sys/fs/ext4") / device_of(stage.state) / "trigger_fs_error").write_text("phoenixd's test")
        os.kill(fleet.pids["a0"], signal.SIGKILL)
        fleet.stage.until("it is told", lambda: "DEGRADED" in fleet.stage.ctl("status").stdout, 60)
        lasts(fleet)
        refused = fleet.stage.ctl("start", "s0")
        assert refused.returncode == 6, refused.stderr
        assert "doctor" in refused.stderr
        assert fleet.stage.ctl("stop", "a1").returncode == 6, "it ends, and no word of it was kept"
        assert incarnations(fleet.stage.root, "a1") == {}
        alerts = [row["alerts"] for row in fleet.stage.rows().values()]
        assert all(len(one) <= 1 for one in alerts), alerts
        fleet.stage.kill()
    # Shims keep the old mount; the same image would be the same mount once more.
    with damageable(Path(shutil.copy(image, stage.root / "repaired")), stage.state):
        fleet.again()
        fleet.settles(healed=("a0", "a1"))


@contextmanager
def damageable(image: Path, at: Path) -> Iterator[None]:
    """An ext4 that goes read-only at its first error, made once and repaired at its next mounting."""
    if not image.exists():
        with image.open("xb") as file:
            file.truncate(64 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", image], check=False, capture_output=True)
    else:
        made = subprocess.run(["fsck.ext4", "-y", image], check=False, capture_output=True)
    mounted = subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, at], check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"not run: no ext4 can be mounted here: {made.stderr!r} {mounted.stderr!r}")
    (at / "agents.d").mkdir(mode=0o700, exist_ok=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def device_of(mount: Path) -> str:
    told = subprocess.run(["findmnt", "-n", "-o", "SOURCE", mount], check=True, capture_output=True, text=True)
    return Path(told.stdout.strip()).name
