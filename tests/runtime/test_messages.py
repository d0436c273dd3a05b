"""The send path, over a pane that shows what a test lets it show: pasted once, and Enter only on the input line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.typing.after import ENTER_AGAIN
from tests.core.story import Story, claude, spec
from tests.runtime.post import BOX, PERMISSION, Pane, Post, prompt_with


@pytest.fixture
def post() -> Post:
    return Post(Story(claude()).runs().agent)


async def test_a_prompt_that_a_hook_names_is_delivered(post: Post) -> None:
    post.pane.on_enter = post.taken("go on")

    answer = await post.send("go on\n")

    assert (type(answer), answer.incarnation) == (Delivered, 1)
    assert post.pane.typed == ["go on", "Enter"]


async def test_f_tmux_9_nothing_is_typed_at_a_dialog(post: Post) -> None:
    post.pane.screen = PERMISSION

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == []


@pytest.mark.parametrize("asked", [None, 3.0], ids=["its limit stands", "it is told to go on"])
async def test_nothing_is_typed_to_one_that_met_a_limit_meanwhile_but_the_word_to_go_on(
    post: Post, asked: float | None
) -> None:
    parking = Parking(ParkingKind.LIMIT, 9e9, 0.0, "until the reset time that was named", owes=True, asked=asked)
    post.agent = replace(post.agent, limits=Limits(parking))
    post.pane.on_enter = lambda: post.hook("prompt-submit", "hello")

    told = await post.send("hello")

    if asked is None:
        assert told == NotDelivered("a", 1, "m", "it was parked meanwhile: until the reset time that was named", False)
        assert post.pane.typed == []
    else:
        assert isinstance(told, Delivered)


async def test_f_tmux_9_a_question_that_a_hook_told_of_is_believed_where_no_screen_can_be_read() -> None:
    story = Story(spec()).runs()
    story.hook("permission-request", tool="Bash", text="rm -rf .")
    post = Post(story.agent)

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == []


async def test_what_a_person_is_typing_is_left_alone(post: Post) -> None:
    post.pane.line = "half a thou"

    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert "unsent" in answer.reason
    assert answer.person
    assert post.pane.typed == []


async def test_a_cli_that_has_not_drawn_yet_is_waited_for(post: Post) -> None:
    looks = iter(["", "[phoenixd] a has not been started.\n"])

    async def capture(agent: str, history: int = 0) -> str:
        return next(looks, prompt_with(post.pane.line))

    post.pane.capture = capture  # type: ignore[method-assign]
    post.pane.on_enter = post.taken("go on")

    assert isinstance(await post.send("go on"), Delivered)


async def test_without_an_input_line_nothing_is_typed(post: Post) -> None:
    post.pane.screen = "Resume this session with:\nclaude --resume x\n"

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == []


async def test_enter_is_not_pressed_on_a_dialog_that_opened_meanwhile(post: Post) -> None:
    def ask() -> None:
        post.pane.screen = PERMISSION

    post.pane.after_paste = ask

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == ["go on"]


async def test_enter_is_not_pressed_once_a_hook_tells_of_a_dialog(post: Post) -> None:
    looks = iter([prompt_with("")])

    async def capture(agent: str, history: int = 0) -> str:
        shown = next(looks, None)
        if shown is None:
            post.hook("permission-request")
        return shown or prompt_with("go on")

    post.pane.capture = capture  # type: ignore[method-assign]

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == ["go on"]


async def test_enter_is_not_pressed_before_the_text_is_seen(post: Post) -> None:
    def unseen() -> None:
        post.pane.line = ""

    post.pane.after_paste = unseen

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == ["go on"]


async def test_a_lost_enter_is_pressed_again_and_the_text_never_pasted_twice(post: Post) -> None:
    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert answer.reason == "it stands in the input line, unsent"
    assert post.pane.typed[0] == "go on"
    assert post.pane.typed.count("Enter") == 1 + len(ENTER_AGAIN)
    assert post.pane.typed.count("go on") == 1


async def test_what_could_not_be_submitted_is_taken_out_of_the_input_line_again(post: Post) -> None:
    def shorter() -> None:
        post.pane.line = "\n".join(post.pane.line.splitlines()[:-1])

    post.pane.on_clear = shorter

    answer = await post.send("one\ntwo\nthree")

    assert isinstance(answer, NotDelivered)
    assert "taken out of the input line again" in answer.reason
    assert (post.pane.line, post.pane.typed[-3:]) == ("", ["Ctrl-U"] * 3)


async def test_an_enter_that_was_taken_at_the_last_moment_is_no_failure(post: Post) -> None:
    def late() -> None:
        post.pane.line = ""
        post.hook("prompt-submit", "go on")

    post.pane.on_clear = late

    assert isinstance(await post.send("go on"), Delivered)


async def test_what_was_left_behind_a_dialog_is_not_in_the_way_of_the_next_text(post: Post) -> None:
    looks = iter([prompt_with(""), *[prompt_with("first")] * 2])

    async def capture(agent: str, history: int = 0) -> str:
        return next(looks, PERMISSION)

    whole, post.pane.capture = post.pane.capture, capture  # type: ignore[method-assign]
    post.pane.on_enter = lambda: post.hook("permission-request")
    post.pane.on_clear = lambda: setattr(post.pane, "line", "")
    first = await post.send("first")
    post.pane.capture, post.pane.on_enter = whole, post.taken("second")  # type: ignore[method-assign]
    assert post.pane.line == "first", "it stood behind the dialog, and stands there now"

    second = await post.send("second")

    assert isinstance(first, NotDelivered)
    assert isinstance(second, Delivered)
    assert post.pane.typed == ["first", "Enter", "Ctrl-U", "second", "Enter"]


async def test_f_proc_28_what_was_left_in_an_earlier_run_is_no_word_about_a_line_in_this_one() -> None:
    """A person who writes the same words into the new run keeps them."""
    story = Story(claude()).runs()
    post = Post(story.agent)
    await leave(post, "first")
    story.exited(1)
    post.agent = story.respawned().runs().agent
    post.pane.line, post.pane.typed = "first", []

    answer = await post.messenger.deliver(post.agent, Deliver("a", 2, "m", "second"))

    assert isinstance(answer, NotDelivered)
    assert "unsent" in answer.reason
    assert (post.pane.line, post.pane.typed) == ("first", [])


async def test_of_an_agent_that_is_gone_no_text_is_kept(post: Post) -> None:
    await leave(post, "first")
    assert [texts for _, texts in post.messenger._left.values()] == [("first",)]

    post.messenger._find = lambda name: None
    assert isinstance(await post.send("second"), NotDelivered)

    assert post.messenger._left == {}


async def leave(post: Post, text: str) -> None:
    """Have a text stand in the input line behind a dialog; the dialog goes."""
    post.pane.after_paste = lambda: setattr(post.pane, "screen", PERMISSION)
    assert isinstance(await post.send(text), NotDelivered)
    post.pane.after_paste, post.pane.screen = (lambda: None), None


async def test_nothing_is_typed_while_somebody_types(post: Post) -> None:
    """F-PROC-28."""
    touches = iter(range(3))

    async def last_typed(agent: str) -> float | None:
        return post.clock.reading if next(touches, None) is not None else None

    post.pane.last_typed = last_typed  # type: ignore[method-assign]
    post.pane.on_enter = post.taken("go on")
    assert isinstance(await post.send("go on"), Delivered), "a person who stops is waited for"

    async def always(agent: str) -> float | None:
        return post.clock.reading

    post.pane.last_typed = always  # type: ignore[method-assign]
    post.pane.typed.clear()
    answer = await post.send("go on")
    assert isinstance(answer, NotDelivered)
    assert (answer.reason, answer.person, post.pane.typed) == ("somebody types at its terminal", True, [])


async def test_enter_is_left_to_a_person_who_came_meanwhile(post: Post) -> None:
    post.pane.after_paste = lambda: setattr(post.pane, "touched", post.clock.reading + 1)

    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert "somebody typed" in answer.reason
    assert post.pane.typed == ["go on"]


async def test_a_terminal_too_small_to_be_read_is_not_typed_into(post: Post) -> None:
    post.pane.too_small = "it is shown in a terminal of 2x1 cells"

    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert (answer.reason, post.pane.typed) == ("it is shown in a terminal of 2x1 cells", [])


@pytest.mark.parametrize("found", [Story(claude()).agent, None], ids=["another run", "removed"])
async def test_the_next_run_is_not_typed_into(post: Post, found: Agent | None) -> None:
    def died() -> None:
        post.agent = found  # type: ignore[assignment]

    post.pane.on_enter = died

    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert answer.reason == "the run that it was meant for is over"
    assert post.pane.typed == ["go on", "Enter"]


async def test_a_prompt_that_the_busy_agent_puts_off_is_delivered(post: Post) -> None:
    def put_off() -> None:
        post.pane.line = ""
        post.queue.texts = ("another one", "go on")

    post.pane.on_enter = put_off

    answer = await post.send("go on")

    assert isinstance(answer, Delivered)
    assert answer.queued == "go on"


async def test_of_a_command_the_empty_input_line_is_the_receipt(post: Post) -> None:
    def obey() -> None:
        post.pane.line = ""

    post.pane.on_enter = obey

    assert isinstance(await post.send("/exit"), Delivered)


async def test_another_prompt_is_no_receipt(post: Post) -> None:
    post.pane.on_enter = post.taken("what somebody else typed")

    answer = await post.send("go on")

    assert isinstance(answer, NotDelivered)
    assert post.pane.typed == ["go on", "Enter"]


async def test_a_text_for_a_shell_is_not_typed(post: Post) -> None:
    assert isinstance(await post.send("!important"), NotDelivered)
    assert post.pane.typed == []


async def test_of_a_program_without_hooks_the_receipt_is_that_it_read_its_terminal() -> None:
    post = Post(Story(spec()).runs().agent, Pane(screen="whatever it shows"))

    answer = await post.send("hello")

    assert isinstance(answer, Delivered)
    assert "read it" in answer.evidence
    assert post.pane.typed == ["hello", "Enter"]


async def test_what_a_program_does_not_read_is_taken_back_and_not_delivered() -> None:
    post = Post(Story(spec()).runs().agent, Pane(unread_bytes=6))

    answer = await post.send("hello")

    assert isinstance(answer, NotDelivered)
    assert "did not read" in answer.reason
    assert post.pane.unread_bytes == 0


async def test_of_a_command_that_ends_the_run_its_end_is_the_receipt(post: Post) -> None:
    def leave() -> None:
        post.agent = Story(claude()).agent

    post.pane.on_enter = leave

    assert isinstance(await post.send("/exit"), Delivered)


async def test_a_dialog_that_a_text_was_not_sent_to_is_told_to_everyone(post: Post) -> None:
    """Two faces must never know different things: what `send` reads is an event, and so an item of the inbox."""
    post.pane.screen = PERMISSION

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.told == [ScreenSeen("a", 1, "permission", "send")]


@pytest.mark.parametrize(("ago", "attended"), [(30.0, True), (90.0, False)])
async def test_a_menu_may_be_that_of_the_person_who_sits_there(post: Post, ago: float, attended: bool) -> None:
    post.clock.reading = 1000.0
    post.pane.touched = 1000.0 - ago
    post.pane.screen = f"{BOX}\n Select model\n ❯ 1. Opus\n Esc to cancel\n"

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.told == [ScreenSeen("a", 1, "dialog", "send", attended=attended)]


async def test_a_dialog_that_opens_after_the_paste_is_told_too(post: Post) -> None:
    def opens() -> None:
        post.pane.screen = PERMISSION

    post.pane.after_paste = opens

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.told == [ScreenSeen("a", 1, "permission", "send")]
    assert "Enter" not in post.pane.typed


async def test_f_tmux_9_enter_is_not_pressed_again_where_a_permission_was_asked_behind_a_late_frame(post: Post) -> None:
    """The screen still shows the text in the input line; Enter would be the answer to what is drawn next."""
    post.pane.on_enter = lambda: post.hook("permission-request")

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == ["go on", "Enter"]


async def test_f_tmux_9_enter_is_not_pressed_again_where_a_permission_was_asked_and_no_input_line_is_known() -> None:
    story = Story(spec()).runs()
    story.hook("session-start")
    story.hook("stop")
    post = Post(story.agent)
    post.pane.on_enter = lambda: post.hook("permission-request")

    assert isinstance(await post.send("go on"), NotDelivered)
    assert post.pane.typed == ["go on", "Enter"]
