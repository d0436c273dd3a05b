"""An empty word where something is to be named, such as a variable without a value, means nothing and nobody."""

from __future__ import annotations

import pytest

from phoenixd.api.operations import verbs
from phoenixd.api.operations.operation import parameters
from phoenixd.ctl.grammar import parse
from phoenixd.ctl.slips import LISTED

BEFORE = {"resolve": ("7", "done"), "handoff": ("{}",), "task": ("work",)}
AFTER = {"send": ("hello",), "wait": ("--for", "idle")}
"""What else these verbs have to be given."""
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
