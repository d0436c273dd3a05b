"""The wrapper around a model of pydantic-ai: a real token window that drops the front, checks, seeds, cut answers."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from phoenixd.planting import codes_in
from phoenixd.resonance import MarkerLost, SessionSeed
from phoenixd.resonance.wrapper import ResonantModel
from phoenixd.resonance.wrapper.turns import begin_of_turn
from tests.resonance.models import FILLER, MARKER, asked_for

LISTED = re.compile(r"(\d+): ([0-9a-f]{6})")
SEED = SessionSeed("The Architect", active_tasks=("Design the protocol",), settled_decisions=("Six hex digits",))


def shown(message: ModelMessage) -> str:
    return "\n".join(str(getattr(part, "content", getattr(part, "args", ""))) for part in message.parts)


@dataclass
class Windowed:
    """A model that sees no more than its newest `window` tokens, and silently loses what stands before them."""

    window: int = 1_000_000
    obeys: bool = True
    rejects: bool = False
    cut: int = 0
    requests: list[list[ModelMessage]] = field(default_factory=list)
    checks: int = 0

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        seen = list(messages)
        while len(seen) > 1 and sum(len(shown(one)) // 4 + 1 for one in seen) > self.window:
            if self.rejects:
                raise ModelContextWindowExceededError("windowed", "too long")
            del seen[0]
        number = asked_for(shown(messages[-1]))
        if number is None:
            finish, self.cut = ("length" if self.cut else "stop"), max(0, self.cut - 1)
            return self.says(FILLER * 3, finish)
        self.checks += 1
        text = "\n".join(shown(one) for one in seen)
        known = {**dict(LISTED.findall(text)), "0": (MARKER.findall(text) or [""])[-1]}
        return self.says(known.get(str(number), "I see no such code.") if self.obeys else "Later, I work now.")

    def says(self, text: str, finish: Any = "stop") -> ModelResponse:
        usage = RequestUsage(input_tokens=5, output_tokens=2)
        return ModelResponse(parts=[TextPart(text)], finish_reason=finish, usage=usage)


def resonant(model: Any, **options: Any) -> ResonantModel:
    drawn = count(0x1357)
    settings = {
        "interval": 3,
        "draw": lambda size: f"{next(drawn) * 7919 % (1 << 8 * size):0{2 * size}x}",
        "now": lambda: 1.8e9,
    }
    return ResonantModel(FunctionModel(model), SEED, **{**settings, **options})


async def talk(agent: Agent[Any, Any], turns: int, history: list[ModelMessage] | None = None) -> list[ModelMessage]:
    said = history or []
    for turn in range(turns):
        said = (await agent.run(f"turn {turn}: {FILLER}", message_history=said)).all_messages()
    return said


def kinds(model: ResonantModel) -> list[str]:
    return [one.kind for one in model.records.happened]


async def test_a_healthy_context_is_checked_and_never_taken_for_lost() -> None:
    windowed = Windowed()
    model = resonant(windowed, codes=4)

    said = await talk(Agent(model, system_prompt="You keep the plan."), 40)

    assert windowed.checks >= 40 // 4
    assert set(kinds(model)) <= {"planted"}
    assert "planted" in kinds(model), "the codes were spent, and new ones were given"
    assert model.verdict == "intact"
    assert len(said) == 80
    given = {one.code for one in model.records.given}
    assert not given & codes_in("\n".join(map(shown, said))), "no code and no check stands in the caller's messages"


async def test_classic_asks_for_the_markers_code_each_time() -> None:
    windowed = Windowed()
    model = resonant(windowed, mode="classic")

    await talk(Agent(model), 20)

    checks = [asked_for(shown(sent[-1])) for sent in windowed.requests]
    assert [one for one in checks if one is not None] == [0] * windowed.checks
    assert (model.verdict, kinds(model)) == ("intact", [])


async def test_a_model_that_disobeys_once_is_asked_again_and_has_lost_nothing() -> None:
    windowed = Windowed(obeys=False)

    async def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        windowed.obeys = "asked once more" in shown(messages[-1])
        return await windowed(messages, info)

    model = resonant(answers)
    await talk(Agent(model), 20)

    assert model.verdict == "intact"
    assert set(kinds(model)) == {"missed"}


async def test_a_front_that_was_silently_dropped_is_found_and_the_seed_takes_its_place() -> None:
    windowed = Windowed(window=1_500)
    model = resonant(windowed)
    agent = Agent(model, system_prompt="You keep the plan.")

    lost_at, said = 0, []
    for turn in range(1, 30):
        said = await talk(agent, 1, said)
        if model.verdict == "lost":
            lost_at = turn
            break

    # The window holds about nine turns; from then on each check has to fail.
    first_loss = next(
        at for at, sent in enumerate(windowed.requests) if sum(len(shown(one)) // 4 + 1 for one in sent) > 1_500
    )
    assert lost_at
    turns_before = sum(asked_for(shown(sent[-1])) is None for sent in windowed.requests[: first_loss + 1])
    assert lost_at <= turns_before + 3 + 3 + 1, "interval, deferred turns, and the turn that tells"
    assert [kind for kind in kinds(model) if kind.startswith("restore")] == [f"restore_{n}" for n in range(1, 7)]
    sent = windowed.requests[-1]
    assert isinstance(sent[0].parts[0], SystemPromptPart)
    assert "[CONTEXT SEED]" in "\n".join(map(shown, sent))
    assert "Active task: Design the protocol" in "\n".join(map(shown, sent))
    assert "[CONTEXT SEED]" not in shown(sent[0]), "never in a system prompt"
    assert len(sent) == 2, "the session that was cut is not sent again"
    assert len(said) == 2 * lost_at, "the caller's history is whole"


async def test_no_check_holds_a_code() -> None:
    windowed = Windowed()
    model = resonant(windowed)

    await talk(Agent(model), 12)

    checks = [sent[-1] for sent in windowed.requests if asked_for(shown(sent[-1])) is not None]
    assert checks
    assert [one for one in checks if codes_in(shown(one))] == []


async def test_a_loss_that_restoring_does_not_help_stops_it_until_a_person_looks() -> None:
    windowed = Windowed(obeys=False)
    model = resonant(windowed)
    agent = Agent(model)
    said = await talk(agent, 1)

    with pytest.raises(MarkerLost, match="did not know its marker either"):
        await talk(agent, 1, said)
    with pytest.raises(MarkerLost, match=r"call \.rearm"):
        await talk(agent, 1, said)

    windowed.obeys = True
    model.rearm()
    await talk(agent, 1, said)
    assert model.paused == ""


async def test_no_check_stands_within_a_turn() -> None:
    async def works(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        checks.append(asked_for(shown(messages[-1])))
        if checks[-1] is not None:
            return ModelResponse(parts=[TextPart(dict(LISTED.findall(shown(messages[0])))[str(checks[-1])])])
        turn = messages[begin_of_turn(messages) :]
        done = sum(isinstance(part, ToolReturnPart) for one in turn for part in one.parts)
        if done < 20:
            return ModelResponse(parts=[ToolCallPart("step", {})])
        return ModelResponse(parts=[TextPart("done")])

    checks: list[int | None] = []
    model = resonant(works, interval=1)
    agent = Agent(model)

    @agent.tool_plain
    def step() -> str:
        return "went well"

    said = await talk(agent, 1)
    assert [one for one in checks if one is not None] == [], "twenty calls, one turn"

    await talk(agent, 1, said)
    assert [one for one in checks if one is not None] == [1], "before the turn, and not once in it"
    assert model.verdict == "intact"


async def test_a_request_that_is_refused_as_too_long_goes_on_from_the_seed() -> None:
    windowed = Windowed(window=1_500, rejects=True)
    model = resonant(windowed, interval=100)

    said = await talk(Agent(model), 20)

    assert "rejected" in kinds(model)
    assert len(said) == 40


@pytest.mark.parametrize(("cut", "finish"), [(1, "stop"), (2, "length")])
async def test_a_text_that_was_cut_is_gone_on_with_once_and_its_finish_reason_stays_true(cut: int, finish: str) -> None:
    windowed = Windowed(cut=cut)
    model = resonant(windowed)

    result = await Agent(model).run("tell me")

    assert result.output == FILLER * 6
    assert result.response.finish_reason == finish
    assert (len(windowed.requests), kinds(model)) == (2, ["cut"])
    assert result.usage.output_tokens == 4, "both requests are paid for"


async def test_what_checks_cost_is_in_the_usage_and_told_apart() -> None:
    model = resonant(Windowed())
    agent = Agent(model)
    said = await talk(agent, 1)

    result = await agent.run("and now", message_history=said)

    assert (model.spent.input_tokens, model.spent.output_tokens) == (5, 2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 4)


async def test_the_anchor_stands_in_the_first_ordinary_message_beside_a_picture_too() -> None:
    from pydantic_ai import ImageUrl

    windowed = Windowed()
    picture = ImageUrl("https://example.org/a.png")

    await Agent(resonant(windowed), system_prompt="You keep the plan.").run(["look", picture])

    system, user = windowed.requests[0][0].parts
    assert system.content == "You keep the plan."
    assert isinstance(user, UserPromptPart)
    assert "Resonance marker:" in user.content[0]  # type: ignore[operator]
    assert picture in user.content


def test_without_the_extra_it_says_what_to_install_and_the_pacemaker_works() -> None:
    program = (
        "import sys; sys.modules['pydantic_ai'] = None; import phoenixd.resonance; import phoenixd.resonance.wrapper"
    )

    failed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)

    assert failed.stderr.strip().splitlines()[-1] == (
        "ImportError: phoenixd.resonance.wrapper needs pydantic-ai 2.60 or newer, and it is not installed: "
        "pip install '.[clinic]' in a checkout of phoenixd"
    )
    assert "resonance/wrapper" in failed.stderr
