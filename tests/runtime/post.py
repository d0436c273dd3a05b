"""A messenger to one agent, over a pane that shows what a test lets it show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.harness import HARNESSES
from phoenixd.harness.prompts import Prompt
from phoenixd.ports.evidence import AnswerGiven
from phoenixd.runtime.messages import Messenger
from tests.clocks import FastClock

BOX = "─" * 40


PERMISSION = f"{BOX}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel\n"


def prompt_with(line: str) -> str:
    return f"{BOX}\n❯ {line}\n{BOX}\n  ? for shortcuts\n"


@dataclass
class Pane:
    """Shows `line` in its input line, or `screen` instead; what is typed is kept in `typed`."""

    line: str = ""
    screen: str | None = None
    typed: list[str] = field(default_factory=list)
    after_paste: Callable[[], None] = lambda: None
    on_enter: Callable[[], None] = lambda: None
    on_clear: Callable[[], None] = lambda: None
    touched: float | None = None
    too_small: str | None = None
    unread_bytes: int | None = 0

    async def capture(self, agent: str, history: int = 0) -> str:
        return prompt_with(self.line) if self.screen is None else self.screen

    async def paste(self, agent: str, text: str) -> str:
        self.typed.append(text)
        self.line = text
        self.after_paste()
        return text

    async def press_enter(self, agent: str) -> None:
        self.typed.append("Enter")
        self.on_enter()

    async def tell_attached(self, agent: str, words: str) -> None:
        raise NotImplementedError

    async def clear_line(self, agent: str) -> None:
        self.typed.append("Ctrl-U")
        self.on_clear()

    async def last_typed(self, agent: str) -> float | None:
        return self.touched

    async def make_room(self, agent: str) -> str | None:
        return self.too_small

    async def unread(self, agent: str) -> int | None:
        return self.unread_bytes

    async def discard_unread(self, agent: str) -> None:
        self.unread_bytes = 0


class Reader:
    def classify(self, agent: Agent, screen: str) -> str:
        return HARNESSES[agent.spec.harness].screen_says(screen)

    def input_line(self, agent: Agent, screen: str) -> str | None:
        return HARNESSES[agent.spec.harness].input_line(screen)

    def left(self, agent: Agent, screen: str) -> bool:
        return False

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        return HARNESSES[agent.spec.harness].holds(screen, text)

    def prompt(self, agent: Agent, text: str) -> Prompt:
        return HARNESSES[agent.spec.harness].prompt(text)


@dataclass
class Queue:
    texts: tuple[str, ...] = ()

    async def end(self, agent: Agent) -> int:
        return 0

    async def ends(self, agent: Agent) -> dict[str, int]:
        return {}

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        return True

    async def queued(self, agent: Agent, after: int) -> Sequence[str]:
        return self.texts


@dataclass
class Post:
    """A messenger to one running agent."""

    agent: Agent
    pane: Pane = field(default_factory=Pane)
    queue: Queue = field(default_factory=Queue)

    def __post_init__(self) -> None:
        self.clock = FastClock()
        self.told: list[Event] = []
        find, tell = (lambda name: self.agent), self.told.append
        self.messenger = Messenger(self.pane, Reader(), self.queue, self.clock, find, tell)  # type: ignore[arg-type]

    async def send(self, text: str) -> Delivered | NotDelivered:
        return await self.messenger.deliver(self.agent, Deliver("a", 1, "m", text))

    def hook(self, kind: str, prompt: str | None = None) -> None:
        payload: dict[str, Any] = {"prompt_sha256": sha256(prompt.encode()).hexdigest()} if prompt is not None else {}
        self.messenger.heard("a", kind, payload)

    def taken(self, text: str) -> Callable[[], None]:
        def enter() -> None:
            self.pane.line = ""
            self.hook("prompt-submit", text)

        return enter
