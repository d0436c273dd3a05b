"""The step of an older commit and the step of the working tree hear the same events, and must decide the same.

`./dev proof twin`; `python -m tests.proof.twin --events 20000 --seed 7 --against COMMIT`. The events are those of
tests/simulate: fleets in virtual time under storms, decided upon by the working tree. The older step runs in a process
of its own, from an archive of its commit. After each event both say what they decided (actions, states, readings,
reasons), what the fleet is, and which deadline is next, in the words of tests/proof/twin_words.py. The first
difference is printed, and the line that plays it again.
"""

from __future__ import annotations

import argparse
import logging
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import anyio
import structlog

from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, AnswerRequested
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.hooks import Hook
from phoenixd.core.moment import Moment
from phoenixd.core.rules import BreakerRules, LoopRules, Member
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.step import step
from phoenixd.runtime import stepping
from tests.proof import twin_limits, twin_older
from tests.proof.twin_words import differences, digest, plain, plain_fleet, plain_step, receive, send
from tests.simulate.simulation import Simulation
from tests.simulate.storm import DAY, NIGHT, STORM, rage
from tests.simulate.virtual_loop import VirtualLoop

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
EVENTS = 1_000_000
OTHERWISE = "66fdf9b2"
"""The newest commit whose core was meant to decide otherwise than the one before. A later one that is meant to, too, is
written here by the commit behind it: until then this proof names it."""
BATCH = 256
WHOLE_EVERY = 500
"""Events after which the two fleets are compared whole, and not only what the step decided on."""
WEATHERS = ((STORM, 2.0), (DAY, 24.0), (STORM, 1.0), (NIGHT, 24.0))


class Differs(Exception):
    """The two sides decided otherwise; the message tells the event and the first places."""


class Enough(Exception):
    """As many events as were asked for."""


@dataclass(slots=True)
class Sent:
    """One message to the other side, and what this side made of it: a digest, or the whole."""

    sort: str
    words: Any
    moment: tuple[Any, ...]
    found: Any


@dataclass(slots=True)
class Met:
    """What the events were and led to, so that one sees what was compared."""

    events: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    cut_short: Counter[str] = field(default_factory=Counter)
    """Simulations that ended before their time, which is no matter of this proof."""


class Twin:
    """Stands where the supervisor calls the core: decides as the working tree does, and has the other side agree."""

    def __init__(self, tree: Path, events: int, in_full: bool = False) -> None:
        """tree: a directory that holds the older `phoenixd`. in_full: ask the other side for all of each step."""
        self.met = Met()
        self.heard = 0
        self.run = ""
        self.in_run = 0
        self._most = events
        self._in_full = in_full
        olders = [one for one in (twin_limits, twin_older) if one.is_older(tree)]
        self._said: Callable[[Any], Any] = lambda words: reduce(lambda said, one: one.as_before(said), olders, words)
        self._fleet: Fleet | None = None
        self._batch: list[Sent] = []
        self._awaited: list[Sent] = []
        environment = {"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin"}
        argv = [sys.executable, str(HERE / "twin_other.py")]
        self._other = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self._other.stdin is not None
        assert self._other.stdout is not None
        self._to, self._from = self._other.stdin, self._other.stdout
        place = str(receive(self._from))
        if not place.startswith(str(tree)):
            self.close()
            raise RuntimeError(f"the other side imported {place}, and was to import {tree}")

    def step(self, fleet: Fleet, event: Event, now: Moment) -> Step:
        """Take the place of the core's step."""
        if fleet is not self._fleet:
            self._say(Sent("fleet", self._said(plain_fleet(fleet)), (), None))
        words = self._said(plain(event))
        result = step(fleet, event, now)
        self._fleet = result.fleet
        found = self._said(plain_step(fleet, result, next_deadline(result.fleet, now)))
        moment = (now.at, now.wall, now.chance, now.nonce)
        self.heard, self.in_run = self.heard + 1, self.in_run + 1
        self._say(Sent("step", words, moment, found if self._in_full else digest(found)))
        if self.heard % WHOLE_EVERY == 0:
            self._say(Sent("whole", None, (), digest(self._said(plain_fleet(result.fleet)))))
        self._note(event, result)
        if self.heard >= self._most:
            raise Enough
        return result

    def settle(self) -> None:
        """Have the other side answer all that it was told; raises Differs."""
        for _ in range(2):
            self._exchange()

    def close(self) -> None:
        # After a difference it may still be writing answers that nobody reads any more.
        self._other.kill()
        self._other.wait()
        self._from.close()
        with suppress(BrokenPipeError):
            self._to.close()

    def _note(self, event: Event, result: Step) -> None:
        kind = type(event).__name__
        self.met.events[f"{kind} {event.kind}" if isinstance(event, Hook) else kind] += 1
        for decision in result.decisions:
            self.met.actions.update(type(action).__name__ for action in decision.actions)
            if decision.agent is not None:
                self.met.states[decision.agent.state_name] += 1

    def _say(self, message: Sent) -> None:
        self._batch.append(message)
        if len(self._batch) >= BATCH:
            self._exchange()

    def _exchange(self) -> None:
        """Send a batch, and read the answers to the one before: both sides work at the same time."""
        batch, self._batch = self._batch, []
        awaited, self._awaited = self._awaited, batch
        answers = receive(self._from) if awaited else []
        if answers is None:
            raise RuntimeError("the other side is gone; what it wrote stands above")
        if batch:
            send(self._to, [(one.sort, one.words, one.moment, self._in_full) for one in batch])
        for at, (one, answer) in enumerate(zip(awaited, answers, strict=True)):
            if one.found != answer:
                left = sum(other.sort == "step" for other in (*awaited[at + 1 :], *batch, *self._batch))
                raise Differs(self._told(one, answer, self.in_run - left))

    def _told(self, one: Sent, answer: Any, number: int) -> str:
        """What is known of a difference; where only digests were exchanged, how to see all of it."""
        what = "the fleets as a whole differ" if one.sort == "whole" else f"event {number}: {one.words} at {one.moment}"
        lines = [f"run {self.run}, {what}"]
        if self._in_full and not isinstance(answer, str):
            lines += list(differences(one.found, answer))[:12]
        elif isinstance(answer, str) and ":" in answer:
            lines.append(f"the other side broke: {answer}")
        return "\n  ".join(lines)


def fleet_of(dice: random.Random) -> dict[str, AgentSpec]:
    """A fleet in which everything occurs that agents share: accounts, harnesses, a sequence, breakers of each kind."""
    team = dice.choice([None, "team"])
    claude = {"harness": "claude", "prompt": "Work through docs/plan.md.", "account": team}
    turns = LoopRules(sequence=(Member("critic"), Member("planner", when_agent="critic")))
    specs = [
        AgentSpec("builder", ("claude",), "/srv", **claude),
        AgentSpec("clerk", ("claude",), "/srv", **claude, breaker=BreakerRules(per_turn=True)),
        AgentSpec("porter", ("work",), "/srv", heartbeat_file="heartbeat.json"),
        AgentSpec("looper", ("loop",), "/srv", kind=Kind.LOOP, **claude),
        AgentSpec("leader", ("loop",), "/srv", kind=Kind.LOOP, **claude, loop=turns),
        AgentSpec("critic", ("loop",), "/srv", kind=Kind.LOOP, **claude, turn_of="leader"),
        AgentSpec("planner", ("loop",), "/srv", kind=Kind.LOOP, **claude, turn_of="leader"),
        AgentSpec("helper", ("codex",), "/srv", harness="codex", prompt="Help."),
        AgentSpec("errand", ("work",), "/srv", kind=Kind.EPHEMERAL, account=team),
    ]
    kept = [one for one in specs if one.turn_of or one.loop.sequence or dice.random() < 0.8]
    more = [AgentSpec(f"agent-{number}", ("claude",), "/srv", **claude) for number in range(dice.randrange(6))]
    return {one.name: one for one in (*kept, *more)}


async def _meddle(simulation: Simulation, dice: random.Random) -> None:
    """What the storm's operators leave out: answers, other declarations, removals and newcomers."""

    def declare(spec: AgentSpec, start: bool) -> None:
        if start:
            simulation.host.promises.operator_asks(spec.name, wants_running=True)
        simulation.daemon.supervisor.tell(AgentDeclared(spec, start=start))

    while True:
        await anyio.sleep(dice.expovariate(1 / 400))
        daemon = simulation.daemon
        if not daemon.is_alive or not daemon.is_ready:
            continue
        agents = daemon.supervisor.fleet.agents
        asked = [item.id for agent in agents.values() for item in agent.items]
        match dice.randrange(5):
            case 0 | 1 if asked:
                number = dice.choice(asked)
                owner = next(one.name for one in agents.values() for item in one.items if item.id == number)
                daemon.supervisor.tell(AnswerRequested(owner, number, dice.random() < 0.5))
            case 2:
                spec = simulation.specs[dice.choice(sorted(simulation.specs))]
                cwd = dice.choice(["/srv", "/elsewhere"])
                changed = AgentSpec(**{**_fields(spec), "cwd": cwd, "account": dice.choice([None, "team"])})
                declare(changed, dice.random() < 0.5)
            case 3 if agents:
                leaving = dice.choice(sorted(agents))
                simulation.host.promises.operator_withdraws(leaving)
                daemon.supervisor.tell(AgentWithdrawn(leaving))
            case _:
                newcomer = AgentSpec(f"new-{dice.randrange(4)}", ("claude",), "/srv", harness="claude", prompt="Begin.")
                declare(newcomer, True)


def _fields(spec: AgentSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__slots__}


def play(twin: Twin, seed: str) -> None:
    """One simulated fleet from its declaration to the end of its weather."""
    dice = random.Random(f"twin {seed}")
    weather, hours = WEATHERS[dice.randrange(len(WEATHERS))]
    specs = fleet_of(dice)
    twin.run, twin.in_run = seed, 0

    async def main() -> None:
        simulation = Simulation(seed, specs)

        async def story() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_meddle, simulation, dice)
                await rage(simulation, weather, hours * 3600)
                tasks.cancel_scope.cancel()
            raise Enough

        await simulation.play(story)

    try:
        anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - sorted below
        first = error
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        if isinstance(first, Differs):
            raise first from None
        if not isinstance(first, Enough):
            twin.met.cut_short[f"{type(first).__name__}: {str(first).splitlines()[0] if str(first) else ''}"[:120]] += 1


def compare(tree: Path, events: int, seed: str, only: str | None = None, in_full: bool = False) -> Twin:
    """Play until that many events were heard; raises Differs. only: one run, by its name."""
    twin = Twin(tree, events, in_full)
    before = vars(stepping)["step"]
    setattr(stepping, "step", twin.step)  # noqa: B010 - stepping exports it to nobody
    try:
        number = 0
        while twin.heard < events:
            play(twin, only or f"{seed}-{number}")
            number += 1
            if only is not None:
                break
        twin.settle()
    finally:
        setattr(stepping, "step", before)  # noqa: B010
        twin.close()
    return twin


def archive(commit: str, into: Path) -> Path:
    """The package as it was at that commit, below a directory."""
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "phoenixd"], check=True, capture_output=True)
    # tarfile asks for a filter from Python 3.12 on, and knows none before 3.11.4.
    subprocess.run(["tar", "-x", "-C", str(into)], input=packed.stdout, check=True)
    return into


def compared_with() -> str:
    """The commit that the working tree's core is compared with where none is named.

    It is the one before the core's newest change. A change that was meant to decide otherwise is compared with itself:
    then the two differ where a decision hangs on the process that makes it, as the order of a set does.
    """
    if _git("status", "--porcelain", "--", "phoenixd/core"):
        return _git("rev-parse", "HEAD")
    newest = _git("log", "-1", "--format=%H", "--", "phoenixd/core")
    return newest if newest == _git("merge-base", newest, OTHERWISE) else _git("rev-parse", f"{newest}^")


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: list[str]) -> int:
    """1 where the two decided otherwise."""
    parser = argparse.ArgumentParser(prog="./dev proof twin", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--seed", default="1")
    parser.add_argument(
        "--against", metavar="COMMIT", help="default: the one before the core's newest change; see OTHERWISE"
    )
    parser.add_argument("--tree", type=Path, help="a directory that holds a package phoenixd, instead of a commit")
    parser.add_argument("--run", help="play one run alone, by the name that a difference was printed with, in full")
    given = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory(prefix="phx-twin-") as root:
        try:
            commit = given.against or ("" if given.tree else compared_with())
            tree = given.tree.resolve() if given.tree else archive(commit, Path(root))
        except subprocess.CalledProcessError as error:
            said = (error.stderr or b"").decode() if isinstance(error.stderr, bytes) else error.stderr or ""
            print(f"not run: git cannot give the older core ({said.strip()}); name it: --against COMMIT")
            return 2
        began = time.monotonic()
        try:
            twin = compare(tree, given.events, given.seed, given.run, in_full=given.run is not None)
        except Differs as difference:
            again = f"python -m tests.proof.twin --against {commit or 'COMMIT'} --run"
            name = re.search(r"run (\S+),", str(difference))
            print(f"DIFFERS from {commit[:12] or tree}: {difference}")
            with suppress(AttributeError):
                print(f"again, with all that differs: {again} {name and name[1]}")
            return 1
    took = time.monotonic() - began
    print(f"{twin.heard} events, seed {given.seed}, against {commit[:12] or tree}: no difference; "
          f"{twin.heard / took:.0f} events/s, {took:.0f} s")  # fmt: skip
    for what, counts in (("events", twin.met.events), ("states", twin.met.states), ("actions", twin.met.actions)):
        print(f"  {what}: {', '.join(f'{name} {count}' for name, count in counts.most_common())}")
    for why, count in twin.met.cut_short.most_common(6):
        print(f"  {count} simulations ended early: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
