"""The send path: it carries out what `core.typing` orders, tells it what was seen, and decides nothing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.moment import Instant
from phoenixd.core.typing.delivery import Delivery, begin, begin_again
from phoenixd.core.typing.machine import hear
from phoenixd.core.typing.orders import ClearLine, Discard, Done, Look, Order, Paste, PressEnter
from phoenixd.core.typing.orphans import NO_TRACE
from phoenixd.core.typing.seen import (
    Begun,
    Discarded,
    Pasted,
    PermissionAsked,
    Pressed,
    PromptSubmitted,
    Seen,
    Told,
)
from phoenixd.errors import PhoenixdError, TerminalFailed
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.terminal import Screens, Terminal
from phoenixd.runtime.eyes import Eyes

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A text that an earlier daemon was to type into this run, without saying what became of it."""

    agent: str
    incarnation: int
    message_id: str
    text: str = field(repr=False)


@dataclass(slots=True)
class Sending:
    """One text under way. told: what hooks said of the run since the last order; rung: whether they said anything."""

    agent: Agent
    incarnation: int
    delivery: Delivery
    transcript_end: int = 0
    told: deque[Told] = field(default_factory=deque)
    rung: anyio.Event = field(default_factory=anyio.Event)

    def tell(self, hook: Told) -> None:
        self.told.append(hook)
        self.rung.set()


class Messenger:
    """Types texts into panes and says delivered or not, never perhaps."""

    def __init__(
        self,
        terminal: Terminal,
        screens: Screens,
        transcripts: Transcripts,
        clock: Clock,
        find: Callable[[str], Agent | None],
        tell: Callable[[Event], None] = lambda event: None,
    ) -> None:
        """tell: takes what was read from a screen on the way, for two faces must never know different things."""
        self._terminal = terminal
        self._screens = screens
        self._transcripts = transcripts
        self._clock = clock
        self._tell = tell
        self._eyes = Eyes(terminal, screens, transcripts, find)
        self._find = find
        self._under_way: dict[str, Sending] = {}
        self._left: dict[str, tuple[str, tuple[str, ...]]] = {}
        """What of ours may stand in an agent's input line, and in which run."""
        self._orphans: dict[str, tuple[Unfinished, ...]] = {}
        self._ordered: dict[str, str] = {}
        self._arrived: dict[str, Delivered] = {}
        """What an earlier daemon typed, and is known to have arrived: ordered again, it is not typed again."""
        self._turns: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    def left_behind(self, texts: Sequence[Unfinished]) -> None:
        """An earlier daemon may have left one of these, all for one agent, standing in its input line."""
        agent = self._find(texts[0].agent)
        if agent is None or agent.run is None:
            return
        mine = tuple(one for one in texts if one.incarnation == agent.run.incarnation)
        if mine:
            now = self._clock.now()
            prompts = (self._screens.prompt(agent, one.text) for one in mine)
            typed = tuple(dict.fromkeys(prompt.text for prompt in prompts if not prompt.problem))
            # From now on its hooks are heard: a shim tells those that it kept as soon as it is linked.
            delivery = begin_again(typed, now.at, now.wall)
            self._under_way[agent.name] = Sending(agent, agent.run.incarnation, delivery)
            self._orphans[agent.name] = mine

    async def run(self) -> None:
        """Find out what became of the texts of an earlier daemon."""
        async with anyio.create_task_group() as tasks:
            for name in tuple(self._orphans):
                tasks.start_soon(self._settle, name)

    async def _settle(self, name: str) -> None:
        async with self._turns[name]:
            await self._settle_orphan(name)

    def forget_removed(self, names: Iterable[str]) -> None:
        """These agents were removed; where a text is on its way still, its turn is kept."""
        for name in names:
            self._arrived.pop(name, None)
            if name in self._turns and not self._turns[name].locked():
                del self._turns[name]

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """Take note of a hook: a submitted prompt may be the text that somebody waits for."""
        sending = self._under_way.get(agent)
        if sending is None:
            return
        if kind == "permission-request":
            sending.tell(PermissionAsked())
        elif kind == "prompt-submit":
            sending.tell(PromptSubmitted(payload.get("prompt_sha256")))

    async def deliver(self, agent: Agent, order: Deliver) -> Delivered | NotDelivered:
        """Deliver one text; raises TerminalFailed where the terminal could not be asked."""
        self._ordered[order.agent] = order.message_id
        try:
            async with self._turns[order.agent]:
                await self._settle_orphan(order.agent)
                arrived = self._arrived.get(order.agent)
                if arrived and (arrived.message_id, arrived.incarnation) == (order.message_id, order.incarnation):
                    return arrived
                return await self._deliver(agent, order)
        finally:
            self._ordered.pop(order.agent, None)

    async def _settle_orphan(self, name: str) -> None:
        """Tell what became of an earlier daemon's texts, or that nothing tells it; none is typed again."""
        texts = self._orphans.pop(name, None)
        if texts is None:
            return
        sending = self._under_way[name]
        try:
            done = await self._carry_out(sending, Begun())
        except PhoenixdError as failure:
            log.warning("text_left_behind", agent=name, reason=failure.message)
            done = Done("unknown", f"{NO_TRACE}: {failure.message}")
        except Exception as fault:
            # The daemon has just begun, and its agents need it more than this text.
            log.exception("text_left_behind", agent=name, reason=repr(fault))
            done = Done("unknown", NO_TRACE)
        finally:
            del self._under_way[name]
            self._keep_left(sending)
        found = self._newest(sending, texts)
        log.info("text_left_behind", agent=name, message_id=found, reason=done.why)
        for one in texts:
            is_found = one.message_id == found
            if is_found and done.verdict == "delivered":
                self._arrived[name] = Delivered(name, one.incarnation, one.message_id, done.why)
                self._tell(self._arrived[name])
            elif one.message_id != self._ordered.get(name):
                why = done.why if is_found or found is None else NO_TRACE
                self._tell(NotDelivered(name, one.incarnation, one.message_id, why))

    def _newest(self, sending: Sending, texts: Sequence[Unfinished]) -> str | None:
        """The newest of the messages with the words that were found out about; None where nothing was."""
        agent, words = sending.agent, sending.delivery.text
        found = (one.message_id for one in reversed(texts) if self._screens.prompt(agent, one.text).text == words)
        return next(found, None) if words else None

    def _keep_left(self, sending: Sending) -> None:
        """Remember what may stand in an agent's input line; nothing of one that is gone."""
        self._left[sending.agent.name] = _run_id(sending.agent), sending.delivery.left
        self._left = {name: left for name, left in self._left.items() if left[1] and self._find(name) is not None}

    def _left_in(self, agent: Agent) -> tuple[str, ...]:
        run_id, texts = self._left.get(agent.name, ("", ()))
        return texts if run_id == _run_id(agent) else ()

    async def _deliver(self, agent: Agent, order: Deliver) -> Delivered | NotDelivered:
        prompt = self._screens.prompt(agent, order.text)
        delivery = begin(
            prompt.text, self._clock.now().at, is_command=prompt.is_command, is_seen=prompt.is_seen,
            has_hooks=agent.hooks_seen, too_late=order.until, left=self._left_in(agent),
            is_opening=order.opening,
        )  # fmt: skip
        sending = self._under_way[order.agent] = Sending(agent, order.incarnation, delivery)
        try:
            done = await self._carry_out(sending, Begun(prompt.problem))
        finally:
            del self._under_way[order.agent]
            self._keep_left(sending)
        if done.verdict == "delivered":
            queued = order.text if done.queued else ""
            return Delivered(order.agent, order.incarnation, order.message_id, done.why, queued)
        if done.dialog:
            self._tell(ScreenSeen(order.agent, order.incarnation, done.dialog, "send", done.attended))
        return NotDelivered(order.agent, order.incarnation, order.message_id, done.why, done.person)

    async def _carry_out(self, sending: Sending, seen: Seen | None) -> Done:
        """Carry out one order after the other, and tell what was seen, until there is a verdict."""
        while True:
            # What hooks told comes first: what was seen may be older.
            sending.rung = anyio.Event()
            order = sending.delivery.order
            while sending.told:
                order = self._hear(sending, sending.told.popleft())
            if seen is not None:
                order = self._hear(sending, seen)
            if isinstance(order, Done):
                return order
            seen = await self._do(sending, order)

    def _hear(self, sending: Sending, seen: Seen) -> Order:
        sending.delivery, order, reason = hear(sending.delivery, seen, self._clock.now())
        if not isinstance(order, Look):
            log.debug("typing", agent=sending.agent.name, order=type(order).__name__, reason=reason)
        return order

    async def _do(self, sending: Sending, order: Look | Paste | PressEnter | ClearLine | Discard) -> Seen | None:
        """Carry out an order; None where a hook came before it was time to look."""
        agent, terminal = sending.agent, self._terminal
        match order:
            case Look(at=at):
                if await self._rings_before(sending, at):
                    return None
                return await self._eyes.look(
                    agent, sending.incarnation, order, sending.delivery.text, sending.transcript_end
                )
            case Paste():
                sending.transcript_end = await self._transcripts.end(agent)
                pasted = self._screens.prompt(agent, await terminal.paste(agent.name, sending.delivery.text))
                return Pasted(pasted.text, pasted.is_command)
            case PressEnter():
                await terminal.press_enter(agent.name)
                return Pressed()
            case ClearLine():
                await terminal.clear_line(agent.name)
                return Pressed()
            case Discard():
                try:
                    await terminal.discard_unread(agent.name)
                except TerminalFailed as failure:
                    return Discarded(failure.message)
                return Discarded()

    async def _rings_before(self, sending: Sending, at: Instant) -> bool:
        """Wait until then; whether a hook told something first."""
        async with anyio.create_task_group() as waiting:

            async def listen() -> None:
                await sending.rung.wait()
                waiting.cancel_scope.cancel()

            waiting.start_soon(listen)
            await self._clock.sleep_until(at)
            waiting.cancel_scope.cancel()
        return sending.rung.is_set()


def _run_id(agent: Agent) -> str:
    return agent.run.run_id if agent.run is not None else ""
