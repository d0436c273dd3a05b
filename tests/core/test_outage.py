"""Half of an account's or a harness's agents end without progress: an outage, and no agent's fault (design.md, 3)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from phoenixd.core.actions import Alert, Deliver, Reassure, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered
from phoenixd.core.fleet import Fleet
from phoenixd.core.rules import LimitRules, LoopRules
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

MINUTE, HOUR = 60.0, 3600.0


class Service(Story):
    """Agents that need one service. While it is `down`, each run does what `fate` says; else it works, in turns."""

    def __init__(self, *specs: AgentSpec, fate: str, lives: float = 6 * MINUTE) -> None:
        super().__init__(*specs, limits=FleetLimits(max_starting=100))
        self.down = False
        self.fate = fate
        self.lives = lives
        self.work = "git:same"
        self.screen = "working" if fate == "dies" else "idle"
        self.dies_at: dict[tuple[str, int], float] = {}
        self.ends_turn_at: dict[str, float] = {}

    def named(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def say(self, name: str, kind: str, **details: object) -> None:
        self.tell(hook_of(name, self.named(name).incarnation, kind, **details))  # type: ignore[arg-type]

    def all_begin(self) -> Service:
        for name in self.fleet.agents:
            self.tell(StartRequested(name))
        self.obey()
        return self

    def obey(self) -> None:
        """What was ordered happens, and each new run begins its turn."""
        while orders := [action for action in self.actions if isinstance(action, Spawn | Deliver)]:
            self.earlier = [*getattr(self, "earlier", []), *self.decisions]
            self.decisions.clear()
            for order in orders:
                name = order.agent
                agent = self.named(name)
                if agent.run is None or agent.incarnation != order.incarnation:
                    continue
                if isinstance(order, Spawn):
                    self.tell(AgentStarted(name, order.incarnation, order.run_id, 100, 1000))
                    self.say(name, "session-start", session_id=order.session_id)
                    if order.prompt.value == "none":
                        continue
                    self.say(name, "prompt-submit", text="go on")
                else:
                    self.say(name, "prompt-submit", text=order.text)
                    self.tell(Delivered(name, order.incarnation, order.message_id, "the agent took the prompt"))
                self.turn(name)

    def turn(self, name: str) -> None:
        """A turn begins: what comes of it while the service is down, and while it is up."""
        if not self.down:
            self.ends_turn_at[name] = self.at + 2 * MINUTE
        elif self.fate == "fails":
            self.say(name, "stop-failure", error="server_error")
        else:
            self.dies_at[name, self.named(name).incarnation] = self.at + self.lives

    def goes_down(self) -> None:
        """Whatever works meets it, in the middle of its turn."""
        self.down = True
        self.ends_turn_at.clear()
        for number, name in enumerate(self.fleet.agents):
            if self.named(name).run is not None:
                self.say(name, "prompt-submit", text="more")
                self.pass_over(1 + number % 3)
                self.turn(name)
                self.obey()

    def pass_time(self, seconds: float) -> None:
        until = self.at + seconds
        while self.at < until:
            ends = [at for (name, born), at in self.dies_at.items() if self.named(name).incarnation == born]
            ends += self.ends_turn_at.values()
            due = next_deadline(self.fleet, self.now)
            upcoming = min(at for at in (*ends, until, *([due] if due is not None else [])) if at is not None)
            self.pass_over(max(0.0, upcoming - self.at))
            self.chance = (self.chance + 0.377) % 1
            self.tell(Tick())
            for (name, born), at in list(self.dies_at.items()):
                if at <= self.at or isinstance(self.named(name).state, Stopping):
                    del self.dies_at[name, born]
                    run = self.named(name).run
                    if run is not None and run.incarnation == born:
                        self.tell(AgentExited(name, born, run.run_id, 1, None))
            for name, at in list(self.ends_turn_at.items()):
                if at <= self.at:
                    del self.ends_turn_at[name]
                    if self.named(name).run is not None:
                        self.say(name, "tool-end", tool="Bash")
                        self.say(name, "stop")
            self.obey()

    def all(self, kind: type) -> list[object]:
        earlier = getattr(self, "earlier", [])
        return [action for one in (*earlier, *self.decisions) for action in one.actions if isinstance(action, kind)]

    def starts(self) -> int:
        return len(self.all(Spawn))

    def is_quarantined(self) -> bool:
        return any(isinstance(agent.state, Quarantined) for agent in self.fleet.agents.values())


def team(count: int, **changes: object) -> list[AgentSpec]:
    return [claude(f"a{number:02d}", **changes) for number in range(count)]


def test_a_2_h_outage_of_20_agents_that_die_of_it_is_one_alert_and_nobody_is_quarantined() -> None:
    for lives in (5.0, 6 * MINUTE):
        service = Service(*team(20), fate="dies", lives=lives).all_begin()
        service.pass_time(10 * MINUTE)
        began = service.starts()
        service.goes_down()
        for _ in range(120):
            service.pass_time(MINUTE)
            assert not service.is_quarantined()
        # Those that die before the third has, and then a try now and then.
        assert service.starts() - began <= 20 * 2 + 30
        service.down = False
        for _ in range(180):
            service.pass_time(MINUTE)
        told = [one.kind for one in service.all(Alert)]  # type: ignore[attr-defined]
        assert told == ["outage: harness claude"], lives
        assert [one.kind for one in service.all(Reassure)] == told  # type: ignore[attr-defined]
        assert {agent.state_name for agent in service.fleet.agents.values()} == {"running"}
        assert all(agent.outage is None for agent in service.fleet.agents.values())
        assert all(agent.crashes == agent.record.unproductive == () for agent in service.fleet.agents.values())


def test_a_2_h_outage_of_20_agents_whose_turns_it_ends_is_one_alert_as_well() -> None:
    service = Service(*team(20), fate="fails").all_begin()
    service.pass_time(10 * MINUTE)
    service.goes_down()
    for _ in range(120):
        service.pass_time(MINUTE)
    service.down = False
    for _ in range(180):
        service.pass_time(MINUTE)
    told = [one.kind for one in service.all(Alert)]  # type: ignore[attr-defined]
    assert told == ["outage"]
    assert {agent.state_name for agent in service.fleet.agents.values()} == {"running"}


def test_an_outage_that_makes_all_hang_is_not_told_for_each() -> None:
    service = Service(*team(20), fate="dies", lives=10 * HOUR).all_begin()
    service.pass_time(10 * MINUTE)
    service.goes_down()
    for _ in range(120):
        service.pass_time(MINUTE)
        assert not service.is_quarantined()
    told = [one.kind for one in service.all(Alert)]  # type: ignore[attr-defined]
    assert sorted(told) == ["hung", "hung", "outage: harness claude"]


def test_a_loop_that_an_outage_ends_is_not_held_against_it_by_its_breaker() -> None:
    story = Dying(*(claude(f"a{number}", kind=Kind.LOOP, loop=LoopRules(pause=1)) for number in range(3)))
    for name in story.fleet.agents:
        story.dies(name, 1)
    assert len(story.in_outage()) == 3
    assert story.named("a2").breaker.tally.no_progress == 0


class Dying(Story):
    """Agents that a test lets die in its turn, one after the other."""

    def __init__(self, *specs: AgentSpec) -> None:
        super().__init__(*specs, limits=FleetLimits(max_starting=100))
        self.work = "git:same"
        for name in self.fleet.agents:
            self.tell(StartRequested(name))
            self.begins(name)

    def named(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def begins(self, name: str) -> None:
        run = self.named(name).run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        for kind in ("session-start", "prompt-submit"):
            self.tell(
                hook_of(
                    name, run.incarnation, kind, session_id=run.session_id, text=self.named(name).spec.prompt or "go"
                )
            )

    def dies(self, name: str, after: float = 60.0) -> None:
        self.pass_over(after)
        run = self.named(name).run
        assert run is not None
        self.tell(AgentExited(name, run.incarnation, run.run_id, 1, None))

    def works(self, name: str) -> None:
        for kind in ("tool-end", "stop"):
            self.tell(hook_of(name, self.named(name).incarnation, kind, tool="Bash"))

    def in_outage(self) -> list[str]:
        return [name for name, agent in self.fleet.agents.items() if agent.outage is not None]


@pytest.mark.parametrize(
    ("agents", "dead", "is_outage"), [(2, 2, False), (3, 3, True), (5, 3, True), (6, 3, True), (7, 3, False)]
)
def test_half_of_them_and_three_at_least_are_an_outage(agents: int, dead: int, is_outage: bool) -> None:
    story = Dying(*team(agents))
    for name in list(story.fleet.agents)[:dead]:
        story.dies(name)
    assert bool(story.in_outage()) is is_outage
    assert story.alerts() == (["outage: harness claude"] if is_outage else [])


def test_deaths_that_lie_more_than_half_an_hour_apart_are_none() -> None:
    story = Dying(*team(3))
    story.dies("a00")
    story.dies("a01", 1000)
    story.dies("a02", 801)
    assert story.in_outage() == []


def test_an_account_is_hit_though_the_harness_is_not_and_programs_share_no_harness() -> None:
    story = Dying(*team(3, account="team"), *(claude(f"b{number}") for number in range(5)))
    for name in ("a00", "a01", "a02"):
        story.dies(name)
    assert story.alerts() == ["outage: account team"]
    programs = Dying(*(spec(f"c{number}") for number in range(3)))
    for name in ("c0", "c1", "c2"):
        programs.dies(name)
    assert programs.in_outage() == []


def test_ends_after_work_are_no_outage() -> None:
    story = Dying(*team(4))
    for name in story.fleet.agents:
        story.works(name)
    for name in story.fleet.agents:
        story.dies(name, 1)
    assert story.in_outage() == []


def outage() -> Dying:
    story = Dying(*team(4))
    for name in ("a00", "a01", "a02"):
        story.dies(name, 1)
    assert story.in_outage() == ["a00", "a01", "a02"]
    return story


def test_who_runs_again_already_tries_and_its_work_ends_the_outage() -> None:
    story = outage()
    assert isinstance(story.named("a00").state, Starting)
    assert isinstance(story.named("a02").state, Parked)
    story.begins("a00")
    story.works("a00")
    assert story.in_outage() == []
    assert story.fleet.alerts == ()
    story.wait(20)
    assert isinstance(story.named("a02").state, Starting)


def test_one_that_is_not_hit_may_work_meanwhile_and_proves_nothing() -> None:
    story = outage()
    story.works("a03")
    assert len(story.in_outage()) == 3


def test_tries_come_one_by_one_at_growing_distances_and_whoever_was_given_up_before_is_taken_along() -> None:
    story = Dying(*team(4))
    for _ in range(5):
        story.dies("a00", 1)
        if isinstance(story.named("a00").state, BackingOff):
            story.wait(30)
        if story.named("a00").run is not None:
            story.begins("a00")
    assert isinstance(story.named("a00").state, Quarantined)
    story.dies("a01", 1)
    story.begins("a01")
    story.dies("a01", 1)
    story.dies("a02", 1)
    assert story.in_outage() == ["a00", "a01", "a02"]
    assert story.named("a00").item is None
    story.decisions.clear()
    tries: list[tuple[str, float]] = []
    while len(tries) < 8:
        due = next_deadline(story.fleet, story.now)
        assert due is not None
        story.wait(max(0.001, due - story.at))
        for order in story.of(Spawn):
            tries.append((order.agent, story.at))
            story.decisions.clear()
            story.begins(order.agent)
            story.dies(order.agent, 1)
    assert {name for name, _ in tries} == {"a00", "a01", "a02"}
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(tries)]
    assert gaps == sorted(gaps)
    assert gaps[-1] <= 1.6 * HOUR
    assert all(agent.record.unproductive == () for agent in story.fleet.agents.values())


def test_an_outage_is_kept_over_a_restart_of_the_daemon() -> None:
    story = outage()
    agents = {name: load_agent(dump_agent(agent)) for name, agent in story.fleet.agents.items()}
    story.fleet = Fleet(agents, story.fleet.limits, story.fleet.next_item, alerts=story.fleet.alerts)
    story.decisions.clear()
    story.wait(HOUR)
    assert story.of(Spawn)
    assert not any(kind.startswith("outage") for kind in story.alerts())


def test_f_hb_4_a_clock_that_is_set_back_keeps_nobody_from_trying() -> None:
    story = outage()
    story.dies("a00", 1)
    story.dies("a01", 1)
    story.decisions.clear()
    story.wall -= 300 * 24 * HOUR
    story.wait(120)
    assert story.of(Spawn)


def test_an_operators_start_tries_at_once_and_a_stop_takes_it_out() -> None:
    story = outage()
    story.tell(StartRequested("a02"))
    assert isinstance(story.named("a02").state, Starting)
    assert "a02" in story.in_outage()
    for name in ("a00", "a01", "a02"):
        story.tell(StopRequested(name))
        run = story.named(name).run
        assert run is not None
        story.tell(AgentExited(name, run.incarnation, run.run_id, 143, None))
        assert isinstance(story.named(name).state, Stopped)
    assert story.in_outage() == []
    assert [one.kind for one in story.of(Reassure)] == ["outage: harness claude"]


def test_a_run_of_which_nothing_is_asked_and_that_lives_on_ends_it() -> None:
    story = Dying(*(claude(f"a{number}", prompt=None, limits=LimitRules(overload_wait=60)) for number in range(3)))
    for name in story.fleet.agents:
        story.dies(name, 1)
    assert len(story.in_outage()) == 3
    run = story.named("a0").run
    assert run is not None
    story.tell(AgentStarted("a0", run.incarnation, run.run_id, 100, 1000))
    story.tell(hook_of("a0", run.incarnation, "session-start", session_id=run.session_id))
    activity = story.named("a0").state
    assert isinstance(activity, Running)
    if activity.activity.turn_open:
        story.tell(hook_of("a0", run.incarnation, "stop"))
    story.wait(HOUR)
    assert story.in_outage() == []


def test_a_program_without_hooks_that_has_lived_long_enough_ends_the_outage_with_that_very_tick() -> None:
    """Nothing else is ever heard of it, and its group need not wait for half an hour."""
    story = Story(*(spec(f"c{number}", account="team") for number in range(3)))

    def begins(name: str) -> str:
        run = story.fleet.agents[name].run
        assert run is not None
        story.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        return run.run_id

    for name in story.fleet.agents:
        story.tell(StartRequested(name))
        story.tell(AgentExited(name, 1, begins(name), 1, None))
    assert all(agent.outage is not None for agent in story.fleet.agents.values())
    begins("c0")
    story.wait(story.agent.spec.restart.productive - 1)
    assert story.agent.outage is not None
    story.wait(2)
    assert all(agent.outage is None for agent in story.fleet.agents.values())
    assert any("c0 works again" in reason for reason in story.reasons)


@pytest.mark.parametrize("error", ["server_error", "authentication_failed", "model_not_found"])
def test_a_try_whose_turn_the_outage_ends_lives_on_and_does_not_end_it(error: str) -> None:
    story = Dying(*(claude(f"a{number}", limits=LimitRules(overload_wait=60)) for number in range(3)))
    story.screen = "idle"
    for name in story.fleet.agents:
        story.dies(name, 1)
    until = story.at + 2 * HOUR
    while story.at < until:
        story.wait(10)
        for name, agent in story.fleet.agents.items():
            if isinstance(agent.state, Starting) and agent.state.run.pid is None:
                story.begins(name)
                story.tell(hook_of(name, agent.incarnation, "stop-failure", error=error))
    assert len(story.in_outage()) == 3
    assert [kind for kind in story.alerts() if kind.startswith("outage")] == ["outage: harness claude"]
    story.tell(hook_of("a0", story.named("a0").incarnation, "prompt-submit", text="again"))
    story.works("a0")
    assert story.in_outage() == []


def test_who_is_moved_to_another_account_waits_no_longer_and_ends_nothing() -> None:
    def agent(name: str, account: str) -> AgentSpec:
        return spec(name, account=account, harness="command")

    story = Dying(*(agent(f"a{number}", "team") for number in range(4)))
    for name in story.fleet.agents:
        story.dies(name, 1)
    assert story.in_outage() == ["a0", "a1", "a2", "a3"]
    waiting, trying = (
        next(name for name in story.in_outage() if isinstance(story.named(name).state, kind))
        for kind in (Parked, Starting)
    )
    for name in (waiting, trying):
        story.tell(AgentDeclared(agent(name, "spare")))
        assert name not in story.in_outage()
        assert isinstance(story.named(name).state, Starting)
        story.begins(name)
        story.works(name)
    assert len(story.in_outage()) == 2
    assert story.of(Reassure) == []
