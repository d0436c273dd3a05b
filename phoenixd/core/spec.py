"""What the operator asked for: one agent's specification and the fleet's limits, checked at the edge.

The tables of a specification are in `rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.kind import Kind as Kind
from phoenixd.core.rules import (
    BreakerRules,
    BriefRules,
    CleanupRules,
    ContextRules,
    HandoffRules,
    LimitRules,
    LivenessRules,
    LoopRules,
    PhaseRules,
    ReportRules,
    ResonanceRules,
    RestartRules,
    ResumeRules,
    StopRules,
)
from phoenixd.core.traits import traits_of
from phoenixd.core.treatment.authority import ClinicRules


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """What the operator has answered beforehand: this very permission, word for word as the item's text is."""

    asks: str
    allow: bool
    reason: str = ""
    dialog: str = "permission"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent as the operator declared it; frozen, compared by value on reload."""

    name: str
    argv: tuple[str, ...]
    cwd: str
    kind: Kind = Kind.RESIDENT
    harness: str = "command"
    prompt: str | None = None
    autostart: bool = True
    account: str | None = None
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    env_from: str = "daemon"
    fence: Literal["auto", "cgroup", "namespace", "none"] = "auto"
    """What holds its runs: a control group where one is to be had (auto), or also a fence that needs no rights."""
    fresh_args: tuple[str, ...] = ()
    resume_args: tuple[str, ...] | None = None
    prompt_via: str | None = None
    transcript: str | None = None
    heartbeat_file: str | None = None
    seed_trust: bool = False
    hold_permissions: bool | None = None
    answers: tuple[PreparedAnswer, ...] = ()
    restart: RestartRules = RestartRules()
    resume: ResumeRules = ResumeRules()
    liveness: LivenessRules = LivenessRules()
    stop: StopRules = StopRules()
    loop: LoopRules = LoopRules()
    brief: BriefRules = BriefRules()
    reports: ReportRules = ReportRules()
    clinic: ClinicRules = ClinicRules()
    resonance: ResonanceRules = ResonanceRules()
    cleanup: CleanupRules = CleanupRules()
    breaker: BreakerRules = BreakerRules()
    limits: LimitRules = LimitRules()
    context: ContextRules = ContextRules()
    handoff: HandoffRules = HandoffRules()
    phase: PhaseRules = PhaseRules()
    project: str | None = None
    """What an orchestrator leads; without one, its own name (see core.seat)."""
    seat: str = ""
    """The seat that this is a generation of: the name under which an orchestrator was declared."""
    generation: int = 0
    """Which one it is; 0 for agents that have no seat."""
    turn_of: str | None = None
    """The agent in whose sequence this one has its turns; it runs once for each, and never by itself."""
    is_question: bool = False
    """Its end says whether a turn of that sequence comes: 0 is a yes, 1 a no, and any other end no answer."""
    source: str = ""
    """The file that declared it, for messages."""
    opening: str = field(default="", repr=False)
    """What the first run of a successor is told in place of the prompt, until it holds its seat."""
    task: str = ""
    """The task that it was made for, as its worker."""
    env_of: str = ""
    """The declared agent whose environment a worker has."""
    labels: tuple[str, ...] = ()
    """Words of the operator's own, by which agents are chosen and shown."""

    @property
    def early_exit(self) -> float:
        """Seconds within which exit 0 is a crash: 10 for kinds that stay, 0 for kinds that end by design."""
        if self.restart.early_exit is not None:
            return self.restart.early_exit
        return 10.0 if self.kind in (Kind.RESIDENT, Kind.ORCHESTRATOR) else 0.0

    @property
    def role(self) -> str:
        """Who it is in its own words and footers: the name under which it was declared."""
        return self.seat or self.name

    @property
    def has_resonance(self) -> bool:
        """Whether it bears a marker of ours.

        An ephemeral agent's one turn has no front to lose. A program that puts the seed before each of its requests
        checks each answer itself, with phoenixd.resonance: from outside nothing can be asked of it.
        """
        rules = self.resonance
        if self.kind is Kind.EPHEMERAL or rules.enabled == "off" or rules.transport == "stateless":
            return False
        return rules.enabled == "on" or self.kind is Kind.ORCHESTRATOR or rules.overflow != "compaction"

    @property
    def has_hooks(self) -> bool:
        """Whether this harness reports its own start by a hook, so that readiness can wait for it."""
        return traits_of(self.harness).has_hooks

    @property
    def names_session(self) -> bool:
        """Whether its command line names its session, so that one who looks at its processes sees that."""
        return self.has_hooks or "{session_id}" in (*self.argv, *self.fresh_args, *(self.resume_args or ()))

    @property
    def keeps_session(self) -> bool:
        """Whether its command line shows that it keeps sessions. The environment names one to any program, also to one
        that begins anew each time."""
        return self.names_session or self.resume_args is not None

    @property
    def holds_permissions(self) -> bool:
        """Whether its permission requests are held for an answer, whatever its CLI shows meanwhile."""
        return traits_of(self.harness).holds_permissions if self.hold_permissions is None else self.hold_permissions

    @property
    def hides_its_dialog(self) -> bool:
        """Whether its dialog is drawn only when its request is let go of, so that a person who sits there sees none."""
        return traits_of(self.harness).hides_its_dialog

    @property
    def is_pasted(self) -> bool:
        """Whether a run is told its prompt by typing it, once it runs."""
        return not self.has_hooks and self.prompt_via == "paste"

    def is_prompted(self, *, resumes: bool) -> bool:
        """Whether a run is told its first words by us: typed, or in an argument of such a start."""
        if traits_of(self.harness).is_prompted or self.prompt_via == "paste":
            return True
        added = self.resume_args if resumes and self.resume_args is not None else self.fresh_args
        return "{prompt}" in (*self.argv, *added)

    @property
    def is_reprompted(self) -> bool:
        """Whether a turn that a limit ended has to be taken up by a prompt; a command without one goes on by itself."""
        if self.limits.reprompt is not None:
            return self.limits.reprompt
        return self.has_hooks or self.is_pasted

    @property
    def starts_silently(self) -> bool:
        """Whether its first hook comes with the first prompt only, so that a start without one is seen by no hook."""
        return traits_of(self.harness).starts_silently

    @property
    def stops_either_way(self) -> bool:
        """Whether its hook of a turn's end comes as well where the API refused the turn: one has to look."""
        return traits_of(self.harness).stops_either_way

    @property
    def escape_ends_turn(self) -> bool:
        """Whether Escape breaks its open turn off, and leaves the session as it is."""
        return traits_of(self.harness).escape_ends_turn

    @property
    def ends_with_a_word(self) -> bool:
        """Whether it tells of its session's end only when a person leaves it, and not when a signal ends it."""
        return traits_of(self.harness).ends_with_a_word

    @property
    def leaves_in_silence(self) -> bool:
        """Whether nothing tells who ended it with 0: a person who left it, or a signal."""
        return traits_of(self.harness).leaves_in_silence


@dataclass(frozen=True, slots=True)
class FleetLimits:
    """Fleet-wide brakes: concurrent starts, and how many sudden deaths are an outage of the observer."""

    max_starting: int = 8
    outage_min: int = 5
    outage_share: float = 0.5
    outage_window: float = 2.0
    observe_retry: float = 5.0
    resume_every: float = 10.0
    """Seconds, about, between two agents of one account that go on after a limit."""
