"""What was kept of a worker stands, whatever becomes of the question for its seal (issue 13)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.jobs.collection import Collection
from phoenixd.ports.evidence import Conversation
from tests.core.test_late_seals import asked


@pytest.mark.parametrize("facts", [None, SessionFacts(newest_kind="assistant", turn_open=False)])
async def test_an_answer_that_cannot_be_read_any_more_is_not_written_over(facts: SessionFacts | None) -> None:
    async def read(agent: Agent) -> SessionFacts | None:
        return facts

    async def talk(agent: Agent, most: int) -> Conversation | None:
        return None

    untouched: Any = None
    works = asked()
    task: Task = works.task("t1")
    assert task.sealing
    collection = Collection(
        untouched, untouched, read, talk, lambda agent: True, untouched, untouched, untouched,
        lambda agent, incarnation: None,
    )  # fmt: skip

    assert await collection.collect(works.worker("t1"), task) == Outcome("missing")
