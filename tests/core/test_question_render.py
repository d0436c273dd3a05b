"""How a call is shown: every character, by its tool, and nothing that an agent writes passes for ours (P15)."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.question import render as rendering
from phoenixd.core.question.render import render, title


def item(tool: str, given_input: dict[str, Any] | str, kind: str = "permission") -> InboxItem:
    said = given_input if isinstance(given_input, str) else json.dumps(given_input)
    return InboxItem(7, "a", 1, kind, f"{tool} {said}", "hash", 0.0, "answer", hold=3, tool=tool, whole=True)


def lines(tool: str, given_input: dict[str, Any] | str, kind: str = "permission") -> list[str]:
    return list(render(item(tool, given_input, kind)).lines)


def test_p15_a_command_is_its_lines_in_any_language() -> None:
    assert lines("Bash", {"command": "echo 'é 猫'\nmake\tall", "description": "Build"}) == [
        "Bash",
        "  echo 'é 猫'",
        "  make\u2192   all",
        "with:",
        "  {",
        '    "description": "Build"',
        "  }",
    ]
    assert lines("Bash", "make all") == ["Bash", "  make all"]


@pytest.mark.parametrize(
    ("count", "told"), [(1, "Which 0?"), (2, "Which 0? (and 1 more)"), (3, "Which 0? (and 2 more)")]
)
def test_p15_a_title_says_how_many_questions_it_leaves_out(count: int, told: str) -> None:
    choices = [{"label": "one", "description": ""}, {"label": "two", "description": ""}]
    asked = [
        {"question": f"Which {number}?", "header": "h", "multiSelect": False, "options": choices}
        for number in range(count)
    ]
    assert title(item("AskUserQuestion", {"questions": asked}, "question")) == told


def test_p15_an_edit_is_a_unified_difference_with_all_of_both_texts() -> None:
    edit = {"file_path": "/srv/é.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc\n", "replace_all": True}
    assert lines("Edit", edit) == [
        "Edit /srv/é.py, every occurrence",
        "  --- /srv/é.py",
        "  +++ /srv/é.py",
        "  @@ -1,3 +1,4 @@",
        "   a",
        "  -b",
        "  +B",
        "   c",
        "  +",
    ]
    two = {"file_path": "x", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}
    changes = [line for line in lines("MultiEdit", two) if line.startswith(("  -", "  +")) and line[3] not in "-+"]
    assert changes == ["  -a", "  +b", "  -c", "  +d"]


def test_p15_a_long_edit_is_compared_in_linear_time_and_shown_whole() -> None:
    old = "\n".join(str(number % 7) for number in range(2000))
    shown = lines("Edit", {"file_path": "x", "old_string": old, "new_string": f"{old}!"})

    assert [line[3:] for line in shown[4:] if line[2] in " -"] == old.split("\n")
    assert [line[3:] for line in shown[4:] if line[2] in " +"] == f"{old}!".split("\n")
    assert sum(line[2] != " " for line in shown[4:]) == 2


@pytest.mark.parametrize(("count", "changed"), [(64, 4), (65, 130)])
def test_p15_up_to_a_bound_an_edit_shows_each_change_by_itself(count: int, changed: int) -> None:
    """64 lines beside 64 are the last ones where every pair is compared."""
    old = [str(number) for number in range(count)]
    new = ["first", *old[1:-1], "last"]
    shown = lines("Edit", {"file_path": "x", "old_string": "\n".join(old), "new_string": "\n".join(new)})

    assert sum(line[2] != " " for line in shown[4:]) == changed


def test_p15_a_file_is_its_path_size_and_numbered_lines() -> None:
    assert lines("Write", {"file_path": "/srv/a.md", "content": "é\n\nend\n"}) == [
        "Write /srv/a.md, 8 bytes, 3 lines",
        "  1  é",
        "  2  ",
        "  3  end",
    ]
    assert lines("Write", {"file_path": "b", "content": "x"})[0] == "Write b, 1 bytes, 1 line, no newline at the end"


def test_p15_a_tool_without_a_form_shows_a_lone_command_as_its_lines_and_anything_else_as_json() -> None:
    assert lines("shell", {"command": "make\ntest"}) == ["shell", "  make", "  test"]
    for call in ({"command": "make", "cwd": "/"}, {"command": ["make"]}, {"cmd": "make"}):
        assert lines("shell", call)[0] == "shell"
        assert "".join(lines("shell", call)[1:]).strip().startswith("{")
    assert lines("shell", {}) == ["shell"]


def test_p15_a_page_a_plan_and_a_question_are_readable() -> None:
    assert lines("WebFetch", {"url": "https://example.org/é", "prompt": "What is new?"}) == [
        "WebFetch",
        "  https://example.org/é",
        "to be told of it:",
        "  What is new?",
    ]
    assert lines("ExitPlanMode", {"plan": "# Plan\n\n1. Ship"}, "plan") == ["Plan", "  # Plan", "  ", "  1. Ship"]
    asked = {
        "questions": [
            {
                "question": "Which database?",
                "header": "DB",
                "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "preview": "psql"}],
                "multiSelect": True,
            }
        ]
    }
    assert lines("AskUserQuestion", asked, "question") == [
        "Question (DB), one or more of 2:",
        "  Which database?",
        "  1. SQLite - a file",
        "  2. Postgres",
        '     with {"preview": "psql"}',
    ]


@pytest.mark.parametrize(
    ("tool", "given_input"),
    [
        ("mcp__bank__pay", {"to": "é", "sum": 3}),
        ("Edit", {"file_path": 3, "old_string": "a"}),
        ("Write", {"file_path": "x", "content": ["y"]}),
        ("AskUserQuestion", {"questions": [{"question": "A?"}, {"question": "A?"}]}),
        ("ExitPlanMode", {}),
    ],
)
def test_p15_whatever_has_no_form_is_indented_json_without_escapes(tool: str, given_input: dict[str, Any]) -> None:
    expected = json.dumps(given_input, indent=2, ensure_ascii=False).split("\n")
    assert lines(tool, given_input) in ([tool, *(f"  {line}" for line in expected)], [tool])


def test_p15_what_hides_is_shown_by_its_number_and_what_deceives_is_flagged_and_nothing_is_refused() -> None:
    shown = render(item("Bash", {"command": "rm -rf \u202edliub\u200b \u0440aypal.txt "}))

    assert shown.lines[1] == "  rm -rf <U+202E>dliub<U+200B> \u0440aypal.txt<U+0020>"
    assert len(shown.flags) == 3
    assert "reverse the reading direction" in shown.flags[0]
    assert "cannot be seen" in shown.flags[1]
    assert "\u0440aypal mixes alphabets whose letters look alike: cyrillic and latin" in shown.flags[2]
    for clean in ("grün 猫のfile Ωmega", "plain"):
        assert render(item("Bash", {"command": clean})).flags == () or "mega" in clean
    assert "right to left" in render(item("Bash", {"command": "echo שלום"})).flags[0]
    assert "imitate" in render(item("Bash", {"command": "echo '<U+202E>'"})).flags[0]


def test_p15_of_characters_that_hide_eight_are_named() -> None:
    shown = render(
        item("Bash", {"command": "".join(chr(0x2060 + number) for number in range(5)) + "\u200b\u200c\u200d\ufeff"})
    )
    (flag,) = shown.flags
    assert flag.count("U+") == 8


def test_p15_a_command_that_looks_like_an_input_is_not_taken_for_one() -> None:
    """documents.hooks keeps such a command as JSON, so the text says which it is."""
    assert lines("Bash", {"command": '{"command": "ls"}'})[1] == '  {"command": "ls"}'


TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)
NESTED = st.recursive(TEXTS | st.integers() | st.booleans(), lambda each: st.lists(each, max_size=3), max_leaves=4)
INPUTS = st.dictionaries(
    st.sampled_from(["command", "file_path", "content", "old_string", "new_string", "url", "prompt", "plan", "edits"])
    | TEXTS,
    TEXTS | NESTED,
    max_size=5,
)
TOOLS = st.sampled_from(["Bash", "Edit", "MultiEdit", "Write", "WebFetch", "ExitPlanMode", "AskUserQuestion", "Other"])


@given(TOOLS, INPUTS)
def test_p15_no_input_can_forge_a_line_or_reach_the_terminal(tool: str, given_input: dict[str, Any]) -> None:
    asked = item(tool, given_input)
    shown = render(asked)

    for line in (*shown.lines, *shown.flags, title(asked)):
        assert "\n" not in line
        assert all(unicodedata.category(character)[0] != "C" for character in line), repr(line)
    ours = (
        "Bash",
        "Edit ",
        "MultiEdit ",
        "Write ",
        "WebFetch",
        "Plan",
        "Question",
        "Other",
        "with",
        "edit ",
        "to be",
        tool,
    )
    assert all(line.startswith(("  ", *ours)) for line in shown.lines)


@given(st.text(max_size=80), st.text(max_size=80))
def test_p15_every_character_of_an_edit_is_shown(old: str, new: str) -> None:
    shown = lines("Edit", {"file_path": "x", "old_string": old, "new_string": new})

    assert [line[3:] for line in shown[4:] if line[2] in " -"] == as_plan(old)
    assert [line[3:] for line in shown[4:] if line[2] in " +"] == as_plan(new)


def as_plan(text: str) -> list[str]:
    return [line[2:] for line in lines("ExitPlanMode", {"plan": text}, "plan")[1:]]


def test_p15_a_call_that_is_nested_too_deep_for_its_form_is_shown_as_it_came() -> None:
    """One such question would keep the whole inbox from being shown."""
    for depth in range(800, 1000):
        text = f'X {{"a": {"[" * depth}{"]" * depth}}}'
        asked = Waiting("permission", text, 0.0, "X", hold=1, whole=True)
        assert "".join(render(asked).lines).count("[") == depth
        assert title(asked)


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_p15_an_edit_too_long_to_be_compared_shows_all_of_both_and_what_begins_and_ends_alike_once(
    old: list[str], new: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "COMPARED", 0)
        shown = list(rendering._changes(old, new))

    assert [line for sign, line in shown if sign in " -"] == old
    assert [line for sign, line in shown if sign in " +"] == new
    signs = "".join(sign for sign, _ in shown).strip()
    assert signs == "-" * signs.count("-") + "+" * signs.count("+"), "one change, between what is alike"
    changed = [[line for sign, line in shown if sign == wanted] for wanted in "-+"]
    assert not all(changed) or (changed[0][0] != changed[1][0] and changed[0][-1] != changed[1][-1])


@pytest.mark.parametrize(
    ("tool", "given_input"),
    [
        ("Bash", {"command": 7}),
        ("Edit", {"file_path": "x", "old_string": "a", "new_string": "b", "replace_all": "yes"}),
        ("MultiEdit", {"file_path": "x", "edits": "all"}),
        ("MultiEdit", {"file_path": "x", "edits": [1]}),
        ("MultiEdit", {"file_path": "x", "edits": [{"old_string": "a", "new_string": "b", "replace_all": 1}]}),
        ("MultiEdit", {"file_path": "x", "edits": [{"old_string": "a", "new_string": "b", "more": 1}]}),
        ("Write", {"file_path": "x"}),
    ],
)
def test_p15_a_call_that_its_form_does_not_know_is_shown_as_it_came(tool: str, given_input: dict[str, Any]) -> None:
    shown = lines(tool, given_input)

    assert shown[0] == tool
    assert json.loads("\n".join(shown[1:])) == given_input


def test_p15_several_edits_are_shown_one_by_one_and_each_says_whether_it_is_of_every_occurrence() -> None:
    edits = [
        {"old_string": "a", "new_string": "b"},
        {"old_string": "c", "new_string": "d", "replace_all": True},
        {"old_string": "e", "new_string": "f", "replace_all": False},
    ]
    shown = lines("MultiEdit", {"file_path": "x", "edits": edits})

    assert shown[0] == "MultiEdit x, 3 edits"
    heads = [line for line in shown if line.startswith("edit ")]
    assert heads == ["edit 1:", "edit 2, every occurrence:", "edit 3:"]
    changed = [line.strip() for line in shown if line.strip()[:1] in "-+" and line.strip()[:3] not in ("---", "+++")]
    assert changed == ["-a", "+b", "-c", "+d", "-e", "+f"]
    one = {"file_path": "x", "old_string": "a", "new_string": "b"}
    assert lines("Edit", one)[0] == "Edit x"
    assert lines("Edit", {**one, "replace_all": True})[0] == "Edit x, every occurrence"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "Write x, 0 bytes, 0 lines"), ("a", "Write x, 1 bytes, 1 line, no newline at the end"),
        ("a\n", "Write x, 2 bytes, 1 line"), ("é\nb\n", "Write x, 5 bytes, 2 lines"),
        ("a\n\nb", "Write x, 4 bytes, 3 lines, no newline at the end"),
    ],
)  # fmt: skip
def test_p15_a_file_says_its_size_its_lines_and_whether_its_last_one_ends(content: str, told: str) -> None:
    assert lines("Write", {"file_path": "x", "content": content})[0] == told


@pytest.mark.parametrize(
    ("tool", "given_input", "kind", "told"),
    [
        ("ExitPlanMode", {"plan": "\n# The shop\n- paint"}, "plan", "The shop"),
        ("ExitPlanMode", {"plan": "\n# \t\n"}, "plan", "an empty plan"),
        ("WebFetch", {"url": "https://example.org", "prompt": "?"}, "permission", "WebFetch https://example.org"),
        ("Edit", {"file_path": "x.py"}, "permission", "Edit x.py"),
        ("Other", {"a": 1}, "permission", 'Other {"a": 1}'),
        ("Other", {}, "permission", "Other"),
        ("Bash", {"command": "make", "file_path": "x"}, "permission", "Bash make"),
    ],
)
def test_p15_a_title_is_what_is_asked_in_short(tool: str, given_input: dict[str, Any], kind: str, told: str) -> None:
    assert title(item(tool, given_input, kind)) == told
