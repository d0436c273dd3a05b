"""`answer` at the command line: by number or name, with words or asking for them (P14, P15)."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api.operations import BY_NAME
from phoenixd.api.operations.operation import Operation
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.ctl import answering, calls, wire
from phoenixd.ctl.grammar import Command
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, environment
from tests.ctl.terminals import on_a_terminal, phoenixctl, read_until

USAGE, NOT_FOUND, CONFLICT = 2, 4, 6
DATABASE = {
    "question": "Which database?",
    "header": "DB",
    "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres"}],
}


def ask(daemon: FakeDaemon, *questions: dict[str, Any], name: str = "docs", seq: int = 1) -> None:
    text = json.dumps({"questions": list(questions)})
    daemon.hook(name, "permission-request", tool="AskUserQuestion", text=text, held=True, seq=seq)


def given(daemon: FakeDaemon) -> list[tuple[str, ...]]:
    return [order.words for order in daemon.orders if isinstance(order, AnswerRequested)]


@pytest.fixture
def asking(daemon: FakeDaemon) -> FakeDaemon:
    daemon.declare("docs")
    ask(daemon, DATABASE)
    return daemon


async def test_p14_a_question_is_answered_by_number_label_or_text(ctl: Ctl, asking: FakeDaemon) -> None:
    told = []
    for words in (("1", "2"), ("docs", "SQLite"), ("docs", "--text", "2"), ("docs", "no database at all")):
        ran = await ctl("answer", *words)
        assert (ran.code, ran.err) == (0, ""), words
        told.append(ran.out)
        ask(asking, DATABASE, seq=len(told) + 1)

    assert (told[0], told[2]) == ("docs was told: Postgres\n", "docs was told: 2\n")
    assert given(asking) == [("2",), ("SQLite",), ("2",), ("no database at all",)]


async def test_p14_an_allowance_of_a_question_is_refused_with_what_to_type(ctl: Ctl, asking: FakeDaemon) -> None:
    ran = await ctl("answer", "1", "allow")

    assert (ran.code, ran.out) == (USAGE, "")
    assert "a question and no permission" in ran.err
    assert "do: phoenixctl inbox 1\n" in ran.err
    assert given(asking) == []


async def test_p14_several_questions_take_an_answer_each_in_order(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    ask(daemon, DATABASE, {**DATABASE, "question": "Which cache?", "multiSelect": True})

    short = await ctl("answer", "docs", "1")
    ran = await ctl("answer", "docs", "1", "1,2")

    assert short.code == USAGE
    assert "1 answer is missing, one for each question in order: Which cache?" in " ".join(short.err.split())
    assert (ran.code, given(daemon)) == (0, [("1", "1,2")])


async def test_p14_a_plan_is_approved_or_denied_with_words(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    for seq, words in enumerate((("deny", "split", "step 2"), ("approve",)), 1):
        text = json.dumps({"plan": "# Ship it\n\n1. Build"})
        daemon.hook("docs", "permission-request", tool="ExitPlanMode", text=text, held=True, seq=seq)
        ran = await ctl("answer", "docs", *words)
        assert ran.code == 0, ran.err

    assert given(daemon) == [("deny", "split", "step 2"), ("approve",)]
    assert ran.out == "docs may go on as planned: Ship it\n"


async def test_p15_a_name_works_where_one_thing_waits_and_lists_them_where_more_do(
    ctl: Ctl, asking: FakeDaemon
) -> None:
    agent = asking.state.agents["docs"]
    asking.die("docs", 9)
    asking.change("docs", items=tuple(item for item in asking.state.agents["docs"].items if item.left))
    assert [item.id for item in asking.state.agents["docs"].items] == [agent.items[0].id]
    one = await ctl("answer", "docs")
    ask(asking, {**DATABASE, "question": "Which cache?"}, seq=2)

    several = await ctl("answer", "docs", "1")
    none = await ctl("answer", "nobody", "1")

    assert "Which database?" in one.out
    assert several.code == CONFLICT
    assert "2 things of docs wait: #1 question: Which database?; #" in " ".join(several.err.split())
    assert "phoenixctl answer 1" in several.err
    assert none.code == NOT_FOUND


async def test_p15_inbox_of_a_name_lists_all_that_waits_of_it(ctl: Ctl, asking: FakeDaemon) -> None:
    one = await ctl("inbox", "docs", "--json")
    asking.die("docs", 9)
    asking.change("docs", items=tuple(item for item in asking.state.agents["docs"].items if item.left))
    ask(asking, {**DATABASE, "question": "Which cache?"}, seq=2)

    several, as_json = await ctl("inbox", "docs"), await ctl("inbox", "docs", "--json")
    chosen = await ctl("inbox", "d*", "--json")

    assert one.json["item"]["id"] == 1
    assert (several.code, several.err) == (as_json.code, as_json.err) == (chosen.code, "")
    assert [one["id"] for one in as_json.json["items"]] == [one["id"] for one in chosen.json["items"]]
    assert "Which database?" in several.out
    assert "Which cache?" in several.out
    assert [one["agent"] for one in as_json.json["items"]] == ["docs", "docs"]


async def test_p15_a_number_is_taken_as_it_is_shown(ctl: Ctl, asking: FakeDaemon) -> None:
    assert (await ctl("inbox", "#1", "--json")).json["item"]["id"] == 1
    assert [one["id"] for one in (await ctl("inbox", "#1", "#1", "--json")).json["items"]] == [1]
    assert (await ctl("ack", "#1")).out == "#1 is acknowledged: it stands, and is shown apart\n"
    assert (await ctl("answer", "#1", "#2")).out == "docs was told: #2\n", "an answer is told as it stands"


@pytest.mark.parametrize("words", [["dney"], ["no"], ["yes"], ["disallow"], ["deny"], []])
async def test_p15_what_a_refused_answer_has_typed_allows_nothing(
    ctl: Ctl, daemon: FakeDaemon, words: list[str]
) -> None:
    daemon.declare("docs")
    daemon.wait("docs", text="rm -rf build", held=True)

    ran = await ctl("answer", "1", *words)
    remedy = ran.err.partition("do: ")[2].strip()

    assert ran.code == USAGE
    assert remedy in ("phoenixctl inbox 1", 'phoenixctl answer 1 deny "REASON"')
    assert (await ctl(*shlex.split(remedy)[1:])).code == 0
    assert all(order[0] == "deny" for order in given(daemon))


async def test_p15_answer_alone_shows_all_of_it_and_ends_with_2_when_nobody_can_be_asked(
    ctl: Ctl, asking: FakeDaemon
) -> None:
    ran = await ctl("answer", "docs")
    as_json = await ctl("answer", "docs", "--json")

    assert ran.code == as_json.code == USAGE
    assert "  Question (DB), one of 2:\n    Which database?\n    1. SQLite - a file\n    2. Postgres\n" in ran.out
    assert "do: phoenixctl inbox 1\n" in ran.err
    assert as_json.json["item"]["questions"][0]["options"][1] == {"label": "Postgres", "description": ""}
    assert given(asking) == []


async def test_p15_what_is_no_question_says_so_while_it_stands(ctl: Ctl, daemon: FakeDaemon) -> None:
    """It was said not to wait any more, and without words that an answer was missing."""
    daemon.declare("docs")
    daemon.die("docs", 127)
    alone, given_one = await ctl("answer", "docs"), await ctl("answer", "docs", "allow")

    assert "says:" in alone.out
    assert alone.out.endswith("why: phoenixctl explain docs; again: phoenixctl start docs\n")
    assert alone.code == given_one.code == CONFLICT
    for ran, why in ((alone, "cannot be answered from here"), (given_one, "(quarantined) is no question")):
        assert why in ran.err
        assert ran.err.endswith("do: phoenixctl explain docs\n"), "a start is for a person to decide"


async def test_p15_answer_alone_asks_on_a_terminal(live: Live, home: Path, asking: FakeDaemon) -> None:
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket), TERM="xterm")
    with on_a_terminal(phoenixctl("answer", "docs"), env) as (_, master):
        # The advice begins alike: it is the prompt that ends with nothing behind it.
        shown = await asyncio.to_thread(read_until, master, b"\nanswer: ")
        while not shown.endswith(b"\nanswer: "):
            shown += await asyncio.to_thread(os.read, master, 4096)
        assert b"1. SQLite - a file" in shown
        os.write(master, b"a file per tenant\n")
        await asyncio.to_thread(read_until, master, b"docs was told: a file per tenant")

    assert given(asking) == [("a file per tenant",)]


async def test_p15_what_is_shown_is_what_is_answered_also_where_a_name_means_something_else_by_then(
    live: Live, asking: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may take back its question and ask another one between two looks of ours."""
    asked: list[str] = []
    ask_daemon = calls.ask

    def hostile(command: Command, operation: Operation, given: dict[str, Any], **more: Any) -> wire.Answer | None:
        answer = ask_daemon(command, operation, given, **more)
        asked.append(str(given["id"]))
        if len(asked) == 1:
            asking.hook("docs", "stop")
            ask(asking, {**DATABASE, "question": "Drop it all?"}, seq=2)
        return answer

    monkeypatch.setattr(calls, "ask", hostile)
    command = Command(("answer",), BY_NAME["answer_item"], {"id": "docs"}, os.fspath(live.socket))

    code = await asyncio.to_thread(answering.answer, command)

    assert (code, asked) == (NOT_FOUND, ["docs", "1"])


HOSTILE = "x\n#9    docs  1s  permission: Bash ls\n\x1b[2J\x1b]0;pwned\x07\r! fine\u2028" + (
    "answer: phoenixctl answer 9 allow\u202e\nanswer: phoenixctl answer 9 allow"
)
"""Imitates lines of ours, and reaches for the terminal."""


async def test_p15_nothing_an_agent_writes_forges_a_line_an_escape_or_a_second_item(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    option = {"label": HOSTILE, "description": HOSTILE, "preview": HOSTILE}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("AskUserQuestion", {"questions": [{"question": HOSTILE, "header": HOSTILE, "options": [option]}]}),
        ("ExitPlanMode", {"plan": HOSTILE, HOSTILE: HOSTILE}),
        ("Bash", {"command": HOSTILE}),
        ("Edit", {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": "y"}),
        ("Write", {"file_path": HOSTILE, "content": HOSTILE}),
        ("WebFetch", {"url": HOSTILE, "prompt": HOSTILE}),
        (HOSTILE, {HOSTILE: [HOSTILE]}),
    ]
    for seq, (tool, tool_input) in enumerate(asked, 1):
        daemon.hook("docs", "permission-request", tool=tool, text=json.dumps(tool_input), held=True, seq=seq)
        for words in (("inbox",), ("inbox", "docs"), ("status",), ("status", "docs"), ("explain", "docs"), ("since",)):
            ran = await ctl(*words)
            for line in ran.out.splitlines():
                assert line.isprintable(), (tool, words, line)
                assert not line.startswith(("#9", "! fine", "answer: phoenixctl answer 9")), (tool, words, line)
            assert ran.out.count("\n") == len(ran.out.splitlines())
            assert "\x1b" not in ran.out
        told = [line for line in (await ctl("inbox")).out.splitlines() if line.startswith(("!", "#"))]
        assert told == [told[0], f"#{seq} asks for:"]
        assert told[0].startswith(f"! #{seq} ")


async def test_p15_every_face_advises_answer_where_it_works_and_attach_where_it_does_not(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    text = json.dumps({"questions": [DATABASE]})
    faces = (("status",), ("status", "docs"), ("explain", "docs"), ("inbox",), ("inbox", "docs"))
    ask(daemon, DATABASE)
    for words in faces:
        assert "phoenixctl answer 1" in (await ctl(*words)).out, words
    refused = await ctl("send", "docs", "hello")
    assert refused.err.endswith("do: phoenixctl answer 1\n")
    waited = await ctl("wait", "docs", "--for", "idle", "--timeout", "1s")
    assert "phoenixctl answer 1" in " ".join((waited.out + waited.err).split())

    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=text, held=True, veiled=True, seq=2)
    for words in faces:
        shown = (await ctl(*words)).out
        assert "phoenixctl attach docs" in shown, words
        assert "phoenixctl answer" not in shown, words
    assert "secrets were taken out" in (await ctl("inbox", "docs")).out
    assert (await ctl("answer", "docs", "1")).code == CONFLICT


async def test_p15_no_words_of_an_agent_begin_a_line_of_an_answer_or_a_refusal(ctl: Ctl, daemon: FakeDaemon) -> None:
    """A long line is broken at a place that an agent can choose."""
    forged = ("do: phoenixctl answer 99 allow", "answer: phoenixctl answer 99 allow", "#99 docs was allowed")
    daemon.declare("docs")
    # "do:" does not fit where three places or fewer are left: every third place meets that.
    for seq in range(1, 60, 3):
        command = f"{'x' * seq} " + " ".join(f"{line} {'y' * 50}" for line in forged)
        daemon.hook("docs", "permission-request", tool="Bash", text=command, held=True, seq=seq)
        item = daemon.state.agents["docs"].items[-1].id
        for words in (
            ("send", "docs", "hello"),
            ("explain", "docs"),
            ("wait", "docs", "--for", "idle", "--timeout", "1s"),
            ("answer", str(item), "deny", "no"),
        ):
            ran = await ctl(*words)
            for line in (ran.out + ran.err).splitlines():
                assert not line.startswith(forged), (seq, words, line)
