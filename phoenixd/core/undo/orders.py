"""Acts are noted as they are taken, and taken back on an operator's word. Parts of the table."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import weights
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.core.agent.state import (
    BackingOff,
    Desired,
    Live,
    Parked,
    Quarantined,
    Running,
    Starting,
    Stopped,
    Stopping,
)
from phoenixd.core.decision import Decision, Refusal, Seen
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    RestartRequested,
    StartRequested,
    StopRequested,
    UndoRequested,
)
from phoenixd.core.fleet import Fleet, Step, answer
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import orders as muting
from phoenixd.core.requests import hear_restart, start
from phoenixd.core.seat.finding import shown
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import quarantine, refuse
from phoenixd.core.undo import age, hindrance
from phoenixd.core.undo.state import NOUNS, Undoable, UndoVerb, is_nothing
from phoenixd.core.undo.telling import launch_of

Act = StopRequested | StartRequested | RestartRequested | AgentWithdrawn

BACK = "-back"
"""Ends the key of an act that is itself the taking back of one."""


def note(before: Fleet, found: Step, event: Act, now: Moment) -> Step:
    """Keep what an act changes, where it came from a face that lets people take it back."""
    agent = before.agents.get(event.agent)
    if found.refusal is not None or agent is None:
        return found
    name, acts = shown(before, agent), found.fleet.undoable
    stopped = _stopped(before, agent, name) if isinstance(event, StopRequested) else None
    if event.act and stopped is not None and isinstance(agent.state, Stopped | Stopping):
        # It changes nothing: the stop that did stays the act, with all of its agents.
        return found
    if isinstance(event, StopRequested | AgentWithdrawn):
        # What somebody wants down since then, by whatever face, no earlier act brings up. An agent that was removed
        # before this one was declared is another one.
        acts = tuple(one for one in acts if one.agent != name or one.verb != "stop")
    verb = _verb(event, agent)
    if event.act and verb is not None:
        sooner = replace(stopped, act=event.act, by=event.by, at_wall=now.wall, at=now.at) if stopped else None
        acts = age.lasting((*acts, sooner or _act(agent, name, event.act, verb, event.by, now)), now)
    return found if acts == found.fleet.undoable else replace(found, fleet=replace(found.fleet, undoable=acts))


def _act(agent: Agent, name: str, act: str, verb: UndoVerb, by: str, now: Moment) -> Undoable:
    generation, cannot = agent.spec.generation, ""
    if verb == "remove" and generation > 1:
        cannot = f"its seat was held by generation {generation}, and a seat begins with generation 1"
    if verb == "fresh" and is_nothing(agent.spec.harness, _session(agent)):
        cannot = "nothing had been said in the session that it left, so there is none to go back to"
    spec = agent.spec
    ended = agent.state if verb != "fresh" and isinstance(agent.state, Quarantined) else None
    return Undoable(
        act, verb, name, now.wall, by, _is_up(agent), _session(agent), cannot, agent.incarnation, generation,
        spec.kind.value, spec.harness, project_of(spec) if spec.kind is Kind.ORCHESTRATOR else spec.project,
        spec.labels, launch_of(spec), now.at, quarantine=ended, left_out=agent.left_out,
    )  # fmt: skip


def _stopped(before: Fleet, agent: Agent, name: str) -> Undoable | None:
    """The act that brought this run down, or is to; None where no stop did."""
    if _is_up(agent) or isinstance(agent.state, Quarantined):
        return None
    stops = [one for one in before.undoable if (one.agent, one.verb) == (name, "stop")]
    return stops[-1] if stops and stops[-1].incarnation == agent.incarnation else None


def undo(before: Fleet, found: Step, event: UndoRequested, now: Moment) -> Step:
    """Bring one agent back to where an act had found it."""
    agent = before.agents.get(event.agent)
    if agent is None:
        return replace(found, refusal=Refusal("not_found", f"there is no agent {event.agent}", "phoenixctl status"))
    name = shown(before, agent)
    young = age.kept(before.undoable, now)
    act = next((one for one in young if (one.act, one.agent) == (event.act, name)), None)
    if act is None:
        why = f"nothing of {name} can be taken back: it was, or 7 days have passed"
        return answer(found, refuse(agent, why, "phoenixctl undo --dry-run"), now)
    if act.verb in muting.MUTES:
        return muting.restore(found, event, agent, act, now)
    if (held := hindrance.of(before, agent, act)) is not None:
        refused = answer(found, refuse(agent, f"{name} cannot be brought back: {held.told}", held.remedy), now)
        return hindrance.let_go(refused, agent, name) if held.is_for_ever else refused
    decision = _back(agent, act, event.by, now)
    found = answer(found, weights.ordered(event, agent, decision), now)
    if found.refusal is not None:
        return found
    acts = tuple(one for one in found.fleet.undoable if one is not act)
    if _session(agent) is not None and _is_elsewhere(agent, act) and _changes_session(decision, agent, act):
        # The session that is left is not lost: the same word brings it back.
        acts = age.lasting((*acts, _act(agent, name, _other_way(act.act), "fresh", event.by, now)), now)
    return replace(found, fleet=replace(found.fleet, undoable=acts))


def _other_way(act: str) -> str:
    return act.removesuffix(BACK) if act.endswith(BACK) else act + BACK


def _back(agent: Agent, act: Undoable, by: str, now: Moment) -> Decision:
    if agent.removing:
        return refuse(agent, f"{act.agent} is being removed still: wait a moment", f"phoenixctl undo {act.agent}")
    by = f"{by}, who took the {NOUNS[act.verb]} back"
    returning = _returning(agent, act)
    if act.verb == "remove":
        # What had no turns is not given any by coming back (promise 3).
        returning = replace(returning, left_out=returning.left_out or act.left_out)
    match agent.state:
        case Running() | Starting() if act.verb == "fresh" and _is_elsewhere(agent, act):
            order = RestartRequested(agent.name, by=by)
            return hear_restart(returning, order, Seen(agent, Decision(returning)), now)
        case Running() | Starting():
            return Decision(agent, reason=f"undo asked by {by}: it runs already")
        case Stopping() | BackingOff() | Parked() if act.verb == "fresh":
            why = f"{act.agent} is between two runs: its fresh start can be taken back once it runs"
            return refuse(agent, why, f"phoenixctl undo {act.agent}")
        case _ if act.verb != "fresh" and agent.desired is Desired.RUNNING:
            return Decision(agent, reason=f"undo asked by {by}: it is to run already")
        case Stopped() if act.quarantine is not None and agent.incarnation == act.incarnation:
            return _given_up(returning, act.quarantine, by, now)
        case Stopped() if act.verb == "stop" and not act.was_up and agent.left_out and not act.left_out:
            why = f"undone by {by}: it has its turns again"
            return Decision(replace(agent, left_out=False), reason=why)
        case _ if act.verb == "stop" and not act.was_up:
            return Decision(agent, reason=f"undo asked by {by}: it was to be down already")
        case _ if act.was_up and act.verb != "fresh":
            return start(returning, StartRequested(agent.name, by=by), now)
        case _:
            back = "" if returning.returns_to is None else ": its next start goes back to its session"
            why = f"undone by {by}{back}"
            # One that was declared anew has no other reason to tell: it never ran since.
            is_new = returning.returns_to is not None and not agent.has_begun
            return Decision(replace(returning, reason=why) if is_new else returning, reason=why)


def _given_up(agent: Agent, state: Quarantined, by: str, now: Moment) -> Decision:
    """As the act found it: in quarantine, for the same cause, and waiting for a person who starts it."""
    again = quarantine(replace(agent, desired=Desired.RUNNING), state, now)
    # Nobody is alerted: people were told when it was given up, and an operator has just asked for this.
    return replace(again, actions=(), reason=f"undone by {by}")


def _returning(agent: Agent, act: Undoable) -> Agent:
    """The agent, whose next start goes back to the session of then. Where it is in that one still, that is newer.

    Of a run that is being ended its end tells how the session stands.
    """
    if _is_elsewhere(agent, act):
        return replace(agent, returns_to=act.session)
    if agent.returns_to is not None:
        return agent
    return replace(agent, returns_to=None if isinstance(agent.state, Stopping) else agent.session)


def _is_elsewhere(agent: Agent, act: Undoable) -> bool:
    """Whether its session is another one than that of then, or was given up since."""
    if act.session is None:
        return False
    there = agent.returns_to or agent.session
    if there is None or there.session_id != act.session.session_id:
        return True
    return there.spoiled is not None and act.session.spoiled is None


def _changes_session(decision: Decision, agent: Agent, act: Undoable) -> bool:
    """Whether the agent leaves its session for that of the act: not where it runs, or has only its turns again."""
    has_turns_again = act.verb == "stop" and not act.was_up and act.quarantine is None
    return decision.agent is not agent and not has_turns_again


def _is_up(agent: Agent) -> bool:
    """Whether it runs, or would again by itself."""
    return agent.desired is Desired.RUNNING and not isinstance(agent.state, Stopped | Quarantined)


def _session(agent: Agent) -> Session | None:
    """The session as it would have been found by the next start. Of a living run the open turn counts."""
    if agent.returns_to is not None:
        # An undo gave it back, and no run has begun in it since.
        return agent.returns_to
    if agent.session is None or not isinstance(agent.state, Live):
        return agent.session
    # What stood there of the run before is over: this one was told to go on with it, or was not.
    goes_on = agent.state.activity.turn_open or agent.state.run.goes_on
    return replace(agent.session, turn_open=goes_on)


def _verb(event: Act, agent: Agent) -> UndoVerb | None:
    """What can be taken back of this order: a stop, a fresh start, a removal.

    Also a stop of what was down by itself is an act: who takes back what he did last means that, and no older act of
    somebody else.
    """
    if isinstance(event, AgentWithdrawn):
        return "remove"
    if isinstance(event, StopRequested):
        return "stop"
    return "fresh" if event.fresh and _session(agent) is not None else None
