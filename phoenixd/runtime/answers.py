"""The answer path: it carries out what `core.typing.answering` orders, tells it what was seen, and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
import structlog

from phoenixd.core.actions import AnswerHold, AttendHold
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.answers import call_held, holds_of
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.events.runs import HoldAnswered, HoldReleased
from phoenixd.core.typing.answering import (
    AwaitWord,
    DialogLooked,
    HandOver,
    HeldLetGo,
    LetGo,
    LookForDialog,
    ProofSought,
    SeekProof,
    Seen,
    Unreachable,
    Verdict,
    WordHeard,
    begin,
    begin_again,
    hear,
)
from phoenixd.documents.hooks import permission_answer
from phoenixd.errors import ShimFailed, TerminalFailed
from phoenixd.ports import Clock
from phoenixd.ports.evidence import AnswerGiven, Transcripts
from phoenixd.ports.shims import ShimLinks
from phoenixd.ports.terminal import Screens, Terminal

LOOK_BACK = 1 << 20
"""Bytes at the end of each transcript in which the answer of an earlier daemon is looked for."""
WORDS_KEPT = 16
"""Words of each agent's shim that are remembered, of whichever answers: one may come before it is waited for."""
ATTEND_INTERVAL = 1.0
"""Seconds between two looks for somebody at the terminal, while a request is held whose dialog is not drawn."""

log = structlog.get_logger()


@dataclass(slots=True)
class Giving:
    """One answer under way. ends: where the agent's transcripts ended before it was given; since: when that was (wall),
    0 where an earlier daemon gave it."""

    agent: Agent
    order: AnswerHold
    ends: Mapping[str, int] = field(default_factory=dict)
    since: float = 0.0

    @property
    def mark(self) -> str:
        """By which a denial is found in the transcript."""
        return f"(phoenixd #{self.order.item})"

    @property
    def given(self) -> AnswerGiven:
        call = call_held(self.agent, self.order.hold)
        return AnswerGiven(self.order.allow, self.mark, self.ends, self.since, call)


class Answerer:
    """Says what became of an answer: taken or not, never perhaps."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        terminal: Terminal,
        shims: ShimLinks,
        screens: Screens,
        transcripts: Transcripts,
        clock: Clock,
    ) -> None:
        self._find = find
        self._terminal = terminal
        self._shims = shims
        self._screens = screens
        self._transcripts = transcripts
        self._clock = clock
        self._words: dict[tuple[str, int], tuple[anyio.Event, list[bool]]] = {}
        self._early: dict[str, dict[int, bool]] = {}
        """By agent and request."""

    def heard(self, agent: str, hold: int, taken: bool) -> None:
        """Take the shim's word on an answer; the first one on a request counts."""
        waiting = self._words.get((agent, hold))
        if waiting is not None:
            waiting[1].append(taken)
            waiting[0].set()
            return
        if agent not in self._early:
            self._early = {name: words for name, words in self._early.items() if self._find(name) is not None}
        early = self._early.setdefault(agent, {})
        early.setdefault(hold, taken)
        if len(early) > WORDS_KEPT:
            del early[next(iter(early))]

    async def answer(self, agent: Agent, order: AnswerHold) -> HoldAnswered:
        """Give one answer. Raises nothing: what fails leaves the question open."""
        waiting = agent.state.activity.waiting if isinstance(agent.state, Running) else None
        giving = Giving(agent, order)
        now, shows = self._clock.now(), agent.spec.has_hooks and not agent.spec.hides_its_dialog
        was_seen = waiting is not None and waiting.seen
        if order.orphan is None:
            answering, following, _ = begin(now, allow=order.allow, shows=shows, was_seen=was_seen)
        else:
            answering, following, reason = begin_again(
                now, allow=order.allow, shows=shows, was_seen=was_seen, orphan=order.orphan
            )
            log.info("answer_left_behind", agent=agent.name, item=order.item, reason=reason)
        while not isinstance(following, Verdict):
            try:
                seen = await self._do(giving, following)
            except (ShimFailed, TerminalFailed) as failure:
                seen = Unreachable(failure.message)
            answering, following, reason = hear(answering, seen, self._clock.now())
            log.debug("answering", agent=agent.name, order=type(following).__name__, reason=reason)
        if following.taken:
            await self._tell_attached(order)
        return HoldAnswered(
            order.agent, order.incarnation, order.hold, following.taken, following.why, still_held=following.held
        )

    async def attend(self, order: AttendHold) -> HoldReleased | None:
        """Let go of a request when somebody sits down at the terminal; None when it was settled otherwise."""
        while (agent := self._find(order.agent)) is not None and order.hold in holds_of(agent):
            if agent.incarnation != order.incarnation:
                return None
            try:
                if await self._terminal.last_typed(order.agent) is not None:
                    self._shims.answer(order.agent, order.incarnation, order.hold, {})
                    return HoldReleased(order.agent, order.incarnation, order.hold)
            except (ShimFailed, TerminalFailed) as failure:
                log.info("not_attended", agent=order.agent, reason=failure.message)
            await self._clock.sleep_until(self._clock.now().at + ATTEND_INTERVAL)
        return None

    async def _do(self, giving: Giving, following: LookForDialog | HandOver | AwaitWord | SeekProof | LetGo) -> Seen:
        """Carry out one order, and say what was seen; raises ShimFailed and TerminalFailed."""
        order, agent = giving.order, giving.agent
        match following:
            case LookForDialog(at=at):
                await self._clock.sleep_until(at)
                screen = await self._terminal.capture(agent.name)
                return DialogLooked(self._screens.classify(agent, screen) in SCREEN_DIALOGS)
            case HandOver(within=within):
                giving.ends, giving.since = await self._transcripts.ends(agent), self._clock.now().wall
                message = f"{order.reason or 'Denied by the operator.'} {giving.mark}"
                return WordHeard(
                    await self._hand_over(order, permission_answer(order.allow, message, order.updated), within)
                )
            case AwaitWord(within=within):
                early = self._early.get(agent.name, {}).pop(order.hold, None)
                return WordHeard(await self._word(order, within, lambda: None) if early is None else early)
            case SeekProof(at=at, is_orphan=is_orphan):
                await self._clock.sleep_until(at)
                if is_orphan and not giving.ends:
                    ends = await self._transcripts.ends(agent)
                    giving.ends = {path: max(0, end - LOOK_BACK) for path, end in ends.items()}
                counted = await self._transcripts.answer_counted(agent, giving.given)
                return ProofSought(counted, self._is_closed(order))
            case LetGo():
                self._shims.answer(order.agent, order.incarnation, order.hold, {})
                return HeldLetGo()

    async def _hand_over(self, order: AnswerHold, body: dict[str, object], within: float) -> bool | None:
        return await self._word(
            order, within, lambda: self._shims.answer(order.agent, order.incarnation, order.hold, body)
        )

    async def _word(self, order: AnswerHold, within: float, give: Callable[[], None]) -> bool | None:
        """The shim's word on an answer, None where none comes in time."""
        key, said = (order.agent, order.hold), (anyio.Event(), list[bool]())
        self._words[key] = said
        try:
            give()
            with anyio.move_on_after(within):
                await said[0].wait()
        finally:
            del self._words[key]
        return said[1][0] if said[1] else None

    def _is_closed(self, order: AnswerHold) -> bool:
        """Whether a program without a transcript has gone on, and so has written what it ever will."""
        agent = self._find(order.agent)
        if agent is None or not isinstance(agent.state, Running):
            return True
        waiting = agent.state.activity.waiting
        return not agent.spec.has_hooks and (waiting is None or waiting.hold != order.hold)

    async def _tell_attached(self, order: AnswerHold) -> None:
        verdict = "allow" if order.allow and not order.updated else "an answer" if order.allow else "deny"
        try:
            await self._terminal.tell_attached(order.agent, f"phoenixctl answered item {order.item}: {verdict}")
        except TerminalFailed as failure:
            log.info("attached_not_told", agent=order.agent, reason=failure.message)
