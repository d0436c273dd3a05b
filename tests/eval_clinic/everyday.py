"""The failures of users' days at work: how each CLI was driven into those that were drawn for the blind half.

    python -m tests.eval_clinic.record OUT [PATTERN] tests.eval_clinic.everyday

A hundred and forty combinations of CLI, mode, words and moment that no other record had were weighed by how often users
meet them, and these were drawn, by kind of cause: before anything was recorded, and before what is right was written.
What could not be made, or would have repeated a record, gave place to its nearest neighbour.
"""

from __future__ import annotations

import signal
import ssl
import subprocess
from collections.abc import Iterator

from tests.eval_clinic import deaths, ends, everyday_control
from tests.eval_clinic import everyday_words as words
from tests.eval_clinic.ends import Drive, begin, session_of, settle, turn_failed
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import GOAL, Room
from tests.stub.scenario import Rejection, Step, ToolUse

AT_ONCE: tuple[tuple[str, str, str, str, Rejection], ...] = (
    ("claude", OLDER, "terminal", "overload as a 500", words.OVERLOADED_500),
    ("claude", OLDER, "terminal", "requests of a minute", words.REQUESTS_A_MINUTE),
    ("claude", NEWER, "headless", "Vertex exhausted", words.VERTEX_EXHAUSTED),
    ("claude", OLDER, "terminal", "Bedrock is unable", words.BEDROCK_UNABLE),
    ("claude", NEWER, "terminal", "520 of Cloudflare", words.UNKNOWN_520),
    ("claude", NEWER, "headless", "invalid bearer token", words.BEARER),
    ("claude", OLDER, "headless", "token of AWS expired", words.AWS_EXPIRED),
    ("claude", NEWER, "headless", "login not allowed", words.NO_OAUTH),
    ("claude", OLDER, "terminal", "two tools of one name", words.TWICE_THE_SAME_TOOL),
    ("claude", OLDER, "terminal", "beta header", words.BETA_HEADER),
    ("claude", NEWER, "terminal", "insufficient balance", words.INSUFFICIENT_BALANCE),
    ("claude", NEWER, "headless", "context of llama.cpp", words.LLAMA_CPP_FULL),
    ("claude", OLDER, "headless", "400 that says Error", words.SAYS_ERROR),
    ("claude", OLDER, "headless", "400 that says nothing", words.SAYS_NOTHING),
    ("codex", CODEX, "headless", "502 in JSON", words.UPSTREAM_FAILED),
    ("codex", CODEX, "headless", "504 in HTML", words.GATEWAY_504),
    ("codex", CODEX, "terminal", "slow down", words.SLOW_DOWN),
    ("codex", CODEX, "headless", "plan without Codex", words.PLAN_WITHOUT_CODEX),
    ("codex", CODEX, "terminal", "unsupported effort", words.EFFORT),
    ("codex", CODEX, "headless", "project without the model", words.PROJECT_WITHOUT_MODEL),
    ("codex", CODEX, "terminal", "missing bearer", words.NO_BEARER),
    ("codex", CODEX, "headless", "bare Bad Request", words.BAD_REQUEST),
    ("gemini", GEMINI, "headless", "cancelled by the vendor", words.CANCELLED_499),
    ("gemini", GEMINI, "headless", "internal error encountered", words.INTERNAL),
    ("gemini", GEMINI, "headless", "resource exhausted", words.VERTEX_EXHAUSTED),
    ("gemini", GEMINI, "terminal", "billing is off", words.BILLING_OFF),
    ("gemini", GEMINI, "terminal", "bare invalid argument", words.BARE_ARGUMENT),
)
"""Refused from the first request on."""
AFTER_A_TOOL: tuple[tuple[str, str, str, str, Rejection], ...] = (
    ("claude", NEWER, "terminal", "empty content", words.EMPTY_CONTENT),
    ("claude", NEWER, "headless", "a million tokens, after a tool", words.MILLION_FULL),
    ("claude", OLDER, "terminal", "token limit of Kimi, after a tool", words.KIMI_FULL),
    ("codex", CODEX, "terminal", "item not found", words.ITEM_NOT_FOUND),
    ("codex", CODEX, "terminal", "encrypted content", words.ENCRYPTED),
    ("codex", CODEX, "headless", "configured limit, after a tool", words.CONFIGURED_LIMIT),
    ("gemini", GEMINI, "terminal", "thought signature", words.NO_SIGNATURE),
    ("gemini", GEMINI, "terminal", "too long after a tool", words.GEMINI_FULL),
)
"""Refused when the result of a first call of a tool was sent."""


def recipes() -> Iterator[Recipe]:
    for harness, pin, kind, fault, rejection in AT_ONCE:
        yield Recipe(harness, pin, kind, fault, ends.refused(kind, rejection))
    for harness, pin, kind, fault, rejection in AFTER_A_TOOL:
        yield Recipe(harness, pin, kind, fault, _after_a_tool(kind, rejection))
    yield from _others()
    yield from everyday_control.recipes()


def _others() -> Iterator[Recipe]:
    yield Recipe("claude", OLDER, "headless", "killed by SIGHUP", deaths.killed("headless", signal.SIGHUP))
    yield Recipe("claude", OLDER, "terminal", "killed before an answer", _killed_early)
    yield Recipe("claude", NEWER, "terminal", "proxy is down", _proxy_down)
    yield Recipe("claude", OLDER, "terminal", "certificate not trusted", _untrusted)
    yield Recipe("claude", OLDER, "headless", "no permissions as root", _as_root)
    yield Recipe("claude", NEWER, "headless", "program gone from its package", _half_installed)
    yield Recipe("claude", NEWER, "headless", "denied by a rule", _denied_by_a_rule)
    yield Recipe("claude", NEWER, "headless", "server in the foreground", _server_in_the_foreground)
    yield Recipe("claude", NEWER, "terminal", "warning of bypassed permissions", _bypass)
    yield Recipe("claude", NEWER, "terminal", "not logged in", _not_logged_in)
    yield Recipe("claude", OLDER, "terminal", "session deleted", _session_deleted)
    yield Recipe("codex", CODEX, "terminal", "stalled stream", _stalled)
    yield Recipe("codex", CODEX, "headless", "silent after a tool", _silent_after_a_tool)
    yield Recipe("codex", CODEX, "headless", "killed on a resume", _killed_on_a_resume)
    yield Recipe("codex", CODEX, "terminal", "failed in the stream", _late(words.PROCESSING_FAILED))
    yield Recipe("codex", CODEX, "headless", "not a trusted directory", _outside_a_repository)
    yield Recipe("gemini", GEMINI, "headless", "name not found", _name_not_found)
    yield Recipe("gemini", GEMINI, "headless", "too long on a resume", _too_long_on_a_resume)
    yield Recipe("gemini", GEMINI, "headless", "invented tool for ever", _invented_tool)


def _after_a_tool(kind: str, rejection: Rejection) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"))
        room.refuse(rejection)
        room.refuse(rejection, to="compaction")
        begin(room, kind)
        if kind == "terminal":
            turn_failed(room)

    return drive


def _late(rejection: Rejection) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text=ends.TEXT, fault="error_mid_stream", error=rejection, times=None))
        room.in_terminal()
        turn_failed(room)

    return drive


def _killed_early(room: Room) -> None:
    room.answer(Step(hold="never"))
    room.in_terminal()
    room.asked()
    settle(room)
    room.signal(signal.SIGTERM)
    room.wait_exit()
    settle(room, 0.5)


def _proxy_down(room: Room) -> None:
    room.env |= {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY")}
    room.in_terminal()
    turn_failed(room)


def _untrusted(room: Room) -> None:
    """Its API has a certificate that nobody signed but itself."""
    key, certificate = room.root / "key.pem", room.root / "certificate.pem"
    subject = ["-subj", "/CN=gateway.shop.example", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *subject, "-keyout", key,
         "-out", certificate], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = room.stub._server
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    room.env["ANTHROPIC_BASE_URL"] = room.stub.base_url.replace("http:", "https:")
    room.in_terminal()
    turn_failed(room)


def _as_root(room: Room) -> None:
    room.headless(GOAL, "--dangerously-skip-permissions")


def _half_installed(room: Room) -> None:
    """An upgrade left the program's own file out."""
    room.binary = room.root / "claude"
    room.binary.write_text('#!/bin/sh\nexec node /usr/local/lib/node_modules/@anthropic-ai/claude-code/cli.js "$@"\n')
    room.binary.chmod(0o755)
    room.headless()


def _denied_by_a_rule(room: Room) -> None:
    room.cli.settings = {"permissions": {"allow": ["Bash(*)"], "deny": ["Bash(./publish.sh:*)"]}}  # type: ignore[union-attr]
    room.answer(
        room.cli.shell("./publish.sh --to production"),
        Step(text="A rule denies me ./publish.sh, so I could not publish anything: the task is not done."),
    )
    room.headless("Publish the shop with ./publish.sh --to production.")


def _server_in_the_foreground(room: Room) -> None:
    command = "python3 -c 'import time; print(\"Serving the shop\", flush=True); time.sleep(10**6)'"
    room.answer(deaths.silent(room, command))
    room.headless("Start the shop and look at its first page.", wait=False)
    room.until_hook("PreToolUse")
    deaths._end_as_hung(room, 20)


def _bypass(room: Room) -> None:
    room.env["IS_SANDBOX"] = "1"
    room.in_terminal(GOAL, "--dangerously-skip-permissions")
    room.until_screen("Bypass Permissions")
    settle(room, 3)


def _not_logged_in(room: Room) -> None:
    room.env["ANTHROPIC_API_KEY"] = ""
    room.in_terminal()
    settle(room, 8)


def _session_deleted(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    for path in room._transcripts():
        path.unlink()
    room.in_terminal("Do the second item.", resume=room.session)
    room.wait_exit()
    settle(room, 0.5)


def _stalled(room: Room) -> None:
    room.answer(Step(text=ends.TEXT, fault="hang_mid_stream", times=None))
    room.in_terminal()
    room.asked()
    deaths._end_as_hung(room, 20)


def _silent_after_a_tool(room: Room) -> None:
    room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(fault="hang", times=None))
    room.headless(wait=False)
    _until_second(room)
    deaths._end_as_hung(room, 20)


def _killed_on_a_resume(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.answer(Step(hold="never"))
    room.headless("Do the second item.", resume=session_of(room), wait=False)
    room.asked("second item")
    settle(room)
    room.signal(signal.SIGTERM)
    room.wait_exit()
    settle(room, 0.5)


def _outside_a_repository(room: Room) -> None:
    """Codex works in a repository, or in a directory that it was told to trust."""
    room.trusted = False
    room._launch("headless", ["exec", "--json", GOAL], (), "")
    room.wait_exit()
    settle(room, 0.7)


def _name_not_found(room: Room) -> None:
    room.env["GOOGLE_GEMINI_BASE_URL"] = "https://gateway.shop.invalid"
    room.headless()


def _too_long_on_a_resume(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    for kind in ("main", "compaction", "side"):
        room.refuse(words.VERTEX_FULL, to=kind)
    room.headless("Do the second item.", resume=room.session)


def _invented_tool(room: Room) -> None:
    calls = ToolUse("count_till", {"drawer": 1})
    room.answer(Step(text="I will count the till.", tool_use=(calls,), times=None))
    room.headless()


def _until_second(room: Room) -> None:
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
