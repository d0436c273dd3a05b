"""The messages of one session, and where in them the model was given its marker.

The anchor stands at the front of an ordinary message and never in a system prompt: some truncators keep that one and
drop the oldest others, and a code in it would then prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.planting import Planting
from phoenixd.resonance.exchange import Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """said: (role, content) pairs. planted_at: which of them the anchor stands in front of. summarised: since then the
    model's side replaced older messages by a summary."""

    planting: Planting
    said: tuple[tuple[str, str], ...] = ()
    planted_at: int = 0
    summarised: bool = False

    def heard(self, role: str, content: str) -> Conversation:
        return replace(self, said=(*self.said, (role, content)), planting=self.planting.seen(content))

    def replanted(self, planting: Planting, in_place: bool) -> Conversation:
        """The same with other codes: where the old ones stand, as the truncator cuts there, or in the next message."""
        if in_place:
            return replace(self, planting=planting)
        return replace(self, planting=planting, planted_at=len(self.said), summarised=False)

    def request(self, system: str, anchor: str, *more: str) -> list[Message]:
        """What is sent: all that was said, with the anchor in its place, and further messages of the user."""
        all_said = [*self.said, *(("user", one) for one in more)]
        messages: list[Message] = [{"role": "system", "content": system}] if system else []
        for place, (role, content) in enumerate(all_said):
            text = f"{anchor}\n\n{content}" if place == self.planted_at else content
            messages.append({"role": role, "content": text})
        return messages
