"""What Claude Code's calls and their results tell of a session's work, as 2.1.197 writes them.

The traps that this module owns:
- the result of a call does not name its tool; what `toolUseResult` holds says which it was;
- a change of a task that does not exist is no error: only `success` tells;
- a listing of the tasks may be older than the changes that were asked for beside it: it takes none away;
- a job's end is told three times over: when it is queued, when it is read, and as a prompt of the CLI's own.
"""

from __future__ import annotations

import re

from phoenixd.documents.deeds import (
    COMMAND_LIMIT,
    MOST_QUESTIONS,
    MOST_ROWS,
    PLAN_LIMIT,
    QUESTION_LIMIT,
    SPOKEN_LIMIT,
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
    PlanAnswered,
    PlanProposed,
    PromptQueued,
    PromptTaken,
    QuestionAnswered,
    QuestionAsked,
    TaskAsked,
    TaskRow,
    TasksListed,
    TaskTold,
    TimerAsked,
    TimerGone,
    TimerSet,
    clipped,
    cut,
    cut_path,
    named,
    task_status,
)
from phoenixd.documents.json_line import Table, count, table, tables, text
from phoenixd.documents.times import known_wall
from phoenixd.harness.questions import questions

NOTICE = "<task-notification>"

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d{1,6})\b")
_NOTICE_FIELD = re.compile(r"<(task-id|tool-use-id|status|summary)>([^<]{1,1000})</")
_NOTICE_CODE = re.compile(r"\bexit code (-?\d{1,6})\b")
_JOB_ENDS: dict[str, JobEnd] = {"completed": "done", "failed": "failed", "killed": "stopped", "stopped": "stopped"}
_WRITERS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}


def asked(name: str, call: str, given: Table, at: float | None) -> tuple[Deed, ...]:
    """What a call is about to do."""
    match name:
        case "Bash" | "PowerShell":
            command = cut(text(given, "command"), COMMAND_LIMIT)
            return (CommandBegan(call, command, at),) if command else ()
        case "TaskCreate":
            subject = cut(text(given, "subject"), TASK_LIMIT)
            return (TaskAsked(call, None, subject, "open", at),) if subject else ()
        case "TaskUpdate":
            status, subject = task_status(text(given, "status")), cut(text(given, "subject"), TASK_LIMIT)
            task = named(text(given, "taskId"))
            return (TaskAsked(call, task, subject, status, at),) if task else ()
        case "TodoWrite":
            return (TasksListed(call, rows(given, "todos", "content"), True, at),)
        case "ExitPlanMode":
            return (PlanProposed(call, cut(text(given, "plan"), PLAN_LIMIT), _path(given, "planFilePath"), at),)
        case "AskUserQuestion":
            return (QuestionAsked(call, questions(given), at),)
        case "CronCreate":
            return (_timer(call, given, "cron", given.get("recurring") is not False, at),)
        case "ScheduleWakeup":
            return (_timer(call, given, "reason", False, at),)
        case "CronDelete":
            timer = named(text(given, "id"))
            return (TimerGone(call, timer, at),) if timer else ()
        case "Agent" | "Task" | "Monitor":
            what = text(given, "description") or text(given, "prompt") or text(given, "command") or name
            return (JobAsked(call, clipped(what, WHAT_LIMIT), at),)
        case _:
            pass
    path = _path(given, _WRITERS[name]) if name in _WRITERS else None
    return (FileWritten(call, path, None, at),) if path else ()


def came_back(part: Table, found: Table, call: str, at: float | None) -> tuple[Deed, ...]:
    """What the result of a call tells beyond that it came back. part: the result as the model reads it."""
    result = table(found, "toolUseResult")
    if not result:
        words = text(found, "toolUseResult") or text(part, "content") or ""
        code = _EXIT_CODE.match(words) if part.get("is_error") is True else None
        return (CommandEnded(call, int(code[1]), True, False, at),) if code is not None else ()
    if (job := named(text(result, "backgroundTaskId"))) is not None:
        return (JobBegan(call, job, at),)
    if text(result, "status") == "async_launched" and (job := named(text(result, "agentId"))) is not None:
        return (JobBegan(call, job, at),)
    if "stdout" in result:
        interrupted = result.get("interrupted") is True
        # What is read into a code that is not 0 stands there instead of the code: grep found nothing.
        code_is_known = not interrupted and text(result, "returnCodeInterpretation") is None
        return (CommandEnded(call, 0 if code_is_known else None, None if interrupted else False, interrupted, at),)
    return _of_tasks(result, call, at) or _of_people(result, call, at) or _of_timers(result, call, at)


def _of_tasks(result: Table, call: str, at: float | None) -> tuple[Deed, ...]:
    one = table(result, "task")
    if (task := named(text(one, "id"))) is not None and "subject" in one:
        return (TaskTold(call, task, cut(text(one, "subject"), TASK_LIMIT), task_status(text(one, "status")), at),)
    if (task := named(text(result, "taskId"))) is not None:
        if result.get("success") is True:
            return (TaskTold(call, task, None, task_status(text(table(result, "statusChange"), "to")), at),)
        # A watch tells its id so, and says nothing of success.
        return (JobBegan(call, task, at),) if "success" not in result else ()
    if isinstance(result.get("tasks"), list):
        return (TasksListed(None, rows(result, "tasks", "subject"), False, at),)
    if (job := named(text(result, "task_id"))) is not None and "task_type" in result:
        return (JobEnded(job, None, "stopped", None, at),)
    return ()


def _of_people(result: Table, call: str, at: float | None) -> tuple[Deed, ...]:
    if isinstance(result.get("answers"), dict):
        answers = table(result, "answers")
        told = [clipped(word, QUESTION_LIMIT) for key in list(answers)[:MOST_QUESTIONS] if (word := text(answers, key))]
        return (QuestionAnswered(call, tuple(told), at),)
    if "plan" in result and "filePath" in result:
        return (PlanAnswered(call, True, cut(text(result, "plan"), PLAN_LIMIT), _path(result, "filePath"), at),)
    return ()


def _of_timers(result: Table, call: str, at: float | None) -> tuple[Deed, ...]:
    if "humanSchedule" in result:
        durable = result.get("durable") is True
        return (TimerSet(call, named(text(result, "id")), None, durable, at),)
    # 0 says that it was refused.
    if due := count(result, "scheduledFor"):
        return (TimerSet(call, None, known_wall(due / 1000), False, at),)
    return ()


def attached(found: Table, at: float | None) -> tuple[Deed, ...]:
    """What the CLI adds to a turn by itself: the list as it stands, and the end of a job."""
    match text(found, "type"):
        case "task_reminder":
            return (TasksListed(None, rows(found, "content", "subject"), False, at),)
        case "todo_reminder":
            return (TasksListed(None, rows(found, "content", "content"), True, at),)
        case "queued_command":
            return notice(text(found, "prompt"), at)
        case _:
            return ()


def queue(found: Table, at: float | None) -> tuple[Deed, ...]:
    """What waits for the CLI to read it, and what waits no longer."""
    words = text(found, "content")
    match text(found, "operation"):
        case "enqueue" if words is not None:
            by_cli = words.lstrip().startswith(NOTICE)
            return (*notice(words, at), PromptQueued(clipped(words, SPOKEN_LIMIT), by_cli, at))
        case "remove" | "dequeue" | "popAll":
            return (PromptTaken(cut(words, SPOKEN_LIMIT), at),)
        case _:
            return ()


def notice(words: str | None, at: float | None) -> tuple[Deed, ...]:
    """What the CLI tells itself of a background job that is over."""
    if words is None or not words.lstrip().startswith(NOTICE):
        return ()
    fields = dict(_NOTICE_FIELD.findall(words[:8192]))
    job, call = fields.get("task-id"), fields.get("tool-use-id")
    code = _NOTICE_CODE.search(fields.get("summary", ""))
    how = _JOB_ENDS.get(fields.get("status", ""))
    if (job is None and call is None) or "status" not in fields:
        return ()
    return (JobEnded(named(job), named(call), how, int(code[1]) if code else None, at),)


def rows(parent: Table, key: str, words: str) -> tuple[TaskRow, ...]:
    """The tasks of a list; one without words is none."""
    return tuple(
        TaskRow(named(text(one, "id")), said, task_status(text(one, "status")) or "open")
        for one in tables(parent, key)[:MOST_ROWS]
        if (said := cut(text(one, words), TASK_LIMIT)) is not None
    )


def _timer(call: str, given: Table, when: str, is_schedule: bool, at: float | None) -> TimerAsked:
    words, prompt = text(given, when) or "", text(given, "prompt") or ""
    return TimerAsked(call, clipped(words, WHAT_LIMIT), clipped(prompt, WHAT_LIMIT), is_schedule, at)


def _path(parent: Table, key: str) -> str | None:
    return cut_path(text(parent, key))
