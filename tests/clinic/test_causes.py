"""Why a run failed: the type and the fields of an exception decide, and no word of its message (C4, C13)."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import ssl
from typing import Any, ClassVar, get_args

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_ai import exceptions
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    IncompleteToolCall,
    ModelAPIError,
    ModelHTTPError,
    ModelRetry,
    RunCancelled,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)

from phoenixd.clinic import AnswerCut, answers, is_retryable, rules
from phoenixd.clinic.findings import Calls, Finding
from phoenixd.clinic.rules import diagnose
from phoenixd.core.treatment.words import RootCause
from tests.clinic.agents import http

TOO_LONG = "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."
LIES = "context length exceeded, rate limit, unknown tool, invalid arguments, overloaded, 429, try again"


def named(name: str, *arguments: Any, **more: Any) -> BaseException:
    """An exception of pydantic-ai that older releases lack; an HTTP error of the same meaning there."""
    kind = getattr(exceptions, name, None)
    if kind is None:
        pytest.skip(f"not run: this pydantic-ai has no {name}")
    made = kind(*arguments, **more)
    assert isinstance(made, BaseException)
    return made


def findings(value: object) -> list[Finding]:
    """All that stand in a table, however deep."""
    if isinstance(value, Finding):
        return [value]
    if isinstance(value, dict):
        return [one for part in value.values() for one in findings(part)]
    return [one for part in value for one in findings(part)] if isinstance(value, list | tuple) else []


def test_c1_c13_rules_name_five_causes_and_only_a_model_that_the_instruction_is_ambiguous() -> None:
    """No type and no field of an exception tells it."""
    known = [one for room in (rules, answers) for value in vars(room).values() for one in findings(value)]

    assert len(known) > 30
    assert {one.cause for one in known} == {*get_args(RootCause), None} - {"ambiguous_instruction"}


class TestByType:
    @pytest.mark.parametrize(
        ("status", "cause", "detail"),
        [
            (400, None, "request_rejected"),
            (405, "logic_error", "request_rejected"),
            (422, None, "request_rejected"),
            (501, "logic_error", "request_rejected"),
            (526, None, "request_rejected"),
            (401, "logic_error", "login"),
            (402, "logic_error", "billing"),
            (403, "logic_error", "login"),
            (404, "logic_error", "model"),
            (408, "transient_error", "overload"),
            (413, "context_length_exceeded", "window"),
            (429, "transient_error", "limit"),
            (500, "transient_error", "overload"),
            (502, "transient_error", "overload"),
            (503, "transient_error", "overload"),
            (529, "transient_error", "overload"),
        ],
    )
    def test_c39_f_cl_9_a_status_alone_is_enough(self, status: int, cause: str, detail: str) -> None:
        found = diagnose(http(status))

        assert (found.cause, found.detail) == (cause, detail)
        assert is_retryable(http(status)) == (cause == "transient_error")

    @pytest.mark.parametrize(
        ("name", "cause", "detail"),
        [
            ("ModelContextWindowExceededError", "context_length_exceeded", "window"),
            ("ModelAuthenticationError", "logic_error", "login"),
            ("ModelQuotaExceededError", "logic_error", "billing"),
            ("ModelNotFoundError", "logic_error", "model"),
            ("ModelRequestRejectedError", None, "request_rejected"),
            ("ModelRateLimitError", "transient_error", "limit"),
            ("ModelUnavailableError", "transient_error", "overload"),
            ("ModelOverloadedError", "transient_error", "overload"),
            ("ModelServerError", "transient_error", "overload"),
            ("ModelConnectionError", "transient_error", "overload"),
            ("ModelTimeoutError", "transient_error", "overload"),
        ],
    )
    def test_each_category_of_pydantic_ai_has_its_cause(self, name: str, cause: str, detail: str) -> None:
        found = diagnose(named(name, "a model", LIES))

        assert (found.cause, found.detail) == (cause, detail)

    @pytest.mark.parametrize(
        ("name", "status", "detail"),
        [
            ("ModelContextWindowExceededError", 400, "window"),
            ("ModelQuotaExceededError", 429, "billing"),
            ("ModelQuotaExceededError", 400, "billing"),
            ("ModelUnavailableError", 403, "overload"),
        ],
    )
    def test_a_category_counts_more_than_the_status_that_came_with_it(
        self, name: str, status: int, detail: str
    ) -> None:
        kind: Any = getattr(exceptions, name)

        assert diagnose(ModelHTTPError.for_category(kind, status_code=status, model_name="m")).detail == detail

    def test_a_request_that_took_too_long_and_one_that_nobody_holds_any_more_may_come_back(self) -> None:
        assert is_retryable(named("ModelRequestTimeout", "a model", 3.0))
        assert is_retryable(named("SuspendedResponseExpired", "gone"))
        assert is_retryable(named("ConcurrencyLimitExceeded", "full"))
        assert is_retryable(ModelAPIError("a model", "no more is known"))

    def test_cut_answers(self) -> None:
        assert diagnose(IncompleteToolCall("cut")).cause == "invalid_tool_arguments"
        assert diagnose(AnswerCut("length", None)).detail == "output_limit"
        assert diagnose(AnswerCut("length", None)).cause is None, "none of the six names it"
        assert diagnose(AnswerCut("content_filter", None)).detail == "content_filter"
        assert diagnose(AnswerCut("error", None)).cause == "transient_error"
        assert diagnose(named("OutputTokenLimitExceeded", "cut")).detail == "output_limit"
        older = UnexpectedModelBehavior("before there was a type for it")
        assert diagnose(older, Calls(finish="length")).detail == "output_limit"

    def test_what_the_six_do_not_name_is_a_logic_error_with_a_detail(self) -> None:
        for error, detail in (
            (ContentFilterError("no"), "content_filter"),
            (UsageLimitExceeded("no"), "usage_limit"),
            (UserError("no"), "configuration"),
            (ZeroDivisionError("no"), "bug"),
            (KeyError("no"), "bug"),
        ):
            found = diagnose(error)
            assert (found.cause, found.detail) == ("logic_error", detail)
            assert not is_retryable(error)

    def test_an_exception_that_no_rule_knows_is_unknown_and_no_logic_error(self) -> None:
        class Strange(Exception):
            pass

        for error in (Strange(LIES), RuntimeError(LIES), ValueError(LIES), UnexpectedModelBehavior(LIES)):
            found = diagnose(error)
            assert (found.cause, found.detail) == (None, "unknown")
            assert found.confidence < 0.5
            assert not is_retryable(error)


class TestByTheAnswerOfTheProvider:
    """What pydantic-ai has no type for, as behind a gateway: the body's code, and its words where it has none."""

    @pytest.mark.parametrize(
        ("status", "body", "detail"),
        [
            (400, {"code": "context_length_exceeded", "message": "no"}, "window"),
            (400, {"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}, "window"),
            (400, {"message": "Input is too long for requested model."}, "window"),
            (400, {"error": {"status": "INVALID_ARGUMENT", "message": TOO_LONG}}, "window"),
            (400, {"code": "string_above_max_length", "param": "input[3].content"}, "window"),
            (400, {"code": "string_above_max_length", "param": "input[3].call_id"}, "request_rejected"),
            (400, {"code": "invalid_prompt", "message": TOO_LONG}, "request_rejected"),
            (429, {"code": "insufficient_quota", "message": "no"}, "billing"),
            (429, {"error": {"code": "rate_limit_exceeded", "message": "credit balance is too low"}}, "limit"),
            (403, {"error": {"status": "PERMISSION_DENIED", "details": [{"reason": "BILLING_DISABLED"}]}}, "billing"),
            (
                402,
                {"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}},
                "billing",
            ),
            (500, {"message": TOO_LONG}, "window"),
            (500, {"code": "insufficient_quota", "message": TOO_LONG}, "unknown"),
            (503, {"message": "No available channel for model claude-opus-5-5"}, "unknown"),
            (429, {"message": "Check your plan and billing details."}, "unknown"),
            (403, {"message": "Quota exceeded for this project."}, "unknown"),
            (413, {"message": "Request too large on tokens per minute (TPM): Limit 6000"}, "unknown"),
        ],
    )
    def test_a_refusal(self, status: int, body: object, detail: str) -> None:
        found = diagnose(ModelHTTPError(status, "m", body))

        assert found.detail == detail

    @pytest.mark.parametrize(("seconds", "detail"), [("30", "limit"), (None, "billing")])
    def test_a_quota_with_a_time_to_wait_is_a_limit(self, seconds: str | None, detail: str) -> None:
        kind: Any = exceptions.ModelQuotaExceededError
        headers = {"retry-after": seconds} if seconds is not None else None
        error = ModelHTTPError.for_category(kind, status_code=429, model_name="m", headers=headers)

        assert diagnose(error).detail == detail
        assert is_retryable(error) == (detail == "limit")


class TestPlantedSubstringRule:
    """A rule that reads words would follow whatever stands in a message."""

    @pytest.mark.parametrize(
        ("error", "detail"),
        [
            (http(401), "login"),
            (ContentFilterError(LIES), "content_filter"),
            (UserError(LIES), "configuration"),
            (ArithmeticError(LIES), "bug"),
            (ConnectionError("authentication failed, billing, model not found"), "overload"),
        ],
    )
    def test_words_change_nothing(self, error: Exception, detail: str) -> None:
        if isinstance(error, ModelHTTPError):
            error = ModelHTTPError(error.status_code, LIES, LIES)

        assert diagnose(error).detail == detail


class TestUnexpectedBehavior:
    def raised_from(self, cause: BaseException) -> UnexpectedModelBehavior:
        error = UnexpectedModelBehavior(LIES)
        error.__cause__ = cause
        return error

    def invalid(self) -> ValidationError:
        class Model(BaseModel):
            n: int

        with pytest.raises(ValidationError) as refused:
            Model.model_validate({"n": "x"})
        return refused.value

    def test_a_tool_that_does_not_exist(self) -> None:
        found = diagnose(self.raised_from(ModelRetry(LIES)), Calls(invented=("web_search",)))

        assert found.cause == "hallucinated_tool"

    def test_arguments_that_do_not_fit_and_a_tool_that_refuses_them(self) -> None:
        seen = Calls(known=("weather",))

        assert diagnose(self.raised_from(self.invalid()), seen).cause == "invalid_tool_arguments"
        assert diagnose(self.raised_from(ModelRetry(LIES)), seen).cause == "invalid_tool_arguments"

    def test_an_answer_that_does_not_fit_the_output_type(self) -> None:
        assert diagnose(self.raised_from(self.invalid())).detail == "output"

    def test_f_cl_2_a_usage_limit_is_an_invented_tool_only_where_all_newest_calls_were_invented(self) -> None:
        reached = UsageLimitExceeded("request_limit")

        assert diagnose(reached, Calls(invented=("a",))).cause == "hallucinated_tool"
        assert diagnose(reached, Calls(invented=("a",), known=("weather",))).detail == "usage_limit"
        assert diagnose(reached).detail == "usage_limit"


class TestGroupsAndCancellation:
    def test_a_fallback_that_failed_may_come_back_if_one_of_its_models_may(self) -> None:
        assert is_retryable(FallbackExceptionGroup("all failed", [http(401), http(529)]))
        assert not is_retryable(FallbackExceptionGroup("all failed", [http(401), http(404)]))
        assert diagnose(FallbackExceptionGroup("all failed", [http(401), http(403)])).detail == "login"
        assert diagnose(FallbackExceptionGroup("all failed", [http(401), http(404)])).detail == "unknown"

    def test_what_was_cancelled_is_never_retryable(self) -> None:
        assert not is_retryable(asyncio.CancelledError())
        assert not is_retryable(KeyboardInterrupt())
        assert not is_retryable(RunCancelled("the program stopped it"))
        timed_out = getattr(exceptions, "RunTimedOut", None)
        assert timed_out is None or not is_retryable(timed_out("a TimeoutError, and the program's own"))


class TestASecondFact:
    """What looks the same by its type, and is of another cause."""

    def raised_from(self, error: Exception, cause: BaseException) -> Exception:
        error.__cause__ = cause
        return error

    def test_a_certificate_that_nobody_trusts_is_told_as_a_connection_that_failed(self) -> None:
        broken = self.raised_from(ConnectionError("no"), ssl.SSLCertVerificationError("self-signed"))
        error = self.raised_from(ModelAPIError("m", "Connection error."), broken)

        found = diagnose(error)

        assert (found.cause, found.detail) == ("logic_error", "configuration")
        assert not is_retryable(error)
        assert is_retryable(self.raised_from(ModelAPIError("m", "Connection error."), ConnectionResetError("no")))

    def test_a_refusal_in_the_middle_of_a_stream_keeps_its_body_in_what_it_was_raised_from(self) -> None:
        class OfTheVendor(Exception):
            body: ClassVar[dict[str, str]] = {"code": "context_length_exceeded"}

        assert diagnose(self.raised_from(ModelAPIError("m", "no"), OfTheVendor())).detail == "window"

    def test_no_arguments_are_wrong_where_no_answer_came_or_where_it_says_nothing(self) -> None:
        """pydantic-ai validates what a provider answers by the same type as a tool's arguments."""
        error = self.raised_from(UnexpectedModelBehavior("no"), _invalid())

        assert diagnose(error, Calls()).cause == "invalid_tool_arguments"
        assert diagnose(error, Calls(is_unanswered=True)).cause is None
        assert diagnose(error, Calls(is_empty=True)).cause is None

    def test_a_limit_that_was_used_up_between_invented_tools_proves_nothing(self) -> None:
        assert diagnose(UsageLimitExceeded("no"), Calls(known=("a",))).detail == "usage_limit"
        assert diagnose(UsageLimitExceeded("no"), Calls(known=("a",))).cause == "logic_error"
        assert diagnose(UsageLimitExceeded("no"), Calls(known=("a",), strays=2)).cause is None
        assert diagnose(UsageLimitExceeded("no"), Calls(invented=("b",), strays=2)).cause == "hallucinated_tool"

    def test_an_error_out_of_a_library_alone_is_no_bug_of_the_program(self) -> None:
        """An adapter that stumbles over a gateway's answer raises the types of a bug."""
        with pytest.raises(KeyError) as own:
            json.loads("{}")["choices"]
        with pytest.raises(TypeError) as foreign:
            dataclasses.fields(3)  # type: ignore[arg-type]
        assert foreign.value.__traceback__ is not None

        assert diagnose(own.value).detail == "bug"
        assert diagnose(own.value.with_traceback(None)).detail == "bug", "nobody knows where"
        assert diagnose(foreign.value.with_traceback(foreign.value.__traceback__.tb_next)).cause is None


def _invalid() -> ValidationError:
    class Model(BaseModel):
        n: int

    with pytest.raises(ValidationError) as failed:
        Model.model_validate({"n": "x"})
    return failed.value
