"""What Claude Code's tools answer, word for word as recorded; of the wake-up, as 2.1.197's own program has it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.eval_brief.blind.claude_lines import Lines
from tests.eval_brief.blind.patterns import Line, pattern, recorded

NO_OUTPUT = "(Bash completed with no output)"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to"
    " proceed."
)
_CURRENT = "(file state is current in your context — no need to Read it back)"
_NOT_FOUND = "String to replace not found in file.\nString: one"


def result_of(sample: str, tool: str, failed: bool = False) -> Line:
    """The recorded result of the first call of a tool that ended so."""
    calls = {
        part["id"]
        for line in recorded(sample)
        if line["type"] == "assistant"
        for part in line["message"]["content"]
        if part["type"] == "tool_use" and part["name"] == tool
    }

    def fits(line: Line) -> bool:
        part = line["message"]["content"][0]
        return part["tool_use_id"] in calls and bool(part.get("is_error")) is failed

    return pattern(sample, fits)


def bash(lines: Lines, call: str, code: int, output: str, operation: Line | None = None) -> None:
    output = output.rstrip("\n")
    if code:
        words = f"Exit code {code}" + (f"\n{output}" if output else "")
        lines.result(call, "Bash", result_of("claude-work", "Bash", failed=True), words, f"Error: {words}")
        return
    told: Line = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    told |= {"gitOperation": operation} if operation else {}
    lines.result(call, "Bash", result_of("claude-work", "Bash"), output or NO_OUTPUT, told)


def background(lines: Lines, call: str, task: str) -> None:
    like = result_of("claude-notices", "Bash")
    told = like["toolUseResult"] | {"backgroundTaskId": task}
    words = (
        f"Command running in background with ID: {task}. Output is being written to: {_output(lines, task)}. You will"
        " be notified when it completes. To check interim output, use Read on that file path."
    )
    lines.result(call, "Bash", like, words, told)


def notice(lines: Lines, call: str, task: str, code: int) -> str:
    """What tells the model that a job came to its end."""
    status = "failed" if code else "completed"
    how = f"failed with exit code {code}" if code else "completed (exit code 0)"
    return (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
        f"<output-file>{_output(lines, task)}</output-file>\n<status>{status}</status>\n"
        f'<summary>Background command "{lines.described(call)}" {how}</summary>\n</task-notification>'
    )


def wrote(lines: Lines, call: str, path: str, content: str) -> None:
    like = result_of("claude-work", "Write")
    told = like["toolUseResult"] | {"filePath": path, "content": content}
    lines.result(call, "Write", like, f"File created successfully at: {path} {_CURRENT}", told)


def edited(lines: Lines, call: str, path: str) -> None:
    like = result_of("claude-work", "Edit")
    told = like["toolUseResult"] | {"filePath": path, "oldString": "one", "newString": "two", "originalFile": "one\n"}
    told["structuredPatch"][0] |= {"oldLines": 1, "newLines": 1, "lines": ["-one", "+two"]}
    lines.result(call, "Edit", like, f"The file {path} has been updated successfully. {_CURRENT}", told)


def edit_failed(lines: Lines, call: str) -> None:
    like = result_of("claude-work", "Edit", failed=True)
    content = f"<tool_use_error>{_NOT_FOUND}</tool_use_error>"
    lines.result(call, "Edit", like, content, f"Error: {_NOT_FOUND}")


def read_file(lines: Lines, call: str, path: str, output: str) -> None:
    like = result_of("claude-work", "Read")
    rows = output.split("\n")
    file: dict[str, Any] = {"filePath": path, "content": output, "numLines": len(rows)}
    file |= {"startLine": 1, "totalLines": len(rows)}
    numbered = "\n".join(f"{number}\t{row}" for number, row in enumerate(rows, 1))
    lines.result(call, "Read", like, numbered, {"type": "text", "file": file})


def fetched(lines: Lines, call: str, url: str, output: str) -> None:
    like = result_of("claude-work", "WebFetch")
    told = like["toolUseResult"] | {"bytes": len(output.encode()), "result": output, "url": url}
    lines.result(call, "WebFetch", like, output, told)


def plan_file(lines: Lines, call: str, path: str, plan: str) -> None:
    """The approval of a plan, and the end of plan mode."""
    like = result_of("claude-plan", "ExitPlanMode")
    told = like["toolUseResult"] | {"plan": plan, "filePath": path}
    words = (
        "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n"
        f"Your plan has been saved to: {path}\nYou can refer back to it if needed during implementation.\n\n"
        f"## Approved Plan (edited by user):\n{plan}"
    )
    lines.result(call, "ExitPlanMode", like, words, told)
    lines.attach("claude-plan", "plan_mode_exit", planFilePath=path)


def cron_told(lines: Lines, call: str, moment: float) -> None:
    """Of a wake-up that was set only the refusal could be recorded; the rest is how the program words it."""
    like = result_of("claude-timers", "ScheduleWakeup")
    words = (
        f"Next wakeup scheduled for {datetime.fromtimestamp(moment, UTC):%H:%M:%S} (in 1200s). Nothing more to do this"
        " turn — the harness re-invokes you when the wakeup fires or a task-notification arrives."
    )
    told = like["toolUseResult"] | {"scheduledFor": int(moment * 1000), "clampedDelaySeconds": 1200}
    lines.result(call, "ScheduleWakeup", like, words, told)


def _output(lines: Lines, task: str) -> str:
    return f"/tmp/claude-1000/-home-user-shop/{lines.session_id}/tasks/{task}.output"
