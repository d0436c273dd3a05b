"""How each CLI was driven into what is met in the field: the second blind half of the failures.

    python -m tests.eval_clinic.record OUT [PATTERN] tests.eval_clinic.fieldwork

Each end comes at several places of a session: at the first prompt, after a tool, on a resume, and in a long session.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.eval_clinic import ends, fieldwork_control, fieldwork_ends
from tests.eval_clinic import fieldwork_words as words
from tests.eval_clinic.ends import Drive, begin, session_of, settle, turn_failed
from tests.eval_clinic.healthy import ENDED
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import Room
from tests.stub.scenario import Rejection, Step, Stop

FIRST, TOOL, RESUME, LONG = "at the first prompt", "after a tool", "on a resume", "in a long session"

REFUSED: tuple[tuple[str, str, str, str, str, Rejection], ...] = (
    ("claude", NEWER, "headless", "key unknown to LiteLLM", FIRST, words.LITELLM_KEY),
    ("claude", OLDER, "terminal", "credentials refused", LONG, words.CREDENTIALS),
    ("codex", CODEX, "headless", "key refused by Azure", TOOL, words.AZURE_KEY),
    ("gemini", GEMINI, "terminal", "keys unsupported", FIRST, words.KEYS_UNSUPPORTED),
    ("claude", OLDER, "terminal", "no credit", TOOL, words.CREDIT),
    ("codex", CODEX, "terminal", "no credit at OpenRouter", FIRST, words.ROUTER_CREDIT),
    ("gemini", GEMINI, "headless", "spending cap", FIRST, words.SPENDING_CAP),
    ("gemini", GEMINI, "headless", "suspended", TOOL, words.SUSPENDED),
    ("claude", NEWER, "headless", "model unknown to LiteLLM", FIRST, words.LITELLM_MODEL),
    ("claude", OLDER, "terminal", "model unknown to Bedrock", FIRST, words.BEDROCK_MODEL),
    ("codex", CODEX, "headless", "no deployment at Azure", FIRST, words.AZURE_DEPLOYMENT),
    ("gemini", GEMINI, "headless", "model unknown to Vertex", FIRST, words.VERTEX_MODEL),
    ("claude", NEWER, "terminal", "limit of an hour", TOOL, words.ACCOUNT_LIMIT),
    ("codex", CODEX, "terminal", "usage limit", LONG, words.USAGE_LIMIT),
    ("gemini", GEMINI, "headless", "quota of a day", TOOL, words.DAILY_FREE),
    ("claude", OLDER, "headless", "throttled by Bedrock", TOOL, words.BEDROCK_TOKENS),
    ("codex", CODEX, "headless", "limited at OpenRouter", RESUME, words.ROUTER_LIMITED),
    ("claude", NEWER, "terminal", "all deployments cooling down", FIRST, words.LITELLM_COOLDOWN),
    ("claude", OLDER, "terminal", "overloaded", TOOL, words.OVERLOADED),
    ("claude", NEWER, "headless", "overloaded", RESUME, words.OVERLOADED),
    ("gemini", GEMINI, "headless", "high demand", TOOL, words.HIGH_DEMAND),
    ("claude", NEWER, "terminal", "500 through LiteLLM", LONG, words.LITELLM_INTERNAL),
    ("codex", CODEX, "headless", "500 of Azure", TOOL, words.AZURE_INTERNAL),
    ("gemini", GEMINI, "headless", "500", TOOL, words.INTERNAL),
    ("claude", OLDER, "headless", "too long for LiteLLM", FIRST, words.LITELLM_FULL),
    ("codex", CODEX, "headless", "too long for vLLM", FIRST, words.VLLM_FULL),
    ("gemini", GEMINI, "terminal", "too long", FIRST, words.GEMINI_FULL),
    ("claude", NEWER, "headless", "too long for OpenRouter", RESUME, words.ROUTER_FULL),
    ("claude", OLDER, "terminal", "too long for Bedrock", LONG, words.BEDROCK_FULL),
    ("codex", CODEX, "terminal", "too long for Azure", RESUME, words.AZURE_FULL),
)
"""What the specification of triage names: keys, credit, models, limits, overload, errors of the server, length."""

MORE: tuple[tuple[str, str, str, str, str, Rejection], ...] = (
    ("claude", OLDER, "headless", "413 in HTML", TOOL, words.ENTITY_413),
    ("claude", NEWER, "terminal", "too many large images", TOOL, words.MANY_IMAGES),
    ("claude", OLDER, "headless", "signature of another model", RESUME, words.SIGNATURE),
    ("claude", NEWER, "headless", "budget of thoughts", FIRST, words.BUDGET),
    ("claude", NEWER, "headless", "no throughput on demand", FIRST, words.BEDROCK_ON_DEMAND),
    ("claude", OLDER, "headless", "model not in the region", FIRST, words.VERTEX_REGION),
    ("claude", NEWER, "terminal", "denied by Vertex", FIRST, words.VERTEX_DENIED),
    ("claude", OLDER, "terminal", "blocked by a firewall", FIRST, words.FIREWALL),
    ("codex", CODEX, "headless", "refresh token reused", LONG, words.REFRESH_REUSED),
    ("codex", CODEX, "headless", "zero data retention", RESUME, words.RETENTION),
    ("codex", CODEX, "terminal", "too many tools", FIRST, words.TOO_MANY_TOOLS),
    ("codex", CODEX, "headless", "filtered by Azure", FIRST, words.AZURE_FILTERED),
    ("codex", CODEX, "terminal", "tokens of a minute at Azure", TOOL, words.AZURE_TOKENS),
    ("codex", CODEX, "headless", "521 of Cloudflare", FIRST, words.DOWN_521),
    ("codex", CODEX, "headless", "model not supported", FIRST, words.UNSUPPORTED_MODEL),
    ("gemini", GEMINI, "headless", "referrer blocked", FIRST, words.REFERRER),
)
"""Free choice."""

CUTS: tuple[tuple[str, str, str, str, str, str, Stop | None, int | None], ...] = (
    ("claude", OLDER, "headless", "output limit each time", TOOL, "", "output_limit", None),
    ("claude", NEWER, "terminal", "output limit each time", TOOL, "", "output_limit", None),
    ("codex", CODEX, "headless", "output limit one time", TOOL, "", "output_limit", 1),
    ("codex", CODEX, "terminal", "output limit each time", RESUME, "", "output_limit", None),
    ("gemini", GEMINI, "terminal", "output limit one time", TOOL, "", "output_limit", 1),
    ("claude", OLDER, "terminal", "window exceeded", TOOL, "", "window", None),
    ("claude", NEWER, "headless", "window exceeded", RESUME, "", "window", None),
    ("codex", CODEX, "headless", "window exceeded", TOOL, "", "window", None),
    ("claude", NEWER, "headless", "connection dropped", TOOL, "connection dropped", None, None),
    ("codex", CODEX, "terminal", "connection dropped", RESUME, "connection dropped", None, None),
    ("claude", OLDER, "terminal", "socket cut in the stream", TOOL, "socket cut in the stream", None, None),
    ("gemini", GEMINI, "headless", "socket cut in the stream", TOOL, "socket cut in the stream", None, None),
    ("claude", NEWER, "terminal", "stream ends inside a block", TOOL, "stream ends inside a block", None, None),
    ("codex", CODEX, "headless", "stream ends inside a block", TOOL, "stream ends inside a block", None, None),
    ("gemini", GEMINI, "headless", "stream ends inside a block", TOOL, "stream ends inside a block", None, None),
    ("claude", OLDER, "headless", "stream ends after a block", TOOL, "stream ends after a block", None, None),
    ("codex", CODEX, "terminal", "stream ends after a block", TOOL, "stream ends after a block", None, None),
    ("codex", CODEX, "terminal", "filtered", TOOL, "", "filtered", None),
    ("claude", OLDER, "headless", "filtered", TOOL, "", "filtered", None),
)


def recipes() -> Iterator[Recipe]:
    for harness, pin, kind, fault, place, rejection in (*REFUSED, *MORE):
        yield Recipe(harness, pin, kind, f"{fault}, {place}", _refused(kind, place, rejection))
    for harness, pin, kind, fault, place, way, stop, times in CUTS:
        yield Recipe(harness, pin, kind, f"{fault}, {place}", _cut(kind, place, way, stop, times))
    yield from fieldwork_ends.recipes()
    yield from fieldwork_control.recipes()


def _refused(kind: str, place: str, rejection: Rejection) -> Drive:
    def drive(room: Room) -> None:
        is_full = rejection.status in (400, 413)

        def refuse() -> None:
            room.refuse(rejection)
            for other in ("compaction", *(["side"] if room.harness != "gemini" or place == RESUME else [])):
                if is_full:
                    room.refuse(rejection, to=other)

        _at(room, kind, place, refuse)
        if kind == "terminal":
            turn_failed(room)

    return drive


def _cut(kind: str, place: str, way: str, stop: Stop | None, times: int | None) -> Drive:
    def drive(room: Room) -> None:
        step = Step(text=ends.TEXT, fault=ends.STREAMS.get(way), stop=stop, times=times)
        _at(room, kind, place, lambda: room.answer(step))
        if kind == "terminal":
            ends._cut_in_terminal(room, way, stop)

    return drive


def _at(room: Room, kind: str, place: str, fail: object) -> None:
    """Come to that place of a session, with the API failing from there on."""
    assert callable(fail)
    if place in (FIRST, TOOL):
        if place == TOOL:
            room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"))
        fail()
        begin(room, kind)
    elif place == RESUME:
        room.answer(room.cli.shell("ls"), Step(text="The first item is done."), Step(text="The second item is done."))
        room.headless("Do the first item of docs/plan.md.")
        room.headless("Do the second item.", resume=session_of(room))
        fail()
        begin(room, kind, "Do the third item.", resume=session_of(room))
    elif kind == "headless":
        room.answer(*[room.cli.shell(f"echo {number} >> items; wc items") for number in range(1, 7)])
        fail()
        begin(room, kind)
    else:
        room.answer(*[room.cli.shell(f"echo {number} >> items; wc items") for number in range(1, 4)])
        room.answer(Step(text="The first item is done."), Step(text="The second item is done."))
        room.in_terminal("Do the first item of docs/plan.md.")
        room.until_hook(ENDED[room.harness])
        settle(room)
        room.type("Do the second item.", "Enter")
        room.until_hook(ENDED[room.harness], 2)
        settle(room)
        fail()
        room.type("Do the third item.", "Enter")
