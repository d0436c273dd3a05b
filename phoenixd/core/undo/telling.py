"""What has become of an agent by taking an act back, for people: never more than the agent's state says."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.state import Afterwards, BackingOff, Parked, Quarantined, Running, Starting, Stopping
from phoenixd.core.moment import Moment
from phoenixd.core.restart import next_start
from phoenixd.core.spec import AgentSpec
from phoenixd.core.undo.state import Undoable, is_nothing

LAUNCHED = ("argv", "cwd", "harness", "kind", "prompt", "fresh_args", "resume_args", "fence")
"""Of a specification: what a run is started from, as far as the journal keeps it."""


def launch_of(spec: AgentSpec) -> str:
    """A few characters that differ where an agent would be started in another way. Its environment is left out."""
    return sha256(repr([getattr(spec, key) for key in LAUNCHED]).encode("utf-8", "replace")).hexdigest()[:12]


def told(agent: Agent, act: Undoable, now: Moment) -> str:
    """A sentence about the agent as the order to take an act back left it."""
    changed = bool(act.launch) and act.launch != launch_of(agent.spec)
    since = "; its configuration is another one than then: phoenixctl config show" if changed else ""
    shown = act if _has_session(agent) else replace(act, session=None)
    return f"{act.agent} {_words(agent, shown, now)}{since}"


def _has_session(agent: Agent) -> bool:
    """Whether people know a session of it: a program that tells nothing by hooks has an id of ours, and no more."""
    return agent.spec.has_hooks or agent.hooks_seen


def _words(agent: Agent, act: Undoable, now: Moment) -> str:
    match agent.state:
        case Running(run=run):
            return f"runs already{_of(run, act)}"
        case Starting(run=run):
            return f"is on its way back{_of(run, act) or _new(agent, run, act, now)}"
        case Stopping(then=Afterwards.RESTART):
            return f"is on its way back, once its run has ended{_in(act)}"
        case BackingOff(mode=mode) if mode is Mode.RESUME:
            return f"is on its way back{_in(act)}"
        case BackingOff() | Parked():
            return f"is on its way back: {agent.reason}"
        case Quarantined() if act.quarantine is not None:
            return f"is in quarantine again, as it was: {act.quarantine.cause}"
        case _ if act.verb == "stop" and agent.spec.turn_of is not None and not (agent.left_out or act.was_up):
            return f"has its turns in the sequence of {agent.spec.turn_of} again"
        case Quarantined():
            return f"is declared as it was{_in(act)}; it is not started while it is in quarantine"
        case _:
            return f"is declared as it was{_in(act)}; it was not running"


def _in(act: Undoable) -> str:
    if is_nothing(act.harness, act.session):
        return ", in a new session: nothing had been said in the one before"
    return f", in its session {act.session.session_id[:8]}" if act.session is not None else ""


def _of(run: Run, act: Undoable) -> str:
    if act.session is None or is_nothing(act.harness, act.session):
        return _in(act)
    if run.session_id == act.session.session_id:
        return _in(act)
    return f", in another session than {act.session.session_id[:8]}" if run.mode is Mode.RESUME else ""


def _new(agent: Agent, run: Run, act: Undoable, now: Moment) -> str:
    """Why a run has a session of its own."""
    if act.session is None or run.mode is Mode.RESUME:
        return ""
    then = replace(agent, session=replace(act.session, active_wall=now.wall))
    return f", in a new session: {next_start(then, now).reason}"
