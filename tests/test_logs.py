"""Log lines: one an event, in the form its reader needs, and never a means for what an agent says."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phoenixd import logs

PACKAGE = Path(logs.__file__).parent
HOSTILE = 'ok\x1b]0;owned\x07\x1b[2J\r\n{"level":"error","event":"forged"}\n<0>forged\u202e\u2028\x9b31m\ud800 "a=b"'


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    show = warnings.showwarning
    yield
    logging.captureWarnings(False)
    warnings.showwarning = show
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


def said(form: logs.Form, **given: Any) -> str:
    stream = io.StringIO()
    logs.configure("debug", form, stream=stream)
    structlog.get_logger().warning("tested", **given)
    return stream.getvalue()


def test_a_line_is_one_json_object_with_known_keys_first() -> None:
    line = said("json", agent="a", incarnation=3, reason="because", parts=("x", 1))

    assert line.endswith("\n")
    told = json.loads(line)
    assert list(told)[:3] == ["time", "level", "event"]
    assert told | {"time": ""} == {
        "time": "", "level": "warning", "event": "tested", "agent": "a", "incarnation": 3, "reason": "because",
        "parts": ["x", 1],
    }  # fmt: skip
    assert told["time"].endswith("Z")
    assert len(told["time"]) == len("2026-11-21T10:00:00.123Z")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters()) | st.just(HOSTILE), st.sampled_from(["json", "text"]))
def test_promise_7_no_value_can_forge_a_line_or_reach_a_terminal(value: str, form: logs.Form) -> None:
    line = said(form, reason=value, nested={value: [value]})

    assert line.count("\n") == 1
    assert line.splitlines() == [line[:-1]]
    assert not {unicodedata.category(character) for character in line[:-1]} & {"Cc", "Cs", "Zl", "Zp"}
    assert "\u202e" not in line
    line.encode()


def test_a_traceback_stays_below_its_line_and_carries_no_control_characters() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream=stream)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        structlog.get_logger().exception("crashed", agent="a")

    first, *rest = stream.getvalue().rstrip("\n").split("\n")
    assert first.endswith("crashed agent=a")
    assert rest
    assert all(line.startswith("    ") for line in rest)
    assert "\x1b" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "text"])
def test_f_sec_secrets_are_redacted_wherever_they_stand(form: logs.Form) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 20
    stream = io.StringIO()
    logs.configure("info", form, stream=stream)
    try:
        raise RuntimeError(f"refused {secret}")
    except RuntimeError:
        structlog.get_logger().exception("crashed", reason=secret, nested={"deep": [f"x {secret}"]})
    logging.getLogger("library").error("key %s", secret)

    assert "Ab1Ab1" not in stream.getvalue()
    assert stream.getvalue().count("[redacted]") >= 4


def test_the_injected_redaction_is_what_runs() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", redact=lambda text: text.replace("orchid", "***"), stream=stream)
    structlog.get_logger().info("tested", reason="the orchid key")

    assert json.loads(stream.getvalue())["reason"] == "the *** key"


def test_values_are_bounded() -> None:
    assert len(said("json", reason="x" * 1_000_000, many=list(range(100_000)))) < 10_000


def test_libraries_speak_in_the_same_form_and_chatter_is_dropped() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    logging.getLogger("libtmux.common").warning("socket %s", "x\x1b[0m")
    logging.getLogger("watchfiles.main").info("1 change detected")

    (line,) = stream.getvalue().splitlines()
    told = json.loads(line)
    assert (told["event"], told["library"], told["level"]) == ("library_says", "libtmux.common", "warning")
    assert told["reason"] == "socket x\x1b[0m"
    assert "\x1b" not in line


def test_what_is_below_the_level_is_not_said() -> None:
    stream = io.StringIO()
    logs.configure("warning", "json", stream=stream)
    structlog.get_logger().info("tested")

    assert stream.getvalue() == ""


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        logs.configure("info", "json", stream=stream)
        structlog.get_logger().info("tested")
        with pytest.raises(BrokenPipeError):
            os.write(stream.fileno(), b"x")
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


SCRIPT = """
import os, sys, structlog
from phoenixd import logs
if "match" in sys.argv:
    found = os.fstat(2)
    os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
logs.configure()
structlog.get_logger().error("tested")
structlog.get_logger().info("tested")
"""


def run(*arguments: str, **environ: str) -> list[str]:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=PACKAGE.parent, env=os.environ | environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert finished.stdout == ""
    return finished.stderr.splitlines()


def test_under_systemd_each_line_begins_with_its_priority() -> None:
    error, info = run("match")

    assert error.startswith('<3>{"time": ')
    assert info.startswith('<6>{"time": ')


def test_a_journal_stream_that_is_not_ours_is_ignored() -> None:
    """Processes inherit the variable, also where their stderr is redirected."""
    assert all(line.startswith('{"time": ') for line in run(JOURNAL_STREAM="1:2"))


def test_a_terminal_gets_text() -> None:
    master, slave = os.openpty()
    with open(slave, "w") as stream:
        logs.configure("info", "auto", stream=stream)
        structlog.get_logger().info("tested", agent="a", reason="two words")
        stream.flush()
        text = os.read(master, 1000).decode()
    os.close(master)

    assert text[8:].strip() == 'info    tested agent=a reason="two words"'


@pytest.mark.slow  # The text of the package is the same for every user and every Python.
def test_event_names_are_constants() -> None:
    """A name made from data cannot be searched for, and is a place for an agent's words."""
    levels = {"debug", "info", "warning", "error", "exception", "critical"}
    offenders = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in levels
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
                and not (node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str))
            ):
                offenders.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")

    assert offenders == []
