"""`recoverable_run`: run an agent, and where the run fails, find out why, change the request, and run it again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, UserContent
from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.run import AgentRunResult
from pydantic_ai.usage import UsageLimits

from phoenixd.clinic.agent import ClinicAgent
from phoenixd.clinic.configuration import ClinicConfig
from phoenixd.clinic.failures import AnswerCut
from phoenixd.clinic.observing import Injury
from phoenixd.clinic.orders import Shortening, modified
from phoenixd.clinic.prescribing import ABORT
from phoenixd.clinic.record import Record
from phoenixd.clinic.rules import diagnose, is_rate_limit
from phoenixd.clinic.runs import Order, Runs
from phoenixd.clinic.states import BEGINS, Turn, after
from phoenixd.clinic.summarizer import Summarizer
from phoenixd.clinic.trauma import examine, prompt_text
from phoenixd.clinic.treatment import Doctor, Verdict
from phoenixd.clinic.waiting import asked_for, pause
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.redact import secret_values

Out = TypeVar("Out")
OnTruncated = Literal["recover", "return", "raise"]


async def recoverable_run(
    agent: AbstractAgent[Any, Out],
    prompt: str | Sequence[UserContent] | None,
    max_recoveries: int = 2,
    deps: Any = None,
    *,
    message_history: Sequence[ModelMessage] | None = None,
    usage_limits: UsageLimits | None = None,
    clinic: ClinicAgent | Model | KnownModelName | str | None = None,
    idempotent: bool = True,
    on_truncated: OnTruncated = "recover",
    config: ClinicConfig | None = None,
) -> AgentRunResult[Out]:
    """The result of `agent.run(prompt)`; after a failure the task is run again, changed as prescribed (C20).

    At most 1 + max_recoveries runs. When they are used up, or nothing helps, the first run's exception is raised, with
    notes on what was tried. usage_limits hold for all runs together. idempotent=False: no further run once a tool has
    run. on_truncated: what becomes of a text that the model did not finish. Cancellation passes at once.
    """
    _refuse_nonsense(prompt, max_recoveries, on_truncated)
    runs = Runs(agent, deps, usage_limits, (config or ClinicConfig()).request_limit)
    order = Order(prompt, tuple(message_history or ()))
    asked = clinic if clinic is None or isinstance(clinic, ClinicAgent) else ClinicAgent(clinic)
    patient = _Patient(runs, order, max_recoveries, asked, config or ClinicConfig(), idempotent, on_truncated)
    return await patient.result()


class _Patient(Generic[Out]):
    """One task, from its first run to the last."""

    def __init__(
        self,
        runs: Runs[Out],
        original: Order,
        most: int,
        clinic: ClinicAgent | None,
        config: ClinicConfig,
        idempotent: bool,
        on_truncated: OnTruncated,
    ) -> None:
        self._runs, self._original, self._most, self._config = runs, original, most, config
        self._idempotent, self._on_truncated = idempotent, on_truncated
        self._clean = Cleaner((*secret_values(os.environ), *config.secrets))
        summarizer = config.summarizer or Summarizer(clinic.model if clinic is not None else None)
        self._shortening = Shortening(summarizer, original, self._clean)
        self._doctor = Doctor(prompt_text(original.prompt), clinic, self._clean)
        self._record = Record(config.on_case, most, self._clean, config.now)
        self._pauses = 0

    async def result(self) -> AgentRunResult[Out]:
        try:
            found = await self._healed()
        except BaseException:
            # Cancelled, or stopped by the program itself: whatever was tried has neither held nor failed.
            self._record.stopped()
            raise
        if isinstance(found, Exception):
            raise self._record.abandoned(found, self._runs.usage)
        self._record.healed(self._runs.count)
        return found

    async def _healed(self) -> AgentRunResult[Out] | Exception:
        """The result of a run that ended well, or the first run's exception."""
        order, state = self._original, BEGINS
        first: Exception | None = None
        # Counted, whatever is decided below: no mistake there can make it run, and cost, for ever.
        for left in range(self._most, -1, -1):
            found = await self._runs.run(order, takes_cut=self._on_truncated == "return")
            if not isinstance(found, Injury):
                return found
            state, first = after(state, Turn.FAILED), first or found.error
            finding = diagnose(found.error, found.calls())
            trauma = examine(self._original.prompt, found, self._clean, self._config.long_history)
            state = after(state, Turn.TRIAGED)
            verdict = await self._doctor.decide(found, finding, trauma, self._obstacle(found, left))
            treated = None if verdict.is_end else await self._treated(verdict, found, order)
            if treated is None and not verdict.is_end:
                verdict = replace(verdict, remedy=ABORT, why="there is no history that could be shortened")
            occasion = "cut_answer" if isinstance(found.error, AnswerCut) else "failed_turn"
            self._record.failed(self._runs.count, trauma, verdict, occasion)
            if treated is None:
                after(state, Turn.GIVEN_UP)
                break
            if verdict.remedy.action == "retry":
                await self._wait(found.error)
            order, state = treated, after(state, Turn.TREATED)
        assert first is not None, "a run that ends well returns"
        return first

    def _obstacle(self, injury: Injury, left: int) -> str:
        """Why there can be no further run, whatever the cause; empty where there can."""
        if isinstance(injury.error, AnswerCut) and self._on_truncated == "raise":
            return 'on_truncated="raise"'
        if left == 0:
            return f"no recovery is left of {self._most}"
        if injury.executed and not self._idempotent:
            return f"the task is not idempotent, and {injury.executed[-1]} has begun to run"
        if self._runs.is_limited and isinstance(injury.error, UsageLimitExceeded):
            return "usage_limits are used up, and a further run would share them"
        asked = asked_for(injury.error)
        if asked is not None and asked > self._config.pauses.longest_asked:
            return (
                f"the provider asks to wait for {asked:g} s, at most {self._config.pauses.longest_asked:g} s are waited"
            )
        return ""

    async def _treated(self, verdict: Verdict, injury: Injury, order: Order) -> Order | None:
        if verdict.remedy.action == "summarize_history":
            return await self._shortening.shorter(injury, order)
        return modified(order, self._original, verdict.remedy)

    async def _wait(self, error: Exception) -> None:
        seconds = pause(self._config.pauses, self._pauses, error, is_rate_limit(error), self._config.draw)
        self._pauses += 1
        await self._config.sleep(seconds)


def _refuse_nonsense(prompt: object, max_recoveries: object, on_truncated: object) -> None:
    """Before anything is run; raises TypeError or ValueError."""
    is_parts = isinstance(prompt, Sequence) and not isinstance(prompt, bytes | bytearray)
    if prompt is not None and not is_parts:
        raise TypeError(
            f"recoverable_run(prompt=...): give text or a list of user content, not {type(prompt).__name__}"
        )
    if isinstance(max_recoveries, bool) or not isinstance(max_recoveries, int) or max_recoveries < 0:
        raise ValueError(f"recoverable_run(max_recoveries={max_recoveries!r}): give a whole number, 0 or more")
    if on_truncated not in get_args(OnTruncated):
        words = ", ".join(f'"{word}"' for word in get_args(OnTruncated))
        raise ValueError(f"recoverable_run(on_truncated={on_truncated!r}): give one of {words}")
