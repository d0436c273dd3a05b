"""What `recoverable_run` takes and gives back is what `Agent.run` does, and each failure is logged once."""

from __future__ import annotations

import inspect

import pytest
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from phoenixd.clinic import recoverable_run
from tests.clinic.agents import Script, Watched, calls, http, says
from tests.clinic.histories import long_history, user_words


class TestSignature:
    def test_c20_it_is_the_seeds_and_more_by_keyword_only(self) -> None:
        parameters = inspect.signature(recoverable_run).parameters

        positional = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
        keyword = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY]
        assert positional == ["agent", "prompt", "max_recoveries", "deps"]
        assert keyword == ["message_history", "usage_limits", "clinic", "idempotent", "on_truncated", "config"]
        assert parameters["max_recoveries"].default == 2

    async def test_a_run_that_goes_well_gives_pydantic_ais_own_result_and_no_case(self) -> None:
        model, watched = Script([says("fine")]), Watched()

        result = await recoverable_run(model.agent(), "hello", config=watched.config())

        assert result.output == "fine"
        assert type(result).__module__.startswith("pydantic_ai")
        assert (len(model.requests), watched.cases, watched.slept) == (1, [], [])

    @pytest.mark.parametrize(
        ("turns", "most", "is_told"), [(2, 20, False), (9, 20, True), (9, 100, False), (2, 3, True)]
    )
    async def test_c12_a_summary_of_the_history_stands_in_the_trauma_where_it_is_long(
        self, turns: int, most: int, is_told: bool
    ) -> None:
        model, watched = Script([http(529), says("fine")]), Watched()
        history = long_history(turns)

        await recoverable_run(model.agent(), "hello", message_history=history, config=watched.config(long_history=most))

        trauma = watched.cases[0].triage[0].trauma
        assert trauma is not None
        assert bool(trauma.history_summary) is is_told
        assert watched.config().long_history == 20, "unless the caller says otherwise"

    async def test_deps_and_history_reach_the_run(self) -> None:
        model = Script([calls("who"), says("done")])
        agent = model.agent(deps_type=str)
        heard: list[str] = []

        @agent.tool
        def who(ctx: RunContext[str]) -> str:
            heard.append(ctx.deps)
            return "me"

        history = [ModelRequest(parts=[UserPromptPart("before")]), ModelResponse(parts=[TextPart("yes")])]
        await recoverable_run(agent, "now", deps="the deps", message_history=history)

        assert heard == ["the deps"]
        assert user_words(model.requests[0]) == "before\nnow"


class TestLog:
    async def test_c40_exception_cause_and_action_of_each_run_and_the_end_are_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        await recoverable_run(Script([http(529), says("back")]).agent(), "hello", config=Watched().config())
        healed = [one.getMessage() for one in caplog.records]
        caplog.clear()
        with pytest.raises(ModelHTTPError):
            await recoverable_run(Script([http(401)]).agent(), "hello", config=Watched().config())

        assert [one.partition(":")[0] for one in healed] == ["clinic.treated", "clinic.healed"]
        assert all(word in healed[0] for word in ("run 1 of 3", "ModelHTTPError", "transient_error", "retry"))
        (given_up,) = [one.getMessage() for one in caplog.records]
        assert given_up.startswith("clinic.abandoned: run 1 of 3: ModelHTTPError")
        assert all(word in given_up for word in ("logic_error", "given up"))
