"""What Codex's calls, and the items that it completes, tell of a session's work, as 0.169.0 writes them.

The traps that this module owns:
- a call's arguments are JSON in a text;
- a patch that was applied stands in an item of its own; one that was not has none, and wrote nothing;
- a command that takes longer than its caller waits for goes on under a number, and its end is an item of the call's id;
- the newest models run commands inside a program: those have no call of their own, and stand in their items alone;
- a tool that is not offered answers like any other, and its call changes nothing.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from phoenixd.documents.deeds import (
    COMMAND_LIMIT,
    MOST_PATHS,
    MOST_QUESTIONS,
    MOST_ROWS,
    PLAN_LIMIT,
    QUESTION_LIMIT,
    TASK_LIMIT,
    WHAT_LIMIT,
    CommandBegan,
    CommandEnded,
    Deed,
    FileWritten,
    JobAsked,
    JobBegan,
    JobEnd,
    JobEnded,
    PlanProposed,
    QuestionAnswered,
    QuestionAsked,
    TaskRow,
    TasksListed,
    clipped,
    cut,
    cut_path,
    named,
    task_status,
)
from phoenixd.documents.json_line import Table, parse_line, table, tables, text, whole
from phoenixd.harness.questions import questions

EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,6})\b")
_RUNNING = re.compile(r"\bProcess running with session ID (\d{1,12})\b")
_LEFT_RUNNING = re.compile(
    r'^\{"chunk_id":"[^"]{1,40}",(?:"[a-z_]{1,40}":[0-9.]{1,20},)*"session_id":(\d{1,12}),', re.MULTILINE
)
_SHELLS = frozenset({"exec_command", "shell", "shell_command", "container.exec", "local_shell_call"})
_REFUSALS = ("unsupported call", "request_user_input is unavailable")


def asked(payload: Table, name: str, call: str, at: float | None) -> tuple[Deed, ...]:
    """What a call is about to do."""
    words = text(payload, "arguments") or text(payload, "input") or ""
    given = (parse_line(words.encode()) or {}) if words.startswith("{") else {}
    if name in _SHELLS:
        command = _command(given.get("cmd") or given.get("command") or table(payload, "action").get("command"))
        return (CommandBegan(call, command, at),) if command else ()
    match name:
        case "update_plan":
            return (TasksListed(call, _rows(given), True, at),)
        case "exec":
            # A program of the newest models; all that is known of what it leaves in the background is its text.
            return (JobAsked(call, clipped(words, WHAT_LIMIT), at),)
        case "request_user_input":
            return (QuestionAsked(call, questions(given), at),)
        case _:
            return ()


def came_back(output: str, call: str, at: float | None) -> tuple[Deed, ...]:
    """What the output of a call tells beyond that it came back."""
    head = output[:400]
    if (job := _RUNNING.search(head)) is not None:
        return (JobBegan(call, job[1], at),)
    if (code := EXIT_CODE.search(head)) is not None:
        return (CommandEnded(call, int(code[1]), int(code[1]) != 0, False, at),)
    if output.startswith("Script completed") and (job := _LEFT_RUNNING.search(output[-4000:])) is not None:
        return (JobBegan(call, job[1], at),)
    if head.startswith('{"answers":'):
        return (QuestionAnswered(call, _answers(parse_line(output.encode()) or {}), at),)
    return ()


def is_refused(output: str) -> bool:
    """Whether the CLI did not carry out the call at all."""
    return output.startswith(_REFUSALS)


def completed(item: Table, at: float | None) -> tuple[Deed, ...]:
    """What an item that is completed tells: a command's own end, and the files that a patch changed."""
    call = named(text(item, "id"))
    if call is None:
        return ()
    match text(item, "type"):
        case "CommandExecution":
            return _executed(item, call, at)
        case "FileChange":
            failed = text(item, "status") != "completed"
            paths = [cut_path(whole(path)) for path in list(table(item, "changes"))[:MOST_PATHS]]
            return tuple(FileWritten(call, path, failed, at) for path in paths if path is not None)
        case "Plan":
            return (PlanProposed(call, cut(text(item, "text"), PLAN_LIMIT), None, at),)
        case _:
            return ()


def _executed(item: Table, call: str, at: float | None) -> tuple[Deed, ...]:
    command = _command(item.get("command"))
    code = item.get("exit_code")
    if command is None or isinstance(code, bool) or not isinstance(code, int):
        return ()
    # A number below 0 is no exit code: the CLI ended the command.
    known = code if 0 <= code < 1 << 16 else None
    failed = code != 0 if known is not None else None
    ended = CommandEnded(call, known, failed, known is None, at)
    how: JobEnd = "stopped" if failed is None else "failed" if failed else "done"
    job = named(text(item, "process_id"))
    return (CommandBegan(call, command, at), ended, JobEnded(job, call, how, known, at))


def _command(given: Any) -> str | None:
    """A command's text: of a list for a shell its script, of another list the words as a shell would take them."""
    if isinstance(given, str):
        return cut(text({"": given}, ""), COMMAND_LIMIT)
    words = [word for one in given if (word := text({"": one}, "")) is not None] if isinstance(given, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return cut(words[2], COMMAND_LIMIT)
    return cut(shlex.join(word[:COMMAND_LIMIT] for word in words[:100]), COMMAND_LIMIT)


def _rows(given: Table) -> tuple[TaskRow, ...]:
    return tuple(
        TaskRow(None, step, task_status(text(one, "status")) or "open")
        for one in tables(given, "plan")[:MOST_ROWS]
        if (step := cut(text(one, "step"), TASK_LIMIT)) is not None
    )


def _answers(found: Table) -> tuple[str, ...]:
    answers = table(found, "answers")
    told: list[str] = []
    for key in list(answers)[:MOST_QUESTIONS]:
        given = table(answers, key).get("answers")
        words = [word for one in given if (word := text({"": one}, ""))] if isinstance(given, list) else []
        if words:
            told.append(clipped(", ".join(words), QUESTION_LIMIT))
    return tuple(told)
