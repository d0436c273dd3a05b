"""An agent: its specification, its state, its session, and what the parts know of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.agent.activity import Activity, LostJobs
from phoenixd.core.agent.run import Cut, Disproved, EarlierSession, Incident, LastExit, Run, Session
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import Desired, Live, Outage, Parked, Running, State
from phoenixd.core.armed_answer import Armed
from phoenixd.core.behind.world import Finding
from phoenixd.core.breaker import Breaker, Closed
from phoenixd.core.iteration import Iteration, Recycled, Turn
from phoenixd.core.limits.state import UNLIMITED, Limits, Parking
from phoenixd.core.merit import Record
from phoenixd.core.meter.reading import Meter
from phoenixd.core.moment import Instant
from phoenixd.core.parts import View
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.treatment.advice import Advice

RESTORING = "restoring"
"""The state of one that runs while what it lost of its context is being restored."""


@dataclass(frozen=True, slots=True)
class Agent:
    """All that the supervisor knows of one agent. `since` and `reason` belong to the present state."""

    spec: AgentSpec
    desired: Desired
    state: State
    since_wall: float
    reason: str
    incarnation: int = 0
    session: Session | None = None
    earlier: tuple[EarlierSession, ...] = ()
    """Sessions that its runs left for others, the oldest first."""
    crashes: tuple[Instant, ...] = ()
    short_runs: int = 0
    """Runs in a row that lived under the productive limit."""
    dead_ends: int = 0
    """Sessions in a row that were full after some calls, and before a turn of theirs came to its end; of a seat those
    of all its generations."""
    let_in: tuple[Instant, ...] = ()
    """When it was started because its directory could be entered again, since an operator started it."""
    restarts: int = 0
    hooks_seen: bool = False
    last_exit: LastExit | None = None
    incident: Incident | None = None
    """The newest one."""
    last_prompt: str | None = None
    """The newest prompt that a person or `send` submitted; None while the operator's goal stands."""
    items: tuple[InboxItem, ...] = ()
    """What of it needs a person, the oldest first; at most one is what its run asks now."""
    breaker: Breaker = field(default_factory=Closed)
    iteration: Iteration | None = None
    """What a loop is at; None between two iterations."""
    left_out: bool = False
    """Somebody stopped this member of a sequence on purpose: it has no turn until somebody starts it, or the first."""
    rounds: int = 0
    """Iterations since somebody started the loop."""
    workplaces: tuple[str, ...] = ()
    """Directories that it went to beside its own; of these, worktrees of its repository are places of its work."""
    turns: tuple[Turn, ...] = ()
    """Of a resident that is judged by the turn: the one that is open, and those whose work is being measured."""
    turns_begun: int = 0
    recycled: Recycled | None = None
    """Of its runs that asked to be recycled; None where none of them was judged. Of a seat all generations have one."""
    begun: tuple[Instant, ...] = ()
    """When its newest iterations began, as many as its limit for an hour asks for."""
    removing: bool = False
    alerts: tuple[StandingAlert, ...] = ()
    limits: Limits = UNLIMITED
    lost: LostJobs | None = None
    """What ended with an earlier run, until a later one was told of it and brought a turn to its end."""
    record: Record = field(default_factory=Record)
    """What its newest runs had to show, or had not."""
    outage: Outage | None = None
    """The outage that it is in, with others of its account or harness."""
    looks: int = 0
    """Looks since the present state began that changed nothing: counted, and not journaled."""
    found: Finding | None = None
    """What was found of it where the journal was older than the world, until an operator has confirmed it."""
    unproven: int = 0
    """The newest incarnation whose end nothing proved; 0 for none. What bears its mark may turn up later."""

    disproved: tuple[Disproved, ...] = ()
    """Reports that claim what did not happen, until a newer one of the same task, or a person, takes their place."""

    meter: Meter = Meter()  # noqa: RUF009 - frozen
    """How full its context is."""
    armed: tuple[Armed, ...] = ()
    """What its shim was told to answer hooks with, and what of that was given; those of an earlier run mean nothing."""
    cut: Cut | None = None
    """Its newest answer, where that was cut."""
    advice: Advice | None = None
    """What the next run is told of the last failure, until it is known what came of that."""
    resonance: Resonance | None = None
    """What was planted at the front of its context, and what checks of it have shown; None where nothing was yet."""
    returns_to: Session | None = None
    """The session that its next start goes back to, because an operator took back what had led away from it."""

    @property
    def name(self) -> str:
        return self.spec.name

    def view(self, is_news: bool = True) -> View:
        """What a part of the agent sees of the rest; is_news: the event is no hook that was heard before."""
        state = self.state
        if not isinstance(state, Live):
            return View(self.spec, self.incarnation, state.name, is_news=is_news)
        waiting, turn_open = state.activity.waiting, state.activity.turn_open
        asks = waiting.kind if waiting is not None else ""
        run = state.run
        return View(
            self.spec,
            run.incarnation,
            state.name,
            turn_open,
            asks,
            is_news,
            hooks_seen=self.hooks_seen,
            is_parked=self.limits.parking is not None,
            session_id=run.session_id if run.session_seen else "",
            prompt_seen=run.prompt_seen,
            began=run.began,
            up_since=run.exec_at if run.exec_at is not None else run.began,
            deaf_since=run.deaf.since if run.deaf is not None else None,
            is_guessed=run.guessed,
        )

    @property
    def activity(self) -> Activity | None:
        """What the living run is at, if any."""
        return self.state.activity if isinstance(self.state, Live) else None

    @property
    def item(self) -> InboxItem | None:
        """The newest item of the inbox, if any; what the living run asks comes before what an earlier run left."""
        return next(reversed(sorted(self.items, key=lambda one: not one.left)), None)

    @property
    def has_begun(self) -> bool:
        """Whether a run was begun since it was declared; the incarnation alone does not tell (see Fleet.retired)."""
        return self.session is not None

    @property
    def has_ended(self) -> bool:
        """Whether a run has ended since it was declared, so that the next one is a restart."""
        return self.last_exit is not None

    @property
    def state_name(self) -> str:
        """The state as people and scripts are told it: a run that lives through a limit is parked."""
        if self.parking is not None:
            return "parked"
        return RESTORING if self.is_restoring else self.state.name

    @property
    def state_words(self) -> str:
        """The same within a sentence."""
        return self.state_name.replace("_", " ")

    @property
    def is_restoring(self) -> bool:
        """Whether it runs while its lost context is being restored."""
        return isinstance(self.state, Running) and self.resonance is not None and self.resonance.is_restoring

    @property
    def parking(self) -> Parking | None:
        """What it waits out, whether its run lives or it is down; a run that begins or is being ended does not wait."""
        return self.limits.parking if isinstance(self.state, Running | Parked) else None

    @property
    def has_judged_turns(self) -> bool:
        """Whether its turns are judged by the breaker, as a loop's iterations are."""
        rules = self.spec.breaker
        return self.spec.kind is Kind.RESIDENT and rules.enabled and rules.per_turn

    @property
    def run(self) -> Run | None:
        """The living run, if any."""
        return self.state.run if isinstance(self.state, Live) else None
