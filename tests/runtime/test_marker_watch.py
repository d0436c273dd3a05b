"""Codes and footers that pass by in a session, by its hooks and by its transcript, are told once and of that run."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.resonance import AnchorSeen, CodesSeen, FooterSeen
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.rules import ResonanceRules
from phoenixd.documents.resonance.footer import Footer
from phoenixd.documents.resonance.heard import Passed
from phoenixd.gathered import GATHER
from phoenixd.planting import Marker, Planting, anchor_text
from phoenixd.runtime.marker_watch import MarkerWatch
from tests.start.places import NOW, HandClock, Room
from tests.transcripts import samples
from tests.waiting import eventually

PLANTING = Planting(Marker("the map folded along its river", "7f3a9c"), ("1a2b3c", "4d5e6f", "7a8b9c"))


class WatchClock(HandClock):
    def at(self) -> float:
        return self.wall


@dataclass
class Watched:
    """One agent of the claude harness in a room, its watch, and what that tells; the planting is as the core has it."""

    room: Room
    agent: Agent
    watch: MarkerWatch
    told: list[Event]

    def hook(self, kind: str, **payload: Any) -> None:
        self.watch.heard("a", kind, payload)

    async def look(self) -> None:
        await self.watch.look("a")

    def seen(self) -> list[tuple[tuple[str, ...], str]]:
        """What was told of codes; the core has them burnt then."""
        found = [one for one in self.told if isinstance(one, CodesSeen)]
        return [(one.codes, one.where) for one in found]

    def footers(self) -> list[tuple[str, str, str]]:
        return [(one.marker, one.role, one.state) for one in self.told if isinstance(one, FooterSeen)]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    room, told = Room(tmp_path), list[Event]()
    room.clock = WatchClock()
    room.restarted()
    spec = room.spec(harness="claude", resonance=ResonanceRules(enabled="on"))
    agent = replace(room.running(room.agent(spec)), resonance=Resonance(planting=PLANTING, told=True))
    found = Watched(room, agent, None, told)  # type: ignore[arg-type]

    def tell(event: Event) -> None:
        told.append(event)
        known = found.agent.resonance
        if isinstance(event, CodesSeen) and known is not None and known.planting is not None:
            burnt = replace(known, planting=known.planting.seen(" ".join(event.codes)))
            found.agent = replace(found.agent, resonance=burnt)

    found.watch = MarkerWatch(lambda name: found.agent, tell, room.clock, room.transcripts)  # type: ignore[arg-type]
    return found


async def test_a_code_in_a_call_or_in_what_was_read_is_burnt_once(watched: Watched) -> None:
    """Also one that was read from our own files, or from the session's own transcript."""
    watched.room.write_down(watched.agent, samples.tool_use("c-1", command="cat session-start.1.txt"))
    watched.room.write_down(watched.agent, samples.tool_result("c-1", anchor_text(PLANTING, "a")))
    watched.hook("tool-start", tool_name="Bash", tool_input={"command": "grep 1A2B3C notes"})
    await watched.look()
    await watched.look()

    assert watched.seen() == [(("1a2b3c",), "call"), (("4d5e6f", "7a8b9c"), "result")]


def added(text: str, hook: str = "SessionStart", **more: Any) -> bytes:
    """What a hook added to the context, as Claude Code writes it down."""
    attachment = {"type": "hook_additional_context", "content": [text], "hookName": hook, "hookEvent": hook}
    return samples.claude("attachment", attachment=attachment, **more)


async def test_that_the_session_was_given_its_codes_is_told_from_what_its_cli_took_over(watched: Watched) -> None:
    """What stands in a file, a result or a prompt of the same words is no proof, and neither is half of it."""
    anchor = anchor_text(PLANTING, "a")
    watched.room.write_down(watched.agent, samples.tool_use("c-1", command="cat session-start.1.txt"))
    watched.room.write_down(watched.agent, added("phoenixd: the brief of this run is late."))
    watched.room.write_down(watched.agent, added(anchor.replace("4d5e6f", "")))
    watched.room.write_down(watched.agent, added(anchor, hook="PostToolUse"))
    watched.room.write_down(watched.agent, added(anchor, isSidechain=True))
    await watched.look()
    assert not [one for one in watched.told if isinstance(one, AnchorSeen)]

    watched.room.write_down(watched.agent, added(f"Hello.\n{anchor}"))
    await watched.look()

    (seen,) = [one for one in watched.told if isinstance(one, AnchorSeen)]
    assert (seen.marker, seen.incarnation) == ("7f3a9c", watched.agent.incarnation)
    assert watched.seen() == [], "what gives the codes burns none"


async def test_the_answer_to_a_check_is_no_place_where_its_code_was_seen(watched: Watched) -> None:
    """The hooks of a turn that is held up and of its end may be heard before the core has heard of either."""
    watched.hook("stop-blocked", last_assistant_message="The roof is whole.")
    watched.hook("stop", last_assistant_message="1a2b3c")
    watched.hook("stop", last_assistant_message="My codes are 1a2b3c and 4d5e6f, by the way.")
    watched.room.write_down(watched.agent, samples.answer("1a2b3c"))
    await watched.look()
    assert watched.seen() == []

    watched.room.write_down(watched.agent, samples.answer("My codes are 1a2b3c and 4d5e6f, by the way."))
    await watched.look()
    assert watched.seen() == [(("1a2b3c", "4d5e6f"), "answer")]


@pytest.mark.parametrize("how", ["as it was", "resumed", "fresh", "ended"])
async def test_what_a_run_wrote_that_was_replaced_while_it_was_read_judges_no_other_run(
    watched: Watched, how: str
) -> None:
    """Of a session that goes on the codes that were seen in it are burnt all the same."""
    agent = watched.agent
    assert agent.run is not None
    assert agent.resonance is not None
    run = replace(agent.run, incarnation=agent.incarnation + (how != "as it was"))
    other = replace(agent, incarnation=run.incarnation, state=replace(agent.state, run=run))  # type: ignore[call-arg]
    if how == "fresh":
        fresh = Planting(Marker("the hill kept its own counsel", "0a0b0c"), ("0d0e0f",))
        other = replace(other, resonance=replace(agent.resonance, planting=fresh))
    if how == "ended":
        other = replace(other, state=Stopped())
    footer = Footer("7f3a9c", "a", "Degraded")
    said = (Passed("given", anchor_text(PLANTING, "a")), Passed("call", "1a2b3c"), Passed("answer", f"Done.\n{footer}"))

    class Replacing:
        def passed_now(self, asked: Agent, words: object) -> tuple[Passed, ...]:
            watched.agent = other
            return said

    watched.watch = MarkerWatch(lambda name: watched.agent, watched.told.append, watched.room.clock, Replacing())  # type: ignore[arg-type]
    await watched.look()

    told = [(type(one), one.incarnation) for one in watched.told]  # type: ignore[union-attr]
    now = other.incarnation
    assert told == {
        "as it was": [(AnchorSeen, now), (CodesSeen, now), (FooterSeen, now)], "resumed": [(CodesSeen, now)],
        "fresh": [], "ended": [],
    }[how]  # fmt: skip


async def test_what_a_subagent_says_stands_in_its_own_context(watched: Watched) -> None:
    watched.hook("tool-start", agent_id="s-1", tool_input={"command": "grep 1a2b3c notes"})
    watched.hook("stop", agent_id="s-1", last_assistant_message=str(Footer("7f3a9c", "a", "Degraded")))

    assert watched.told == []


async def test_r35_f_re_12_a_footer_is_told_when_it_changes_and_from_the_agents_own_words_alone(
    watched: Watched,
) -> None:
    stable, degraded = Footer("7f3a9c", "a", "Stable"), Footer("7f3a9c", "a", "Degraded")
    watched.hook("stop", last_assistant_message=f"Done.\n{stable}")
    watched.room.write_down(watched.agent, samples.answer(f"Done.\n{stable}"))
    watched.room.write_down(watched.agent, samples.prompt(f"End with:\n{degraded}"))
    watched.room.write_down(watched.agent, samples.tool_use("c-1", command=f"echo '{degraded}'"))
    watched.room.write_down(watched.agent, samples.tool_result("c-1", str(degraded)))
    await watched.look()
    assert watched.footers() == [("7f3a9c", "a", "Stable")]

    watched.room.write_down(watched.agent, samples.answer(f"I may have lost something.\n{degraded}"))
    await watched.look()
    assert watched.footers()[1:] == [("7f3a9c", "a", "Degraded")]


@pytest.mark.parametrize(
    "line",
    [
        ":: SYSTEM :: [Resonance: 7f3a9c1] [Role: a] [State: Stable]",
        ":: SYSTEM :: [Resonance: 7F3A9C] [Role: a] [State: Stable]",
        ":: SYSTEM :: [Resonance: 7f3a9c] [Role: a] [State: Fine]",
        ":: system :: [Resonance: 7f3a9c] [Role: a] [State: Stable]",
        f"{Footer('7f3a9c', 'a', 'Stable')}\n{Footer('7f3a9c', 'a', 'Stable')}",
        f"> quoted\n```\n{Footer('7f3a9c', 'a', 'Stable')}\n```",
        f"```\n{Footer('7f3a9c', 'a', 'Stable')}",
    ],
)
async def test_what_is_no_footer_is_not_told(watched: Watched, line: str) -> None:
    watched.hook("stop", last_assistant_message=f"Done.\n{line}")
    watched.room.write_down(watched.agent, samples.answer(f"Done.\n{line}"))
    await watched.look()

    assert watched.footers() == []


async def test_a_time_in_the_future_is_none(watched: Watched) -> None:
    later = samples.answer(f"Done.\n{Footer('7f3a9c', 'a', 'Stable')}", timestamp="2036-11-21T10:00:00Z")
    watched.room.write_down(watched.agent, later)
    await watched.look()

    assert [one.at for one in watched.told if isinstance(one, FooterSeen)] == [NOW]


async def test_an_agent_without_a_marker_is_not_looked_at(watched: Watched) -> None:
    watched.agent = replace(watched.agent, resonance=None)
    watched.hook("stop", last_assistant_message=f"1a2b3c\n{Footer('7f3a9c', 'a', 'Stable')}")
    await watched.look()

    assert watched.told == []


async def test_a_transcript_is_read_once_its_cli_had_the_time_to_write(watched: Watched) -> None:
    """A hook comes a moment before what it tells of is written down."""
    clock, looked, has_looked = WatchClock(), list[float](), anyio.Event()

    class Passing:
        def passed_now(self, agent: Agent, words: object) -> tuple[()]:
            looked.append(clock.wall)
            has_looked.set()
            return ()

    watch = MarkerWatch(lambda name: watched.agent, watched.told.append, clock, Passing())  # type: ignore[arg-type]
    watch.heard("a", "tool-end", {})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        await has_looked.wait()
        tasks.cancel_scope.cancel()
    assert looked[0] == NOW + GATHER


async def test_what_was_heard_while_others_were_gathered_is_looked_at_once_more_and_then_no_more(
    watched: Watched,
) -> None:
    looked, slept = list[str](), list[float]()

    class Halfway(WatchClock):
        async def sleep_until(self, at: float) -> None:
            if not slept:
                self.wall = (self.wall + at) / 2
                watch.heard("a", "tool-end", {})
            slept.append(at)
            self.wall = at

    class Passing:
        def passed_now(self, agent: Agent, words: object) -> tuple[()]:
            looked.append(agent.name)
            return ()

    clock = Halfway()
    watch = MarkerWatch(lambda name: watched.agent, watched.told.append, clock, Passing())  # type: ignore[arg-type]
    watch.heard("a", "tool-end", {})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        await eventually(lambda: len(looked) == 2)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert (looked, slept) == (["a", "a"], [NOW + GATHER, NOW + 2 * GATHER])


async def test_a_watch_that_begins_looks_at_each_run_that_has_a_marker_and_at_no_other(watched: Watched) -> None:
    """A look asks for its agent before it reads anything, and all looks of a moment ask before one of them has read."""
    asked, looked = list[str](), list[str]()
    of = watched.agent
    others = (of, replace(of, spec=replace(of.spec, name="b"), state=Stopped()),
              replace(of, spec=replace(of.spec, name="c"), resonance=None))  # fmt: skip

    class Passing:
        def passed_now(self, agent: Agent, words: object) -> tuple[()]:
            looked.append(agent.name)
            return ()

    agents = {one.name: one for one in others}

    def find(name: str) -> Agent:
        asked.append(name)
        return agents[name]

    watch = MarkerWatch(find, watched.told.append, WatchClock(), Passing(), agents.values)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        await eventually(lambda: looked, what="the run with a marker is looked at")
        tasks.cancel_scope.cancel()
    assert (looked, set(asked)) == (["a"], {"a"})


async def test_an_agent_whose_disk_hangs_keeps_no_other_marker_from_being_looked_at(
    watched: Watched, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "hung")
    agents = {name: replace(watched.agent, spec=replace(watched.agent.spec, name=name)) for name in ("hung", "well")}
    looked = list[str]()

    class Passing:
        def passed_now(self, agent: Agent, words: object) -> tuple[Passed, ...]:
            looked.append(agent.name)
            if agent.name == "hung":
                return (Passed("call", (tmp_path / "hung").read_text()),)
            return ()

    watch = MarkerWatch(agents.get, watched.told.append, WatchClock(), Passing())  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        watch.heard("hung", "tool-end", {})
        watch.heard("well", "tool-end", {})
        await eventually(lambda: {"hung", "well"} <= set(looked))
        before = looked.count("well")
        watch.heard("well", "tool-end", {})
        await eventually(lambda: looked.count("well") > before)
        assert looked.count("hung") == 1

        await anyio.to_thread.run_sync((tmp_path / "hung").write_text, "1a2b3c")
        await eventually(lambda: watched.seen() == [(("1a2b3c",), "call")], what="what was read late is told")
        (tmp_path / "hung").unlink()
        (tmp_path / "hung").touch()
        tasks.cancel_scope.cancel()
