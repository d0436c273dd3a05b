"""What a killed daemon left half typed: taken out or left alone by its run, and each text has one verdict."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Deliver
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.typing.clearing import TAKEN_OUT_LATER
from phoenixd.core.typing.orphans import NO_TRACE
from phoenixd.errors import TerminalFailed
from phoenixd.runtime.messages import Unfinished
from tests.core.story import Story, claude, spec
from tests.runtime.post import Post


@pytest.fixture
def post() -> Post:
    return Post(Story(claude()).runs().agent)


def left_behind(post: Post, *texts: str, incarnation: int = 1) -> None:
    """An earlier daemon was to type these, and died."""
    post.messenger.left_behind([Unfinished("a", incarnation, f"m {text}", text) for text in texts])


def outcomes(post: Post) -> list[tuple[str, str]]:
    """Which texts were told of, and how."""
    return [(type(one).__name__, one.message_id) for one in post.told if isinstance(one, Delivered | NotDelivered)]


async def test_what_a_killed_daemon_left_half_typed_is_taken_out_and_told(post: Post) -> None:
    post.pane.line = "one"
    post.pane.on_clear = lambda: setattr(post.pane, "line", "")
    left_behind(post, "one", "two")

    await post.messenger.run()

    assert outcomes(post) == [("NotDelivered", "m one"), ("NotDelivered", "m two")]
    assert [one.reason for one in post.told if isinstance(one, NotDelivered)] == [TAKEN_OUT_LATER, NO_TRACE]
    assert post.pane.typed == ["Ctrl-U"]


async def test_a_text_that_was_taken_while_no_daemon_listened_is_told_as_delivered(post: Post) -> None:
    left_behind(post, "one", "two")
    post.hook("prompt-submit", "two")

    await post.messenger.run()

    assert outcomes(post) == [("NotDelivered", "m one"), ("Delivered", "m two")]
    assert post.pane.typed == []


async def test_a_text_of_which_nothing_is_to_be_seen_is_told_as_not_delivered_and_is_closed(post: Post) -> None:
    left_behind(post, "one", "two")

    await post.messenger.run()

    assert post.told == [NotDelivered("a", 1, "m one", NO_TRACE), NotDelivered("a", 1, "m two", NO_TRACE)]
    assert post.pane.typed == []


async def test_what_was_found_of_a_text_is_told_of_the_newest_message_with_its_words(post: Post) -> None:
    post.messenger.left_behind([Unfinished("a", 1, "old", "one"), Unfinished("a", 1, "new", "one")])
    post.hook("prompt-submit", "one")

    await post.messenger.run()

    assert outcomes(post) == [("NotDelivered", "old"), ("Delivered", "new")]


async def test_texts_that_were_left_behind_are_closed_where_the_terminal_does_not_answer(post: Post) -> None:
    async def fails(agent: str, history: int = 0) -> str:
        raise TerminalFailed("tmux did not answer")

    post.pane.capture = fails  # type: ignore[method-assign]
    left_behind(post, "one")

    await post.messenger.run()

    assert post.told == [NotDelivered("a", 1, "m one", f"{NO_TRACE}: tmux did not answer")]


async def test_a_text_for_a_program_whose_input_line_no_screen_shows_is_closed() -> None:
    post = Post(Story(spec()).runs().agent)
    left_behind(post, "one")

    await post.messenger.run()

    assert (outcomes(post), post.pane.typed) == ([("NotDelivered", "m one")], [])


async def test_first_words_that_nobody_knows_any_more_are_closed_as_well() -> None:
    post = Post(Story(spec()).runs().agent)
    post.messenger.left_behind([Unfinished("a", 1, "prompt", "")])

    await post.messenger.run()

    assert post.told == [NotDelivered("a", 1, "prompt", NO_TRACE)]


async def test_a_message_that_is_ordered_again_has_one_verdict(post: Post) -> None:
    """A text that is kept over a handoff keeps its id, and the daemon that begins has it typed again."""
    post.pane.on_enter = post.taken("one")
    post.messenger.left_behind([Unfinished("a", 1, "m", "one")])

    assert isinstance(await post.send("one"), Delivered)
    assert (outcomes(post), post.pane.typed) == ([], ["one", "Enter"])


async def test_a_text_that_an_earlier_daemon_got_in_is_not_typed_again_where_it_is_ordered_again(post: Post) -> None:
    post.messenger.left_behind([Unfinished("a", 1, "m", "one")])
    post.hook("prompt-submit", "one")

    assert isinstance(await post.send("one"), Delivered)
    assert (outcomes(post), post.pane.typed) == ([("Delivered", "m")], [])


async def test_the_next_text_waits_until_it_is_known_what_stands_there(post: Post) -> None:
    post.pane.line = "one"
    post.pane.on_clear = lambda: setattr(post.pane, "line", "")
    post.pane.on_enter = post.taken("two")
    left_behind(post, "one")

    assert isinstance(await post.send("two"), Delivered)
    await post.messenger.run()

    assert post.pane.typed == ["Ctrl-U", "two", "Enter"]
    assert [type(one) for one in post.told] == [NotDelivered]


async def test_a_persons_line_is_left_alone(post: Post) -> None:
    post.pane.line = "one more thing"
    left_behind(post, "one")

    await post.messenger.run()

    assert (outcomes(post), post.pane.typed) == ([("NotDelivered", "m one")], [])


async def test_another_runs_text_is_left_alone_and_told_nothing_of(post: Post) -> None:
    post.pane.line = "one"
    left_behind(post, "one", incarnation=2)

    await post.messenger.run()

    assert (post.told, post.pane.typed) == ([], [])


async def test_a_text_for_an_earlier_run_is_not_typed_into_this_one(post: Post) -> None:
    answer = await post.messenger.deliver(post.agent, Deliver("a", 0, "m", "go on"))

    assert isinstance(answer, NotDelivered)
    assert (answer.reason, post.pane.typed) == ("the run that it was meant for is over", [])
