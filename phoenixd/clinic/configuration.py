"""How `recoverable_run` works, where its defaults do not fit."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from phoenixd.clinic.summarizer import Summarizer
from phoenixd.clinic.waiting import Pauses
from phoenixd.documents.clinic import Case


@dataclass(frozen=True, slots=True)
class ClinicConfig:
    """All of it may be shared between runs.

    pauses: how long to wait before a request is made again. request_limit: requests of one run, where the caller
    gives no usage_limits; a model that invents a new tool each time is ended by it. long_history: messages from which
    the clinic is told a summary of them. summarizer: shortens histories; without one, a Summarizer with the clinic's
    model. secrets: values that no model and no record may see, beside those of the environment. on_case: is given
    each failure's Case when its outcome is known. sleep, draw, now: time and chance, for tests.
    """

    pauses: Pauses = field(default_factory=Pauses)
    request_limit: int = 50
    long_history: int = 20
    summarizer: Summarizer | None = None
    secrets: tuple[str, ...] = ()
    on_case: Callable[[Case], None] | None = None
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    draw: Callable[[], float] = random.random
    now: Callable[[], float] = time.time
