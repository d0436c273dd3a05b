"""What fails beside the model's own errors: an answer that was cut, a clinic that gives no answer."""

from __future__ import annotations

from typing import Any

from pydantic_ai.exceptions import UnexpectedModelBehavior


class AnswerCut(UnexpectedModelBehavior):
    """A run ended well, and its text is not whole. result: what the run returned; finish: the reason that it ended.

    pydantic-ai returns such a text as a success.
    """

    def __init__(self, finish: str, result: Any) -> None:
        super().__init__(
            f"the answer is not whole: the model ended it with the finish reason {finish!r}. Raise max_tokens, ask for "
            'less, or take it as it is with on_truncated="return"'
        )
        self.finish = finish
        self.result = result


class ClinicFailed(Exception):
    """The clinic's model gave no answer that can be used; the rules go on alone."""


class ClinicLate(ClinicFailed):
    """It gave none in time."""
