"""What the daemon makes of the end of a turn: a case is told as its CLI would, by hooks, lines and a notification.

A headless worker is judged as its task is, by what is collected of it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from phoenixd.core import cut
from phoenixd.core.actions import Deliver
from phoenixd.core.agent.state import Starting, Stopping
from phoenixd.core.events.orders import RestartRequested, StartRequested
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.core.tasks.verdict import judge
from phoenixd.core.traits import traits_of
from phoenixd.jobs.collection import stop_of, texts_of, told_of, whole
from tests.blind.frozen import Case, Corpus
from tests.core.full_contexts.missed import CUT_WHY, Worth
from tests.core.full_contexts.telling import SEAL, Telling
from tests.core.full_contexts.writing import Codex, writer

CUT = Corpus(Path(__file__).parent, "cut_open.json", "cut_held.json", CUT_WHY, sure="")
TURN = 60.0
"""Seconds of a turn beside its calls."""
IDLE_PROMPT, WATCHED = 60.0, 300.0
"""Seconds after a turn's end at which Claude Code says that it waits for input, as measured; and until which all that
is decided counts: a screen is looked at after a minute of silence, and then more seldom."""
HEARD = 130.0
"""Seconds in which an earlier end is known in any case, also where only a look at the screen leads to it."""
EARLIER = 30_000
"""Tokens that a session's earlier turns held."""


def worth(case: Case) -> Worth:
    """What is decided of the last turn of a case; of it nothing is read but its CLI and its facts."""
    with TemporaryDirectory() as room:
        return anyio.run(_Ending(case["cli"], case["facts"], Path(room)).played)


class _Ending(Telling):
    async def played(self) -> Worth:
        async with anyio.create_task_group() as tasks:
            self.looks.begin(tasks)
            await self.before()
            await self.last_turn()
            found = await self.verdict()
            tasks.cancel_scope.cancel()
        return found

    async def before(self) -> None:
        """What the facts tell of the time before the last turn."""
        given = self.given
        self.began("o")
        for peer in self.peers:
            self.began(peer)
        starts = given["fresh_starts_for_context_in_a_row"] or 0
        for _ in range(starts):
            await self.fills()
        if not starts and given.get("session_age_s") is None:
            await self.ends_well("Read the plan.")
        in_a_row = given["cuts_in_a_row_before"] or 0
        for _ in range((given["previous_cuts_in_session"] or 0) - in_a_row):
            await self.was_cut("Do the next item.")
            await self.ends_well("")
        for number in range(in_a_row):
            await self.was_cut("" if number else "Do the next item.")

    async def last_turn(self) -> None:
        given = self.given
        if given["after_compaction"] and not given["compaction_in_turn"]:
            self.compacts()
        was_told = given["cuts_in_a_row_before"] and given["told_to_go_on_in_a_row"]
        await self.is_asked("" if was_told else "Now the till.")
        if given["compaction_in_turn"]:
            self.compacts()
        if given["turn_had_completed_tool_call"]:
            await self.calls(1, 0.8)
            await self.calls(1)
        await self.passes(TURN)
        for peer in self.peers[: (given["account_agents_same_end_30min"] or 1) - 1]:
            self.hears(self.asks, of=peer, prompt="Build it.")
            self.write(self.writers[peer].prompt(self.wall, "Build it."), of=peer)
            self.fails(of=peer)
            await self.passes(TURN)
        self.own, self.was_parked = self.agent.name, False
        self.decisions.clear()
        self.answers()
        self.ends()
        if given["exit_code"] is not None:
            await self.passes(1.0)
            self.exits(self.agent.name, given["exit_code"])
        await self.passes(IDLE_PROMPT)
        if self.cli == "claude" and not self.is_headless:
            self.hears("Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
        await self.passes(WATCHED - IDLE_PROMPT)

    async def was_cut(self, prompt: str) -> None:
        """A turn that ended as the last one does."""
        await self.is_asked(prompt)
        if self.given["completed_tool_call_since_last_cut"]:
            await self.calls(1)
        self.answers()
        self.ends()
        await self.passes(max(HEARD, 60.0 * (self.given.get("minutes_since_last_cut") or 0)))

    async def ends_well(self, prompt: str) -> None:
        await self.is_asked(prompt)
        await self.calls(1, EARLIER / self.held)
        self.say("That is done.", "end_turn", 40, held=min(EARLIER, self.held))
        if isinstance(self.writes, Codex):
            self.write(self.writes.ended(self.wall, "That is done."))
        self.looks.screens.shown = "idle"
        self.hears(self.stops, last_assistant_message="That is done.")
        await self.passes(TURN)

    async def fills(self) -> None:
        """A session that did something, and was full before a turn came to its end."""
        await self.is_asked("Build the shop.")
        await self.calls(1, EARLIER / self.held)
        text = "Codex ran out of room in the model's context window." if self.cli == "codex" else "Prompt is too long"
        self.write(self.writes.failed(self.wall, "invalid_request", text))
        self.hears("StopFailure", error="invalid_request", error_details=text)
        await self.passes(HEARD, lambda: isinstance(self.agent.state, Stopping))
        if not isinstance(self.agent.state, Stopping):
            # After some of them a person is called, and begins the next one.
            self.tell(RestartRequested(self.agent.name))
        self.exits(self.agent.name, None, 15)
        await self.passes(HEARD, lambda: isinstance(self.agent.state, Starting))
        self.began(self.agent.name)

    def began(self, name: str) -> None:
        if self.fleet.agents[name].run is None:
            self.tell(StartRequested(name))
        run = self.fleet.agents[name].run
        assert run is not None, self.fleet.agents[name].reason
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        is_drawn, window = not self.is_headless, self.given["window"]
        self.writers[name] = writer(self.cli, run.session_id, window=window, is_drawn=is_drawn)
        self.write(self.writers[name].begins(self.wall), of=name)
        self.hears("SessionStart", of=name, source="startup")

    def compacts(self) -> None:
        self.hears("PreCompact", trigger="auto")
        self.write(self.writes.compacted(self.wall, self.given["window"] or 200_000))
        self.hears("SessionStart", source="compact")
        self.hears("PostCompact", trigger="auto")

    async def verdict(self) -> Worth:
        if self.is_a_task:
            return await self.verdict_of_its_task()
        agent = self.agent
        if agent.meter.full:
            return "context_full"
        own = [one for one in self.actions if getattr(one, "agent", "") == agent.name]
        if any(isinstance(one, Deliver) and one.text == cut.GO_ON for one in own):
            return "go_on"
        if self.was_parked:
            return "wait"
        return "person" if agent.items else "proper"

    async def verdict_of_its_task(self) -> Worth:
        """A worker is told nothing: its task runs once more, later where a limit ended its run, or is given back."""
        read, agent = self.looks.transcripts, self.agent
        facts, talk = await read.facts(agent), await read.files.conversation(agent)
        assert facts is not None
        assert talk is not None
        _, sealed = whole(texts_of(talk.utterances), SEAL, told_of(facts, traits_of(self.cli).tells_cut))
        task = Task("t1", agent.name, runs=1 + (self.given["cuts_in_a_row_before"] or 0))
        found = judge(task, agent.last_exit, Outcome(stop_of(facts), seal=sealed), wall=self.wall)
        if found.state == "done":
            return "proper"
        return "person" if found.again is None else "wait" if found.spared else "go_on"
