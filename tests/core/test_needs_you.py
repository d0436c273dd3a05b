"""When a person is needed: 0 false and 0 missed over hook streams and screens of all three CLIs.

A row reads from left to right: what the CLI says, what its screen shows, how time passes, and from when on a person is
needed for what. It is checked after every step, so that nothing is told too early, too late, or for a moment.
"""

from __future__ import annotations

import pytest

from phoenixd.core.agent.state import Running
from tests.core.asking import (
    CALM,
    SCREENS,
    VERSIONS,
    Case,
    Needs,
    Step,
    after,
    asks,
    dies,
    done,
    draws,
    ends,
    fails,
    hook,
    notice,
    sub,
    tool,
    writes,
)
from tests.core.story import Story, claude

PERMISSION, QUESTION, DIALOG, LOGIN = Needs("permission"), Needs("question"), Needs("dialog"), Needs("login")
PLAN = Needs("plan")
IDLE_NOTICE = notice("idle_prompt", "Claude is waiting for your input")
LOOK = after(400)
"""Longer than between two looks at the screen of an agent that was asked something."""
SILENCE = after(1000)
"""Longer than an open turn may be silent."""


def case(name: str, *steps: Step | Needs, **more: object) -> Case:
    return Case(name, steps, **more)  # type: ignore[arg-type]


# A row is read across; the formatter would give each argument a line of its own.
# fmt: off
STREAMS = [
    # Claude Code at work: nothing of it is for a person.
    case("a turn with tools", tool("Bash"), done("Bash"), ends()),
    case("a tool that fails", tool("Bash"), done("Bash", event="PostToolUseFailure", error="Exit code 1"), ends()),
    case("tools side by side", tool("Read", "a"), tool("Grep", "b"), done("Grep", "b"), done("Read", "a"), ends()),
    case("the notice that it idles, a minute after a turn", ends(), draws("idle--after-turn"), after(60), IDLE_NOTICE),
    case("the notice that it idles, after a night", ends(), draws("idle--after-turn"), after(30_000), IDLE_NOTICE),
    case("the notice that it idles, though no end of the turn was told", tool("Bash"), IDLE_NOTICE),
    case("the notice of a login that worked", notice("auth_success", "Logged in"), ends()),
    case("a notice of a kind that nobody knows", notice("brand_new", "Claude needs you"), ends()),
    case("a notice without a kind", hook("Notification", message="Claude needs your permission to use Bash"), ends()),
    case("an answer that asks something in its text", ends(), draws("idle--forged-dialog"), after(60), IDLE_NOTICE),
    case("a long call that was declared", tool("Bash"), after(500), done("Bash"), ends()),
    # Subagents.
    case("subagents that work", tool("Agent", "task"), sub("SubagentStart"), sub("PreToolUse", tool_name="Read"),
         sub("PostToolUse", tool_name="Read"), sub("SubagentStop"), done("Agent", "task"), ends()),
    case("a subagent in the background, heard after the turn", tool("Agent", "task"), done("Agent", "task"),
         ends(background_tasks=[{"id": "x", "type": "subagent"}]), sub("PreToolUse", tool_name="Read"),
         sub("SubagentStop"), hook("UserPromptSubmit", prompt="<task-notification>done</task-notification>"), ends()),
    case("a subagent asks, and is allowed", tool("Agent", "task"),
         asks("Bash", agent_id="a1b2"), PERMISSION, draws("permission--bash"), LOOK,
         sub("PostToolUse", tool_name="Bash"), CALM, done("Agent", "task"), ends()),
    case("a subagent asks while the main thread's call ends", tool("WebFetch", "m"),
         asks("Bash", agent_id="a1b2"), PERMISSION, draws("permission--bash"), done("WebFetch", "m"), writes(), LOOK,
         draws("working--tool"), LOOK, CALM, ends()),
    case("a subagent asks while another one works", asks("Bash", agent_id="a1b2"), PERMISSION,
         draws("permission--bash"), hook("PreToolUse", agent_id="c3d4", tool_name="Read"),
         hook("PostToolUse", agent_id="c3d4", tool_name="Read"), LOOK,
         sub("PostToolUse", tool_name="Bash"), CALM),
    # Permission.
    case("asked and allowed", asks(), PERMISSION, draws("permission--bash"), LOOK, done("Bash"), CALM, ends()),
    case("asked and allowed, seen by the screen before the call ends", asks(), PERMISSION, draws("permission--bash"),
         LOOK, draws("working--tool"), LOOK, CALM, done("Bash"), ends()),
    case("asked, and its notification six seconds later", asks(), PERMISSION, after(6), notice("permission_prompt"),
         draws("permission--bash"), LOOK, done("Bash"), CALM),
    case("the notification alone", notice("permission_prompt"), PERMISSION, draws("permission--bash"), LOOK,
         done("Bash"), CALM),
    case("asked for a night", asks(), PERMISSION, draws("permission--bash"), after(30_000), done("Bash"), CALM),
    case("asked, and a person says no: no hook tells", asks(), PERMISSION, draws("permission--bash"), LOOK,
         draws("idle--interrupted"), LOOK, CALM),
    case("asked, and Esc at once, before anybody looked", asks(), PERMISSION, draws("idle--interrupted"), LOOK, CALM),
    case("asked, and a person says no with a reason", asks(), PERMISSION, draws("permission--bash"), LOOK,
         hook("UserPromptSubmit", prompt="Use staging."), CALM, ends()),
    case("asked to fetch, on a small screen", asks("WebFetch", "https://example.org"), PERMISSION,
         draws("permission--fetch"), LOOK, done("WebFetch"), CALM),
    case("asked to write", asks("Write"), PERMISSION, draws("permission--write"), LOOK, done("Write"), CALM),
    case("asked to begin after planning", asks("ExitPlanMode"), PLAN, draws("permission--plan"), LOOK,
         done("ExitPlanMode"), CALM),
    case("asked a question with choices", asks("AskUserQuestion"), QUESTION, draws("question--colour"), LOOK,
         done("AskUserQuestion"), CALM, ends()),
    case("asked by an MCP server", notice("elicitation_dialog", "Which account?"), QUESTION,
         draws("question--colour"), LOOK, done("mcp__bank__pay"), CALM),
    case("asked by its auto mode, of which a notification alone tells", tool("Bash"), after(6),
         notice("agent_needs_input", "Auto mode can't check actions in this session and needs your choice"), DIALOG,
         draws("dialog--auto-mode-cannot-check", "2.1.330"), LOOK, draws("idle--interrupted"), LOOK, CALM),
    case("told of a session beside it, which is not on its screen",
         notice("agent_needs_input", "shop needs your input"), DIALOG, draws("working--tool"), LOOK, CALM),
    case("one question after the other", asks(command="make a"), PERMISSION, draws("permission--bash"), done("Bash"),
         CALM, asks(command="make b"), PERMISSION, LOOK, done("Bash"), CALM),
    case("asked for one of two calls, and the other one ends", tool("Read", "a"), asks(), PERMISSION,
         draws("permission--bash"), done("Read", "a"), writes(), LOOK, done("Bash"), CALM),
    case("asked, and the model's time runs out meanwhile", asks(), PERMISSION, fails("server_error"), CALM),
    case("asked, and the agent dies", asks(), PERMISSION, draws("permission--bash"), dies(), CALM, ends()),
    case("asked, and its session is cleared", asks(), PERMISSION, hook("SessionEnd", reason="clear"),
         hook("SessionStart", source="clear"), CALM),
    case("asked, and only its status line is drawn anew", asks(), PERMISSION, draws("permission--bash-80x24"), LOOK,
         writes(), done("Bash"), CALM),
    case("asked, while its screen cannot be read", asks(), PERMISSION, draws("unknown--offline"), LOOK, done("Bash"),
         CALM),
    case("two calls of one message ask at once: the newer one is shown, the older one comes up again",
         tool("WebFetch", "a"), asks("WebFetch", "a"), PERMISSION, tool("WebFetch", "b"), asks("WebFetch", "b"),
         draws("permission--fetch"), LOOK, done("WebFetch", "b", event="PostToolUseFailure"), LOOK,
         done("WebFetch", "a", event="PostToolUseFailure"), CALM, ends()),
    case("two subagents ask at once", asks(command="touch a", agent_id="a1b2"), PERMISSION,
         asks(command="touch b", agent_id="c3d4"), draws("permission--bash"), LOOK,
         hook("PostToolUse", agent_id="c3d4", tool_name="Bash"), hook("SubagentStop", agent_id="c3d4"),
         done("Agent", "two"), LOOK, hook("PostToolUse", agent_id="a1b2", tool_name="Bash"), CALM, ends()),
    case("two different calls ask at once", asks("WebFetch", "x"), PERMISSION, asks(), draws("permission--bash"), LOOK,
         done("Bash"), draws("permission--fetch"), LOOK, done("WebFetch"), CALM, ends()),
    case("two calls ask at once, and both are refused", asks("WebFetch", "a"), PERMISSION, asks("WebFetch", "b"),
         draws("permission--fetch"), LOOK, draws("idle--interrupted"), LOOK, CALM),
    case("asked, refused by a rule that no hook tells, and it goes on", asks(), PERMISSION, draws("working--tool"),
         after(1.5), tool("Read", "r"), after(3), CALM, done("Read", "r"), ends()),
    case("asked, and no hook told of it", tool("Bash"), draws("permission--bash"), after(120), DIALOG, done("Bash"),
         CALM),
    # Denied by itself.
    case("denied by the permission mode: the call never ends, no hook tells", tool("Bash"), ends()),
    case("denied by the classifier", tool("Bash"), hook("PermissionDenied", tool_name="Bash", reason="risky"), ends()),
    case("asked, and denied by a rule at once", asks(), PERMISSION,
         hook("PermissionDenied", tool_name="Bash", tool_input={"command": "make deploy"}), CALM, ends()),
    case("a neighbour is denied by itself", asks(), PERMISSION, draws("permission--bash"),
         hook("PermissionDenied", tool_name="WebFetch"), LOOK, done("Bash"), CALM),
    # Esc, which no hook tells of.
    case("broken off while it thinks", draws("idle--interrupted"), after(120)),
    case("broken off in a tool", tool("Bash"), draws("idle--interrupted"), after(120)),
    case("broken off before the first word: the prompt stands in the input line", draws("idle--typed"), after(120)),
    case("broken off, and the notice that it idles", tool("Bash"), draws("idle--interrupted"), after(60), IDLE_NOTICE),
    # Compaction, /clear, /exit.
    case("compacted by itself", hook("PreCompact", trigger="auto"), draws("working--compact"), after(600),
         hook("SessionStart", source="compact"), hook("SubagentStop", agent_id="s", agent_type=""),
         hook("PostCompact", trigger="auto"), draws("working--model"), ends()),
    case("compacted by a person", ends(), hook("PreCompact", trigger="manual"),
         hook("SessionStart", source="compact"), hook("PostCompact", trigger="manual"), draws("idle--compacted")),
    case("cleared while idle", ends(), hook("SessionEnd", reason="clear"), hook("SessionStart", source="clear"),
         draws("idle--start"), after(3600)),
    case("cleared in the middle of a turn", hook("SessionEnd", reason="clear"), hook("SessionStart", source="clear"),
         draws("idle--start"), after(3600)),
    # Errors of the API.
    case("a rate limit", fails("rate_limit", "resets 3pm (UTC)"), draws("idle--api-error")),
    case("an overload", fails("server_error"), draws("idle--api-error")),
    case("an overload that it tries to sit out", draws("working--api-retry"), after(300), ends()),
    case("a prompt that is refused", fails("invalid_request", "a tool has no name"), Needs("failed turn"),
         draws("idle--api-error"), after(3600), hook("UserPromptSubmit", prompt="Shorter."), CALM, ends()),
    case("a prompt that is too long", done("Bash"), fails("invalid_request", "prompt is too long"), CALM),
    case("a first prompt that is too long", fails("invalid_request", "prompt is too long"), Needs("too long"),
         after(3600), hook("UserPromptSubmit", prompt="Shorter."), CALM, ends()),
    case("an answer that is cut off again and again", fails("max_output_tokens"), Needs("failed turn"), after(60),
         hook("UserPromptSubmit", prompt="Shorter."), CALM, ends()),
    case("a failure by a word that is new to us", fails("quota_of_the_moon"), Needs("failed turn"), after(60),
         hook("UserPromptSubmit", prompt="Again."), CALM, ends()),
    case("a login that is refused", fails("authentication_failed", "Invalid API key"), LOGIN,
         draws("idle--invalid-key"), after(3600), hook("UserPromptSubmit", prompt="Again."), CALM, ends()),
    case("an organisation that may not", fails("oauth_org_not_allowed"), LOGIN, after(60),
         hook("UserPromptSubmit", prompt="Again."), CALM, ends()),
    case("a bill that is not paid", fails("billing_error", "Credit balance is too low"), Needs("billing"), after(3600),
         hook("UserPromptSubmit", prompt="Again."), CALM, ends()),
    # Codex.
    case("Codex: a turn with a tool", tool("Bash"), done("Bash"), ends(), draws("idle--after-turn"), after(3600),
         harness="codex"),
    case("Codex: asked and allowed", asks(), PERMISSION, draws("permission--command"), LOOK, done("Bash"), CALM, ends(),
         harness="codex"),
    case("Codex: asked, the second choice is marked", asks(), PERMISSION, draws("permission--second-choice"), LOOK,
         draws("working--tool"), LOOK, CALM, harness="codex"),
    case("Codex: asked and refused", asks(), PERMISSION, draws("permission--command"), LOOK, draws("idle--refused"),
         LOOK, CALM, harness="codex"),
    case("Codex: asked, and broken off", asks(), PERMISSION, draws("permission--command"), LOOK,
         hook("Interrupt"), CALM, harness="codex"),
    case("Codex: compacted by itself", hook("PreCompact", trigger="auto"), hook("PostCompact", trigger="auto"),
         hook("SessionStart", source="compact"), ends(), harness="codex"),
    case("Codex: an error of the API, of which no hook tells", draws("idle--error-503"), after(120), harness="codex"),
    # Gemini.
    case("Gemini: a turn with a tool", hook("BeforeTool", tool_name="run_shell_command"),
         hook("AfterTool", tool_name="run_shell_command"), hook("AfterAgent", prompt_response="Done."),
         draws("idle--after-turn"), after(3600), harness="gemini"),
    case("Gemini: asked and allowed", hook("BeforeTool", tool_name="run_shell_command"),
         notice("ToolPermission", "Tool Shell requires execution"), PERMISSION, draws("permission--command"), LOOK,
         hook("AfterTool", tool_name="run_shell_command"), CALM, hook("AfterAgent"), harness="gemini"),
    case("Gemini: a daily limit, which opens a dialog", draws("limit--daily"), after(120), DIALOG,
         hook("AfterAgent"), CALM, harness="gemini"),
    case("Gemini: asked and refused", notice("ToolPermission", "Tool Shell requires execution"), PERMISSION,
         draws("permission--command"), LOOK, draws("idle--refused"), LOOK, CALM, harness="gemini"),
    case("Gemini: asked, the second choice is marked", notice("ToolPermission", "Tool Shell requires execution"),
         PERMISSION, draws("permission--second-choice"), LOOK, draws("working--tool"), LOOK, CALM, harness="gemini"),
]
# fmt: on

FOR_A_PERSON = (
    "permission",
    "question",
    "trust",
    "api-key",
    "resume-picker",
    "bypass-warning",
    "settings",
    "login",
    "model",
    "dialog",
    "hooks",
    "in-use",
    "limit",
    "renderer",
    "auto-mode",
    "away",
)
"""How the names of captures begin that show a question."""

CAPTURES = sorted((harness, path.stem) for harness in VERSIONS for path in (SCREENS / VERSIONS[harness]).glob("*.txt"))


def by_its_screen(harness: str, capture: str) -> Case:
    """Silent in the middle of a turn, with nothing but its screen to say why."""
    asked = (DIALOG,) if capture.partition("--")[0] in FOR_A_PERSON else ()
    return case(f"{harness}: {capture}", draws(capture), SILENCE, *asked, harness=harness)


def in_a_question(harness: str, capture: str) -> Case:
    """What the screen says of a permission that a hook told: it stands until the screen shows that it is over."""
    over = (CALM,) if capture.partition("--")[0] in ("idle", "working") else ()
    shows = draws("permission--bash" if harness == "claude" else "permission--command")
    asked = notice("ToolPermission") if harness == "gemini" else asks()
    return case(
        f"{harness}: asked, then {capture}", asked, PERMISSION, shows, LOOK, draws(capture), LOOK, *over,
        harness=harness,
    )  # fmt: skip


CORPUS = [
    *STREAMS,
    *(by_its_screen(*capture) for capture in CAPTURES),
    *(in_a_question(*capture) for capture in CAPTURES),
]


def test_the_corpus_is_no_smaller_than_it_was() -> None:
    assert len(STREAMS) >= 60
    assert len(CAPTURES) >= 80
    assert len({one.name for one in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("one", CORPUS, ids=lambda one: one.name)
def test_f_proc_16_no_false_and_no_missed_needs_you(one: Case) -> None:
    wrong, day = one.play()

    assert wrong == [], "\n".join(day.reasons)


@pytest.mark.parametrize(
    ("tool", "sub", "waits"),
    [("Bash", False, False), (None, False, False), ("Read", False, True), ("Bash", True, True), ("Read", True, True)],
)
def test_a_permission_is_over_by_the_end_of_its_own_call_and_not_by_a_neighbours(
    tool: str | None, sub: bool, waits: bool
) -> None:
    """Calls run side by side: one that ends says nothing of the one that is asked about, nor does a subagent's."""
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash", text="rm -rf build")

    story.hook("tool-end", tool=tool, sub=sub)

    state = story.state
    assert isinstance(state, Running)
    assert (state.activity.waiting is not None) is waits
