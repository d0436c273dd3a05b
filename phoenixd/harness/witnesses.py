"""What each CLI's transcripts prove of calls: which tools run no program, how a refused call reads, what a subagent is.

A tool that is not in a list may have run any program, so that nothing is said to be never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phoenixd.documents.json_line import parse_line


@dataclass(frozen=True, slots=True)
class CliWitness:
    """One CLI.

    quiet: tools that run no program, or whose runs are told elsewhere. delegating: tools whose work stands in a
    sidechain. typing: tools that type into a command that runs. refusal: how the result of a call begins that was not
    carried out.
    """

    shells: frozenset[str]
    quiet: frozenset[str]
    delegating: frozenset[str]
    refusal: re.Pattern[str]
    typing: frozenset[str] = frozenset()
    as_main: Callable[[bytes], bytes | None] = lambda line: None
    """A line of a sidechain as one of the main thread; None where it is none."""

    def is_refused(self, output: str) -> bool:
        """Whether a call came back without having been carried out."""
        return self.refusal.match(output) is not None


def _claude_main(line: bytes) -> bytes | None:
    if b'"isSidechain":true' not in line:
        return None
    found = parse_line(line)
    if found is None or found.get("isSidechain") is not True:
        return None
    return json.dumps({**found, "isSidechain": False}).encode()


_CLAUDE = CliWitness(
    frozenset({"Bash", "PowerShell"}),
    frozenset("""
        Read Write Edit MultiEdit NotebookEdit NotebookRead Glob Grep LS WebFetch WebSearch TodoWrite TodoRead
        TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop BashOutput KillShell KillBash ExitPlanMode
        EnterPlanMode AskUserQuestion CronCreate CronDelete CronList ScheduleWakeup ToolSearch Skill StructuredOutput
        ListMcpResourcesTool ReadMcpResourceTool
    """.split()),
    frozenset({"Agent", "Task"}),
    re.compile(
        r"\s*(?:<tool_use_error>)?\s*(?:The user doesn't want to (?:proceed|take this action)|Permission to use "
        r"|Permission for this action|This command requires approval|Claude requested permissions to "
        r"|(?:Hook )?PreToolUse:\S+ (?:hook )?(?:error|denied|blocking)|Tool use (?:was )?(?:rejected|denied)"
        r"|Permission denied by |User rejected|Blocked by )"
    ),
    as_main=_claude_main,
)  # fmt: skip
_CODEX = CliWitness(
    frozenset({"exec_command", "shell", "shell_command", "container.exec", "local_shell_call"}),
    frozenset({"apply_patch", "update_plan", "view_image", "request_user_input", "web_search", "exec"}),
    frozenset({"spawn_agent", "send_input", "wait", "resume_agent", "close_agent"}),
    re.compile(
        r"\s*(?:unsupported call|request_user_input is unavailable|exec(?:_command)?(?: command)? (?:was )?rejected"
        r"|rejected by user|command (?:was )?rejected|(?:exec_command failed[^\n]{0,80})?Rejected\()",
        re.IGNORECASE,
    ),
    typing=frozenset({"write_stdin"}),
)
_GEMINI = CliWitness(
    frozenset({"run_shell_command"}),
    frozenset("""
        read_file write_file replace glob search_file_content grep_search list_directory read_many_files
        google_web_search web_fetch write_todos save_memory ask_user enter_plan_mode exit_plan_mode
        list_background_processes get_internal_docs activate_skill
    """.split()),
    frozenset({"invoke_agent", "codebase_investigator", "delegate_to_agent", "cli_help"}),
    re.compile(
        r"\s*(?:\[Operation Cancelled\] Reason: User (?:denied|did not allow)"
        r"|(?:Error: )?Tool execution (?:for \S+ )?(?:was )?denied"
        r"|Error: Command rejected|Command rejected|[^\n]{0,120}denied by policy)",
        re.IGNORECASE,
    ),
)  # fmt: skip

WITNESSES: Mapping[str, CliWitness] = {"claude": _CLAUDE, "codex": _CODEX, "gemini": _GEMINI}
