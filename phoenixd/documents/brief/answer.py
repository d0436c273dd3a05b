"""The answer of a brief writer: one JSON object of a fixed shape, refused with words that the writer can act on."""

from __future__ import annotations

import re
from string import ascii_letters
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from phoenixd.documents.seal import END_KEY, HEAD_KEY

ANSWER_LIMIT = 256 * 1024
SEPARATOR = "===STATE_JSON==="
"""The seed's form, which is understood too: a brief for people, this line, and the state as JSON."""

_STATE_ONLY = frozenset({"status", "current_task", "last_active", "version"})
"""Keys of a state.json that are the daemon's to know, and are passed over."""

_HEADINGS = {
    "changed": "changed", "next": "next", "risk": "risks", "risks": "risks", "decisions": "decisions",
    "summary": "summary",
}  # fmt: skip
_BULLET = re.compile(r"\s{0,8}(?:[-*+]|\d{1,3}[.)])\s+(.+)")
_FENCE = "```"

Line = Annotated[str, Field(max_length=2000)]


class AnswerRefused(Exception):
    """The answer is not of the shape that was asked for; the message says what is wrong, for the writer."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoopClaim(_Part):
    """Something begun and not finished. quote: words of the session that bear it out, as they stand there."""

    id: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(min_length=1, max_length=2000)]
    quote: Line = ""

    @model_validator(mode="before")
    @classmethod
    def _said_by_its_quote(cls, found: Any) -> Any:
        if isinstance(found, dict) and found.get("quote") and not found.get("text"):
            return {**found, "text": found["quote"]}
        return found


class ResolutionClaim(_Part):
    """A known loop that the session has closed."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    reason: Line = ""
    quote: Line = ""


class NumberClaim(_Part):
    name: Annotated[str, Field(min_length=1, max_length=64)]
    value: Annotated[str, BeforeValidator(lambda value: _number_text(value)), Field(min_length=1, max_length=64)]
    quote: Line = ""


class BriefAnswer(_Part):
    """What a writer makes of its material. Claims all: what they may change is for memory.brief.guard to say.

    A sentence comes as an object with its quote, or, of older writers, as a string; here it is its text, and
    `line_quotes` holds the quotes by their texts.
    """

    agent: Annotated[str, Field(max_length=64)]
    resolved: Annotated[list[ResolutionClaim], Field(max_length=200)] = Field(default_factory=list)
    open_loops: Annotated[list[LoopClaim], Field(max_length=200)]
    numbers: Annotated[list[NumberClaim], BeforeValidator(lambda value: _number_list(value)), Field(max_length=200)] = (
        Field(default_factory=list)
    )
    decisions: Annotated[list[Line], Field(max_length=20)] = Field(default_factory=list)
    next: Annotated[list[Line], Field(max_length=20)] = Field(default_factory=list)
    summary: Line = ""
    changed: Annotated[list[Line], Field(max_length=20)] = Field(default_factory=list)
    risks: Annotated[list[Line], Field(max_length=20)] = Field(default_factory=list)
    line_quotes: Annotated[dict[Line, Line], Field(max_length=100)] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _texts_and_quotes(cls, found: Any) -> Any:
        if not isinstance(found, dict):
            return found
        quotes: dict[str, str] = {}
        read = {**found, **{name: _texts(found[name], name, quotes) for name in _SENTENCES if name in found}}
        told = found.get("line_quotes", {})
        return {**read, "line_quotes": {**quotes, **told}} if quotes and isinstance(told, dict) else read


_SENTENCES = ("decisions", "next", "summary", "changed", "risks")


def read_answer(text: str, agent: str) -> BriefAnswer:
    """Read and validate; raises AnswerRefused. The answer of another agent is refused (F-BR-4)."""
    if len(text) > ANSWER_LIMIT:
        raise AnswerRefused(f"the answer has more than {ANSWER_LIMIT} characters")
    answer = _validated(_object(text))
    if answer.agent != agent:
        raise AnswerRefused(f'the field agent must be "{agent}"')
    return answer


def answer_schema(*, sealed: bool = False) -> dict[str, Any]:
    """JSON Schema of an answer, as it is asked for: each claim with its quote. sealed: the answer bears a seal."""

    def claims(*named: str, needed: tuple[str, ...], most: int) -> dict[str, Any]:
        texts = {name: {"type": "string"} for name in named}
        one = {"type": "object", "properties": texts, "required": list(needed), "additionalProperties": False}
        return {"type": "array", "items": one, "maxItems": most}

    lines = claims("text", "quote", needed=("text", "quote"), most=8)
    properties = {
        "agent": {"type": "string"},
        "resolved": claims("id", "quote", needed=("id", "quote"), most=100),
        "open_loops": claims("id", "text", "quote", needed=("text", "quote"), most=100),
        "numbers": claims("name", "value", "quote", needed=("name", "value", "quote"), most=50),
        "decisions": lines,
        "next": lines,
        "summary": lines["items"],
    }
    needed = ["agent", "resolved", "open_loops"]
    if sealed:
        word = {"type": "string"}
        properties = {HEAD_KEY: word, **properties, END_KEY: word}
        needed = [HEAD_KEY, *needed, END_KEY]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _validated(found: dict[str, Any]) -> BriefAnswer:
    try:
        return BriefAnswer.model_validate(found)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_input=False, include_context=False)
        words = "; ".join(f"{'.'.join(map(str, one['loc']))[:80]}: {one['msg'][:120]}" for one in findings[:5])
        raise AnswerRefused(f"the JSON has not the shape that was asked for: {words}") from None


def _object(text: str) -> dict[str, Any]:
    """The JSON object of an answer: bare, in a code fence, or behind the last separator that has a line of its own."""
    lines = text.split("\n")
    at = max((number for number, line in enumerate(lines) if line.strip().strip("*` ") == SEPARATOR), default=None)
    if at is None:
        return _parsed(text)
    told = "\n".join(lines[:at])
    state = {key: value for key, value in _parsed("\n".join(lines[at + 1 :])).items() if key not in _STATE_ONLY}
    return {**_sections(told), **_as_claims(state)}


def _parsed(text: str) -> dict[str, Any]:
    text = _unfenced(text.strip())
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        raise AnswerRefused("there is no JSON object in the answer")
    try:
        found = from_json(text[begin : end + 1], allow_inf_nan=False)
    except ValueError as error:
        raise AnswerRefused(f"the answer is not JSON: {str(error)[:160]}") from None
    if not isinstance(found, dict):
        raise AnswerRefused("the answer is not a JSON object")
    return {key: value for key, value in found.items() if key not in (HEAD_KEY, END_KEY)}


def _unfenced(text: str) -> str:
    """What stands in the code fence with which a text ends; the text itself where it ends with none."""
    lines = text.split("\n")
    if lines[-1].strip() != _FENCE:
        return text
    opened = (at for at, line in enumerate(lines[:-1]) if line.rstrip().rstrip(ascii_letters).endswith(_FENCE))
    at = next(opened, None)
    return "\n".join(lines[at + 1 : -1]).strip() if at is not None else text


def _sections(told: str) -> dict[str, Any]:
    """The lists of a brief for people, by the headings that the seed's example has."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in told.split("\n")[:2000]:
        words = line.strip().strip("#*: ").lower()
        if words in _HEADINGS:
            key = _HEADINGS[words]
        elif line.lstrip().startswith("#"):
            key = ""
        elif key and key != "summary" and (bullet := _BULLET.fullmatch(line)):
            found.setdefault(key, []).append(bullet[1][:500])
        elif key == "summary" and line.strip():
            found.setdefault(key, []).append(line.strip()[:500])
    summary = " ".join(found.pop("summary", []))[:2000]
    return {**{key: lines[:20] for key, lines in found.items()}, **({"summary": summary} if summary else {})}


def _as_claims(state: dict[str, Any]) -> dict[str, Any]:
    """A state.json's lists without the fields that a claim does not have."""
    kept = dict(state)
    for key, fields in (("open_loops", ("id", "text", "quote")), ("resolved", ("id", "reason", "quote"))):
        if isinstance(items := kept.get(key), list):
            kept[key] = [
                {field: item[field] for field in fields if field in item} if isinstance(item, dict) else item
                for item in items
            ]
    return kept


def _texts(value: Any, name: str, quotes: dict[str, str]) -> Any:
    """The sentences of a field as strings; their quotes go into `quotes`. What is no sentence stays, to be refused."""
    items = value if isinstance(value, list) else [value]
    texts: list[Any] = []
    for item in items:
        if isinstance(item, dict) and item.keys() <= {"text", "quote"}:
            quote = item.get("quote") or ""
            text = item.get("text") or quote
            if isinstance(text, str) and isinstance(quote, str) and quote:
                quotes[text] = quote
            texts.append(text)
        else:
            texts.append(item)
    if name != "summary":
        return texts if isinstance(value, list) or value is None else texts[:1]
    return " ".join(texts) if all(isinstance(text, str) for text in texts) else value


def _number_list(value: Any) -> Any:
    return [{"name": name, "value": number} for name, number in value.items()] if isinstance(value, dict) else value


def _number_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
