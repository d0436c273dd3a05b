"""The one way in which a call is shown to people, by its tool. Pure: a call in, lines out.

Lines of ours begin at the margin; each line that holds an agent's words is indented, so that nothing an agent writes
can pass for one of ours. Every character of the call is shown: keys that a tool's form does not know follow as JSON.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from phoenixd.core.question import characters
from phoenixd.core.question.call import PLAN, QUESTION, Asked, Call, call_of
from phoenixd.core.question.characters import visible
from phoenixd.core.question.choices import questions_of

INDENT = "  "
TITLE = 400
"""Characters of a title; it names the call, and nobody answers by it alone."""
COMPARED = 4096
"""Pairs of lines up to which a difference is looked for line by line; an agent must not make that slow."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A call as people read it. flags: what deceives the eye, in words."""

    lines: tuple[str, ...]
    flags: tuple[str, ...] = ()


class _Unknown(Exception):
    """The input has another shape than the tool's form."""


Form = Callable[["_Fields"], Iterable[str]]


class _Fields:
    """A call's input, each key taken once: the rest has to be shown too."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.rest = dict(given)

    def text(self, key: str) -> str:
        value = self.rest.pop(key, None)
        if not isinstance(value, str):
            raise _Unknown(key)
        return value


def render(asked: Asked) -> Shown:
    """All that is asked for. What is not known to be a whole call is shown as the text that it came with."""
    call = call_of(asked)
    raw = asked.text if call is None else "\n".join(_strings(call.tool, call.given))
    found = characters.flags(raw)
    if call is None:
        return Shown(tuple(_indented(asked.text)), found)
    return Shown(tuple(_formed(call)), found)


def title(asked: Asked) -> str:
    """What is asked for in one line, for lists and alerts."""
    call = call_of(asked)
    if call is None:
        return _short(asked.text)
    given = call.given
    questions = questions_of(call) if asked.kind == QUESTION else ()
    if questions:
        more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
        return f"{_short(questions[0].text)}{more}"
    if asked.kind == PLAN and isinstance(plan := given.get("plan"), str):
        return _short(next((line for line in plan.split("\n") if line.strip("# \t\r")), "an empty plan").lstrip("# "))
    for key in ("command", "file_path", "url"):
        if isinstance(value := given.get(key), str):
            return _short(f"{call.tool} {value}")
    return _short(f"{call.tool} {json.dumps(given, ensure_ascii=False)}" if given else call.tool)


def _formed(call: Call) -> Iterable[str]:
    fields = _Fields(call.given)
    try:
        lines = list(FORMS[call.tool](fields)) if call.tool in FORMS else _plain(call, fields)
    except _Unknown:
        fields, lines = _Fields({}), [visible(call.tool), *_json(call.given)]
    if fields.rest:
        lines += ["with:", *_json(fields.rest)]
    return lines


def _command(fields: _Fields) -> Iterable[str]:
    yield "Bash"
    yield from _indented(fields.text("command"))


def _edit(fields: _Fields) -> Iterable[str]:
    path, every = fields.text("file_path"), fields.rest.pop("replace_all", False)
    if not isinstance(every, bool):
        raise _Unknown("replace_all")
    yield f"Edit {visible(path)}{', every occurrence' if every else ''}"
    yield from _difference(path, fields.text("old_string"), fields.text("new_string"))


def _edits(fields: _Fields) -> Iterable[str]:
    path, edits = fields.text("file_path"), fields.rest.pop("edits", None)
    if not isinstance(edits, list) or not all(isinstance(one, dict) for one in edits):
        raise _Unknown("edits")
    yield f"MultiEdit {visible(path)}, {len(edits)} edits"
    for number, edit in enumerate(edits, 1):
        each = _Fields(edit)
        old, new, every = each.text("old_string"), each.text("new_string"), each.rest.pop("replace_all", False)
        if not isinstance(every, bool) or each.rest:
            raise _Unknown("edits")
        yield f"edit {number}{', every occurrence' if every else ''}:"
        yield from _difference(path, old, new)


def _write(fields: _Fields) -> Iterable[str]:
    path, content = fields.text("file_path"), fields.text("content")
    size, lines = len(content.encode("utf-8", "surrogatepass")), content.split("\n")
    if lines[-1] == "":
        lines.pop()
    ends = "" if content.endswith("\n") or not content else ", no newline at the end"
    yield f"Write {visible(path)}, {size} bytes, {len(lines)} {'line' if len(lines) == 1 else 'lines'}{ends}"
    width = len(str(len(lines)))
    for number, line in enumerate(lines, 1):
        yield f"{INDENT}{number:>{width}}  {visible(line)}"


def _fetch(fields: _Fields) -> Iterable[str]:
    yield "WebFetch"
    yield INDENT + visible(fields.text("url"))
    if "prompt" in fields.rest:
        yield "to be told of it:"
        yield from _indented(fields.text("prompt"))


def _plan(fields: _Fields) -> Iterable[str]:
    yield "Plan"
    yield from _indented(fields.text("plan"))


def _questions(fields: _Fields) -> Iterable[str]:
    questions = questions_of(Call("", {"questions": fields.rest.pop("questions", None)}))
    if not questions:
        raise _Unknown("questions")
    for number, question in enumerate(questions, 1):
        of = f" {number} of {len(questions)}" if len(questions) > 1 else ""
        about = f" ({visible(question.header)})" if question.header else ""
        how = "one or more of" if question.several else "one of"
        yield f"Question{of}{about}{f', {how} {len(question.options)}' if question.options else ''}:"
        asked = question.text.split("\n")
        # Of several lines one could pass for an option.
        yield from (f"{INDENT}{'> ' if len(asked) > 1 else ''}{visible(line)}" for line in asked)
        width = len(str(len(question.options)))
        for place, option in enumerate(question.options, 1):
            why = f" - {visible(option.description)}" if option.description else ""
            yield f"{INDENT}{place:>{width}}. {visible(option.label)}{why}"
            if option.more is not None:
                yield f"{INDENT}{' ' * width}  with {visible(_dumped(option.more, None))}"
        if question.more is not None:
            yield f"with {visible(_dumped(question.more, None))}"


FORMS: Mapping[str, Form] = {
    "Bash": _command,
    "Edit": _edit,
    "MultiEdit": _edits,
    "Write": _write,
    "WebFetch": _fetch,
    "ExitPlanMode": _plan,
    "AskUserQuestion": _questions,
}


def _plain(call: Call, fields: _Fields) -> list[str]:
    """A tool without a form: a lone command as its lines, anything else as JSON."""
    given, fields.rest = dict(call.given), {}
    if given.keys() == {"command"} and isinstance(given["command"], str):
        return [visible(call.tool), *_indented(given["command"])]
    return [visible(call.tool), *(_json(given) if given else ())]


def _difference(path: str, old: str, new: str) -> Iterable[str]:
    """A unified difference with all of both texts: who approves it has to see what stays, too."""
    before, after = old.split("\n"), new.split("\n")
    yield f"{INDENT}--- {visible(path)}"
    yield f"{INDENT}+++ {visible(path)}"
    yield f"{INDENT}@@ -1,{len(before)} +1,{len(after)} @@"
    for sign, line in _changes(before, after):
        yield f"{INDENT}{sign}{visible(line)}"


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterable[tuple[str, str]]:
    if len(before) * len(after) <= COMPARED:
        for word, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if word == "equal":
                yield from ((" ", line) for line in before[a:b])
                continue
            yield from (("-", line) for line in before[a:b])
            yield from (("+", line) for line in after[c:d])
        return
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    rest = zip(reversed(before[head:]), reversed(after[head:]), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    yield from ((" ", line) for line in before[:head])
    yield from (("-", line) for line in before[head : len(before) - tail])
    yield from (("+", line) for line in after[head : len(after) - tail])
    yield from ((" ", line) for line in before[len(before) - tail :])


def _indented(text: str) -> Iterable[str]:
    return (INDENT + visible(line) for line in text.split("\n"))


def _json(value: object) -> Iterable[str]:
    return _indented(_dumped(value, 2))


def _dumped(value: object, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _strings(tool: str, given: object) -> Iterable[str]:
    """All texts of a call, keys too, whatever it nests: what flags are looked for in."""
    yield tool
    waiting = [given]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting = [*value.keys(), *value.values(), *waiting]
        elif isinstance(value, list):
            waiting = [*value, *waiting]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return visible(words if len(words) <= TITLE else f"{words[:TITLE]}...")
