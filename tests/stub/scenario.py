"""What the stub answers: an ordered list of steps, each taken once by the first request that fits it."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from tests.stub.recorded import Kind, RecordedRequest

T = TypeVar("T")
HALVES = re.compile(r"the word made of ([0-9a-f]{3}) and ([0-9a-f]{3})")
"""Of the words of a seal, as they are given."""
ALONE = "reply with nothing but two lines"
"""Stands where the seal alone is asked for."""
Fault = Literal[
    "hang", "hang_mid_stream", "drop", "drop_mid_stream", "end_mid_block", "end_after_block", "error_mid_stream"
]
"""`end_...` end the stream cleanly: inside the first block of the answer, which may be a call, or after it, and without
the event that ends the answer. `error_mid_stream`: the step's error comes as an event of a stream that has begun."""
Stop = Literal["output_limit", "window", "filtered"]
"""Why an answer ends before it is whole; each dialect has its own word for it."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rejection:
    """An HTTP error in the API's own shape. `retry_after` is in seconds.

    `body` is sent as it is, in place of that shape: what a gateway before the API says, in HTML or in JSON of its own.
    """

    status: int
    type: str = "api_error"
    message: str = "stub error"
    retry_after: float | None = None
    body: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one reply. `input_tokens` None means: a quarter of the request's characters."""

    input_tokens: int | None = None
    output_tokens: int = 7
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One scripted reply.

    `to` is the kind of request it is meant for; `match` (a regular expression) must be found in the newest text of
    the request, `session` must be its session id. `hold` names a gate: the reply waits until the test opens it.
    `times` None repeats for ever.
    """

    text: str = ""
    tool_use: tuple[ToolUse, ...] = ()
    error: Rejection | None = None
    fault: Fault | None = None
    stop: Stop | None = None
    hold: str | None = None
    to: Kind = "main"
    match: str | None = None
    session: str | None = None
    usage: Usage | None = None
    times: int | None = 1

    def fits(self, request: RecordedRequest) -> bool:
        if request.kind != self.to:
            return False
        if self.session is not None and request.session_id != self.session:
            return False
        return self.match is None or re.search(self.match, request.text, re.DOTALL) is not None


BLAND: dict[Kind, Step] = {
    "main": Step(text="Done."),
    "subagent": Step(text="Subagent done.", to="subagent"),
    "compaction": Step(text="<analysis>-</analysis>\n<summary>Work went on as planned.</summary>", to="compaction"),
    "side": Step(text='{"title": "Stubbed work", "isNewTopic": false}', to="side"),
}


@dataclass(slots=True)
class Scenario:
    """Steps in order. A request that no step fits gets `default` (main) or a bland reply (all other kinds)."""

    steps: list[Step] = field(default_factory=list)
    default: Step = BLAND["main"]
    usage: Usage = Usage()
    seals: bool = False
    """Whether answers bear the seal that a request asks for, as a model does that does as it is asked."""
    seals_late: bool = False
    """Whether the seal alone is given where that is asked for, by a model that forgot it before."""
    _taken: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *steps: Step) -> None:
        with self._lock:
            self.steps.extend(steps)

    def take(self, request: RecordedRequest) -> Step:
        step = self._take(request)
        if self.seals_late and request.kind == "main" and ALONE in request.text:
            return Step("\n".join("".join(one) for one in HALVES.findall(request.text)[-2:]))
        halves = HALVES.findall(request.whole_text)[-2:] if self.seals else []
        if len(halves) < 2 or request.kind != "main" or not step.text or step.tool_use:
            return step
        head, end = map("".join, halves)
        return replace(step, text=f"{head}\n{step.text}\n{end}")

    def _take(self, request: RecordedRequest) -> Step:
        with self._lock:
            for index, step in enumerate(self.steps):
                used = self._taken.get(index, 0)
                if (step.times is None or used < step.times) and step.fits(request):
                    self._taken[index] = used + 1
                    return step
        return self.default if request.kind == "main" else BLAND[request.kind]

    def remaining(self) -> int:
        """Steps that were not used up. Steps that repeat for ever do not count."""
        with self._lock:
            return sum(s.times is not None and self._taken.get(i, 0) < s.times for i, s in enumerate(self.steps))


def load(path: Path) -> Scenario:
    """Read a scenario from JSON: {"steps": [...], "default": {...}, "usage": {...}}, keys as in `Step`."""
    raw = json.loads(path.read_text())
    _known(raw, {"steps", "default", "usage"}, "scenario")
    return Scenario(
        steps=[step_from(item) for item in raw.get("steps", [])],
        default=step_from(raw["default"]) if "default" in raw else BLAND["main"],
        usage=_build(Usage, raw.get("usage", {}), "usage"),
    )


def step_from(raw: dict[str, Any]) -> Step:
    """A step from JSON. `tool_use` may be one object or a list; unknown keys raise ValueError."""
    made = dict(raw)
    tools = made.pop("tool_use", [])
    made["tool_use"] = tuple(_build(ToolUse, t, "tool_use") for t in (tools if isinstance(tools, list) else [tools]))
    if "error" in made:
        made["error"] = _build(Rejection, made["error"], "error")
    if "usage" in made:
        made["usage"] = _build(Usage, made["usage"], "usage")
    if made.get("fault") is not None and made["fault"] not in get_args(Fault):
        raise ValueError(f"fault must be one of {', '.join(get_args(Fault))}, not {made['fault']!r}")
    if made.get("stop") is not None and made["stop"] not in get_args(Stop):
        raise ValueError(f"stop must be one of {', '.join(get_args(Stop))}, not {made['stop']!r}")
    if made.get("to", "main") not in BLAND:
        raise ValueError(f"to must be one of {', '.join(BLAND)}, not {made['to']!r}")
    return _build(Step, made, "step")


def _build(kind: type[T], raw: dict[str, Any], where: str) -> T:
    _known(raw, {f.name for f in fields(kind)}, where)  # type: ignore[arg-type]
    return kind(**raw)


def _known(raw: dict[str, Any], keys: set[str], where: str) -> None:
    if extra := sorted(set(raw) - keys):
        raise ValueError(f"{where}: unknown keys {', '.join(extra)} (known: {', '.join(sorted(keys))})")
