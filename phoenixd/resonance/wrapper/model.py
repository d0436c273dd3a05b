"""A model of pydantic-ai that notices that the front of the context was lost, and goes on from the seed.

A check stands before a turn and never in
one: the history up to there with a question below it. What is asked and answered there is no part of the caller's
messages, so no later answer can copy a code from it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext, exceptions
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from phoenixd.documents.resonance.session_seed import SessionSeed, seed_text
from phoenixd.planting import Mode, Planting, Verdict, anchor_text, challenge_text
from phoenixd.resonance.due import Due
from phoenixd.resonance.exchange import CUT_BY, GO_ON, MarkerLost
from phoenixd.resonance.records import Records
from phoenixd.resonance.wrapper import turns

HOUR = 3600.0
SEEDED = ModelRequest(parts=[UserPromptPart("You go on from here.")])
WINDOW = exceptions.ModelContextWindowExceededError
Rest = tuple[ModelSettings | None, ModelRequestParameters]
"""What goes along with the messages of a request."""


class ResonantModel(WrapperModel):
    """One conversation with a model. verdict: of the newest check. spent: what the checks have cost; it is also in the
    usage of the answers. draw(n): n random bytes, in hex; now: wall seconds."""

    _planting: Planting
    _due: Due
    _dropped: int
    _restored: bool

    def __init__(
        self,
        wrapped: Model | KnownModelName | str,
        seed: SessionSeed,
        mode: Mode = "one_time",
        *,
        agent: str = "agent",
        interval: int = 10,
        codes: int = 24,
        max_per_hour: int = 2,
        used: Iterable[str] = (),
        draw: Callable[[int], str] = secrets.token_hex,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(wrapped)
        if interval < 1 or codes < 2:
            raise ValueError(
                f"interval={interval} and codes={codes}: give an interval of at least 1, and 2 codes or more"
            )
        self.records = Records(agent, seed, used, draw, now)
        self.verdict: Verdict | None = None
        self.spent = RequestUsage()
        self.paused = ""
        self._mode, self._codes, self._interval, self._most = mode, codes, interval, max_per_hour
        self._restorations: list[float] = []
        self._begin(restored=False, dropped=0)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The answer, after a check where one is due. Raises MarkerLost where the context cannot be restored."""
        rest = model_settings, model_request_parameters
        checks = self._spent_of_turn = RequestUsage()
        await self._before_turn(messages, rest)
        try:
            response = await self._whole(messages, rest)
        except WINDOW as refusal:
            turn = turns.begin_of_turn(messages)
            if turn <= self._dropped:
                raise
            self.records.note("rejected", f"the request was refused as too long: {type(refusal).__name__}")
            self._begin(restored=True, dropped=turn)
            response = await self._whole(messages, rest)
        except Exception:
            self._due = self._due.called_for("error")
            raise
        said = turns.text_of(response)
        if said and not turns.calls(response):
            self.records.heard(turns.asked(messages), said)
        return replace(response, usage=response.usage + checks) if checks.has_values() else response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """A stream, after a check where one is due. Its finish reason is the caller's to look at."""
        self._spent_of_turn = RequestUsage()
        await self._before_turn(messages, (model_settings, model_request_parameters))
        async with self.wrapped.request_stream(
            self._sent(messages), model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream

    def rearm(self) -> None:
        """Begin anew after MarkerLost, once a person has looked."""
        self.paused, self._restorations = "", []
        self._begin(restored=True, dropped=self._dropped)

    # --- Checks --------------------------------------------------------------------------------------------------

    async def _before_turn(self, messages: list[ModelMessage], rest: Rest) -> None:
        if self.paused:
            raise MarkerLost(f"{self.paused}; look at .records.happened, then call .rearm()")
        if len(messages) <= self._dropped:
            # A history that is shorter than what was dropped of it is another conversation.
            self._begin(restored=False, dropped=0)
        turn = turns.begin_of_turn(messages)
        if turn != len(messages) - 1 or not any(
            isinstance(one, ModelResponse) for one in messages[self._dropped : turn]
        ):
            return
        self._due, why = self._due.turned().at_end(turns.last_answer(messages[:turn]))
        if not why:
            return
        for one in messages[self._dropped :]:
            self._planting = self._planting.seen(turns.all_text(one))
        self.verdict = await self._verdict(messages, turn, rest)
        self._due = self._due.checked()
        if self.verdict == "lost":
            await self._restore(messages, turn, rest)
        elif self.verdict == "unverifiable" or (self._mode == "one_time" and len(self._planting.unspent()) < 2):
            self._plant_anew()
        if self.verdict == "intact":
            self.records.checkpoint()

    async def _verdict(
        self,
        messages: list[ModelMessage],
        turn: int,
        rest: Rest,
    ) -> Verdict:
        for again in (False, True):
            unspent = self._planting.unspent()
            if not unspent:
                return "unverifiable"
            if await self._recites(messages[:turn], messages[turn], unspent[0], again, rest):
                return "intact"
        return "lost"

    async def _recites(
        self,
        said: list[ModelMessage],
        newest: ModelMessage,
        number: int,
        again: bool,
        rest: Rest,
    ) -> bool:
        """Whether it gives the code of that number. newest: the request whose instructions go along."""
        asked, question = self._planting, challenge_text(number, self.records.seed.persona, again)
        self._planting = asked.asked(number)
        challenge = turns.below(newest, question)
        reply = await self.wrapped.request([*self._sent(said), challenge], *rest)
        self._spent_of_turn.incr(reply.usage)
        self.spent.incr(reply.usage)
        judged = asked.judge(number, turns.text_of(reply))
        if judged != "intact":
            self.records.note(judged, f"the answer to a check does not hold the code that was asked for: {judged}")
        return judged == "intact"

    async def _restore(
        self,
        messages: list[ModelMessage],
        turn: int,
        rest: Rest,
    ) -> None:
        """The seed's seven steps. What was said before the turn is not sent again: the seed stands in its place."""
        now, note = self.records.now(), self.records.note
        self._restorations = [at for at in self._restorations if now - HOUR < at]
        self.records.failed("restoration_triggered")
        note("restore_1", "resonance anchor lost")
        if len(self._restorations) >= self._most:
            self._escalate(f"it was lost {len(self._restorations) + 1} times within an hour")
        self._restorations.append(now)
        note("restore_2", "the session seed is read")
        self._begin(restored=True, dropped=turn)
        note("restore_3", "a new session begins")
        note("restore_4", "persona, decisions, tasks and a new marker are given")
        note("restore_5", "a code of the new marker is asked for")
        for again in (False, True):
            # Nothing but the seed stands before the question.
            number, alone = self._planting.unspent()[0], [*messages[:turn], SEEDED]
            if await self._recites(alone, messages[turn], number, again, rest):
                break
        else:
            self.records.failed("escalated")
            self._escalate("a new session did not know its marker either")
        self._due = self._due.checked()
        self.records.restored()

    def _escalate(self, why: str) -> None:
        self.paused = f"marker lost: {why}"
        self.records.note("restore_7", self.paused)
        raise MarkerLost(f"{self.paused}; look at .records.happened, then call .rearm()")

    # --- What is sent --------------------------------------------------------------------------------------------

    async def _whole(self, messages: list[ModelMessage], rest: Rest) -> ModelResponse:
        """The answer; a text that was cut is gone on with once, and is then one text."""
        response = await self.wrapped.request(self._sent(messages), *rest)
        if response.finish_reason not in CUT_BY or turns.calls(response) or not turns.text_of(response):
            return response
        self.records.note("cut", f"the answer was cut: {response.finish_reason}")
        go_on = turns.below(messages[-1], GO_ON)
        further = await self.wrapped.request([*self._sent(messages), response, go_on], *rest)
        usage = response.usage + further.usage
        if turns.calls(further):
            return replace(response, usage=usage)
        return replace(further, parts=[TextPart(turns.text_of(response) + turns.text_of(further))], usage=usage)

    def _sent(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """What the model is sent: the messages that were not dropped, with the anchor or the seed at their front."""
        seed = self.records.seed
        front = seed_text(seed, self._planting) if self._restored else anchor_text(self._planting, seed.persona)
        return turns.with_front(messages, self._dropped, front)

    def _begin(self, restored: bool, dropped: int) -> None:
        self._planting = self.records.plant(self._mode, self._codes)
        self.records.begin(self._planting.marker)
        self._restored, self._dropped, self._due = restored, dropped, Due(self._interval)

    def _plant_anew(self) -> None:
        self._planting = self.records.plant(self._mode, self._codes, self._planting.marker)
        self._due = self._due.checked(again="new codes")
        self.records.note("planted", "the codes are spent: new ones take their place")
