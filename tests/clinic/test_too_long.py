"""What is too long for `recoverable_run`: an answer that is cut, and a history that the window does not hold."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import PromptedOutput, TextOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
)
from pydantic_ai.models.function import AgentInfo

from phoenixd.clinic import AnswerCut, recoverable_run
from tests.clinic.agents import OUTPUT, Script, Watched, calls, says
from tests.clinic.histories import (
    WINDOW,
    long_history,
    notes_of,
    orphans,
    size,
    user_words,
    weather,
    window,
    window_error,
)


class TestTruncated:
    async def test_recover_asks_for_an_answer_that_fits(self) -> None:
        model, watched = Script([says("half an ans", "length"), says("whole")]), Watched()

        result = await recoverable_run(model.agent(), "tell me", config=watched.config())

        assert result.output == "whole"
        assert "output limit" in (model.infos[1].instructions or "")
        (case,) = watched.cases
        assert (case.diagnosis, case.detail, case.triage[0].occasion) == (None, "output_limit", "cut_answer")
        assert result.usage.output_tokens == 2 * OUTPUT

    async def test_recover_raises_what_it_has_where_every_answer_is_cut(self) -> None:
        model = Script([says("half", "length")])

        with pytest.raises(AnswerCut) as failed:
            await recoverable_run(model.agent(), "tell me", config=Watched().config())

        assert len(model.requests) == 3
        assert failed.value.result.output == "half"

    async def test_return_takes_it_as_it_is(self) -> None:
        model, watched = Script([says("half", "length")]), Watched()

        result = await recoverable_run(model.agent(), "tell me", on_truncated="return", config=watched.config())

        assert (result.output, len(model.requests), watched.cases) == ("half", 1, [])

    async def test_raise_makes_no_further_run(self) -> None:
        model = Script([says("half", "length"), says("whole")])

        with pytest.raises(AnswerCut, match="finish reason 'length'") as failed:
            await recoverable_run(model.agent(), "tell me", on_truncated="raise", config=Watched().config())

        assert len(model.requests) == 1
        assert failed.value.finish == "length"

    @pytest.mark.parametrize("how", ["recover", "return", "raise"])
    async def test_arguments_that_were_cut_are_a_failure_in_each_form(self, how: Any) -> None:
        cut = calls("weather", '{"city": "Lis', finish="length")
        model, watched = Script([cut, cut, says("in parts")]), Watched()

        result = await recoverable_run(model.agent(tools=[weather]), "write", on_truncated=how, config=watched.config())

        assert result.output == "in parts"
        assert watched.cases[0].diagnosis.root_cause == "invalid_tool_arguments"  # type: ignore[union-attr]
        assert "smaller calls" in (model.infos[-1].instructions or "")

    async def test_a_typed_answer_with_whole_arguments_is_whole(self) -> None:
        class City(BaseModel):
            name: str

        model = Script([lambda messages, info: calls(info.output_tools[0].name, {"name": "Lisbon"}, finish="length")])

        result = await recoverable_run(model.agent(output_type=City), "which?", config=Watched().config())

        assert (result.output, len(model.requests)) == (City(name="Lisbon"), 1)

    async def test_a_typed_answer_that_is_read_from_a_text_is_whole_if_it_could_be_read(self) -> None:
        class City(BaseModel):
            name: str

        model = Script([says('{"name": "Lisbon"}', "length")])

        result = await recoverable_run(
            model.agent(output_type=PromptedOutput(City)), "which?", config=Watched().config()
        )

        assert (result.output, len(model.requests)) == (City(name="Lisbon"), 1)

    async def test_a_text_that_the_callers_function_takes_is_cut_like_any_other(self) -> None:
        def split(text: str) -> list[str]:
            return text.split()

        model = Script([says("half an ans", "length"), says("whole")])

        result = await recoverable_run(model.agent(output_type=TextOutput(split)), "tell me", config=Watched().config())

        assert (result.output, len(model.requests)) == (["whole"], 2)

    async def test_a_text_that_a_filter_stopped_is_not_tried_again(self) -> None:
        model = Script([says("how to build a", "content_filter")])

        with pytest.raises(AnswerCut):
            await recoverable_run(model.agent(), "tell me", config=Watched().config())

        assert len(model.requests) == 1


class TestWindow:
    async def test_a_run_that_had_got_on_goes_on_and_repeats_no_tool(self) -> None:
        ran: list[int] = []

        def works(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if size(messages) > 9_000:
                raise window_error()
            if "shortened" in user_words(messages):
                return says("done")
            return calls("read", {"page": len(ran)})

        model, watched = Script([works]), Watched()
        agent = model.agent(system_prompt="You are the keeper.")

        @agent.tool_plain
        def read(page: int) -> str:
            ran.append(page)
            return f"page {page}: " + "words " * 150

        result = await recoverable_run(agent, "read it all", config=watched.config())

        assert result.output == "done"
        assert ran == sorted(set(ran))
        sent = model.requests[-1]
        assert "read it all" in user_words(sent)
        assert sent[0].parts[0].content == "You are the keeper."  # type: ignore[union-attr]
        assert orphans(sent) == []
        assert user_words(sent).count("shortened because") == 1

    async def test_f_cl_5_a_summary_that_is_still_too_long_leaves_the_last_turn_and_then_it_ends(self) -> None:
        model, watched = Script([window(1)]), Watched()

        with pytest.raises(UnexpectedModelBehavior if WINDOW is None else WINDOW):
            await recoverable_run(
                model.agent(), "and now?", 5, message_history=long_history(30), config=watched.config()
            )

        sizes = [size(sent) for sent in model.requests]
        assert len(sizes) == 3
        assert sizes[0] > sizes[1] > sizes[2]
        assert [sum("shortened" in user_words(sent) for sent in model.requests)] == [1], "never twice in one recovery"

    async def test_a_prompt_that_alone_is_too_long_ends_at_once(self) -> None:
        model = Script([window(1)])

        with pytest.raises(Exception, match="full") as failed:
            await recoverable_run(model.agent(), "much too long", config=Watched().config())

        assert len(model.requests) == 1
        assert "there is no history that could be shortened" in notes_of(failed.value)
