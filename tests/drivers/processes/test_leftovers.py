"""Whose a process is: by cgroup, shim and the run id in its environment; what is chosen of those; and nobody else."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.processes.leftovers import Choice, Cleaner
from tests.drivers.processes.processes import identity, sleepers
from tests.waiting import eventually_sync

Begin = Callable[..., int]


@pytest.fixture
def seconds() -> str:
    """An argument of sleep that tells this test's processes from all others."""
    return str(10**9 + uuid.uuid4().int % 10**8)


@pytest.fixture
def begin(seconds: str) -> Iterator[Begin]:
    """Start a process that is no child of this one, for a cleanup spares the children of its own process."""

    def start(environment: dict[str, str], leaf: str | None = None) -> int:
        join = f"echo 0 > {leaf}/cgroup.procs; " if leaf else ""
        script = f"({join}exec sleep {seconds}) >&- 2>&- & echo $!"
        pid = int(subprocess.check_output(["sh", "-c", script], env={"PATH": os.environ["PATH"], **environment}))
        eventually_sync(lambda: pid in sleepers(seconds), what="it is no shell any more")
        return pid

    yield start
    for pid in sleepers(seconds):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def choice(tmp_path: Path) -> Choice:
    """Of agent a, whose run 7 lives."""
    return Choice("a", tmp_path / "agents" / "a", run_id="run-7", incarnation=7)


def marks(choice: Choice, run_id: str = "run-6", **changes: str) -> dict[str, str]:
    return {
        "PHOENIX_AGENT": choice.agent, "PHOENIX_STATE_DIR": str(choice.state_dir), "PHOENIX_RUN_ID": run_id, **changes,
    }  # fmt: skip


def test_x24_what_an_earlier_run_left_is_ended_and_what_only_looks_like_it_is_not(
    begin: Begin, choice: Choice, seconds: str
) -> None:
    ours = {begin(marks(choice)), begin(marks(choice, "run-5"))}
    strangers = {
        begin({}),
        begin(marks(choice, PHOENIX_AGENT="b")),
        begin(marks(choice, PHOENIX_AGENT="ab")),
        begin(marks(choice, PHOENIX_STATE_DIR=f"{choice.state_dir}-of-another-daemon")),
        begin({"X": " ".join(f"{name}={value}" for name, value in marks(choice).items())}),
        begin({f"NOT_{name}": value for name, value in marks(choice).items()}),
        begin({name: value for name, value in marks(choice).items() if name != "PHOENIX_RUN_ID"}),
    }
    rules = replace(choice, match=("sleep", seconds))
    eventually_sync(lambda: set(sleepers(seconds)) == ours | strangers, what="all of them sleep")

    planned = Cleaner().clean(rules, dry_run=True)
    assert {one.pid for one in planned.owned} == ours
    assert set(sleepers(seconds)) == ours | strangers, "a dry run ends nothing"

    done = Cleaner().clean(rules)
    assert {one.pid: one.why for one in done.owned} == {one.pid: one.why for one in planned.owned}
    assert all(one.why.startswith("left over (run id run-") for one in done.owned)
    assert (done.remaining, done.foreign) == ((), ())
    assert set(sleepers(seconds)) == strangers


def test_of_the_living_run_only_what_is_named_is_ended_and_never_the_agent(
    begin: Begin, choice: Choice, seconds: str
) -> None:
    agent, server, other = (begin(marks(choice, "run-7", NAME=name)) for name in ("agent", "server", "other"))
    ports = {8080: server, 8081: agent}
    cleaner = Cleaner(listeners=lambda wanted: [(port, pid) for port, pid in ports.items() if port in wanted])

    nothing = cleaner.clean(replace(choice, agent_pid=agent, match=("pytest",), ports=(9,)))
    assert (nothing.owned, nothing.foreign) == ((), ())

    done = cleaner.clean(replace(choice, agent_pid=agent, ports=(8080, 8081)))
    assert [(one.pid, one.why) for one in done.owned] == [(server, "holds port 8080")]
    assert done.foreign == (), "the agent itself may listen"
    assert set(sleepers(seconds)) == {agent, other}

    done = cleaner.clean(replace(choice, agent_pid=agent, match=(f"sleep {seconds}",)))
    assert [(one.pid, one.why) for one in done.owned] == [(other, f'matches "sleep {seconds}"')]
    assert sleepers(seconds) == [agent]


def test_what_a_named_process_started_ends_with_it_as_far_as_the_run_owns_it(
    begin: Begin, choice: Choice, seconds: str
) -> None:
    script = f"import subprocess, time; subprocess.Popen(['sleep', '{seconds}']); time.sleep(10000)"
    server = int(
        subprocess.check_output(
            ["sh", "-c", '"$0" -c "$1" server.main >&- 2>&- & echo $!', sys.executable, script],
            env={"PATH": os.environ["PATH"], **marks(choice, "run-7")},
        )
    )
    eventually_sync(lambda: len(sleepers(seconds)) == 1, what="the server has a child")
    (child,) = sleepers(seconds)

    done = Cleaner().clean(replace(choice, match=("server.main",)))

    assert {one.pid: one.why for one in done.owned} == {
        server: 'matches "server.main"', child: f"started by {server}",
    }  # fmt: skip
    assert sleepers(seconds) == []


def test_what_emptied_its_environment_is_found_by_its_cgroup(
    begin: Begin, choice: Choice, seconds: str, tmp_path: Path
) -> None:
    tree = CgroupTree.find(tmp_path)
    if tree is None:
        pytest.skip("not run: no cgroup v2 tree is writable here")
    earlier, living, of_b = (
        begin({}, tree.create_leaf(agent, number)) for agent, number in (("a", 6), ("a", 7), ("b", 6))
    )
    eventually_sync(lambda: len(sleepers(seconds)) == 3, what="all of them sleep")

    done = Cleaner(tree).clean(choice)

    assert [(one.pid, one.why) for one in done.owned] == [(earlier, "left over (run 6)")]
    assert set(sleepers(seconds)) == {living, of_b}
    os.kill(living, signal.SIGKILL)
    os.kill(of_b, signal.SIGKILL)
    eventually_sync(lambda: tree.discard() or not tree.root.exists(), what="nothing lives in the tree")


def test_what_hangs_below_the_shim_while_nothing_runs_is_left_over_and_the_shim_is_not(
    begin: Begin, choice: Choice, seconds: str
) -> None:
    """A shim may have been started from within a run, and then carries its marks."""
    script = f"(/usr/bin/env -i sleep {seconds} & wait; exec sleep {seconds}) >&- 2>&- & echo $!"
    environment = {"PATH": os.environ["PATH"], **marks(choice)}
    shim = identity(int(subprocess.check_output(["sh", "-c", script], env=environment)))
    eventually_sync(
        lambda: [Path(f"/proc/{pid}/comm").read_text() for pid in sleepers(seconds)] == ["sleep\n"],
        what="what hangs below the shim has lost its marks",
    )
    (child,) = sleepers(seconds)
    cleaner = Cleaner(shim_of=lambda agent: shim)

    assert cleaner.clean(choice, dry_run=True).owned == (), "it may be the living run's"
    done = cleaner.clean(replace(choice, run_id=None, incarnation=None))

    assert child in {one.pid for one in done.owned if one.why == "left over (below its shim)"}
    assert identity(shim.pid) == shim
    os.kill(shim.pid, signal.SIGKILL)


def test_f_proc_20_a_stranger_at_a_port_is_named_and_lives(begin: Begin, choice: Choice, seconds: str) -> None:
    stranger = begin({"LOOKS": "harmless"})
    cleaner = Cleaner(listeners=lambda wanted: [(8080, None), (8080, stranger)])

    found = cleaner.clean(replace(choice, ports=(8080,), match=("sleep",)))

    assert [(one.port, one.pid, one.command) for one in found.foreign] == [
        (8080, None, ""), (8080, stranger, f"sleep {seconds}"),
    ]  # fmt: skip
    assert found.owned == ()
    assert sleepers(seconds) == [stranger]
