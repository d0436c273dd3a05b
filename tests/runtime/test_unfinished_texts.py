"""What an earlier daemon may have left standing in input lines, from the journal's rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.events.runs import Delivered
from phoenixd.errors import LaunchFailed
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.describe import describe_texts
from phoenixd.runtime.messages import Unfinished
from phoenixd.runtime.recovery import unfinished_openings, unfinished_texts
from tests.core.story import Story, spec
from tests.journaled import dump_agent, load_agent


def row(
    seq: int, event: str, message: str, agent: str = "a", actions: tuple[str, ...] = (), **detail: Any
) -> StoredEntry:
    entry = Entry(0.0, 0.0, agent, 1, event, {"message_id": message, **detail}, actions=actions)
    return StoredEntry(seq, entry)


def test_only_texts_without_an_outcome_are_unfinished() -> None:
    rows = [
        row(1, "send_requested", "m1", actions=("deliver #1",), text="one"),
        row(2, "delivered", "m1"),
        row(3, "send_requested", "m2", actions=("deliver #1",), text="two"),
        row(4, "send_requested", "m3", "b", actions=("deliver #1",), text="three"),
        row(5, "not_delivered", "m3", "b"),
        row(6, "send_requested", "m4", "c", text="refused"),
    ]

    assert unfinished_texts(rows) == {"a": (Unfinished("a", 1, "m2", "two"),)}


def test_all_texts_that_waited_are_remembered_for_any_may_stand_in_the_input_line() -> None:
    rows = [
        row(1, "send_requested", "m1", actions=("deliver #1",), text="one"),
        row(2, "send_requested", "m2", actions=("deliver #1",), text="two"),
        row(3, "delivered", "m0", actions=("deliver #1",)),
    ]

    assert [one.message_id for one in unfinished_texts(rows)["a"]] == ["m1", "m2"]


def test_a_text_of_the_daemons_own_is_remembered_by_the_row_that_ordered_it() -> None:
    ordered = row(1, "tick", "", actions=("deliver #1",), typing=[{"message_id": "go", "text": "go on"}])

    assert unfinished_texts([ordered]) == {"a": (Unfinished("a", 1, "go", "go on"),)}
    assert unfinished_texts([ordered, row(2, "not_delivered", "go")]) == {}


def test_what_the_daemon_types_of_itself_stands_in_the_row_without_secrets() -> None:
    orders = (Deliver("a", 1, "go", "go on with hush"), Deliver("a", 1, "prompt", "", opening=True))

    def clean(agent: str | None, text: str) -> str:
        return text.replace("hush", "[redacted]")

    assert describe_texts(Tick(), orders, clean) == {"typing": [{"message_id": "go", "text": "go on with [redacted]"}]}
    assert describe_texts(SendRequested("a", "go", "go on", "you"), orders[:1], clean) == {}


async def test_the_first_words_of_a_run_are_unfinished_until_it_is_told_what_became_of_them() -> None:
    story = Story(spec(prompt="Build the shop.", prompt_via="paste"))
    story.start()
    story.started()
    (order,) = story.of(Deliver)
    kept = load_agent(dump_agent(story.agent))

    async def words(agent: Agent) -> str:
        return "Build the shop."

    async def unreadable(agent: Agent) -> str:
        raise LaunchFailed("state.json cannot be read")

    told = Unfinished("a", 1, order.message_id, "Build the shop.")
    assert await unfinished_openings([kept], words) == {"a": told}
    assert await unfinished_openings([kept], unreadable) == {"a": replace(told, text="")}
    story.tell(Delivered("a", 1, order.message_id, "taken"))
    assert await unfinished_openings([story.agent], words) == {}
