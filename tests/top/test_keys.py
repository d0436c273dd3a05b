"""Every key in every situation acts, or says why not (faces, check 26); answers go to what was read (checks 6, 23)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.top import keys
from phoenixd.top import press as pressing
from phoenixd.top.effects import Attach, Fetch, Quit
from phoenixd.top.face import SETTLED, Face, Order, World
from phoenixd.top.frames import Frame
from phoenixd.top.keys import BY_KEY, TABLE
from phoenixd.top.model import hear
from phoenixd.top.typing_line import LONGEST_MESSAGE, pasted
from phoenixd.top.view import paint, seen
from tests.top.fleets import AT, pressed, settled, world

PLAN = {"kind": "plan", "shown": ["Plan", *(f"  step {number}" for number in range(60))], "text_hash": "plan"}
PROPOSAL = {
    "kind": "proposal",
    "shown": ["  restart shop-api without its plugin", "  it forgets 12 minutes"],
    "limits": "",
}


def at(name: str, *, width: int = 80, height: int = 24) -> World:
    """The cursor at an agent."""
    return world(width=width, height=height, face=Face(cursor=("agent", name)))


def with_item(before: World, **changed: Any) -> World:
    """What the agent at the cursor asks is this now, and has been so for long enough."""
    (item,) = before.model.waiting(before.name or "")
    model = hear(before.model, [Frame("item", {**item, **changed})], AT - 1)
    return replace(before, model=model)


def orders(effects: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(one.operation, dict(one.given)) for one in effects if isinstance(one, Order)]


SITUATIONS = {
    "needs you: a permission": lambda: at("shop-api"),
    "needs you: a question": lambda: at("shop-web"),
    "needs you: a quarantine": lambda: at("docs"),
    "working": lambda: at("infra"),
    "resting": lambda: at("rests"),
    "resting, stopped": lambda: at("stopped-on-purpose"),
    "healing": lambda: world("a_bad_night", face=Face(cursor=("agent", "builder"))),
    "unknown": lambda: world("one_unknown", face=Face(cursor=("agent", "docs"))),
    "an alert of the fleet": lambda: world("degraded", face=Face(cursor=("alert", "1"))),
    "a heading": lambda: world(face=Face(cursor=("group", "working"))),
    "an empty list": lambda: world("empty"),
    "a low screen": lambda: at("shop-api", width=20, height=5),
    "the page of the keys": lambda: pressed(at("shop-api"), "?")[0],
    "the page of an item": lambda: pressed(at("shop-api"), "o")[0],
    "marked agents": lambda: pressed(at("infra"), "space", "space")[0],
    "no daemon": lambda: replace(at("shop-api"), clock=replace(at("shop-api").clock, at=AT + 60)),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_key_acts_or_says_why_not(situation: str) -> None:
    before = SITUATIONS[situation]()
    ready = settled(before)
    for key in BY_KEY:
        face, effects = pressing.press(ready, key)
        changed = replace(face, message="") != replace(ready.face, message="")
        moves = BY_KEY[key].action in ("down", "up", "first", "last", "page_down", "page_up")
        assert changed or effects or len(face.message) > 8 or moves, key
        if BY_KEY[key].why(ready) and key not in "23456789":
            assert face.message, key
            assert not effects, key


def test_esc_never_acts_and_no_lower_case_key_ends_anything_without_a_question() -> None:
    for make in SITUATIONS.values():
        for key in BY_KEY:
            _, effects = pressing.press(settled(make()), key)
            assert key != "escape" or not effects
            for operation, given in orders(list(effects)):
                looks = operation == "undo" and given["dry_run"]
                ends_nothing = operation in ("answer_item", "ack_alert") or given.get("verb") in ("start", "unmute")
                assert looks or ends_nothing, (key, given)


def test_the_page_of_the_keys_names_each_key_with_why_it_cannot() -> None:
    after, _ = pressed(at("infra", height=80), "?")
    shown = paint(after).text
    here, _, not_here = shown.partition("not here")

    for key in TABLE:
        assert f"  {key.label} " in shown
    assert "attach to the terminal" in here
    assert "infra asks nothing" in not_here


def test_no_word_of_the_page_of_the_keys_is_broken_on_forty_columns() -> None:
    shown = " ".join(paint(pressed(at("infra", width=40, height=200), "?")[0]).text.split())
    assert [key.label for key in TABLE if key.does not in shown] == []


def test_allow_approve_and_deny_go_to_the_text_that_was_read() -> None:
    item = at("shop-api").model.waiting("shop-api")[0]
    answered = {"id": str(item["id"]), "answer": ["allow"], "text_hash": item["text_hash"]}
    assert orders(pressed(at("shop-api"), "a")[1]) == [("answer_item", answered)]
    typed = pressed(at("shop-api"), "d", *"not", "space", *"now", "enter")[1]
    assert orders(typed) == [("answer_item", {**answered, "answer": ["deny", "not now"]})]
    plan = with_item(at("shop-api"), **{**PLAN, "shown": ["Plan", "  step 1"]})
    assert orders(pressed(plan, "a")[1]) == [("answer_item", {**answered, "answer": ["approve"], "text_hash": "plan"})]


def test_a_denial_has_to_say_why_but_that_of_a_proposal_need_not() -> None:
    after, effects = pressed(at("shop-api"), "d", "enter")
    assert (effects, after.face.prompt is not None) == ([], True)
    assert "type why" in after.face.message
    assert orders(pressed(with_item(at("shop-api"), **PROPOSAL), "d", "enter")[1])[0][1]["answer"] == ["deny"]
    shown = paint(with_item(at("shop-api"), **PROPOSAL)).text
    assert "restart shop-api without its plugin" in shown
    assert "it forgets 12 minutes" in shown


def test_a_question_is_answered_by_number_by_words_and_one_after_the_other() -> None:
    assert orders(pressed(at("shop-web"), "2")[1])[0][1]["answer"] == ["2"]
    assert "has 2 options" in pressed(at("shop-web"), "3")[0].face.message
    assert orders(pressed(at("shop-web"), "a", *"MariaDB", "enter")[1])[0][1]["answer"] == ["MariaDB"]
    assert "a answers it" in pressed(at("shop-web"), "d")[0].face.message
    (item,) = at("shop-web").model.waiting("shop-web")
    two = with_item(
        at("shop-web"), questions=[*item["questions"], {"question": "Why?", "several": False, "options": []}]
    )
    assert "a answers them" in pressed(two, "1")[0].face.message
    assert orders(pressed(two, "a", "1", "enter", *"so", "enter")[1])[0][1]["answer"] == ["1", "so"]


@pytest.mark.parametrize("key", ["a", "d", "1"])
def test_nothing_is_answered_within_half_a_second_of_a_change(key: str) -> None:
    """Faces, section 3: the dialog may have been replaced under the finger."""
    name = "shop-web" if key == "1" else "shop-api"
    ready = settled(at(name))
    (item,) = ready.model.waiting(name)
    row = ready.model.agents[name].body
    for frame in (Frame("item", {**item, "text": "other"}), Frame("agent", {**row, "incarnation": 9})):
        changed = replace(ready, model=hear(ready.model, [frame], AT - SETTLED / 2))
        face, effects = pressing.press(changed, key)
        assert effects == ()
        assert face.prompt is None
        assert "has changed just now" in face.message
        later = replace(changed, clock=replace(changed.clock, at=AT + SETTLED))
        assert pressing.press(later, key) != (face, effects)


def test_nothing_is_answered_that_has_just_come_before_the_person() -> None:
    before = at("shop-api")
    fresh = replace(before, face=seen(before.face, paint(before), AT - SETTLED / 2))

    face, effects = pressing.press(fresh, "a")

    assert effects == ()
    assert "has changed just now" in face.message


def test_another_text_under_the_same_number_is_not_what_was_read() -> None:
    ready = settled(at("shop-api"))
    (item,) = ready.model.waiting("shop-api")
    model = hear(ready.model, [Frame("item", {**item, "text_hash": "other"})], AT - 1)

    face, effects = pressing.press(replace(ready, model=model), "a")

    assert (effects, "not all of" in face.message) == ((), True)


def test_a_call_that_is_cut_has_to_be_opened_and_read_to_its_end() -> None:
    """Faces, section 3: a cut command must be opened first."""
    long = with_item(at("shop-api"), **PLAN)
    assert "more lines: o opens" in paint(long).text
    refused, effects = pressed(long, "a")
    assert effects == []
    assert "not all of #2 is on the screen: o opens it" in refused.face.message
    opened, effects = pressed(long, "o", "a")
    assert effects == []
    assert "read it to its end" in opened.face.message
    _, effects = pressed(opened, "G", "a")
    assert effects == [], "what was jumped over was not read"
    read, _ = pressed(opened, "pagedown", "pagedown", "pagedown")
    assert orders(pressed(read, "a")[1])[0][1]["answer"] == ["approve"]
    _, effects = pressed(read, "g", "a")
    assert effects == [], "its end is not on the screen any more"


def test_what_only_the_terminal_can_answer_says_so() -> None:
    there = with_item(at("shop-api"), answer_by="attach", limits="only its terminal has what it asks for")
    assert "at its terminal alone: Enter attaches" in pressed(there, "a")[0].face.message
    veiled = with_item(at("shop-api"), limits="secrets were taken out of what you were shown")
    assert "cannot be allowed from here: secrets" in pressed(veiled, "a")[0].face.message
    assert orders(pressed(veiled, "d", *"no", "enter")[1])[0][1]["answer"] == ["deny", "no"]


def test_what_was_answered_meanwhile_is_not_answered_again() -> None:
    typing, _ = pressed(at("shop-api"), "d", *"no")
    closed = Frame("item-closed", {"id": 2, "agent": "shop-api", "by": "uid 7", "how": "allowed"})
    after, effects = pressed(replace(typing, model=hear(typing.model, [closed], AT)), "enter")

    assert effects == []
    assert "was answered meanwhile; nothing was sent" in after.face.message


def test_bulk_verbs_ask_once_and_name_whom_they_mean() -> None:
    marked, effects = pressed(at("infra"), "space", "space", "s")
    assert effects == []
    assert "stop 2 agents: infra, planner? y/n" in paint(marked).text
    assert pressed(marked, "n")[1] == []
    done = orders(pressed(marked, "y")[1])
    assert done == [
        ("act", {"verb": "stop", "select": "infra planner", "expect": ["infra", "planner"], "wait": True}),
    ]


@pytest.mark.parametrize(("key", "verb"), [("s", "stop"), ("r", "restart"), ("D", "remove"), ("f", "restart")])
def test_one_agent_is_named_too_before_it_is_touched(key: str, verb: str) -> None:
    asked, effects = pressed(at("infra"), key)
    assert (effects, "infra?" in paint(asked).text) == ([], True)
    ((operation, given),) = orders(pressed(asked, "y")[1])
    assert (operation, given["verb"], given["expect"], given.get("fresh", False)) == (
        "act",
        verb,
        ["infra"],
        key == "f",
    )


def test_a_quarantine_is_started_afresh_or_explained_from_the_list() -> None:
    assert orders(pressed(at("docs"), "b")[1])[0][1]["verb"] == "start"
    fresh = orders(pressed(at("docs"), "f", "y")[1])[0][1]
    assert (fresh["verb"], fresh["fresh"]) == ("start", True)
    assert pressed(at("docs"), "e")[1] == [Fetch("explain", "docs")]
    assert "e explains it, b starts" in pressed(at("docs"), "a")[0].face.message


def test_the_key_line_offers_of_each_item_what_the_key_does() -> None:
    told = {name: list(keys.hints(settled(pressed(at(name), "o")[0]))) for name in ("shop-api", "shop-web")}
    assert "a allow once" in told["shop-api"]
    assert "a answer" in told["shop-web"]
    assert not any("allow" in hint for hint in told["shop-web"])


def test_nobody_writes_to_who_does_not_run() -> None:
    for name, state in (("docs", "quarantined"), ("stopped-on-purpose", "stopped")):
        after, effects = pressed(at(name), "M")
        assert (after.face.prompt, effects) == (None, [])
        assert f"{name} is {state}: nobody would read it" in after.face.message
    assert pressed(at("infra"), "M")[0].face.prompt is not None


def test_a_message_says_that_it_cannot_be_taken_back() -> None:
    _, effects = pressed(at("infra"), "M", *"go", "enter")
    assert orders(effects)[0][1]["text"] == "go"
    many, effects = pressed(at("infra"), "space", "space", "M", *"go", "enter")
    assert effects == []
    assert "cannot be taken back" in paint(many).text


def test_a_mute_asks_how_long_and_an_hour_is_meant_by_nothing() -> None:
    asked, effects = pressed(at("infra"), "m")
    assert (effects, "mute infra for (Enter: 1h):" in paint(asked).text) == ([], True)
    wanted = {"verb": "mute", "select": "infra", "expect": ["infra"], "for": "1h"}
    assert orders(pressed(asked, "enter")[1]) == [("act", wanted)]
    assert orders(pressed(asked, *"2h30m", "enter")[1]) == [("act", {**wanted, "for": "2h30m"})]
    wrong, effects = pressed(asked, *"soon", "enter")
    assert (effects, wrong.face.prompt is not None) == ([], True)
    assert '"soon" is no duration' in wrong.face.message
    bare, effects = pressed(asked, "5", "enter")
    assert (effects, bare.face.prompt is not None) == ([], True)
    assert "5 has no unit: s, m, h or d" in bare.face.message, "as the command says it"
    many = orders(pressed(at("infra"), "space", "space", "m", "enter")[1])
    assert many[0][1]["expect"] == ["infra", "planner"]


def test_what_is_muted_says_until_when_and_is_unmuted_by_another_key() -> None:
    assert "infra is not muted: m mutes it" in pressed(at("infra"), "U")[0].face.message
    before = at("infra", width=200)
    row = {**before.model.agents["infra"].body, "muted_until": "2026-11-21T09:14:00.000Z"}
    muted = replace(before, model=hear(before.model, [Frame("agent", row)], AT - 1))
    assert "muted until 09:14: Bash: terraform" in paint(muted).text
    assert orders(pressed(muted, "U")[1]) == [
        ("act", {"verb": "unmute", "select": "infra", "expect": ["infra"]}),
    ]


def test_what_needs_a_person_is_acknowledged_once_and_then_stands_apart() -> None:
    (item,) = at("shop-api").model.waiting("shop-api")
    assert orders(pressed(at("shop-api"), "A")[1]) == [("ack_alert", {"id": str(item["id"])})]
    assert orders(pressed(at("docs"), "A")[1])[0][0] == "ack_alert", "a quarantine asks nothing, and is an alert"
    assert "nothing of infra needs you" in pressed(at("infra"), "A")[0].face.message
    seen_by = with_item(at("shop-api", width=200), acknowledged={"by": "uid 7", "at": "2026-11-21T08:14:00.000Z"})
    assert f"#{item['id']} is acknowledged already, by uid 7" in pressed(seen_by, "A")[0].face.message
    assert "acknowledged: Bash npm publish" in paint(seen_by).text


def test_what_was_closed_is_looked_at_from_the_list() -> None:
    assert pressed(at("infra"), "c")[1] == [Fetch("closed", "")]


def test_undo_looks_first() -> None:
    assert orders(pressed(at("infra"), "u")[1]) == [("undo", {"dry_run": True})]


def test_the_filter_speaks_the_one_grammar() -> None:
    filtered, _ = pressed(world(), "/", *"s:waiting", "space", *"!shop-web", "enter")
    assert [place.key for place in filtered.places if place.kind == "agent"] == ["shop-api"]
    assert pressed(filtered, "escape")[0].face.filter == ""
    refused, _ = pressed(world(), "/", *"x:1", "enter")
    assert "a selector has no key x:" in refused.face.message
    left, _ = pressed(filtered, "/", *" docs", "escape")
    assert left.face.filter == "s:waiting !shop-web"


def test_marks_of_all_that_is_listed() -> None:
    all_of, _ = pressed(world(), "/", *"shop-*", "enter", "V")
    assert all_of.face.marks == {"shop-api", "shop-web"}
    assert pressed(all_of, "V")[0].face.marks == frozenset()


def test_esc_takes_marks_away_once_no_filter_is_left_and_the_line_says_which() -> None:
    marked, _ = pressed(world(), "V")
    filtered = replace(marked, face=replace(marked.face, filter="s:idle"))
    assert "Esc ends the filter" in paint(filtered).text
    assert "Esc takes the marks away" in paint(marked).text

    still, _ = pressed(filtered, "escape")
    assert (still.face.filter, bool(still.face.marks)) == ("", True)
    none, _ = pressed(still, "escape")
    assert not none.face.marks


def test_next_goes_round_what_needs_a_person() -> None:
    seen_names = []
    before = at("infra")
    for _ in range(4):
        before, _ = pressed(before, "n")
        seen_names.append(before.name)
    assert seen_names == ["shop-api", "shop-web", "docs", "shop-api"]


def test_the_cursor_stays_with_its_agent_whatever_moves() -> None:
    before = at("planner")
    rows = [Frame("agent", {**before.model.agents["infra"].body, "name": f"a{number}"}) for number in range(5)]
    after = replace(before, model=hear(before.model, rows, AT))
    assert after.name == "planner"
    assert after.at(after.places) == before.at(before.places) + 5


def test_a_paste_is_words_and_no_keys() -> None:
    """A pasted "y" must not confirm, nor a pasted line end answer."""
    asked, _ = pressed(at("infra"), "s")
    assert pasted(asked.face, "y\n").prompt == asked.face.prompt
    denial, _ = pressed(at("shop-api"), "d")
    prompt = pasted(denial.face, "not\nnow\n").prompt
    assert prompt is not None
    assert prompt.words == "not now"
    assert pasted(at("infra").face, "sy").prompt is None


def test_enter_attaches_and_q_leaves() -> None:
    assert pressed(at("infra"), "enter")[1] == [Attach("infra")]
    assert "b starts it" in pressed(at("stopped-on-purpose"), "enter")[0].face.message
    assert pressed(at("infra"), "q")[1] == [Quit()]
    assert pressed(at("infra"), "?", "q")[1] == []


def test_what_came_back_while_a_person_types_stands_until_the_line_is_closed() -> None:
    typing, _ = pressed(at("infra"), "M", "g")
    told = replace(typing, face=replace(typing.face, message="shop-api: it was answered"))
    assert "shop-api: it was answered" in paint(told).text

    further, _ = pressed(told, "o")
    assert "shop-api: it was answered" in paint(further).text
    assert "to infra: go|" in paint(further).text
    closed, _ = pressed(further, "escape", "down")
    assert closed.face.message == ""


@pytest.mark.parametrize("key", ["s", "r", "f", "M"])
def test_marked_agents_that_are_gone_are_never_taken_for_the_one_at_the_cursor(key: str) -> None:
    before = at("infra")
    gone = replace(before, face=replace(before.face, marks=frozenset({"left"})))

    refused, effects = pressed(gone, key)
    assert (effects, refused.face.prompt, refused.face.marks) == ([], None, frozenset())
    assert "the marked agents are gone" in refused.face.message
    assert pressed(refused, key)[0].face.prompt is not None, "and now the one at the cursor is meant"


@pytest.mark.parametrize(("marks", "verb"), [({"docs", "stopped-on-purpose"}, "start"), ({"docs", "infra"}, "restart")])
def test_several_that_are_all_down_are_started_afresh_and_not_restarted(marks: set[str], verb: str) -> None:
    before = at("infra")
    marked = replace(before, face=replace(before.face, marks=frozenset(marks)))
    ((_, given),) = orders(pressed(marked, "f", "y")[1])
    assert (given["verb"], given["fresh"], set(given["expect"])) == (verb, True, marks)


def test_a_text_that_was_read_at_another_width_is_read_anew() -> None:
    """It has other lines there, and the end that was seen is not the end."""
    long = ["Plan", *(f"  step {number} {'word ' * 10}" for number in range(40))]
    opened, _ = pressed(with_item(at("shop-api", width=40), **{**PLAN, "shown": long}), "o")
    read, _ = pressed(opened, "pagedown", "pagedown")
    _, effects = pressed(settled(replace(read, width=80)), "G", "a")
    assert effects == []
    whole, _ = pressed(settled(replace(read, width=80)), "g", "pagedown", "pagedown", "pagedown")
    assert orders(pressed(whole, "a")[1])


def test_a_paste_that_is_too_long_is_refused_whole() -> None:
    typing, _ = pressed(at("infra"), "M", *"go")
    refused = pasted(typing.face, "x" * LONGEST_MESSAGE)
    assert refused.prompt == typing.face.prompt
    assert f"{LONGEST_MESSAGE + 2} characters, and at most {LONGEST_MESSAGE} can be sent" in refused.message
