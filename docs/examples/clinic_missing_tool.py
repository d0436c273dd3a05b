"""An agent is asked for a tool that does not exist; the clinic tells it which ones do, and it uses one of them.

Run it from anywhere: python docs/examples/clinic_missing_tool.py. No network, no key: the model is a function that
makes the mistake on purpose, and reads its instructions as a model would.
"""

import asyncio
import re

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from phoenixd.clinic import ClinicConfig, recoverable_run


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """It calls web_search, whatever pydantic-ai answers, until its instructions name the tools that exist."""
    returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart) and part.outcome == "success"]
    if returned:
        return ModelResponse(parts=[TextPart(f"Lisbon: {returned[0].content}")])
    listed = re.search(r"The only tools that exist here are: (\w+)", info.instructions or "")
    name = listed[1] if listed else "web_search"
    return ModelResponse(parts=[ToolCallPart(name, {"city": "Lisbon"})])


agent = Agent(FunctionModel(model))


@agent.tool_plain
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}, 24 degrees"


async def main() -> None:
    config = ClinicConfig(on_case=lambda case: print(f"{case.diagnosis.root_cause} -> {case.prescription.action}"))
    result = await recoverable_run(agent, "Search the web for the weather in Lisbon.", config=config)
    print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
