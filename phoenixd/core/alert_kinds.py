"""The kinds of alerts: what raises each, what proves it over, and who is told.

docs/how-to/get-told.md is made from this table, and the sentences may hold links as that page writes them. Where a
watch outside the core, or the fleet, says when an alert is over, `cure` is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Desired, Quarantined, Running, Stopped
from phoenixd.core.breaker import Closed, Open
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.spec import Kind

Cure = Callable[[StandingAlert, Agent], bool]


@dataclass(frozen=True, slots=True)
class AlertKind:
    """One kind. raised, over: when, in the words of the page. cure: whether what the agent is now proves it over.

    needs_person: somebody has to do something; else it heals by itself, and is told all the same. is_question: each
    text is an alert of its own, because another question is news. is_told: it is sent and logged; else it stands in
    `status` and `inbox` only. is_ours: it tells that phoenixd itself cannot do its work, so no mute holds it back.
    """

    name: str
    raised: str
    over: str
    cure: Cure | None = None
    needs_person: bool = True
    is_question: bool = False
    about: Literal["agent", "fleet"] = "agent"
    is_told: bool = True
    is_ours: bool = False


def of(kind: str) -> AlertKind:
    """The row of a kind; that of an outage bears its group behind a colon. One that is not known needs a person."""
    known = KINDS.get(kind)
    if known is None and kind.startswith(OUTAGE_OF):
        return KINDS[SHARED_OUTAGE]
    return known or AlertKind(kind, "", "", _is_back)


OUTAGE_OF = "outage: "
"""How the kinds of the fleet's alerts of outages begin; the group's name follows."""
SHARED_OUTAGE = f"{OUTAGE_OF}..."
"""Their row."""


def _is_closed(standing: StandingAlert, agent: Agent) -> bool:
    return all(one.id != standing.id for one in agent.items)


def _is_taken_up(standing: StandingAlert, agent: Agent) -> bool:
    return not isinstance(agent.state, Quarantined)


def _is_another_run(standing: StandingAlert, agent: Agent) -> bool:
    """A run's books are closed only when its tree is known gone, and the next run is judged anew."""
    return agent.run is None or agent.run.incarnation != standing.incarnation


def _is_spared(standing: StandingAlert, agent: Agent) -> bool:
    return agent.limits.setbacks == 0


def _gets_somewhere(standing: StandingAlert, agent: Agent) -> bool:
    breaker = agent.breaker
    return isinstance(breaker, Open) or (isinstance(breaker, Closed) and not breaker.tally.unknown)


def _has_no_ports(standing: StandingAlert, agent: Agent) -> bool:
    """A cleanup that finds the ports free clears the alert by itself."""
    return not agent.spec.cleanup.ports


def _is_no_orchestrator(standing: StandingAlert, agent: Agent) -> bool:
    return agent.spec.kind is not Kind.ORCHESTRATOR


def _is_corrected(standing: StandingAlert, agent: Agent) -> bool:
    return all(one.of not in standing.about for one in agent.disproved)


def _was_told(standing: StandingAlert, agent: Agent) -> bool:
    run = agent.run
    if run is not None and run.incarnation == standing.incarnation:
        return run.prompt_seen
    return _is_back(standing, agent)


def _is_made_good(standing: StandingAlert, agent: Agent) -> bool:
    """Nobody misses what an agent began that is to be down."""
    down = isinstance(agent.state, Stopped) and agent.desired is Desired.STOPPED
    return down or agent.lost is None


def _reports(standing: StandingAlert, agent: Agent) -> bool:
    return agent.hooks_seen or agent.run is None


def _is_linked(standing: StandingAlert, agent: Agent) -> bool:
    return agent.run is None or agent.run.deaf is None


def _is_metered(standing: StandingAlert, agent: Agent) -> bool:
    # An earlier run's reading tells nothing of this one: the alert would be over as soon as it is raised, for ever.
    return read(meters.of(agent), agent.spec.context).verdict is not None or _is_another_run(standing, agent)


def _is_productive_later(standing: StandingAlert, agent: Agent) -> bool:
    """Each further one of a run that achieves nothing is the same trouble."""
    return _is_down(agent) or (_is_later(standing, agent) and not agent.record.died)


def _is_unsteady(standing: StandingAlert, agent: Agent) -> bool:
    return _is_down(agent) or not agent.record.is_steady


def _is_back(standing: StandingAlert, agent: Agent) -> bool:
    """A later run works, or nobody wants one any more."""
    return _is_down(agent) or _works_again(standing, agent)


def _works_again(standing: StandingAlert, agent: Agent) -> bool:
    """A later run works. Also of one that is stopped: whoever stopped it wants to know what may be left."""
    run = agent.run
    if run is None or not _is_later(standing, agent):
        return False
    return run.evidence or (isinstance(agent.state, Running) and not agent.spec.has_hooks)


def _is_verified(standing: StandingAlert, agent: Agent) -> bool:
    """A check succeeded, or nobody wants it to run: what is started after that has a new session."""
    known = agent.resonance
    if known is None or not agent.spec.has_resonance:
        return True
    return _is_down(agent) or (known.state == "intact" and not known.lost)


def _is_checked(standing: StandingAlert, agent: Agent) -> bool:
    return _is_verified(standing, agent) or _is_another_run(standing, agent)


def _is_down(agent: Agent) -> bool:
    """Whether nobody wants a run of it any more, or none is to be had."""
    return isinstance(agent.state, Quarantined) or (
        isinstance(agent.state, Stopped) and agent.desired is Desired.STOPPED
    )


def _is_later(standing: StandingAlert, agent: Agent) -> bool:
    return agent.incarnation > standing.incarnation


TABLE: tuple[AlertKind, ...] = (
    AlertKind(
        "permission",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "question",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "plan",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "dialog",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "login",
        "its account has to be seen to",
        "it works again, or its run has ended",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "billing",
        "its account has to be seen to",
        "it works again, or its run has ended",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "quarantined",
        "it crashed too often, or eight runs in a row achieved nothing, or its command cannot run",
        "somebody starts it",
        _is_taken_up,
    ),
    AlertKind(
        "lingering",
        "processes outlive SIGKILL; they are tried again, once a minute in the end",
        "nothing of the run is left",
        _is_another_run,
    ),
    AlertKind(
        "unfenced",
        (
            "its shim was lost, it had no cgroup, and nothing of its run was seen for `stop.unproven` (30 "
            "s): the next run starts, though nothing proves that the old one is gone"
        ),
        "a later run works",
        _works_again,
        needs_person=False,
    ),
    AlertKind(
        "unread",
        (
            "the same, but processes of phoenixd's user cannot be read, and may be the old run's: nothing "
            "starts until they have ended, or `phoenixctl stop` and `start` say that they are strangers"
        ),
        "its run is over",
        _is_another_run,
    ),
    AlertKind(
        "hung",
        "a run was ended for it",
        "a later run was productive, or nobody wants one",
        _is_productive_later,
        needs_person=False,
    ),
    AlertKind(
        "overtime",
        "a run was ended for it",
        "a later run was productive, or nobody wants one",
        _is_productive_later,
        needs_person=False,
    ),
    AlertKind(
        "clock",
        "a heartbeat's times cannot be: its writer's clock or time zone is wrong; nobody is ended for it",
        "its run has ended",
        _is_another_run,
        needs_person=False,
    ),
    AlertKind(
        "failed turn",
        (
            "a turn ended by a word for which there is no rule: the output limit, a request that the API "
            "refuses, an unknown model"
        ),
        "the next prompt, or its run has ended",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "answer cut",
        (
            "an answer was cut at its end, by the output limit or by a stream that ended too early: again after the "
            "agent had been told to go on, or that could not be typed"
        ),
        "the next prompt, or its run has ended",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "cannot go on",
        "a limit is over, and five times in a row it could not be told so",
        "it goes on, or its run has ended",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "stopped",
        "Ctrl-C of somebody at its terminal ended a loop; in `status` and `inbox` only, for whoever did it knows",
        "somebody starts it",
        _is_back,
        is_told=False,
    ),
    AlertKind(
        "proposal",
        (
            "the clinic would treat a failure in a way that a person has to allow ([authority]"
            "(heal-failed-runs.md#the-clinic-of-the-daemon))"
        ),
        "it was answered, a run was productive, or a later one has begun",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "case",
        "a failure came back whatever was done about it, and a further run would fail alike",
        "a run was productive, or somebody starts or stops it",
        _is_closed,
        is_question=True,
    ),
    AlertKind(
        "marker lost",
        (
            "two checks in a row failed: the front of its context is lost; it is restored in a new session, or handed "
            "over, and quarantined where that fails"
        ),
        "a check succeeded, or nobody wants it to run",
        _is_verified,
        needs_person=False,
    ),
    AlertKind(
        "resonance",
        (
            "a check proves nothing, since it used a tool; no codes could be planted; its footer names another role or "
            "says Degraded; somebody's unsent words keep it from being asked; or its marker is lost, and "
            "`resonance.restore` is off"
        ),
        "a check succeeded, or its run has ended",
        _is_checked,
    ),
    AlertKind(
        "background jobs lost",
        "background commands or wake-ups ended with its process",
        "a later run was told of it, and has ended a turn",
        _is_made_good,
    ),
    AlertKind(
        "session in use elsewhere",
        "another process is at work [in its session](../reference/harnesses.md#somebody-else-in-the-session)",
        "that process is gone",
        None,
    ),
    AlertKind(
        "outage",
        "its model's service failed five turns in a row; it is asked again by itself, less and less often",
        "a call or a turn went well",
        _is_spared,
        needs_person=False,
    ),
    AlertKind(
        "outage: ...",
        "half of an account's or a harness's agents ended without progress",
        "a run of one of them was productive",
        None,
        needs_person=False,
        about="fleet",
    ),
    AlertKind(
        "steady deaths",
        "a command without hooks dies again and again at the same age",
        "it lived longer or shorter, or nobody wants it",
        _is_unsteady,
    ),
    AlertKind(
        "breaker",
        (
            "a loop, or a resident by its turns, gets nowhere and will be stopped if that goes on, or nobody"
            " can tell what it changes"
        ),
        "it got somewhere, or was stopped",
        _gets_somewhere,
        needs_person=False,
    ),
    AlertKind(
        "hooks missing",
        "an agent that should report by hooks does not",
        "it does, or its run has ended",
        _reports,
    ),
    AlertKind(
        "link lost",
        (
            "for 30 seconds the daemon has had no link to the agent's shim, so nothing that the agent says "
            "arrives; it runs on, its screen is looked at, and the link is tried again all the while. A shim"
            " whose socket or directory somebody removed makes it again within a second of being alone"
        ),
        "the shim is spoken to again, or the run has ended",
        _is_linked,
        is_ours=True,
    ),
    AlertKind(
        "hooks refused",
        "hooks of the agent's own were not taken in: too large, not whole in ten seconds, no JSON",
        "its run has ended",
        _is_another_run,
        needs_person=False,
    ),
    AlertKind(
        "context unknown",
        "for ten minutes an orchestrator has worked, and nothing has told how full its context is",
        "it is known, or the run has ended",
        _is_metered,
    ),
    AlertKind(
        "name too long for a handoff",
        "an orchestrator of an older version has a name of more than 26 characters: it runs on, and is not handed over",
        "it is declared as another kind, or removed",
        _is_no_orchestrator,
        needs_person=False,
    ),
    AlertKind(
        "contradicted claim",
        (
            "a report claims what did not happen, as the transcript or the files say ([claims against facts]"
            "(../explanation/resonance.md#claims-against-facts))"
        ),
        "a newer report of the same task holds nothing of the kind, or somebody starts the agent or sends it a text",
        _is_corrected,
        is_question=True,
    ),
    AlertKind(
        "prompt",
        "a command's prompt could not be typed, or nobody knows whether it was",
        "a later run is at work, or nobody wants one",
        _was_told,
    ),
    AlertKind(
        "handoff",
        (
            "a handoff was rolled back, so the orchestrator goes on in the session that it has; or the generation "
            "that is to go cannot be ended, be it the predecessor or the successor of one that is rolled back; or a "
            "successor had more than half of its context taken when it acknowledged; or a text that was kept over a "
            "handoff did not arrive"
        ),
        "its run has ended, or the next handoff is done, or what could not be ended is gone",
        _is_another_run,
    ),
    AlertKind(
        "port held",
        "none of our processes listens on a port that an agent's [cleanup rules](clean-up-after-runs.md) name",
        "a cleanup finds the ports free of strangers",
        _has_no_ports,
    ),
    AlertKind(
        "brief",
        "brief.md is older than `brief_max_age`, or lacks a section",
        "it was written anew",
        None,
    ),
    AlertKind(
        "state",
        "state.json could not be relied on, and was rebuilt; the original is kept beside it",
        "an hour later it is sound",
        None,
    ),
    AlertKind(
        "documents",
        "an agent's files cannot be written, as on a full disk",
        "they were written again",
        None,
        is_ours=True,
    ),
    AlertKind(
        "degraded",
        (
            "the journal cannot be written, or soon could not: nothing new is started, stops go on ([a full "
            "disk](../explanation/a-full-disk.md))"
        ),
        "it could for a while ([how long](../explanation/a-full-disk.md))",
        None,
        about="fleet",
    ),
    AlertKind(
        "slow disk",
        (
            "commits of the journal take 2 s or longer: everything goes on, only later ([a slow "
            "disk](../explanation/a-slow-disk.md))"
        ),
        "they took less than a second for a while",
        None,
        needs_person=False,
        about="fleet",
    ),
    AlertKind(
        "journal",
        "the journal was damaged and salvaged",
        "the next start finds it sound",
        None,
        about="fleet",
    ),
    AlertKind(
        "journal behind",
        "the journal was lost or is old: what lives was adopted, and nothing that was stopped was started",
        "`phoenixctl recover --yes`, see [recover](recover-an-old-journal.md)",
        None,
        about="fleet",
    ),
    AlertKind(
        "recover",
        "it is not known whether an agent was stopped, for the journal was lost or is old",
        "it is started or stopped, or `recover` is confirmed",
        _is_back,
        is_told=False,
    ),
    AlertKind(
        "epoch",
        "what tells a lost journal cannot be written beside it",
        "it was written again",
        None,
        about="fleet",
    ),
    AlertKind(
        "terminal",
        "most of the fleet fell at once",
        "the terminal server answers",
        None,
        needs_person=False,
        about="fleet",
    ),
)

KINDS = {kind.name: kind for kind in TABLE}
