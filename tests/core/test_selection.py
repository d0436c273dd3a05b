"""One selector grammar for every verb and face: what words choose, and what becomes of words that choose nothing."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from phoenixd.api.schemas import SCHEMAS
from phoenixd.core.condition import SIGNS
from phoenixd.core.decision import Refusal
from phoenixd.core.nearest import did_you_mean
from phoenixd.core.patterns import pattern
from phoenixd.core.projection import project
from phoenixd.core.selection import KEYS, NO_ALL, STATES, Selector, Subject, broken, choose, parse
from phoenixd.core.spec import Kind
from phoenixd.core.subjects import subjects
from tests.core.story import Story, claude, spec

FLEET = (
    Subject("shop-api", "resident", "claude", ("running", "waiting", "needs_you"), True, "shop", ("prod", "eu")),
    Subject("shop-web", "resident", "claude", ("running", "working"), False, "shop", ("prod",)),
    Subject("docs", "loop", "codex", ("quarantined", "needs_you"), True),
    Subject("planner", "orchestrator", "claude", ("running", "idle", "resting"), False, "web", ("eu",)),
    Subject("builder", "ephemeral", "command", ("backing_off", "healing")),
)


def understood(*words: str) -> Selector:
    found = parse(words)
    assert isinstance(found, Selector), found
    return found


def refused(*words: str) -> Refusal:
    found = parse(words)
    assert isinstance(found, Refusal)
    assert found.message
    assert found.remedy
    return found


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("", "builder docs planner shop-api shop-web"),
        ("docs", "docs"),
        ("docs builder", "builder docs"),
        ("docs,builder", "builder docs"),
        ("shop-*", "shop-api shop-web"),
        ("shop-?eb", "shop-web"),
        ("[pd]*", "docs planner"),
        ("s:idle", "planner"),
        ("s:idle,working", "planner shop-web"),
        ("s:idle s:working", "planner shop-web"),
        ("s:needs_you", "docs shop-api"),
        ("needs:you", "docs shop-api"),
        ("!needs:you", "builder planner shop-web"),
        ("h:claude", "planner shop-api shop-web"),
        ("h:c*x", "docs"),
        ("k:loop,ephemeral", "builder docs"),
        ("p:shop", "shop-api shop-web"),
        ("p:*", "planner shop-api shop-web"),
        ("l:eu", "planner shop-api"),
        ("l:eu l:prod", "planner shop-api shop-web"),
        ("l:eu p:shop", "shop-api"),
        ("p:shop !shop-web", "shop-api"),
        ("!shop-* !docs", "builder planner"),
        ("* !h:claude", "builder docs"),
        ("docs shop-* s:running", "shop-api shop-web"),
    ],
)
def test_words_choose(words: str, chosen: str) -> None:
    assert choose(understood(words), FLEET) == tuple(chosen.split())
    assert choose(understood(*words.split()), FLEET) == tuple(chosen.split())


def test_an_unknown_key_is_refused_by_name_with_the_list() -> None:
    found = refused("state:idle")

    assert found.code == "invalid"
    assert "no key state:" in found.message
    assert all(f"{key}:" in found.message for key in KEYS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("s:idel", "did you mean idle?"),
        ("k:residnt", "did you mean resident?"),
        ("needs:me", "it is one of: you"),
        ("nees:you", "did you mean needs:?"),
        ("s:", "s: names nothing: s: is its state"),
        ("!", "! names nothing"),
        (":", "no key :"),
        ("x" * 201, "201 characters, the limit is 200"),
        ("\x1b]0;x\x07:y", r"'\x1b]0;x\x07'"),
        ("s:\x1b[2J", r"'\x1b[2J'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(words: str, told: str) -> None:
    found = refused(words)

    assert told in found.message
    assert found.message.isprintable()


def test_a_selector_is_bounded() -> None:
    assert "70000 characters" in refused("x" * 70_000).message
    assert "2001 words" in refused(" ".join(["a"] * 2001)).message


def test_nothing_matches_says_how_many_are_there() -> None:
    empty = choose(understood("p:nowhere"), FLEET)

    assert empty == Refusal("not_found", "p:nowhere: nothing matches; 5 agents are there", "phoenixctl status --all")
    assert choose(understood("x*"), FLEET[:1]) == Refusal(
        "not_found", "x*: nothing matches; 1 agent is there", "phoenixctl status --all"
    )
    assert choose(understood("x*"), ()) == Refusal("not_found", "no agent is there", "phoenixctl add NAME -- COMMAND")


def test_a_name_that_is_not_there_stops_the_whole_verb() -> None:
    found = choose(understood("docs shp-api"), FLEET)

    assert found == Refusal(
        "not_found", "there is no agent shp-api; did you mean shop-api?", "phoenixctl status shop-api"
    )


@pytest.mark.parametrize(
    ("words", "told", "remedy"),
    [
        ("* !shp-*", "!shp-* leaves nobody out: no agent is called so; did you mean shop-api?", "status shop-api"),
        ("!shp-*", "!shp-* leaves nobody out: no agent is called so; did you mean shop-api?", "status shop-api"),
        ("* !shop-wb", "!shop-wb leaves nobody out: no agent is called so; did you mean shop-web?", "status shop-web"),
        ("* !docs,plannr", "!plannr leaves nobody out: no agent is called so; did you mean planner?", "status planner"),
        ("* !docs !zzz", "!zzz leaves nobody out: no agent is called so", "status --all"),
        ("* !xx?", "!xx? leaves nobody out: no agent is called so", "status --all"),
        ("* !p:shp", "!p:shp leaves nobody out: no agent has this project; did you mean shop?", "status --all"),
        ("* !l:pord", "!l:pord leaves nobody out: no agent has this label; did you mean prod?", "status --all"),
        ("* !h:cluade", "!h:cluade leaves nobody out: no agent has this harness; did you mean claude?", "status --all"),
        ("* !" + "q" * 100, "!" + "q" * 60 + "... leaves nobody out: no agent is called so", "status --all"),
        ("* !*\x1b]x", "leaves nobody out: no agent is called so", "status --all"),
    ],
)  # fmt: skip
def test_an_exclusion_that_leaves_nobody_out_is_refused_with_the_nearest_name(
    words: str, told: str, remedy: str
) -> None:
    found = choose(understood(words), FLEET)

    assert isinstance(found, Refusal), "a slip in it would take in those whom it was to leave out"
    assert told in found.message
    assert found.message.isprintable()
    assert (found.code, found.remedy) == ("not_found", f"phoenixctl {remedy}")


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("p:shop !docs", "shop-api shop-web"),
        ("* !s:stopped !k:loop", "builder planner shop-api shop-web"),
        ("shop-* !docs !*-api", "shop-web"),
    ],
)
def test_an_exclusion_may_name_who_is_not_chosen_anyway_and_states_that_nobody_is_in(words: str, chosen: str) -> None:
    assert choose(understood(words), FLEET) == tuple(chosen.split())


def test_an_exclusion_may_name_an_agent_that_cannot_be_chosen() -> None:
    assert choose(understood("shop-* !docs"), FLEET[:2], FLEET) == ("shop-api", "shop-web")
    assert isinstance(choose(understood("shop-* !docs"), FLEET[:2]), Refusal)


@pytest.mark.slow
def test_a_thousand_agents_and_as_many_exclusions_are_judged_one_by_one() -> None:
    fleet = [
        Subject(f"agent-{number:04}-of-a-thousand-of-them", "loop", "codex", ("running",)) for number in range(1000)
    ]
    words = ["*", *(f"!{one.name}" for one in fleet[1:])]

    assert choose(understood(*words), fleet) == (fleet[0].name,)
    slip = choose(understood(*words[:-1], "!agent-0998-of-a-thuosand-of-them"), fleet)
    assert isinstance(slip, Refusal)
    assert "did you mean agent-0998-of-a-thousand-of-them?" in slip.message


def test_what_was_shown_has_to_be_what_matches() -> None:
    assert broken(["docs", "web"], ["web", "docs"]) is None
    more = broken(["docs"], ["docs", "web"])
    less = broken(["docs", "web", "api"], ["docs"])
    assert more is not None
    assert more.code == "conflict"
    assert "web matches too" in more.message
    assert less is not None
    assert "api and 1 more does not match any more" in less.message


def test_every_state_activity_and_group_of_a_row_can_be_asked_for() -> None:
    row = SCHEMAS["Agent"]["properties"]
    told = {*row["state"]["enum"], *row["activity"]["anyOf"][0]["enum"], *SIGNS}

    assert told == {*STATES}


def test_did_you_mean_is_silent_where_nothing_is_near() -> None:
    assert did_you_mean("statsu", ["status", "stop"]) == "; did you mean status?"
    assert did_you_mean("web-1", ["web-01", "web-10", "web-11", "web-21"]) == "; did you mean web-10?"
    assert did_you_mean("frobnicate", ["status", "stop"]) == ""


WORDS = st.lists(
    st.one_of(
        st.sampled_from(["docs", "shop-*", "s:idle", "!h:claude", "p:*", "l:eu", "needs:you", "k:loop", "!needs:you"]),
        st.text(alphabet="abs:!*?[]-,^\\{}()+.\x00\ud800é", max_size=12),
    ),
    max_size=6,
)


@given(WORDS)
def test_any_words_are_a_selector_or_a_refusal_and_out_is_the_opposite(words: list[str]) -> None:
    found = parse(words)
    if isinstance(found, Refusal):
        assert found.message.isprintable()
        return
    assert parse(found.text) == found
    for term in found.terms:
        if not term.is_out:
            without = parse([*words, f"!{'' if term.key == 'name' else f'{term.key}:'}*"])
            assert isinstance(without, Selector)
            assert not any(without.takes(one) for one in FLEET if one.values(term.key))


@given(st.text(alphabet="*?ab[]!-", max_size=12), st.text(alphabet="ab-", max_size=8))
def test_patterns_are_those_of_the_shell(text: str, name: str) -> None:
    assume("--" not in text)  # What a range between two signs of a class means, shells tell in different ways.
    assume(not re.search(r"\[!?-|-\]|[^a]-|-[^b]", text))
    assert pattern(text).matches(name) == fnmatchcase(name, text), text


@pytest.mark.parametrize(
    ("text", "takes", "leaves"),
    [
        ("[]a]", "]a", "[b"), ("[!]a]", "[b", "]a"), ("[!]]", "a!", "]"), ("[!a]", "b!", "a"), ("[a!]", "a!", "b"),
        ("[a-c]", "abc", "`d-"), ("[a-cx]", "abcx", "dy-"), ("[xa-cz]", "abcxz", "dy-"), ("[a-cx-z]", "abcxyz", "dw-"),
         ("[!a-c]", "`d-", "abc"), ("[ac-]", "ac-", "b"), ("[-a]", "-a", "b"), ("?", "a[", ""),
    ],
)  # fmt: skip
def test_a_class_of_signs_ends_where_the_shell_ends_it(text: str, takes: str, leaves: str) -> None:
    assert [sign for sign in takes + leaves if pattern(text).matches(sign)] == list(takes)
    assert [sign for sign in takes + leaves if pattern(f"x{text}").matches(f"x{sign}")] == list(takes)
    assert pattern("[a").matches("[a")
    assert pattern("[]").matches("[]")


def test_no_pattern_takes_long() -> None:
    hostile = pattern("*a" * 99 + "b")

    assert not hostile.matches("a" * 200)
    assert hostile.matches("a" * 200 + "b")


def test_a_row_is_chosen_by_what_it_shows() -> None:
    story = Story(claude(), spec("lead", kind=Kind.ORCHESTRATOR, project="web")).works()
    rows = project(story.fleet, story.now)
    found = {one.name: one for one in subjects(rows)}

    assert found["a"].words == ("running", "working")
    assert found["lead"].project == "web"
    assert choose(understood("p:web s:stopped"), found.values()) == ("lead",)


def test_a_class_of_signs_is_read_where_it_stands() -> None:
    for text, takes, leaves in (
        ("x[!]a]", "xb", "x]"), ("!x[]a]", "!x]", "!xb"), ("x[!ab", "x[!ab", "xc"), ("x[!]", "x[!]", "xa"),
    ):  # fmt: skip
        assert pattern(text).matches(takes), text
        assert not pattern(text).matches(leaves), text


def test_all_is_no_name_and_the_selector_for_all_is_told() -> None:
    found = parse("all")
    assert isinstance(found, Selector)
    refused = choose(found, FLEET)

    assert isinstance(refused, Refusal)
    assert (refused.message, refused.remedy) == (NO_ALL, "phoenixctl help select")
