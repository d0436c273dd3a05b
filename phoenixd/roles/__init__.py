"""What an orchestrator and its workers are told of their part, as texts that ship with the package (E71, E72)."""

from __future__ import annotations

from importlib import resources
from typing import Literal

Role = Literal["orchestrator", "developer"]


def text(role: Role) -> str:
    """The role's text, in Markdown. It tells no agent how full its context is (X1)."""
    return resources.files(__name__).joinpath(f"{role}.md").read_text(encoding="utf-8")
