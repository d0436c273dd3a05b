"""What proves an alert over: of an agent as it is now, whether the trouble that its alert tells is past."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Desired, Quarantined, Running, Stopped
from phoenixd.core.breaker import Closed, Open
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.restart import ended_well
from phoenixd.core.spec import Kind


def is_closed(standing: StandingAlert, agent: Agent) -> bool:
    """The question is not open any more."""
    return all(one.id != standing.id for one in agent.items)


def is_taken_up(standing: StandingAlert, agent: Agent) -> bool:
    """It is in quarantine no more."""
    return not isinstance(agent.state, Quarantined)


def is_another_run(standing: StandingAlert, agent: Agent) -> bool:
    """The run that the alert was about is over, and its tree is known gone: the next run is judged anew."""
    return agent.run is None or agent.run.incarnation != standing.incarnation


def has_run_its_course(standing: StandingAlert, agent: Agent) -> bool:
    """The run that the alert was about has ended, or the next one where none lived then, or nobody wants one."""
    end = agent.last_exit
    if end is None or end.incarnation < standing.incarnation:
        return is_another_run(standing, agent)
    is_ended_since = end.incarnation > standing.incarnation or end.at_wall > standing.raised_wall
    return _is_down(agent) or is_ended_since


def is_spared(standing: StandingAlert, agent: Agent) -> bool:
    """No turn has failed since one went well."""
    return agent.limits.setbacks == 0


def gets_somewhere(standing: StandingAlert, agent: Agent) -> bool:
    """Its breaker is closed and knows what the loop changes, or it has stopped the loop."""
    breaker = agent.breaker
    return isinstance(breaker, Open) or (isinstance(breaker, Closed) and not breaker.tally.unknown)


def has_no_ports(standing: StandingAlert, agent: Agent) -> bool:
    """A cleanup that finds the ports free clears the alert by itself."""
    return not agent.spec.cleanup.ports


def is_no_orchestrator(standing: StandingAlert, agent: Agent) -> bool:
    """It was declared as another kind."""
    return agent.spec.kind is not Kind.ORCHESTRATOR


def is_corrected(standing: StandingAlert, agent: Agent) -> bool:
    """None of the claims that the alert tells stands as disproved any more."""
    return all(one.of not in standing.about for one in agent.disproved)


def was_told(standing: StandingAlert, agent: Agent) -> bool:
    """Its run has a prompt after all, or a later run works."""
    run = agent.run
    if run is not None and run.incarnation == standing.incarnation:
        return run.prompt_seen
    return is_back(standing, agent)


def is_made_good(standing: StandingAlert, agent: Agent) -> bool:
    """Nothing that a run began in the background is lost any more, or the agent is to be down."""
    down = isinstance(agent.state, Stopped) and agent.desired is Desired.STOPPED
    return down or agent.lost is None


def reports(standing: StandingAlert, agent: Agent) -> bool:
    """Hooks came, or no run is left that could send any."""
    return agent.hooks_seen or agent.run is None


def is_linked(standing: StandingAlert, agent: Agent) -> bool:
    """The shim is spoken to again, or the run has ended."""
    return agent.run is None or agent.run.deaf is None


def is_metered(standing: StandingAlert, agent: Agent) -> bool:
    """How full its context is can be told, or its run has ended."""
    # An earlier run's reading tells nothing of this one: the alert would be over as soon as it is raised, for ever.
    return read(meters.of(agent), agent.spec.context).verdict is not None or is_another_run(standing, agent)


def is_answered(standing: StandingAlert, agent: Agent) -> bool:
    """A later run of it answered, or it is no question any more."""
    end = agent.last_exit
    return not agent.spec.is_question or (end is not None and ended_well(agent.spec, end))


def is_productive_later(standing: StandingAlert, agent: Agent) -> bool:
    """Each further one of a run that achieves nothing is the same trouble."""
    return _is_down(agent) or (_is_later(standing, agent) and not agent.record.died)


def is_unsteady(standing: StandingAlert, agent: Agent) -> bool:
    """It died at another age, or nobody wants it."""
    return _is_down(agent) or not agent.record.is_steady


def is_back(standing: StandingAlert, agent: Agent) -> bool:
    """A later run works, or nobody wants one any more."""
    return _is_down(agent) or works_again(standing, agent)


def works_again(standing: StandingAlert, agent: Agent) -> bool:
    """A later run works. A stop proves nothing: the operator still wants to know what may be left."""
    run = agent.run
    if run is None or not _is_later(standing, agent):
        return False
    return run.evidence or (isinstance(agent.state, Running) and not agent.spec.has_hooks)


def is_verified(standing: StandingAlert, agent: Agent) -> bool:
    """A check succeeded, or nobody wants it to run: what is started after that has a new session."""
    known = agent.resonance
    if known is None or not agent.spec.has_resonance:
        return True
    return _is_down(agent) or (known.state == "intact" and not known.lost)


def is_checked(standing: StandingAlert, agent: Agent) -> bool:
    """A check succeeded, or its run has ended."""
    return is_verified(standing, agent) or is_another_run(standing, agent)


def _is_down(agent: Agent) -> bool:
    """Whether nobody wants a run of it any more, or none is to be had."""
    return isinstance(agent.state, Quarantined) or (
        isinstance(agent.state, Stopped) and agent.desired is Desired.STOPPED
    )


def _is_later(standing: StandingAlert, agent: Agent) -> bool:
    return agent.incarnation > standing.incarnation
