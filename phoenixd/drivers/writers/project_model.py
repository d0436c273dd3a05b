"""A model that words a project's papers before a handoff, by way of pydantic-ai (the extra `clinic`)."""

from __future__ import annotations

import json

from pydantic import BaseModel

from phoenixd.core.agent import Agent
from phoenixd.drivers.writers.command import EnvironmentOf
from phoenixd.drivers.writers.model import ModelOf, ask, infer_model
from phoenixd.drivers.writers.project_command import TIME_LIMIT, faster
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports.papers import WriterAnswer


class WordedPapers(BaseModel):
    """The files that are worded anew. files: their whole texts by their paths."""

    files: dict[str, str]


class ProjectModel:
    """It has no tools, and one request per answer."""

    def __init__(self, environment_of: EnvironmentOf, model_of: ModelOf = infer_model) -> None:
        self._environment_of = environment_of
        self._model_of = model_of

    async def write(self, agent: Agent, asked: str) -> WriterAnswer:
        """Ask the model of the agent's handoffs once: its answer as JSON, and its tokens; raises WriterFailed."""
        name = agent.spec.handoff.model
        if not name:
            raise WriterFailed("no model is configured", "set handoff.model")
        try:
            environment = await self._environment_of(agent)
        except PhoenixdError as failure:
            raise WriterFailed(failure.message, failure.remedy) from failure
        remedy = faster(agent, "model")
        said, tokens, ended = await ask(name, environment, asked, TIME_LIMIT, self._model_of, WordedPapers, remedy)
        if ended == "cut":
            raise WriterFailed("its answer was cut at its end", tokens=tokens)
        return WriterAnswer(json.dumps(said.model_dump()), tokens)
