"""Why something that was asked for is not done. Apart from decisions, so that clients load no agent's state for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RefusalCode = Literal["not_found", "conflict", "denied", "invalid"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operator's request was not taken, and what to do instead."""

    code: RefusalCode
    message: str
    remedy: str = ""
