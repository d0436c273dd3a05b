"""What an incident's file holds: the last hundred lines, bounded, without control characters and secrets."""

from __future__ import annotations

from phoenixd.documents.incident import LINE_LIMIT, LINES, screen_lines
from phoenixd.documents.redact import redact

KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq\n" * 5 + "-----END PRIVATE KEY-----"


def test_g43_the_last_hundred_lines_are_kept() -> None:
    screen = "\n".join(f"line {number}" for number in range(1000)) + "\n" * 30
    assert screen_lines(screen, redact) == [f"line {number}" for number in range(900, 1000)]


def test_lines_are_bounded_plain_and_without_secrets_that_span_them() -> None:
    screen = f"{'x' * 100_000}\n\x1b]2;title\x07\x1b[31mred\u202e\n{KEY}\nexport TOKEN=hunter2hunter2"
    lines = screen_lines(screen, redact)
    assert len(lines) <= LINES
    assert all(len(line) <= LINE_LIMIT for line in lines)
    told = "\n".join(lines)
    assert "red" in told
    assert not any(odd in told for odd in ("\x1b", "\u202e", "MIIEv", "hunter2"))
