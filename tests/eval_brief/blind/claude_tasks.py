"""Claude Code's task list: the calls that make one list of another, and the files that it keeps of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.eval_brief.blind.claude_tools import result_of
from tests.eval_brief.blind.patterns import RECORDED, Line
from tests.eval_brief.blind.session import Task

Use = tuple[str, dict[str, Any]]
Result = tuple[str, Line, str, Any]
"""Tool, recorded line, words for the model, `toolUseResult`."""


class TaskList:
    """Numbers tasks as the CLI does: by the order of their creation."""

    def __init__(self) -> None:
        self._newest = 0
        self._numbers: dict[str, str] = {}
        self._held: dict[str, Task] = {}

    def becomes(self, wanted: tuple[Task, ...]) -> Iterator[tuple[list[Use], list[Result]]]:
        """The answers of the model that bring the list there, with their results."""
        made = [task for task in wanted if task.id not in self._held]
        for task in made:
            self._newest += 1
            self._numbers[task.id] = str(self._newest)
            self._held[task.id] = Task(task.id, task.text, "pending")
        if made:
            uses = [
                ("TaskCreate", {"subject": task.text, "description": task.text, "activeForm": task.text})
                for task in made
            ]
            yield uses, [self._created(task) for task in made]
        changes: list[tuple[Use, Result]] = []
        for task in wanted:
            held = self._held[task.id]
            if held.text != task.text:
                changes.append(self._update(task.id, "subject", task.text, None))
            if held.status != task.status:
                changes.append(self._update(task.id, "status", task.status, held.status))
            self._held[task.id] = task
        for name in [name for name in self._held if name not in {task.id for task in wanted}]:
            changes.append(self._update(name, "status", "deleted", self._held.pop(name).status))
        if changes:
            yield [use for use, _ in changes], [result for _, result in changes]

    def files(self) -> Mapping[str, bytes]:
        """What stands in the session's directory of tasks: nothing once all of them are completed."""
        if all(task.status == "completed" for task in self._held.values()):
            return {}
        keys = json.loads((RECORDED / "claude-work-tasks" / "1.json").read_text())
        return {
            f"{self._numbers[task.id]}.json": json.dumps(
                keys | {"id": self._numbers[task.id], "subject": task.text, "description": task.text,
                        "activeForm": task.text, "status": task.status},
                indent=2, ensure_ascii=False,
            ).encode()
            for task in self._held.values()
        }  # fmt: skip

    def _created(self, task: Task) -> Result:
        number = self._numbers[task.id]
        like = result_of("claude-work", "TaskCreate")
        told = {"task": {"id": number, "subject": task.text}}
        return "TaskCreate", like, f"Task #{number} created successfully: {task.text}", told

    def _update(self, name: str, field: str, value: str, before: str | None) -> tuple[Use, Result]:
        number = self._numbers[name]
        like, what = result_of("claude-work", "TaskUpdate"), "deleted" if value == "deleted" else field
        told: Line = {"success": True, "taskId": number, "updatedFields": [what]}
        words = f"Updated task #{number} {what}"
        told |= {"statusChange": {"from": before, "to": value}} if before is not None else {}
        return ("TaskUpdate", {"taskId": number, field: value}), ("TaskUpdate", like, words, told)
