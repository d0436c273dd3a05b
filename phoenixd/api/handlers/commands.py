"""Answers that change something: each is an event on the daemon's queue, and returns after it is saved."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping

from phoenixd.api import exits, problems, removal, representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.past import chosen
from phoenixd.api.operations.parameters import TEXT_FORM
from phoenixd.api.pages import agent as text_agent
from phoenixd.api.times import ago, span
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Desired, Quarantined, Running, Starting, Stopped
from phoenixd.core.breaker import Open
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.orders import BreakerReset, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.tasks import TaskCancelRequested
from phoenixd.core.facts import Ordered, Verb
from phoenixd.core.fleet import Fleet
from phoenixd.core.requests import left_out, never_ends
from phoenixd.core.seat.finding import is_down, meant, shown
from phoenixd.core.spec import Kind
from phoenixd.core.turn import due
from phoenixd.remedies import anew

REMOVE_WAIT = 60.0
AT_ONCE = 0.5
"""Seconds in which a program that just began and ends is told as one that did not start."""
OVERTAKES: Mapping[Verb, str] = {
    "undo": "took the stop back", "start": "started it meanwhile", "restart": "restarted it meanwhile",
}  # fmt: skip
"""Orders after which an agent is to run that was told to stop."""
OVERTAKING_ROWS = 50
"""Rows among which such an order is looked for."""

WRITERS = {"cli": "auto", "plain": "deterministic"}
"""What the configuration calls the answers to who is to write the brief."""


async def add_agent(ask: Ask) -> Reply:
    table = {
        key: value
        for key, value in ask.arguments.items()
        if value is not None and key not in ("name", "brief_writer", *PAGE_KEYS)
    }
    if (chosen := ask.arguments.get("brief_writer")) is not None:
        table["brief"] = {"writer": WRITERS[str(chosen)]}
    added = await ask.service.add(ask.name, table)
    if isinstance(added, Refusal):
        raise problems.of_refusal(added)
    message = f"added {ask.name}; it is not started. Start it: phoenixctl start {ask.name}"
    body = {"name": ask.name, "warnings": list(added), "message": message}
    return Reply(body, said(*(f"warning: {warning}" for warning in added), message), status=201)


async def remove_agent(ask: Ask) -> Reply:
    ask.agent()
    refusal = await ask.service.remove(ask.name, ask.caller.name, act_of(ask))
    if refusal is not None:
        raise problems.of_refusal(refusal)
    gone = await ask.service.wait_for(lambda fleet: meant(fleet, ask.name) is None, REMOVE_WAIT)
    told = removal.sentence(ask.service.fleet(), ask.name, ask.service.now()) if gone else None
    back = f". Bring it back: {told[1]}" if told is not None and told[1] else ""
    message = (
        f"removed {ask.name}{back}"
        if gone
        else f"{ask.name} is still being stopped; it is removed when its tree is gone"
    )
    return _message(message, done=gone)


async def start_agent(ask: Ask) -> Reply:
    before = ask.agent()
    columns, lines = ask.arguments.get("columns"), ask.arguments.get("lines")
    if columns is not None and lines is not None:
        ask.service.size_next(ask.name, columns, lines)
    await order(ask, StartRequested(ask.name, bool(ask.arguments["fresh"]), ask.caller.name, act_of(ask)))
    if isinstance(before.state, Running):
        return _outcome(ask, done=True, message=f"{ask.name} is running already")
    begun = 1 if isinstance(before.state, Starting) else 0
    return await _started(ask, before.incarnation - begun)


async def restart_agent(ask: Ask) -> Reply:
    before = ask.agent()
    await order(ask, RestartRequested(ask.name, bool(ask.arguments["fresh"]), ask.caller.name, act_of(ask)))
    seat = ask.service.fleet().seats.get(before.spec.seat)
    if seat is not None and seat.restart is not None:
        return _outcome(ask, done=False, message=f"{ask.name} is restarted once its seat has passed on")
    return await _started(ask, before.incarnation)


async def stop_agent(ask: Ask) -> Reply:
    before = ask.agent()
    later = bool(ask.arguments["after_iteration"])
    if later and (refusal := never_ends(before.spec)) is not None:
        raise problems.of_refusal(refusal)
    await order(ask, StopRequested(ask.name, ask.caller.name, later, act_of(ask)))
    if isinstance(before.state, Stopped) and is_down(ask.service.fleet(), ask.name):
        return _outcome(ask, done=True, message=f"{ask.name} is stopped already{left_out(before)}")
    # An iteration may last for long, so only somebody who says so waits for its end.
    waits = ask.arguments["wait"] if ask.arguments["wait"] is not None else not later
    if not waits and not (later and is_down(ask.service.fleet(), ask.name)):
        after = " after this iteration" if later else ""
        return _outcome(ask, done=False, message=f"{ask.name} is to stop{after}. See: phoenixctl status {ask.name}")
    timeout = float(ask.arguments["timeout"])
    await ask.service.wait_for(lambda fleet: is_down(fleet, ask.name) or _is_wanted(fleet, ask.name), timeout)
    if is_down(ask.service.fleet(), ask.name):
        return _outcome(ask, done=True, message=f"{ask.name} is stopped, and stays so")
    if _is_wanted(ask.service.fleet(), ask.name):
        return _outcome(ask, done=False, message=await _overtaken(ask), code=exits.CONFLICT)
    told = f"still runs its iteration after {ago(timeout)}, and stops with its end"
    if not later:
        told = f"is still being stopped after {ago(timeout)}"
    message = f"{ask.name} {told}. See: phoenixctl explain {ask.name}"
    return _outcome(ask, done=False, message=message, code=exits.TIMED_OUT)


def _is_wanted(fleet: Fleet, name: str) -> bool:
    """Whether an agent is to run, whatever was ordered before."""
    agent = meant(fleet, name)
    return agent is not None and agent.desired is Desired.RUNNING


async def _overtaken(ask: Ask) -> str:
    """By whom a stop was undone before it was done."""
    rows = await ask.service.journal.read(agent=ask.written_by(ask.name), newest=True, limit=OVERTAKING_ROWS)
    orders = [fact for row in rows for fact in row.entry.facts if isinstance(fact, Ordered) and fact.verb in OVERTAKES]
    # What is not saved yet is told by the agent itself.
    told = f"{orders[-1].by} {OVERTAKES[orders[-1].verb]}" if orders else ask.agent().reason
    return f"{ask.name} is to run again: {told}. See: phoenixctl explain {ask.name}"


ALL_DOWN = "every agent is stopped, and phoenixd ends"


async def down(ask: Ask) -> Reply:
    service = ask.service
    if ask.arguments["agents"]:
        # Tasks first: a worker that ends makes room for one that waits.
        tasks = [task for task in service.fleet().tasks.open if not task.has_ended]
        # One that is being ended already refuses, and is waited for below.
        await asyncio.gather(*(service.order(TaskCancelRequested(task.id, ask.caller.name)) for task in tasks))
        workers = {task.agent for task in tasks}
        # An order to a seat ends all of its generations.
        up = {
            agent.spec.seat or name
            for name, agent in service.fleet().agents.items()
            if name not in workers and (not isinstance(agent.state, Stopped) or agent.desired is Desired.RUNNING)
        }
        # At once, so that they share a commit; and under one act, so that undo takes back what was done last.
        act = act_of(ask)
        await asyncio.gather(*(order(ask, StopRequested(name, ask.caller.name, act=act)) for name in sorted(up)))
        timeout = float(ask.arguments["timeout"])
        if not await service.wait_for(lambda fleet: not _up(fleet), timeout):
            fleet = service.fleet()
            # The reason of one that stops is what is waited for.
            left = [
                f"{name} ({fleet.agents[name].reason})" if name in fleet.agents else name for name in _up(fleet)[:10]
            ]
            words = (
                f"still stopping after {ago(timeout)}: {', '.join(left)}; the daemon goes on. See: phoenixctl status"
            )
            return _message(words, done=False)
        return Reply({"message": ALL_DOWN, "done": True}, said(ALL_DOWN), afterwards=lambda: service.shut_down("all"))
    fleet, again = service.fleet(), f"Start it again: {service.facts().again}"
    if fleet.is_at_rest:
        words = f"phoenixd ends; no agent runs. {again}"
        return Reply({"message": words, "done": True}, said(words), afterwards=lambda: service.shut_down("idle"))
    alive = sum(agent.run is not None for agent in fleet.agents.values())
    living = "1 agent runs" if alive == 1 else f"{alive} agents run"
    return _message(f"phoenixd ends; {living} on. {again}", done=True, afterwards_of=ask)


async def apply(ask: Ask) -> Reply:
    done = await ask.service.apply()
    again = anew(ask.service.facts().again)
    code = exits.CONFLICT if any(one.refused for one in done.changes) else exits.OK
    return Reply(representation.planned(done), lambda here: text_agent.plan(done, here, done=True, again=again), code)


async def heartbeat_simulate(ask: Ask) -> Reply:
    agent, age = ask.agent(), float(ask.arguments["age"])
    if not isinstance(agent.state, Running):
        raise problems.Problem("conflict", f"{ask.name} is not running", f"phoenixctl start {ask.name} --wait")
    if why := due.untouched_by(agent.state.activity, agent.view(), age, ask.service.now()):
        return _message(f"a heartbeat of {ago(age)} ago has no effect on {ask.name}: {why}", done=True)
    await order(ask, EvidenceSeen(ask.name, agent.incarnation, f"simulated by {ask.caller.name}", age, ordered=True))
    what = f"{ask.name} now claims a heartbeat of {ago(age)} ago: it is ended as hung (124), and started again"
    return _message(f"{what}. See: phoenixctl explain {ask.name}", done=True)


async def breaker_reset(ask: Ask) -> Reply:
    before = ask.agent()
    if (without := text_agent.no_breaker(before)) is not None and not isinstance(before.breaker, Open):
        said_so, command = without
        return _message(f"{said_so}: there is no breaker to reset. See: {command}", done=True)
    await order(ask, BreakerReset(ask.name, ask.caller.name))
    words = f"the breaker of {ask.name} is CLOSED and counts from nothing"
    stopped = isinstance(before.state, Quarantined) and isinstance(before.breaker, Open)
    return _message(f"{words}. Start it: phoenixctl start {ask.name}" if stopped else words, done=True)


async def clean_agent(ask: Ask) -> Reply:
    ask.agent()
    dry_run = bool(ask.arguments["dry_run"])
    found = await ask.service.clean(ask.name, dry_run, ask.caller.name)
    body = representation.leftovers(ask.name, found, dry_run=dry_run)
    code = exits.FAILED if found.remaining else exits.OK
    return Reply(body, lambda here: text_agent.leftovers({ask.name: found}, here, dry_run=dry_run), code)


async def clean_fleet(ask: Ask) -> Reply:
    dry_run, names = bool(ask.arguments["dry_run"]), chosen(ask)
    found = {
        name: await ask.service.clean(name, dry_run, ask.caller.name)
        for name in sorted(shown(ask.service.fleet(), agent) for agent in ask.service.fleet().agents.values())
        if names is None or name in names
    }
    body = {"agents": [representation.leftovers(name, one, dry_run=dry_run) for name, one in found.items()]}
    code = exits.FAILED if any(one.remaining for one in found.values()) else exits.OK
    return Reply(body, lambda here: text_agent.leftovers(found, here, dry_run=dry_run), code)


async def watchdog(ask: Ask) -> Reply:
    looked = await ask.service.recheck()
    body = {"agents": [{"agent": look.agent, "found": look.found, "done": look.done} for look in looked]}
    return Reply(body, lambda here: text_agent.rechecked(looked, here))


def act_of(ask: Ask) -> str:
    """Under which name this act can be taken back: that of the verb for several agents, else one of its own."""
    return str(ask.arguments.get("act") or secrets.token_hex(6))


async def order(ask: Ask, event: Event) -> None:
    """Have an operator's event decided; raises Problem where it is refused."""
    refusal = await ask.service.order(event)
    if refusal is not None:
        raise problems.of_refusal(refusal)


async def _started(ask: Ask, previous: int) -> Reply:
    """Answer a start: at once, or when the next incarnation runs or turns out not to."""
    if not ask.arguments["wait"]:
        return _outcome(ask, done=False, message=f"{ask.name} is starting. See: phoenixctl status {ask.name}")
    timeout = float(ask.arguments["timeout"])

    def is_decided(fleet: Fleet) -> bool:
        agent = meant(fleet, ask.name)
        return agent is None or _runs_since(agent, previous) or isinstance(agent.state, Quarantined | Stopped)

    decided = await ask.service.wait_for(is_decided, timeout)
    agent = ask.agent()
    if _runs_since(agent, previous):
        if (ended := await _ended_at_once(ask, agent)) is not None:
            return ended
        return _outcome(ask, done=True, message=f"{ask.name} is running, incarnation {agent.incarnation}")
    if decided:
        # What is missing, and what would help, is looked for by doctor.
        is_misdeclared = isinstance(agent.state, Quarantined) and agent.state.misdeclared
        helps = "; what would help: phoenixctl doctor" if is_misdeclared else ""
        words = f"{ask.name} did not start: {agent.reason}. See: phoenixctl explain {ask.name}{helps}"
        return _outcome(ask, done=False, message=words, code=exits.FAILED)
    words = f"{ask.name} does not run after {ago(timeout)}: {agent.reason}. See: phoenixctl explain {ask.name}"
    return _outcome(ask, done=False, message=words, code=exits.TIMED_OUT)


async def _ended_at_once(ask: Ask, began: Agent) -> Reply | None:
    """The answer where a run that has begun is over at once, and not well; None where it lives, or did what it is for.

    Of a program without hooks nothing is known but that it was executed.
    """
    if began.spec.has_hooks or began.hooks_seen or began.spec.kind is not Kind.RESIDENT:
        return None
    await ask.service.wait_for(lambda fleet: _end_of(fleet, began) is not None, AT_ONCE)
    end = _end_of(ask.service.fleet(), began)
    if end is None or end.code == 0:
        return None
    words = f"{ask.name} began, and ended after {span(end.lived)}: {ask.agent().reason}. "
    return _outcome(ask, done=False, message=f"{words}See: phoenixctl explain {ask.name}", code=exits.FAILED)


def _end_of(fleet: Fleet, began: Agent) -> LastExit | None:
    """How this run ended; None while it goes on."""
    agent = fleet.agents.get(began.name)
    end = agent.last_exit if agent is not None else None
    return end if end is not None and end.incarnation == began.incarnation else None


def _runs_since(agent: Agent, previous: int) -> bool:
    return isinstance(agent.state, Running) and agent.incarnation > previous


def _up(fleet: Fleet) -> list[str]:
    """Agents that are not down yet, whichever generations of seats, and tasks that have not ended."""
    agents = [name for name, agent in fleet.agents.items() if not isinstance(agent.state, Stopped)]
    return agents + _tasks(fleet)


def _tasks(fleet: Fleet) -> list[str]:
    return [f"task {task.id}" for task in fleet.tasks.open if not task.has_ended]


def _outcome(ask: Ask, *, done: bool, message: str, code: int = exits.OK) -> Reply:
    known = ask.row_if_any()
    told = representation.agent(known, ask.service.loops(ask.name)) if known is not None else None
    body = {"agent": told, "done": done, "message": message}
    return Reply(body, said(message), code, 200 if done else 202)


def _message(message: str, *, done: bool, afterwards_of: Ask | None = None) -> Reply:
    code = exits.OK if done else exits.TIMED_OUT
    afterwards = afterwards_of.service.shut_down if afterwards_of is not None else None
    return Reply({"message": message, "done": done}, said(message), code, 200 if done else 202, afterwards)


PAGE_KEYS = (*(one.name for one in TEXT_FORM), "look")
