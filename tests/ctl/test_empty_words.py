"""An empty word where something is to be named, such as a variable without a value, means nothing and nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.api.operations import verbs
from phoenixd.api.operations.operation import parameters
from phoenixd.ctl.grammar import parse
from phoenixd.ctl.slips import LISTED
from phoenixd.directories import find_directories
from tests.ctl.conftest import environment

BEFORE = {"resolve": ("7", "done"), "handoff": ("{}",), "task": ("work",)}
AFTER = {"send": ("hello",), "wait": ("--for", "idle")}
"""What else these verbs have to be given."""
BESIDE = {
    ("add",): ("docs",), ("phase", "split"): ("p",), ("phase", "archive"): ("p",), ("phase", "summarise"): ("p",),
    ("phase", "import"): ("p",),
}  # fmt: skip
NAMES = [
    (spoken, one.flag, one.type)
    for spoken, operations in verbs().items()
    for one in parameters(operations)
    if one.names in LISTED
]
"""Every place of the grammar where an agent, an item, a task or a Case is named."""


def test_the_table_has_the_verbs_that_act() -> None:
    assert {spoken[0] for spoken, _, _ in NAMES} >= {
        "status",
        "stop",
        "restart",
        "remove",
        "send",
        "undo",
        "log",
        "top",
    }


@pytest.mark.parametrize("empty", ["", " ", "\t"])
@pytest.mark.parametrize(("spoken", "flag", "kind"), NAMES)
def test_an_empty_word_is_refused_by_every_verb_that_names_something(
    spoken: tuple[str, ...], flag: str | None, kind: str, empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ("docs",) if kind == "words" and spoken[0] not in ("undo", "log", "top") else ()
    option = (*BEFORE.get(spoken[0], ()), flag) if flag is not None else ()
    typed = [*spoken, *first, *option, empty, *AFTER.get(spoken[0], ())]

    with pytest.raises(SystemExit) as refused:
        parse(typed)

    assert refused.value.code == 2
    why, _, remedy = capsys.readouterr().err.partition("\ndo: ")
    assert f"phoenixctl {' '.join(spoken)}: an empty word stands where" in why
    parse(remedy.split()[1:])


PLACES = [
    (spoken, one.flag)
    for spoken, operations in verbs().items()
    for one in parameters(operations)
    if one.names in ("files", "directories") and one.flag is not None
]


@pytest.mark.parametrize(("spoken", "flag"), PLACES)
def test_an_empty_path_is_refused_and_is_not_this_directory(
    spoken: tuple[str, ...], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`up --state-dir "$DIR"` without a value would have made this directory a daemon's."""
    typed = [*spoken, *BESIDE.get(spoken, ()), flag, "", *(("--", "true") if spoken in (("add",), ("run",)) else ())]

    with pytest.raises(SystemExit) as refused:
        parse(typed)

    assert refused.value.code == 2
    why, _, remedy = capsys.readouterr().err.partition("\ndo: ")
    assert f"{flag} is empty" in why
    assert remedy == f"phoenixctl {' '.join(spoken)} --help\n"


@pytest.mark.parametrize(
    "typed", [["--socket", "", "status"], ["status", "--socket", ""], ["stop", "docs", "--socket="]]
)
def test_an_empty_socket_is_no_socket(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(typed)

    assert refused.value.code == 2
    assert "--socket is empty" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--config", "--state-dir", "--runtime-dir"])
def test_phoenixd_takes_no_empty_path_for_this_directory(flag: str, home: Path) -> None:
    """What follows would keep it from becoming a daemon."""
    too_long = ["--runtime-dir", "/x" * 100] if flag != "--runtime-dir" else ["--config", "/nowhere"]
    argv = [sys.executable, "-m", "phoenixd", flag, "", *too_long]
    ran = subprocess.run(argv, cwd=home, env=environment(home), capture_output=True, text=True, check=False)

    assert ran.returncode == 2
    assert f"{flag} is empty" in ran.stderr
    assert not os.listdir(home)


@pytest.mark.parametrize("name", ["PHOENIX_STATE_DIR", "PHOENIX_RUNTIME_DIR"])
def test_a_variable_without_a_value_is_not_set(name: str, home: Path) -> None:
    unset = {"HOME": os.fspath(home)}

    assert find_directories({**unset, name: ""}) == find_directories(unset)
