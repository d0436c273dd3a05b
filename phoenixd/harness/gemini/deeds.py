"""What the Gemini CLI's calls tell of a session's work, as 0.61.0 writes them: call and result stand in one record.

The traps that this module owns:
- a command that failed is a call that succeeded: only a line at the end of its output tells the exit code;
- while a call waits for a person, and until it came back, nothing is written of it;
- a record is written anew with the same calls: what is told of a call is told again, and means the same.
"""

from __future__ import annotations

import re

from phoenixd.documents.deeds import (
    COMMAND_LIMIT,
    MOST_QUESTIONS,
    MOST_ROWS,
    QUESTION_LIMIT,
    TASK_LIMIT,
    CommandBegan,
    CommandEnded,
    Deed,
    FileWritten,
    JobBegan,
    JobEnded,
    PlanProposed,
    QuestionAnswered,
    QuestionAsked,
    TaskRow,
    TasksListed,
    clipped,
    cut,
    cut_path,
    task_status,
)
from phoenixd.documents.json_line import Table, parse_line, table, tables, text
from phoenixd.harness.questions import questions

_END = 600
"""Characters at the end of a command's output in which the CLI says how it ended."""

_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,6})$", re.MULTILINE)
_SIGNAL = re.compile(r"^Signal: \S", re.MULTILINE)
_MOVED = re.compile(r"Command moved to background \(PID: (\d{1,10})\)")
_LISTED = re.compile(
    r"^- \[PID (\d{1,10})\] (?!RUNNING)[A-Z_]{1,20}: .{0,4000}?(?:\(Exit Code: (-?\d{1,6})\))?$", re.MULTILINE
)


def asked(name: str, call: str, given: Table, at: float | None) -> tuple[Deed, ...]:
    """What a call is about to do."""
    match name:
        case "run_shell_command":
            command = cut(text(given, "command"), COMMAND_LIMIT)
            return (CommandBegan(call, command, at),) if command else ()
        case "write_todos":
            return (TasksListed(call, _rows(given), True, at),)
        case "write_file" | "replace":
            path = cut_path(text(given, "file_path"))
            return (FileWritten(call, path, None, at),) if path else ()
        case "exit_plan_mode":
            path = text(given, "plan_path") or text(given, "plan_filename")
            return (PlanProposed(call, None, cut_path(path), at),)
        case "ask_user":
            return (QuestionAsked(call, questions(given), at),)
        case _:
            return ()


def came_back(name: str, call: str, status: str, result: str, at: float | None) -> tuple[Deed, ...]:
    """What the result of a call tells beyond that it came back."""
    if name == "ask_user" and status == "success":
        return (QuestionAnswered(call, _answers(result), at),)
    if name == "list_background_processes":
        return tuple(_job_over(job, code, at) for job, code in _LISTED.findall(result[: 1 << 16])[:MOST_ROWS])
    if name != "run_shell_command":
        return ()
    if status == "cancelled":
        return (CommandEnded(call, None, None, True, at),)
    if (moved := _MOVED.search(result[:_END])) is not None:
        return (JobBegan(call, moved[1], at),)
    if status != "success":
        return ()
    end = result[-_END:]
    if _SIGNAL.search(end) is not None:
        return (CommandEnded(call, None, True, False, at),)
    codes = _EXIT_CODE.findall(end)
    code = int(codes[-1]) if codes else 0
    return (CommandEnded(call, code, code != 0, False, at),)


def _job_over(job: str, code: str, at: float | None) -> JobEnded:
    if not code:
        return JobEnded(job, None, None, None, at)
    return JobEnded(job, None, "done" if int(code) == 0 else "failed", int(code), at)


def _rows(given: Table) -> tuple[TaskRow, ...]:
    return tuple(
        TaskRow(None, words, task_status(text(one, "status")) or "open")
        for one in tables(given, "todos")[:MOST_ROWS]
        if (words := cut(text(one, "description"), TASK_LIMIT)) is not None
    )


def _answers(result: str) -> tuple[str, ...]:
    answers = table(parse_line(result.encode()) or {}, "answers")
    return tuple(
        clipped(word, QUESTION_LIMIT) for key in list(answers)[:MOST_QUESTIONS] if (word := text(answers, key))
    )
