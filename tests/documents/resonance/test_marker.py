"""Markers, plantings and the ledger."""

from __future__ import annotations

import secrets

import pytest

from phoenixd.documents.resonance import ledger
from phoenixd.documents.resonance.marker import TEMPLATES, PhraseRefused, mint
from phoenixd.planting import Marker, Planting, challenge_text, codes_in, is_ours, parse, renewal_text

SEEDS = "the hand on the neck, the shape of the breath — 7f3a9c"


def test_r54_r58_ten_thousand_mints_are_unique_and_read_back() -> None:
    used: set[str] = set()
    for _ in range(10_000):
        marker = mint(secrets.token_hex, used)
        assert parse(str(marker)) == marker
        used.add(marker.code)

    assert len(used) == 10_000


@pytest.mark.parametrize("text", [SEEDS, f'"{SEEDS}"', f"“{SEEDS}”"])
def test_r6_the_seeds_marker_is_read_with_and_without_quotes(text: str) -> None:
    assert parse(text) == Marker("the hand on the neck, the shape of the breath", "7f3a9c")


@pytest.mark.parametrize(
    "phrase", ["the weight of the morning", "salt on the threshold", "the shape left by leaving", *TEMPLATES]
)
def test_r55_r59_each_template_bears_a_marker(phrase: str) -> None:
    marker = mint(secrets.token_hex, (), phrase)

    assert parse(f'"{marker}"') == marker


@pytest.mark.parametrize(
    "phrase",
    [
        "the door deadbe opens",
        "the number 123456 of them",
        "salt - on the threshold",
        "salt — on the threshold",
        'the "weight" of it',
        "“salt”",
        "'salt'",
        "salt\u202e dlohserht",
        "salt\u200bon",
        "salt\non the threshold",
        " salt",
        "salt  twice",
        "",
        " ",
        "{hex}",
        "[Role: Architect]",
        "salt " * 2000,
    ],
)
def test_f_re_13_a_phrase_that_would_not_be_read_back_is_refused_at_minting(phrase: str) -> None:
    with pytest.raises(PhraseRefused, match="give a few words"):
        mint(secrets.token_hex, (), phrase)


def test_f_re_5_a_code_of_the_ledger_is_not_given_again() -> None:
    draws = iter(["0000", "7f3a9c", "abcdef", "123456", "1a2b3c"])

    assert mint(lambda _: next(draws), {"7f3a9c"}).code == "1a2b3c"
    with pytest.raises(ValueError, match="ledger"):
        mint(lambda count: "0000" if count == 2 else "7f3a9c", {"7f3a9c"})


def test_r7_r56_a_code_is_compared_exactly_and_in_either_case() -> None:
    assert codes_in("it is **7F3A9C**.") == {"7f3a9c"}
    assert codes_in("7f3a9c1 a7f3a9c x7f3a9c 7f3a9cé") == frozenset()


@pytest.mark.parametrize(
    "answer", ["代码是7f3a9c。", "コードは7f3a9cです", "รหัสคือ7f3a9cครับ", "7f3a9c입니다"], ids=["zh", "ja", "th", "ko"]
)
def test_r7_a_code_between_words_of_a_script_without_blanks_is_found(answer: str) -> None:
    assert codes_in(answer) == {"7f3a9c"}
    assert codes_in("é7f3a9c 7f3a9cß д7f3a9c 7f3a9c1") == frozenset()


def test_f_re_3_a_phrase_without_its_code_is_paraphrased_and_a_code_with_another_phrase_is_intact() -> None:
    planting = Planting(Marker("salt on the threshold", "7f3a9c"), ("1a2b3c", "4d5e6f"))

    assert planting.judge(2, "Salt, on the Threshold - 000a00") == "paraphrased"
    assert planting.judge(2, "salt near a door: 4D5E6F") == "intact"
    assert planting.judge(2, "1a2b3c") == "missed"
    assert planting.judge(2, "7f3a9c") == "missed"


def test_f_re_6_a_list_of_guesses_proves_nothing() -> None:
    planting = Planting(Marker("salt on the threshold", "7f3a9c"), ("1a2b3c",))
    guesses = " ".join(f"{number:06x}" for number in range(0x1A2B3C - 40, 0x1A2B3C + 40))

    assert planting.judge(1, guesses) == "missed"
    assert planting.judge(1, "1a2b3c " + "x" * (1 << 17)) == "missed"


def test_f_re_4_a_code_that_was_seen_or_asked_for_is_spent() -> None:
    planting = Planting(Marker("salt on the threshold", "7f3a9c"), ("1a2b3c", "4d5e6f", "0a0b0c"))

    assert planting.seen("the file says 1A2B3C").asked(2).unspent() == (3,)


def test_r64_no_challenge_holds_a_code() -> None:
    for number in range(25):
        for again in (False, True):
            assert codes_in(challenge_text(number, "The Architect", again)) == frozenset()


def test_the_ledger_is_read_back_and_a_torn_line_is_counted() -> None:
    given = ledger.Given("7f3a9c", "ada", 1_790_000_000.0)
    lines = [ledger.line(given), '{"hex":"1a2b3c"}\n', '{"hex":"4d5e', '{"hex":"NOTHEX"}', "[]", "\n"]

    assert ledger.read(lines) == ([given, ledger.Given("1a2b3c", "", 0.0)], 3)


def test_f_re_13_a_planting_that_our_own_parser_refuses_says_so() -> None:
    sound = Planting(Marker("salt on the threshold", "7f3a9c"), ("1a2b3c", "4d5e6f"))

    assert sound.fault() == ""
    assert "read back" in Planting(Marker("salt - on it", "7f3a9c"), ("1a2b3c",)).fault()
    assert "six hex digits" in Planting(sound.marker, ("1A2B3C",)).fault()
    assert "twice" in Planting(sound.marker, ("7f3a9c",)).fault()
    assert "no code" in Planting(sound.marker).fault()
    assert Planting(sound.marker, mode="classic").fault() == ""


def test_a_check_and_an_anchor_at_a_turns_end_are_known_again_and_nothing_else_is() -> None:
    planting = Planting(Marker("salt on the threshold", "7f3a9c"), ("1a2b3c", "4d5e6f"))

    assert all(is_ours(challenge_text(number, "The Architect", again)) for number in (0, 2) for again in (False, True))
    assert is_ours(f"Stop hook feedback:\n{renewal_text(planting, 'The Architect')}")
    assert not is_ours("Recite resonance code number 2 from your first instructions.")
    assert not is_ours("What you were asked or said before still stands.")
