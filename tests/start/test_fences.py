"""Which paths a fence hides and shows, and when a run is not started for want of one."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

import phoenixd
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.errors import LaunchFailed
from phoenixd.start.fences import fence_of, offer_api

SPEC = AgentSpec("a", ("agent",), "/", fence="namespace")


@pytest.fixture
def directories(short_tmp: Path) -> Directories:
    found = Directories(short_tmp / "conf", short_tmp / "state", short_tmp / "run")
    for path in (found.configuration, found.state / "lib", found.agent_state("a"), found.agent_runtime("a")):
        assert path is not None
        path.mkdir(parents=True)
    return found


def test_a_fence_hides_state_and_sockets_and_shows_the_agent_its_own(directories: Directories) -> None:
    found = fence_of(SPEC, directories, {"XDG_RUNTIME_DIR": "/run/user/4711", "HOME": "/"})

    assert found is not None
    assert found["hidden"][:2] == [str(directories.state), str(directories.runtime)]
    assert "/run/user/4711/bus" in found["masked"]
    writable = [one["path"] for one in found["shown"] if one.get("write")]
    assert writable == [str(directories.agent_runtime("a"))]
    shown = [one["path"] for one in found["shown"]]
    assert {str(directories.agent_state("a")), str(directories.state / "lib"), str(directories.configuration)} < set(
        shown
    )
    assert os.path.dirname(os.path.realpath(phoenixd.__file__)) in shown


def test_a_runtime_directory_below_the_state_directory_is_hidden_with_it(directories: Directories) -> None:
    below = replace(directories, runtime=directories.state / "run")

    found = fence_of(SPEC, below, {})

    assert found is not None
    assert str(below.runtime) not in found["hidden"]
    assert {"path": str(below.agent_runtime("a")), "write": True} in found["shown"]


def test_what_an_agent_works_on_stays_its_own_also_where_it_is_phoenixd(directories: Directories) -> None:
    checkout = Path(os.path.realpath(phoenixd.__file__)).parents[1]

    found = fence_of(replace(SPEC, cwd=str(checkout)), directories, {})

    assert found is not None
    assert [one["path"] for one in found["shown"] if one["path"].startswith(f"{checkout}/")] == []


@pytest.mark.parametrize("kind", ["auto", "cgroup", "none"])
def test_other_kinds_have_no_namespace(directories: Directories, kind: str) -> None:
    assert fence_of(replace(SPEC, fence=kind), directories, {}) is None


def test_an_agent_that_works_where_its_fence_hides_is_not_started(directories: Directories) -> None:
    with pytest.raises(LaunchFailed, match="which its fence hides"):
        fence_of(replace(SPEC, cwd=str(directories.agent_state("a"))), directories, {})


def test_the_api_is_offered_by_a_name_that_follows_each_new_socket(directories: Directories) -> None:
    offered, first = directories.agent_runtime("a") / "api.sock", directories.runtime / "api.sock"
    offer_api(directories.runtime, "a")
    assert not offered.exists(), "before the API is served"
    for _ in range(2):
        first.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as served, socket.socket(socket.AF_UNIX) as asking:
            served.bind(str(first))
            served.listen()
            offer_api(directories.runtime, "a")
            asking.connect(str(offered))
