"""An agent's CLI as the facts of a case have it: what it tells by hooks, writes into its transcript, and shows.

The real readers take it: the shim's trimming and the reader of hooks, the transcript's reader, the meter's reading, and
the runtime's looks after a turn's end and at the screen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Deliver, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Refusal
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import Delivered
from phoenixd.core.handoff.state import Step
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.seal import Seal
from phoenixd.documents.times import read_time
from phoenixd.harness.codex.harness import EVENTS as CODEX
from phoenixd.harness.gemini.harness import EVENTS as GEMINI
from phoenixd.shim import payload
from tests.core.full_contexts.errors import GIVEN_UP
from tests.core.full_contexts.leading import Leading
from tests.core.full_contexts.looks import Looks
from tests.core.full_contexts.writing import Codex, Line, Writer, content_of, encoded
from tests.core.story import EPOCH, spec

Facts = dict[str, Any]

CALL = 20.0
"""Seconds of a call."""
LEAST = 0.001
"""Seconds that pass at least: sums of times are not exact."""
SEAL = Seal("a1b2c3", "d4e5f6")
"""The words with which a worker is asked to frame its report."""
WHOLE = frozenset({"end_turn", "stop", "STOP"})
GO_ON_OF_A_PERSON = "Please go on."
HOOKS = {"claude": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")}
HOOKS |= {"codex": HOOKS["claude"], "gemini": ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent")}


class Telling(Leading):
    """What is told of an agent while time passes. given: the facts of its case."""

    def __init__(self, cli: str, facts: Facts, room: Path) -> None:
        kind, members = Kind(facts["kind"]), max(1, facts.get("account_agents") or 1)
        shared = {"account": "team"} if members > 1 else {}
        project = {"project": "shop"} if kind is Kind.ORCHESTRATOR else {}
        self.peers = [f"peer{number}" for number in range(1, members)]
        self.ordered: list[LookAtScreen] = []
        self.own = ""
        self.was_parked = False
        own = spec("o", kind=kind, harness=cli, prompt="Build the shop.", **project, **shared)
        super().__init__(own, *(spec(name, harness=cli, prompt="Build it.", **shared) for name in self.peers))
        self.wall = read_time(facts.get("now") or "") or EPOCH
        self.screen = None
        self.cli, self.given = cli, defaultdict(lambda: None, facts)
        self.looks = Looks(self, self.find, room)
        self.asks, self.calls_tool, self.has_called, self.stops = HOOKS[cli]
        self.writers: dict[str, Writer] = {}
        self.late: list[tuple[float, bytes]] = []
        """Lines that come after what they tell of, and when (wall)."""
        self.numbers = count(1)

    async def is_asked(self, prompt: str) -> None:
        """A prompt of a person; without words the one to go on, the daemon's where it told so."""
        self.looks.screens.shown = "working"
        order = next((one for one in reversed(self.of(Deliver)) if one.agent == self.agent.name), None)
        if not prompt and order is not None:
            prompt = order.text
            self.tell(Delivered(order.agent, order.incarnation, order.message_id, "the agent took the prompt"))
        prompt = prompt or GO_ON_OF_A_PERSON
        self.hears(self.asks, prompt=prompt)
        self.write(self.writes.prompt(self.wall, prompt))
        await self.passes(5.0)
        self.decisions.clear()

    async def calls(self, number: int, share: float = 1.0) -> None:
        """share: of what the turn's last request held."""
        if self.is_handed_over and self.step is Step.AWAIT_ACK:
            # A successor that works has said what its package told it.
            self.ack(self.agent.name)
        for _ in range(number):
            call = self.name_of("toolu")
            told: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": "make check"}}
            self.hears(self.calls_tool, **told)
            await self.passes(CALL)
            self.hears(self.has_called, **told)
            self.write(self.writes.call(self.wall, call, int(min(1.0, share) * self.held)))
            self.meters()

    @property
    def agent(self) -> Agent:
        """Who leads; once the last turn has ended, whose turn that was."""
        return self.fleet.agents[self.own] if self.own else super().agent

    @property
    def held(self) -> int:
        """Tokens of the newest request that was answered; one that was refused may have had more."""
        tokens, window = self.given["tokens_in_context"], self.given["window"]
        return min(30_000 if tokens is None else max(1, tokens), window or 1 << 40)

    @property
    def writes(self) -> Writer:
        return self.writers[self.agent.name]

    def answers(self) -> None:
        """The answers of a turn: as the case has the lines, or one for each stop_reason that is told."""
        given = self.given
        if given.get("transcript_tail"):
            for one in given["transcript_tail"]:
                at = self.wall + (one.get("at_ms") or 0) / 1000
                self.late.append((at, encoded(self.writes.told(at, one))))
            self.comes_in()
            return
        reasons = [one for one in given["stop_reasons_in_turn"] or [given["stop_reason"]] if one != "tool_use"]
        for number, reason in enumerate(reasons):
            is_last, is_rest = number == len(reasons) - 1, number > 0 and given["cli_continued_itself"]
            if self.has_failed and (reason is None or given["output_tokens"] == 0):
                # Of a request that was refused, or whose stream broke, there is no line.
                continue
            room = max(1, (given["window"] or 1 << 40) - self.held)
            out = given["output_tokens"] if is_last else min(given["output_cap"] or room, room)
            text = self.framed(given["text_tail"] or "") if is_last else "First the till is closed, and"
            self.say(text, reason, out or 0, given["content_kind"] if is_last else "text", is_rest=is_rest)

    def say(
        self, text: str, stop: str | None, out: int, kind: str = "text", *, is_rest: bool = False, held: int = 0
    ) -> None:  # fmt: skip
        blocks = content_of(kind, text, self.name_of("toolu"))
        used = held or self.held
        self.write(self.writes.answer(self.wall, self.name_of("msg"), blocks, stop, used, out, rest=is_rest))
        self.meters()

    def framed(self, text: str) -> str:
        """A worker's report begins with its seal, and ends with it where the answer was not cut."""
        given = self.given
        if not self.is_a_task:
            return text
        is_cut = given["output_tokens"] == given["output_cap"] or given["stop_reason"] not in (None, *WHOLE)
        return f"{SEAL.head}\n{text}" if is_cut else f"{SEAL.head}\n{text}\n{SEAL.end}"

    def ends(self) -> None:
        self.looks.screens.shown = "idle"
        given, text = self.given, self.given["text_tail"] or ""
        if given["interrupted_by_person"]:
            self.write(self.writes.interrupted(self.wall, text))
            if given["hook"]:
                self.hears(given["hook"], last_assistant_message=text)
        elif self.has_failed:
            self.fails()
        else:
            if isinstance(self.writes, Codex) and not given.get("transcript_tail"):
                self.write(self.writes.ended(self.wall, text))
            if given["hook"]:
                self.hears(given["hook"], last_assistant_message=text, stop_hook_active=False)
        self.meters()

    def fails(self, *, of: str = "") -> None:
        """What its CLI says of a turn that failed: in the transcript, and by a hook where it has one for that."""
        given = self.given
        word, text = given["hook_error"], given["error_text"] or ""
        if word == "max_output_tokens" and not text:
            text = GIVEN_UP.get(given["stop_reason"] or "", "")
        if of or not given.get("transcript_tail"):
            self.write(self.writers[of or self.agent.name].failed(self.wall, word, text), of=of)
        if given["hook"]:
            told = {"error": word, "error_details": text, "last_assistant_message": text}
            self.hears(given["hook"], of=of, **{name: value for name, value in told.items() if value})

    @property
    def has_failed(self) -> bool:
        return bool(self.given["error_text"] or self.given["hook_error"])

    @property
    def is_a_task(self) -> bool:
        return self.is_headless and self.given["kind"] == "ephemeral"

    @property
    def is_headless(self) -> bool:
        return self.given["mode"] == "headless" or self.given["exit_code"] is not None

    def hears(self, name: str, *, of: str = "", **more: Any) -> None:
        """A hook, where its CLI has it and the agent's run lives."""
        agent = self.fleet.agents[of] if of else self.agent
        own = GEMINI.get(name) if self.cli == "gemini" else CODEX[name][1] if name in CODEX else payload.kind_of(name)
        if agent.run is None or own is None or (self.cli == "codex" and name not in CODEX):
            return
        kept = payload.trim({"session_id": agent.run.session_id, "cwd": "/srv/shop", **more})
        self.tell(hook_event(agent.name, agent.run.incarnation, own, kept, self.wall))
        self.looks.cut_answers.heard(agent.name, own, kept)

    def meters(self) -> None:
        agent, used = self.agent, self.looks.transcripts.files.usage_now(self.agent)
        if used is None or agent.run is None or agent.session is None:
            return
        window, session = used.window or self.given["window"], agent.session.session_id
        self.tell(UsageSeen(agent.name, agent.run.incarnation, used.tokens, window, "transcript", used.at, session))

    def tell(self, event: Any) -> Refusal | None:
        seen = len(self.decisions)
        refusal = super().tell(event)
        said = [one for decision in self.decisions[seen:] for one in decision.actions]
        self.ordered += [one for one in said if isinstance(one, LookAtScreen)]
        self.was_parked = self.was_parked or self.agent.parking is not None
        return refusal

    async def passes(self, seconds: float, until_so: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, until something is so: ticks, lines that come late, and looks with what they find."""
        until = self.at + seconds
        while True:
            self.comes_in()
            ordered, self.ordered = self.ordered, []
            found = await self.looks.done(ordered)
            for event in found:
                self.tell(event)
            due = next_deadline(self.fleet, self.now)
            if due is not None and due <= self.at:
                self.tell(Tick())
            elif not found and not self.ordered and (self.at >= until or until_so()):
                return
            elif not found and not self.ordered:
                wakes = self.looks.clock.next_due()
                late = (self.at + at - self.wall for at, _ in self.late)
                soonest = min(one for one in (until, due, wakes, *late) if one is not None)
                self.pass_over(max(soonest - self.at, LEAST))

    def comes_in(self) -> None:
        for line in (one for at, one in self.late if at <= self.wall):
            self.looks.transcripts.write(self.agent, line)
        self.late = [one for one in self.late if one[0] > self.wall]

    def write(self, lines: Iterable[Line], *, of: str = "") -> None:
        for line in lines:
            self.looks.transcripts.write(self.fleet.agents[of] if of else self.agent, encoded(line))

    def name_of(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers)}"
