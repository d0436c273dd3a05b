"""The fence around one run, as its order names it: what is out of its sight, and what it may see of us.

The shim's `fence` enters it. Here stands only which paths are meant, and what a kind of fence asks of the host.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import phoenixd
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.errors import LaunchFailed
from phoenixd.harness.screens import CANNOT_RUN

Run = TypeVar("Run", int, str)
"""By what a control group is named below its agent's: the incarnation of a run, or the name of a job."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")
"""To be read only: where the tree is the user's own, a process could leave its leaf by writing there."""


def fence_of(spec: AgentSpec, directories: Directories, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The table of an order, None where the run gets no namespace; raises LaunchFailed where it could not work in it.

    environment: the run's, by which the user's own service manager is found: it would start programs outside.
    """
    if spec.fence != "namespace":
        return None
    state, runtime = (Path(os.path.realpath(path)) for path in (directories.state, directories.runtime))
    hidden = [one for one in (state, runtime) if not any(other in one.parents for other in (state, runtime))]
    if any(Path(os.path.realpath(spec.cwd)).is_relative_to(one) for one in hidden):
        raise LaunchFailed(
            f"it works in {spec.cwd}, which its fence hides", "choose another cwd, or fence another way", CANNOT_RUN
        )
    sessions = sorted({environment.get("XDG_RUNTIME_DIR") or "/", f"/run/user/{os.getuid()}"} - {"/"})
    manager = [Path(session) / "systemd" for session in sessions]
    name = spec.name
    cwd = Path(os.path.realpath(spec.cwd))
    # What it works on is its own, also where that is phoenixd.
    frozen = (one for one in _frozen(directories, environment) if one not in (cwd, *cwd.parents, *_below(cwd, one)))
    papers = state / "agents" / (spec.seat or name)
    shown = [state / "lib", state / "bin", *dict.fromkeys((papers, state / "agents" / name)), CONTROL_GROUPS, *frozen]
    return {
        "hidden": [*map(str, dict.fromkeys(hidden)), *(str(one) for one in manager if one.is_dir())],
        "masked": [os.path.join(session, "bus") for session in sessions],
        "shown": [
            *({"path": str(one)} for one in shown if one.exists()),
            {"path": str(runtime / "agents" / name), "write": True},
            *([{"path": str(state / "tasks" / spec.task), "write": True}] if spec.task else []),
        ],
    }


def leaf_of(spec: AgentSpec, create: Callable[[str, Run], str | None] | None, run: Run) -> str | None:
    """Make the control group of a run or of a job; None where it gets none. Raises LaunchFailed where it needs one.

    create: None where no control group can be made here.
    """
    leaf = create(spec.name, run) if create is not None and spec.fence != "none" else None
    if leaf is None and spec.fence == "cgroup":
        why = "no control group is to be had here, and its fence is one"
        raise LaunchFailed(why, "phoenixctl install-service", CANNOT_RUN)
    return leaf


def offer_api(runtime: Path, name: str) -> None:
    """Give the API's socket a second name in a fenced agent's own directory; nothing happens before it has a first.

    A name and not a mount: the socket is another one after each start of the daemon. Raises OSError.
    """
    between = runtime / f".api-{name}"
    with contextlib.suppress(FileNotFoundError):
        between.unlink()
    try:
        os.link(runtime / "api.sock", between, follow_symlinks=False)
    except FileNotFoundError:
        return
    os.rename(between, api_socket(runtime, name, is_fenced=True))


def api_socket(runtime: Path, name: str, *, is_fenced: bool) -> Path:
    """Where an agent finds the API."""
    return runtime / "agents" / name / "api.sock" if is_fenced else runtime / "api.sock"


def _below(cwd: Path, path: Path) -> tuple[Path, ...]:
    return (path,) if cwd in path.parents and cwd != Path("/") else ()


def _frozen(directories: Directories, environment: Mapping[str, str]) -> Iterator[Path]:
    """What decides how the next run is started: our configuration, and our own program where it is the user's."""
    if directories.configuration is not None:
        yield Path(os.path.realpath(directories.configuration))
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", "/"), ".config")
    yield Path(os.path.realpath(os.path.join(home, "phoenixd")))
    yield Path(os.path.realpath(os.path.dirname(phoenixd.__file__)))
    if sys.prefix != sys.base_prefix:
        yield Path(os.path.realpath(sys.prefix))
