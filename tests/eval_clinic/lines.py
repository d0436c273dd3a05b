"""Each CLI's command line, headless and in a terminal, fresh and resumed; its hooks and its vendor's address."""

from __future__ import annotations

EVENTS = {
    "claude": (
        "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop StopFailure Notification "
        "PermissionRequest PermissionDenied SubagentStart SubagentStop PreCompact PostCompact SessionEnd"
    ),
    "codex": (
        "SessionStart UserPromptSubmit PreToolUse PostToolUse PermissionRequest Stop PreCompact PostCompact "
        "SubagentStart SubagentStop SessionEnd"
    ),
    "gemini": "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent Notification SessionEnd",
}
VENDORS = {
    "claude": "https://api.anthropic.com",
    "codex": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}


def headless(harness: str, prompt: str, session: str, resume: str) -> list[str]:
    if harness == "claude":
        which = ["--resume", resume] if resume else ["--session-id", session]
        return ["-p", "--output-format", "json", *which, prompt]
    if harness == "codex":
        begun = ["exec", "resume", resume] if resume else ["exec"]
        return [*begun, "--json", "--skip-git-repo-check", prompt]
    which = ["--resume", resume] if resume else ["--session-id", session]
    return ["--output-format", "json", *which, "-p", prompt]


def in_terminal(harness: str, prompt: str, session: str, resume: str) -> list[str]:
    given = [prompt] if prompt else []
    if harness == "claude":
        return [*(["--resume", resume] if resume else ["--session-id", session]), *given]
    if harness == "codex":
        return [*(["resume", resume] if resume else []), "--no-daemon", *given]
    which = ["--resume", resume] if resume else ["--session-id", session]
    return [*which, *(["-i", prompt] if prompt else [])]


def with_flags(harness: str, arguments: list[str], flags: list[str]) -> list[str]:
    """The flags where this CLI takes them: those of codex stand behind its command."""
    at = 0
    if harness == "codex":
        at = next((index for index, argument in enumerate(arguments) if argument.startswith("--")), 0)
    return [*arguments[:at], *flags, *arguments[at:]]
