"""Histories made shorter: system prompts, the newest messages, calls with their returns, and the task stay (C24)."""

from __future__ import annotations

import anyio
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from phoenixd.clinic import Summarizer
from phoenixd.clinic.history import cut_of, last_turn, paired
from phoenixd.documents.cleaner import Cleaner
from tests.clinic.agents import says
from tests.clinic.histories import long_history, orphans, user_words

CLEAN = Cleaner()


async def test_without_a_model_the_summary_is_what_was_said_in_short() -> None:
    history = long_history(20)

    shorter = await Summarizer(keep=4).shorten(history, CLEAN)

    assert shorter[0].parts[0] == history[0].parts[0]
    assert isinstance(shorter[0].parts[0], SystemPromptPart)
    assert shorter[-4:] == history[-4:]
    assert "assistant: answer 3" in user_words(shorter)
    assert len(shorter) == 5


async def test_a_model_writes_it_and_reads_marked_data_without_secrets() -> None:
    asked: list[str] = []

    def writes(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(user_words(messages))
        return says("They looked at nineteen things.")

    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwx1234"
    history = [ModelRequest(parts=[UserPromptPart(f"my key is {secret}")]), *long_history(20)]
    summarizer = Summarizer(FunctionModel(writes))

    shorter = await summarizer.shorten(history, CLEAN)

    assert "They looked at nineteen things." in user_words(shorter)
    assert asked[0].startswith("<conversation ")
    assert secret not in asked[0] + user_words(shorter)
    assert summarizer.usage.requests == 1


async def test_a_model_that_fails_costs_nothing_but_the_better_summary() -> None:
    def fails(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("down")

    shorter = await Summarizer(FunctionModel(fails)).shorten(long_history(20), CLEAN)

    assert "assistant: answer 3" in user_words(shorter)


async def test_a_model_that_never_answers_is_not_waited_for() -> None:
    async def never(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await anyio.sleep_forever()
        raise AssertionError

    shorter = await Summarizer(FunctionModel(never), timeout=0).shorten(long_history(20), CLEAN)

    assert "assistant: answer 3" in user_words(shorter)


async def test_a_call_and_its_return_are_never_torn_apart() -> None:
    history = long_history(20)
    for keep in range(1, len(history) + 2):
        shorter = await Summarizer(keep=keep).shorten(history, CLEAN)

        assert orphans(shorter) == [], keep
        cut = cut_of(history, keep)
        assert history[cut:] == shorter[-len(history[cut:]) :]


async def test_the_task_stays_word_by_word() -> None:
    task = "do this: " + "exactly " * 400
    history = [*long_history(2), ModelRequest(parts=[UserPromptPart(task)]), *long_history(20)[1:]]

    shorter = await Summarizer(keep=2).shorten(history, CLEAN, task=len(long_history(2)))

    assert task in user_words(shorter)


async def test_a_short_history_stays_as_it_is() -> None:
    history = long_history(1)

    assert await Summarizer().shorten(history, CLEAN) == history


def test_orphans_are_dropped_on_both_sides_but_not_the_newest_calls() -> None:
    lone_return = ModelRequest(parts=[ToolReturnPart("a", "x", "1")])
    lone_call = ModelResponse(parts=[TextPart("I look"), ToolCallPart("b", {}, "2")])
    newest = ModelResponse(parts=[ToolCallPart("c", {}, "3")])

    kept = paired([lone_return, lone_call, newest])

    assert kept == [ModelResponse(parts=[TextPart("I look")], timestamp=lone_call.timestamp), newest]


def test_the_last_turn_holds_the_newest_words_and_no_calls() -> None:
    turn = last_turn(long_history(5))

    assert user_words(turn).startswith("turn 4")
    assert [type(part).__name__ for one in turn for part in one.parts] == [
        "SystemPromptPart",
        "UserPromptPart",
        "TextPart",
    ]
    assert last_turn([]) == []
