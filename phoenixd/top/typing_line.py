"""The line that a person types into: a filter, a reason, an answer, a message, or yes and no."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import selection
from phoenixd.core.durations import parse_length
from phoenixd.core.refusal import Refusal
from phoenixd.top import asked
from phoenixd.top.effects import Done, question, whom
from phoenixd.top.face import Face, Order, Prompt, World

LONGEST = 1_000
"""Characters of an answer; the API takes no more of one."""
LONGEST_MESSAGE = 100_000


def pressed(world: World, key: str) -> Done:
    """A key, while the line is open."""
    prompt = world.face.prompt
    assert prompt is not None
    if prompt.purpose == "confirm":
        return _confirm(world.face, prompt, key)
    if key == "escape":
        filtered = prompt.said[0] if prompt.purpose == "filter" else world.face.filter
        return replace(world.face, prompt=None, filter=filtered), ()
    if key == "enter":
        return _entered(world, prompt)
    words = _edited(prompt.words, key)
    return _typed(world.face, prompt, words), ()


def pasted(face: Face, text: str) -> Face:
    """A text was pasted: all of it are words, and no character of it is a key."""
    prompt = face.prompt
    if prompt is None or prompt.purpose == "confirm":
        return face.says("nothing takes a text here; it was not typed")
    kept = text if prompt.purpose == "send" else " ".join(text.split())
    most = _most(prompt)
    if (count := len(prompt.words) + len(kept)) > most:
        return face.says(f"{count} characters, and at most {most} can be sent; nothing was pasted")
    return _typed(face, prompt, prompt.words + kept)


def _most(prompt: Prompt) -> int:
    return LONGEST_MESSAGE if prompt.purpose == "send" else LONGEST


def _edited(words: str, key: str) -> str:
    match key:
        case "backspace" | "ctrl+h":
            return words[:-1]
        case "ctrl+u":
            return ""
        case "ctrl+w":
            return words.rstrip().rpartition(" ")[0]
        case "space":
            return f"{words} "
        case _:
            return words + key if len(key) == 1 and key.isprintable() else words


def _typed(face: Face, prompt: Prompt, words: str) -> Face:
    words = words[: _most(prompt)]
    face = replace(face, prompt=replace(prompt, words=words))
    if prompt.purpose != "filter" or isinstance(selection.parse(words), Refusal):
        return face
    return replace(face, filter=words.strip())


def _confirm(face: Face, prompt: Prompt, key: str) -> Done:
    if key in ("y", "Y") and prompt.order is not None:
        return replace(face, prompt=None).says(f"{prompt.order.verb} ..."), (prompt.order,)
    if key in ("n", "N", "escape", "enter", "q"):
        return replace(face, prompt=None).says("nothing was done"), ()
    return face, ()


def _entered(world: World, prompt: Prompt) -> Done:
    words, face = prompt.words.strip(), replace(world.face, prompt=None)
    if prompt.purpose == "filter":
        found = selection.parse(words)
        if isinstance(found, Refusal):
            return replace(face, filter=prompt.said[0]).says(f"/: {found.message}"), ()
        return replace(face, filter=words), ()
    assert prompt.order is not None
    if prompt.purpose == "send":
        return _message(face, prompt, prompt.order)
    if prompt.purpose == "mute":
        return _mute(world.face, prompt, prompt.order, words or "1h")
    item = world.model.items.get(prompt.item)
    if item is None or item.body["text_hash"] != prompt.order.given["text_hash"]:
        return face.says(f"#{prompt.item} is not what it was, or was answered meanwhile; nothing was sent"), ()
    if prompt.purpose == "deny":
        if not words and item.body["kind"] != "proposal":
            return replace(world.face, prompt=prompt).says("type why: the agent is told the reason; Esc leaves it"), ()
        answer = ("deny", words) if words else ("deny",)
        return _answered(face, prompt.order, answer)
    if not words:
        return replace(world.face, prompt=prompt).says("type an answer; Esc leaves it open"), ()
    said = (*prompt.said, words)
    if len(said) < len(asked.questions(item.body)):
        more = replace(prompt, ask=asked.prompt(item.body, len(said)), words="", said=said)
        return replace(face, prompt=more), ()
    return _answered(face, prompt.order, said)


def _mute(face: Face, prompt: Prompt, order: Order, words: str) -> Done:
    try:
        parse_length(words)
    except ValueError as error:
        return replace(face, prompt=prompt).says(f"{error}; Esc leaves it"), ()
    muted = replace(order, given={**order.given, "for": words})
    return replace(face, prompt=None).says(f"mute {whom(order.names)} ..."), (muted,)


def _answered(face: Face, order: Order, words: tuple[str, ...]) -> Done:
    return face.says(f"{order.verb} ..."), (replace(order, given={**order.given, "answer": list(words)}),)


def _message(face: Face, prompt: Prompt, order: Order) -> Done:
    if not prompt.words.strip():
        return face.says("nothing was sent"), ()
    full = replace(order, given={**order.given, "text": prompt.words})
    if len(order.names) == 1:
        return face.says(f"send to {order.names[0]} ..."), (full,)
    ask = question("send this, which cannot be taken back, to", order.names)
    return replace(face, prompt=Prompt("confirm", ask, order=full)), ()
