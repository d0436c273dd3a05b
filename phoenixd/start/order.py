"""The order that a shim reads: command line, whole environment, directory. Composed anew for every start (P60)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.seal import Seal, request, request_alone
from phoenixd.documents.state import StateDocument
from phoenixd.harness import Harness, LaunchPlaces
from phoenixd.memory.brief.composition import first_words
from phoenixd.memory.brief.task_in_hand import POINTER

PROTOCOL = 1
FENCED = 2
"""Of an order with a fence: a shim that knows of none refuses it, and does not start without."""


def render_order(
    spec: AgentSpec,
    spawn: Spawn,
    argv: Sequence[str],
    environment: Mapping[str, str],
    token: str,
    cgroup: str | None,
    epoch: int = 0,
    fence: Mapping[str, Any] | None = None,
) -> bytes:
    """The content of order.json; ASCII, so that bytes that are no UTF-8 travel as escapes."""
    order: dict[str, Any] = {
        "protocol": PROTOCOL if fence is None else FENCED,
        "agent": spec.name,
        "incarnation": spawn.incarnation,
        "run_id": spawn.run_id,
        "mode": spawn.mode.value,
        "session_id": spawn.session_id,
        "epoch": epoch,
        "argv": list(argv),
        "env": dict(environment),
        "cwd": spec.cwd,
        "token": token,
        "cgroup": cgroup,
        **({} if fence is None else {"fence": fence}),
        "intent": None,
        "holds_permissions": spec.holds_permissions,
        # Exit 0 of a loop is the end of an iteration: the next one begins, so no marker says to stay down (X4).
        "interpret_exit_zero_as_clean": spec.kind is not Kind.LOOP,
    }
    return json.dumps(order).encode("ascii")


def phoenix_variables(
    spec: AgentSpec,
    spawn: Spawn,
    state: Path,
    runtime: Path,
    hook: Path,
    socket: Path,
    token: str,
    papers: Path | None = None,
    out: Path | None = None,
) -> dict[str, str]:
    """What the open contract promises an agent (design section 3). state and runtime: the agent's own directories.

    papers: those of its seat, where they stand elsewhere. out: where a worker leaves what it made.
    """
    return {
        "PHOENIX_AGENT": spec.seat or spec.name,
        **({"PHOENIX_GENERATION": str(spec.generation)} if spec.seat else {}),
        "PHOENIX_INCARNATION": str(spawn.incarnation),
        "PHOENIX_RUN_ID": spawn.run_id,
        "PHOENIX_MODE": spawn.mode.value,
        "PHOENIX_SESSION_ID": spawn.session_id,
        "PHOENIX_BRIEF": str((papers or state) / "brief.md"),
        "PHOENIX_STATE_DIR": str(state),
        # Written while the program boots: the hook program waits for it, and never tells the brief of a run before.
        "PHOENIX_SESSION_START": str(state / f"session-start.{spawn.incarnation}"),
        "PHOENIX_HOOK": str(hook),
        "PHOENIX_HOOK_DIR": str(runtime),
        "PHOENIX_SOCKET": str(socket),
        "PHOENIX_TOKEN": token,
        # What `hooks install` left in the user's settings is silent in sessions that have hooks from their launch.
        **({"PHOENIX_HOOKS": "settings"} if spec.has_hooks else {}),
        **(
            {"PHOENIX_TASK": spec.task, "PHOENIX_OUT": str(out), "PHOENIX_PROMPT": str(out.parent / "prompt.md")}
            if out is not None
            else {}
        ),
        **({"PHOENIX_HOLDS": "1"} if spec.holds_permissions and spec.hides_its_dialog else {}),
    }


def command_line(
    harness: Harness, agent: Agent, spawn: Spawn, state: StateDocument, places: LaunchPlaces, seal: Seal | None
) -> tuple[list[str], bool]:
    """The argv of a run, and whether its first words only say where the brief stands, as where they are too long."""
    words = first_words(agent, spawn.mode, spawn.prompt, state) if harness.takes_prompt(agent.spec) else None
    if spawn.prompt is PromptKind.SEAL and seal is not None:
        words = request_alone(seal)
    elif words is not None and seal is not None:
        words = f"{words}\n\nYour last answer is your report. {request(seal)}"
    try:
        return harness.command_line(agent.spec, spawn.mode.value, spawn.session_id, words, places), False
    except ValueError:
        # The kernel takes no argument of that length; the brief has no such bound.
        pointer = f"{POINTER}{places.brief}: read it there, and work on it."
        return harness.command_line(agent.spec, spawn.mode.value, spawn.session_id, pointer, places), True
