"""What is cut is never taken for whole, and what is whole is never refused (issue 13, the seal)."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents import seal
from phoenixd.documents.seal import END_KEY, HEAD_KEY, Seal, Told, Verdict, judge, judge_json

ONE = Seal("a1b2c3", "d4e5f6")
REPORT = "The till is closed.\n\n- 3 files changed\n- `make test`: 41 passed\n\nNothing is left to do."
SEALED = f"a1b2c3\n{REPORT}\nd4e5f6"


@pytest.mark.parametrize(
    "text",
    [
        SEALED,
        f"\n\n  {SEALED}  \n\n",
        f"```\n{SEALED}\n```",
        f"```markdown\n{SEALED}\n```\n",
        f"**a1b2c3**\n\n{REPORT}\n\n**d4e5f6**",
        f"`a1b2c3`\n{REPORT}\n`d4e5f6`.",
        f"# a1b2c3\n{REPORT}\n> d4e5f6",
        f"A1B2C3\n{REPORT}\nD4E5F6",
        f"a1b2c3 {REPORT} d4e5f6",
        f"\ufeffa1b2c3\r\n{REPORT}\r\nd4e5f6\r\n",
        "[a1b2c3]\n日本語の報告です。\n[d4e5f6]。",
        "a1b2c3\nd4e5f6",
    ],
)
@pytest.mark.parametrize("told", ["whole", "unknown"])
def test_what_honest_models_put_around_a_seal_does_not_break_it(text: str, told: Told) -> None:
    assert judge(text, ONE, told) == "sealed"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", "cut"),
        (REPORT, "cut"),
        (SEALED[:-1], "cut"),
        (SEALED[:-7], "cut"),
        (SEALED[: len(SEALED) // 2], "cut"),
        (SEALED[1:], "front lost"),
        (f"{REPORT}\nd4e5f6", "front lost"),
        # In the middle, written twice, or guessed.
        (f"a1b2c3\nd4e5f6\n{REPORT}", "cut"),
        (f"a1b2c3\nIt ends with d4e5f6.\n{REPORT}\nAnd so on", "cut"),
        (f"{REPORT}\na1b2c3\n{REPORT}\nd4e5f6", "cut"),
        (f"a1b2c3\nI will end with d4e5f6.\n{REPORT}\nd4e5f6", "cut"),
        (f"{SEALED}\n{SEALED}", "cut"),
        (f"a1b2c3\nIt began with a1b2c3.\n{REPORT}\nd4e5f6", "cut"),
        (f"{SEALED}{SEALED[:-30]}", "cut"),
        (f"0a1b2c3\n{REPORT}\nd4e5f6", "cut"),
        (f"a1b2c3\n{REPORT}\nd4e5f67", "cut"),
        (f"d4e5f6\n{REPORT}\na1b2c3", "cut"),
        (f"000000\n{REPORT}\nffffff", "cut"),
        (f"a1b2c3\n{REPORT}\nd4e 5f6", "cut"),
        (f"a1b2c3\n{REPORT}\nd4e5f6\nLet me know if you need more.", "cut"),
        (f"a1b2c3\n{'x' * seal.MOST_CHARACTERS}\nd4e5f6", "cut"),
    ],
)
def test_where_the_cli_cannot_tell_the_seal_alone_decides(text: str, verdict: Verdict) -> None:
    assert judge(text, ONE, "unknown") == verdict


def test_where_the_cli_says_that_it_is_whole_a_forgotten_seal_is_unsealed_and_a_lost_front_is_lost() -> None:
    assert judge(REPORT, ONE, "whole") == "unsealed"
    assert judge(f"a1b2c3\n{REPORT}", ONE, "whole") == "unsealed"
    assert judge(f"{REPORT}\nd4e5f6", ONE, "whole") == "front lost"


def test_where_the_cli_says_that_it_was_cut_it_was() -> None:
    assert judge(SEALED, ONE, "cut") == "cut"
    assert judge_json(sealed_json({"a": 1}, ONE), ONE, "cut") == "cut"


@pytest.mark.parametrize("ask", [seal.request, seal.request_json, seal.request_alone])
@given(st.integers(0, 10**9), st.data())
def test_the_requests_echo_proves_nothing(
    ask: Callable[[Seal], str], number: int, data: st.DataObject
) -> None:  # Planted: with the words spelled as one in the request, its echo from word to word is a sealed report.
    made = minted(random.Random(number))
    asked = ask(made)
    begin = data.draw(st.integers(0, len(asked)))
    echo = asked[begin : data.draw(st.integers(begin, len(asked)))]
    for text in (asked, echo, f"{echo}\n{REPORT}\n{echo}", f"```\n{asked}\n```", "".join(asked.split())):
        assert judge(text, made, "unknown") != "sealed"
        assert judge_json(text, made, "unknown") != "sealed"
    assert made.head not in asked
    assert made.end not in asked


def test_a_mint_takes_no_word_that_is_a_number_stands_in_the_text_or_comes_twice() -> None:
    draws = iter(["123456", "abcdef", "a1b2c3", "a1b2c3", "zzzzzz", "0f0f0f", "d4e5f6"])
    assert seal.mint(lambda size: next(draws), "of A1B2C3 it is said") == Seal("0f0f0f", "d4e5f6")
    with pytest.raises(ValueError, match="no two words"):
        seal.mint(lambda size: "a1b2c3")


def test_ten_thousand_mints_of_the_edges_source_are_words_that_stand_nowhere_else() -> None:
    prompt = "commit 4f0c2ab, 0xdeadbeef, 2026-11-23"
    for _ in range(10_000):
        made = seal.mint(secrets.token_hex, prompt)
        assert made.head != made.end
        assert made.head not in prompt
        assert made.end not in prompt


def test_a_sealed_report_is_opened_and_a_seal_alone_is_one() -> None:
    assert seal.opened(f"```md\n**a1b2c3**\n\n{REPORT}\n\nd4e5f6\n```", ONE) == REPORT
    assert seal.opened(REPORT, ONE) == REPORT
    assert seal.is_alone("`a1b2c3`\n`D4E5F6`\n", ONE)
    assert not seal.is_alone(SEALED, ONE)
    assert not seal.is_alone("a1b2c3", ONE)


# --- JSON -------------------------------------------------------------------------------------------------------------


def sealed_json(report: object, made: Seal, indent: int | None = None) -> str:
    assert isinstance(report, dict)
    return json.dumps({HEAD_KEY: made.head, **report, END_KEY: made.end}, ensure_ascii=False, indent=indent)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "Here it is:\n\n{}\n", "{}\n\nThat is all."])
def test_in_json_the_first_and_the_last_key_hold_the_seal(frame: str, indent: int | None) -> None:
    text = frame.replace("{}", sealed_json({"agent": "a", "files": [{"path": "x"}]}, ONE, indent))
    assert judge_json(text, ONE, "unknown") == "sealed"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"agent": "a"}', "cut"),
        ('{"agent": "a", "seal_head": "a1b2c3", "seal_end": "d4e5f6"}', "cut"),
        ('{"seal_head": "a1b2c3", "seal_end": "d4e5f6", "agent": "a"}', "cut"),
        ('{"seal_head": "a1b2c3", "agent": "a"}', "cut"),
        ('{"agent": "a", "seal_end": "d4e5f6"}', "front lost"),
        ('{"seal_head": "a1b2c3", "agent": "d4e5f6", "seal_end": "d4e5f6"}', "cut"),
        ('{"seal_head": "a1b2c3", "seal_end": "d4e5f6", "x": 1, "seal_end": "d4e5f6"}', "cut"),
        ('{"seal_head": "a1b2c3", "agent": {"seal_end": "d4e5f6"}}', "cut"),
        ('[{"seal_head": "a1b2c3", "agent": "a", "seal_end": "d4e5f6"}', "sealed"),
        ('{"seal_head": ["a1b2c3"], "seal_end": ["d4e5f6"]}', "cut"),
        ('{"seal_head": "a1b2c3", "agent": "a', "cut"),
        (' is left to do."], "seal_end": "d4e5f6"}', "front lost"),
        ("{}", "cut"),
        ("{" * 100_000 + "}" * 100_000, "cut"),
    ],
)
def test_json_that_is_not_sealed_as_asked(text: str, verdict: Verdict) -> None:
    assert judge_json(text, ONE, "unknown") == verdict


# --- The figures ------------------------------------------------------------------------------------------------------

SENTENCES = (
    "The till is closed.", "41 passed, 0 failed.", "Größe: 3 × 日本, 50% \"done\" & more.",
    "他のファイルは変更していません。",
    "Коммит 4f0c2ab создан.", "`make test` ended with exit 0.", "| file | sha256 |\n|---|---|\n| a.py | e3b0c44298fc |",
    "- [x] write it\n- [ ] ship it", "```python\nassert total == 0x1f2e3d\n```", "تم الانتهاء من العمل.", "Done. 🎉",
    "See https://example.org/a1b2?x=1#d4e5f6a.", "She said: \"it is whole\".", "12ab34 is the order's number.",
)  # fmt: skip
FRAMES = ("{}", "{}\n", "```\n{}\n```", "```markdown\n{}\n```", "\n\n{}\n\n", "> {}", "{} ")
WORDS = ("{}", "**{}**", "`{}`", "[{}]", "{}.", "_{}_", "# {}")


def minted(dice: random.Random) -> Seal:
    return seal.mint(lambda size: dice.randbytes(size).hex(), "\n".join(SENTENCES))


@dataclass
class Honest:
    """A writer that does as it is asked, but for the seal that it forgets one time in twenty."""

    dice: random.Random
    forgetful: float = 0.05

    def writes(self, made: Seal) -> tuple[str, bool]:
        """The report, and whether it is JSON."""
        lines = self.dice.choices(SENTENCES, k=self.dice.randint(1, 40))
        head, end = self._remembers(made.head), self._remembers(made.end)
        if self.dice.random() < 0.4:
            members = {f"claim_{number}": line for number, line in enumerate(lines)}
            report = {**({HEAD_KEY: head} if head else {}), **members, **({END_KEY: end} if end else {})}
            text = json.dumps(report, ensure_ascii=self.dice.random() < 0.5, indent=self.dice.choice([None, 1, 2]))
            return self.dice.choice(("{}", "```json\n{}\n```", "{}\n")).replace("{}", text), True
        shape = self.dice.choice(WORDS)
        parts = [shape.replace("{}", head) if head else "", *lines, shape.replace("{}", end) if end else ""]
        text = self.dice.choice(("\n", "\n\n")).join(part for part in parts if part)
        return self.dice.choice(FRAMES).replace("{}", text), False

    def _remembers(self, word: str) -> str:
        return "" if self.dice.random() < self.forgetful / 2 else self.dice.choice((word, word, word, word.upper()))


def judged(text: str, is_json: bool, made: Seal, told: Told) -> Verdict:
    return judge_json(text, made, told) if is_json else judge(text, made, told)


def test_of_a_thousand_cut_reports_none_is_taken_for_whole() -> None:
    """Cut anywhere, at the end or at the front, in the middle of a word of the seal too."""
    dice, taken = random.Random(13), []
    for number in range(1000):
        made = minted(dice)
        text, is_json = Honest(dice).writes(made)
        marks = [found for word in (made.head, made.end) if (found := text.lower().find(word)) >= 0]
        near = [at + dice.randint(0, 6) for at in marks] or [0]
        first = text.lower().find(made.head)
        if number % 3 and first >= 0:  # What comes after its last letter, a fence or a blank, is not missed.
            end = text.lower().rfind(made.end)
            last = end + 5 if end >= 0 else len(text) - 1
            text = text[: min(dice.choice([dice.randint(0, last), *near]), last)]
        else:
            text = text[max(first + 1, dice.choice([dice.randint(1, len(text)), *near])) :]
        told: Told = dice.choice(("unknown", "whole"))
        if judged(text, is_json, made, told) == "sealed":
            taken.append((number, text, made))
    assert taken == []


def test_of_a_thousand_whole_reports_none_is_refused_though_one_in_twenty_lacks_its_seal() -> None:
    dice, refused, sealed, asked_again = random.Random(26), [], 0, 0
    for number in range(1000):
        told: Told = dice.choice(("whole", "unknown"))
        writer = Honest(dice)
        for asked in range(2):
            made = minted(dice)
            text, is_json = writer.writes(made)
            verdict = judged(text, is_json, made, told)
            sealed += verdict == "sealed"
            if verdict == "sealed" or (verdict == "unsealed" and asked):
                break
            asked_again += 1
            writer.forgetful = 0.0  # It was told what was wrong.
            if asked:
                refused.append((number, text))
    assert refused == []
    assert 20 <= asked_again <= 80, asked_again
    assert sealed >= 995
