"""phoenixd under a real systemd: whatever happens to its service, the agents live on and are taken up again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from tests.systemd.machine import ACCOUNT, PYTHON, Machine, NoMachine, machine
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

T = TypeVar("T")
AGENTS = ("ant", "bee")
# Slow machines may take this long for what is immediate; nothing here waits for it when all is well.
PATIENCE = 90


class Fleet:
    """The agents, as an operator of this machine sees them."""

    def __init__(self, host: Machine) -> None:
        self.host = host

    def ctl(self, *arguments: str, check: bool = True) -> str:
        return self.host.run(PYTHON, "-m", "phoenixd.ctl", *arguments, check=check).stdout

    def rows(self) -> dict[str, dict[str, Any]]:
        answer = self.ctl("status", "--json", check=False)
        return {row["name"]: row for row in json.loads(answer)["agents"]} if answer.startswith("{") else {}

    def runs(self) -> dict[str, tuple[int, int]]:
        """(pid, incarnation) of each agent that runs."""
        return {
            name: (row["pid"], row["incarnation"]) for name, row in self.rows().items() if row["state"] == "running"
        }

    def all_run(self) -> dict[str, tuple[int, int]]:
        def running() -> dict[str, tuple[int, int]]:
            runs = self.runs()
            return runs if set(runs) == set(AGENTS) else {}

        return self.until(running, "all agents run")

    def alive(self, runs: dict[str, tuple[int, int]]) -> bool:
        return all(self.host.run("test", "-d", f"/proc/{pid}", check=False).returncode == 0 for pid, _ in runs.values())

    def daemon(self) -> str:
        return self.main_pid("phoenixd.service")

    def main_pid(self, unit: str) -> str:
        pid = self.host.property(unit, "MainPID")
        # `kill 0` would be the test's own process group.
        assert pid != "0", f"{unit} has no main process\n{self.host.journal()}"
        return pid

    def until(self, condition: Callable[[], T], what: str) -> T:
        try:
            return eventually_sync(condition, PATIENCE, what, longest_pause=1.0)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.ctl('status', check=False)}\n{self.host.journal()}") from error

    def new_daemon(self, old: str) -> None:
        def replaced() -> bool:
            pid = self.host.property("phoenixd.service", "MainPID")
            return self.host.property("phoenixd.service", "ActiveState") == "active" and pid not in ("0", old)

        self.until(replaced, "systemd has started another daemon")


@pytest.fixture(scope="module")
def host() -> Iterator[Machine]:
    try:
        with machine() as booted:
            booted.run("useradd", "--create-home", "--shell", "/bin/bash", ACCOUNT)
            installed = booted.run(PYTHON, "-m", "phoenixd.service_install", "--system", "--user", ACCOUNT, check=False)
            assert installed.returncode == 0, f"{installed.stderr}{booted.journal()}"
            yield booted
    except NoMachine as reason:
        pytest.skip(f"not run: {reason}")


@pytest.fixture
def fleet(host: Machine) -> Fleet:
    fleet = Fleet(host)
    known = fleet.rows()
    # To ask phoenixctl in there is most of what a test costs.
    for name in AGENTS:
        if name not in known:
            # A child in a session of its own, so that "alive" means the whole tree.
            fleet.ctl("add", name, "--cwd", f"/home/{ACCOUNT}", "--", "sh", "-c", "setsid sleep 5000 & exec sleep 5000")
        if known.get(name, {}).get("state") != "running":
            fleet.ctl("start", name)
    fleet.all_run()
    return fleet


def test_agents_live_in_the_tmux_unit_each_in_a_group_of_its_own(fleet: Fleet) -> None:
    for name, (pid, incarnation) in fleet.all_run().items():
        group = fleet.host.run("grep", "^0::", f"/proc/{pid}/cgroup").stdout.strip()

        assert group == f"0::/system.slice/phoenixd-tmux.service/agents/{name}/{incarnation}"


def test_agents_live_through_a_restart_of_the_service_and_are_adopted(fleet: Fleet) -> None:
    """F-SY-6."""
    before = fleet.all_run()

    fleet.host.systemctl("restart", "phoenixd.service")

    assert fleet.all_run() == before


def test_a_reload_declares_agents_and_touches_no_other(fleet: Fleet) -> None:
    before = fleet.all_run()
    fleet.host.write(
        "/etc/phoenixd/conf.d/50-cat.toml",
        f'[agent.cat]\ncwd = "/home/{ACCOUNT}"\nautostart = false\nargv = ["sleep", "5000"]\n',
    )

    fleet.host.systemctl("reload", "phoenixd.service")
    fleet.until(lambda: "cat" in fleet.rows(), "the daemon has read its configuration again")

    assert fleet.all_run() == before


def test_agents_live_through_kill_9_of_the_daemon_and_are_adopted(fleet: Fleet) -> None:
    before, daemon = fleet.all_run(), fleet.daemon()

    fleet.host.run("kill", "-KILL", daemon)
    fleet.new_daemon(daemon)

    assert fleet.all_run() == before


def test_a_daemon_that_hangs_is_replaced_by_the_watchdog_and_agents_live_on(fleet: Fleet) -> None:
    before = fleet.all_run()
    drop_in = "/etc/systemd/system/phoenixd.service.d/watchdog.conf"
    fleet.host.write(drop_in, "[Service]\nWatchdogSec=20\n")
    try:
        fleet.host.systemctl("daemon-reload")
        fleet.host.systemctl("restart", "phoenixd.service")
        daemon = fleet.daemon()

        fleet.host.run("kill", "-STOP", daemon)
        fleet.new_daemon(daemon)
    finally:
        fleet.host.run("rm", drop_in)
        fleet.host.systemctl("daemon-reload")
        fleet.host.systemctl("restart", "phoenixd.service")

    assert fleet.all_run() == before


def test_an_idle_daemon_tells_the_watchdog_that_it_lives(fleet: Fleet) -> None:
    """Nothing happens in a fleet at rest, and that must not look like a hang."""
    drop_in = "/etc/systemd/system/phoenixd.service.d/watchdog.conf"
    fleet.host.write(drop_in, "[Service]\nWatchdogSec=20\n")
    try:
        fleet.host.systemctl("daemon-reload")
        fleet.host.systemctl("restart", "phoenixd.service")
        daemon, told = fleet.daemon(), set[str]()

        def told_three_times() -> bool:
            told.add(fleet.host.property("phoenixd.service", "WatchdogTimestampMonotonic"))
            return len(told) >= 3

        fleet.until(told_three_times, "the watchdog was told three times")

        assert fleet.daemon() == daemon
    finally:
        fleet.host.run("rm", drop_in)
        fleet.host.systemctl("daemon-reload")
        fleet.host.systemctl("restart", "phoenixd.service")


def test_agents_live_while_the_service_is_stopped_and_are_adopted_when_it_starts(fleet: Fleet) -> None:
    before = fleet.all_run()

    fleet.host.systemctl("stop", "phoenixd.service")
    assert fleet.alive(before)
    fleet.host.systemctl("start", "phoenixd.service")

    assert fleet.all_run() == before


def test_promise_9_the_service_waits_for_its_directories_longer_than_its_start_timeout(fleet: Fleet) -> None:
    """Restarting it again and again would not free them, so systemd must let it wait, and show for whom."""
    before, host, unit = fleet.all_run(), fleet.host, "phoenixd.service"
    drop_in = f"/etc/systemd/system/{unit}.d/impatient.conf"
    host.write(drop_in, "[Service]\nTimeoutStartSec=5\n")
    host.systemctl("daemon-reload")
    host.systemctl("stop", unit)
    try:
        host.run("systemd-run", "--unit=other-owner", f"--uid={ACCOUNT}", PYTHON, "-P", "-m", "phoenixd",
                 "--state-dir", "/var/lib/phoenixd", "--runtime-dir", "/run/phoenixd")  # fmt: skip
        assert fleet.all_run() == before
        owner = fleet.main_pid("other-owner.service")

        host.systemctl("start", "--no-block", unit)
        fleet.until(lambda: host.property(unit, "StatusText").startswith("waits: "), "the service waits")
        waiting = fleet.daemon()
        began = int(host.property(unit, "ExecMainStartTimestampMonotonic"))

        def waited_three_timeouts() -> bool:
            assert fleet.daemon() == waiting
            return time.monotonic() - began / 1e6 > 15

        fleet.until(waited_three_timeouts, "three times TimeoutStartSec has passed")
        assert host.property(unit, "ActiveState") == "activating"
        assert f"pid {owner}" in host.property(unit, "StatusText")
        host.run("kill", "-KILL", owner)
        fleet.until(lambda: host.property(unit, "ActiveState") == "active", "the service serves")

        assert fleet.daemon() == waiting
        assert fleet.all_run() == before
    finally:
        host.run("systemctl", "stop", "other-owner.service", check=False)
        host.run("systemctl", "reset-failed", "other-owner.service", check=False)
        host.run("rm", drop_in)
        host.systemctl("daemon-reload")
        host.systemctl("restart", unit)


def test_a_daemon_that_is_told_to_stop_ends_by_itself(fleet: Fleet) -> None:
    """An agent that runs has its files watched; that must not make systemd lose its patience."""
    fleet.all_run()
    try:
        fleet.host.systemctl("stop", "phoenixd.service")

        assert fleet.host.property("phoenixd.service", "Result") == "success"
    finally:
        fleet.host.systemctl("start", "phoenixd.service")


def test_a_killed_agent_comes_back_in_the_tmux_unit(fleet: Fleet) -> None:
    """Under systemd no call may start a server or an agent inside the daemon's own unit."""
    before, server = fleet.all_run(), fleet.main_pid("phoenixd-tmux.service")

    fleet.host.run("kill", "-KILL", str(before["ant"][0]))
    fleet.until(lambda: fleet.runs().get("ant", before["ant"])[1] > before["ant"][1], "ant is back")

    runs = fleet.all_run()
    group = fleet.host.run("grep", "^0::", f"/proc/{runs['ant'][0]}/cgroup").stdout
    assert "/phoenixd-tmux.service/" in group
    assert fleet.main_pid("phoenixd-tmux.service") == server
    assert runs["bee"] == before["bee"]


def test_a_stopped_agent_stays_stopped_over_restarts_of_both_units(fleet: Fleet) -> None:
    fleet.ctl("stop", "ant")

    fleet.host.systemctl("restart", "phoenixd-tmux.service")
    fleet.host.systemctl("restart", "phoenixd.service")

    fleet.until(lambda: "bee" in fleet.runs(), "bee runs again")
    assert fleet.rows()["ant"]["state"] == "stopped"


def test_losing_the_tmux_unit_ends_the_old_trees_and_brings_the_agents_back(fleet: Fleet) -> None:
    before = fleet.all_run()

    fleet.host.run("kill", "-KILL", fleet.main_pid("phoenixd-tmux.service"))
    fleet.until(
        lambda: set(fleet.runs()) == set(AGENTS) and all(fleet.runs()[name] != before[name] for name in AGENTS),
        "both agents are back",
    )

    assert not any(
        fleet.host.run("test", "-d", f"/proc/{pid}", check=False).returncode == 0 for pid, _ in before.values()
    )


def test_a_wrong_configuration_ends_the_service_at_once_and_agents_live_on(fleet: Fleet) -> None:
    before = fleet.all_run()
    fleet.host.write("/etc/phoenixd/conf.d/99-wrong.toml", "[defaults]\nno_such_key = 1\n")
    try:
        fleet.host.run("systemctl", "restart", "phoenixd.service", check=False)

        fleet.until(lambda: fleet.host.property("phoenixd.service", "ActiveState") == "failed", "the unit has failed")
        assert fleet.host.property("phoenixd.service", "ExecMainStatus") == "78"
        assert fleet.alive(before)
    finally:
        fleet.host.run("rm", "/etc/phoenixd/conf.d/99-wrong.toml")
        fleet.host.systemctl("start", "phoenixd.service")

    assert fleet.all_run() == before
