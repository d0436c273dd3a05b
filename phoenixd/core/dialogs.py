"""What may have the keyboard on an agent's screen in place of its input line, in words for people."""

from __future__ import annotations

MENU = "dialog"
"""What a screen shows that may be a person's own doing."""
SCREEN_DIALOGS = {
    "permission": "permission",
    "trust": "trust dialog",
    "api-key": "API key dialog",
    "resume-picker": "resume picker",
    "bypass-warning": "warning dialog",
    "login": "login",
    "question": "question",
    "settings": "settings dialog",
    "hooks": "hook review dialog",
    "in-use": "session in use elsewhere",
    "limit": "usage limit",
    "model": "model that was not found",
    "renderer": "offer of another renderer",
    "auto-mode": "offer of its auto mode",
    "away": "its session has moved into the background, away from this terminal",
    "dialog": "dialog",
}
"""What a harness may read from a screen that has the keyboard in place of the input line, in words for people."""
UNREADABLE = "unread"
"""Stands for a dialog where a start gives no sign of life, and the screen shows nothing that can be judged."""
UNREAD = "no hook came, and its screen is none that phoenixd knows: attach and look"
"""What a person is asked about then."""
DIALOG_WORDS = {**SCREEN_DIALOGS, UNREADABLE: UNREAD}
