"""Models in process, each with one weakness. They see nothing but the messages that they are sent.

A model reads codes as an agent would: out of the text that is left in its window. `obeys` makes its answer to a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from phoenixd.planting import codes_in
from phoenixd.resonance import Message, Reply, WindowExceeded

FILLER = "The work goes on; this is what I did and what I saw, in plain words and at some length. "
LISTED = re.compile(r"(\d+): ([0-9a-f]{6})")
MARKER = re.compile(r'Resonance marker: "[^"\n]*— ([0-9a-f]{6})"')
ASKED = re.compile(r"resonance code number (\d+)|the code of the resonance marker")


def tokens(messages: list[Message]) -> int:
    return sum(len(one["content"]) // 4 + 1 for one in messages)


def asked_for(text: str) -> int | None:
    """The number of the code that a message asks for; 0 for the marker's; None where it asks for none."""
    found = ASKED.search(text)
    return None if found is None else int(found[1] or 0)


def known(messages: list[Message], number: int) -> str:
    """The newest code of that number that the window still holds, in what the user said."""
    found = ""
    for one in messages:
        if one["role"] == "user" and "Resonance marker:" in one["content"]:
            if number == 0:
                found = (MARKER.findall(one["content"]) or [found])[-1]
            else:
                found = dict(LISTED.findall(one["content"])).get(str(number), found)
    return found


@dataclass
class Model:
    """A healthy one, whose window holds everything unless it is given one. view: what it sees of the messages."""

    view: Callable[[list[Message]], list[Message]] = field(default=lambda messages: messages)
    requests: list[list[Message]] = field(default_factory=list)
    checks: int = 0
    size: int = 1

    def __call__(self, messages: list[Message]) -> Reply:
        self.requests.append(messages)
        seen = self.view(messages)
        last = seen[-1]["content"] if seen else ""
        number = asked_for(messages[-1]["content"])
        if number is None:
            return Reply(FILLER * self.size, "stop")
        self.checks += 1
        said = self.recites(seen, number)
        return Reply(f"{FILLER * self.size}\n{said}" if "[Resonance check" in last else said, "stop")

    def recites(self, seen: list[Message], number: int) -> str:
        return known(seen, number) or "I see no such code."


def dropping(window: int, pinned: bool = False) -> Callable[[list[Message]], list[Message]]:
    """A window in tokens that silently drops the oldest messages; pinned: never those of the system."""

    def view(messages: list[Message]) -> list[Message]:
        kept = list(messages)
        while len(kept) > 1 and tokens(kept) > window:
            oldest = next((at for at, one in enumerate(kept[:-1]) if not pinned or one["role"] != "system"), None)
            if oldest is None:
                break
            del kept[oldest]
        return kept

    return view


class Echoing(Model):
    """Where it no longer knows the code, it repeats the newest that stands in its recent context."""

    def recites(self, seen: list[Message], number: int) -> str:
        recent = [code for one in seen if one["role"] == "assistant" for code in codes_in(one["content"])]
        return known(seen, number) or (recent[-1] if recent else "I see no such code.")


class DisobeyingOnce(Model):
    """Every other check it talks of something else first."""

    def recites(self, seen: list[Message], number: int) -> str:
        return "Let me go on with the work instead." if self.checks % 2 else super().recites(seen, number)


class DisobeyingForEver(Model):
    def recites(self, seen: list[Message], number: int) -> str:
        return "I would rather not."


class Paraphrasing(Model):
    """It words the phrase its own way, and gives the code in a sentence, in upper case and in bold."""

    def recites(self, seen: list[Message], number: int) -> str:
        code = known(seen, number)
        return f"It was something about a lantern and a house, and then **{code.upper()}**." if code else "A lantern?"


class Listing(Model):
    """It answers with all that it was given."""

    def recites(self, seen: list[Message], number: int) -> str:
        listed = {place: known(seen, place) for place in range(25)}
        return "\n".join(f"{place}: {code}" for place, code in listed.items() if code) or "I see none."


@dataclass
class Compacting(Model):
    """Above its window it replaces all but the newest messages by a summary, which drops the codes, and says so."""

    window: int = 2000
    summarised: int = 0
    compactions: int = 0

    def __call__(self, messages: list[Message]) -> Reply:
        if len(messages) < self.summarised:
            self.summarised = 0
        kept = messages[self.summarised :]
        compacted = tokens(kept) > self.window and len(kept) > 2
        if compacted:
            self.summarised, kept = len(messages) - 2, messages[-2:]
            self.compactions += 1
        reply = super().__call__([{"role": "user", "content": "Summary: work was done."}, *kept])
        return Reply(reply.text, reply.finish, compacted)


@dataclass
class Rejecting(Model):
    """It refuses what is longer than its window, and says so."""

    window: int = 2000

    def __call__(self, messages: list[Message]) -> Reply:
        if tokens(messages) > self.window:
            raise WindowExceeded(f"{tokens(messages)} tokens, at most {self.window}")
        return super().__call__(messages)
