"""Hook input as agents send it becomes one event; what is odd in it reads as absent."""

from __future__ import annotations

from phoenixd.documents.hooks import hook_event


def test_why_a_session_began_or_ended_is_its_source() -> None:
    assert hook_event("a", 1, "session-start", {"source": "resume"}).source == "resume"
    assert hook_event("a", 1, "session-end", {"reason": "prompt_input_exit"}).source == "prompt_input_exit"
    assert hook_event("a", 1, "session-end", {"reason": ["x"]}).source is None


def test_a_note_about_background_work_is_nobodys_prompt() -> None:
    note = {"prompt": "<task-notification>done</task-notification>", "source": "x"}
    assert hook_event("a", 1, "prompt-submit", note).source == "machine"


def test_x8b_the_directory_that_an_agent_is_in_is_told() -> None:
    assert hook_event("a", 1, "tool-start", {"cwd": "/srv/side"}).cwd == "/srv/side"
    assert hook_event("a", 1, "tool-start", {"cwd": 7}).cwd is None
