"""The figures by which agents are given up: each that a page tells is the default that the code has."""

from __future__ import annotations

import re

import pytest

from phoenixd.core.limits.parking import TROUBLE
from phoenixd.core.merit import STEADY
from phoenixd.core.productive import FORGOTTEN_AFTER
from phoenixd.core.rules import HOUR, MINUTE, BreakerRules, RestartRules
from phoenixd.core.spec import AgentSpec
from tests.architecture.test_docs import PAGES, ROOT

RESTART, BREAKER = RestartRules(), BreakerRules()
SHORT, PERIOD = RESTART.productive / MINUTE, RESTART.period / MINUTE
WORDS = dict(enumerate("no one two three four five six seven eight nine ten eleven twelve".split()))
NUMBER = rf"(?:\d+|{'|'.join(WORDS.values())})"

TOLD: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("reference/command-harness.md", "within # s of the start: a crash", (AgentSpec("a", ("a",), "/").early_exit,)),
    (
        "reference/command-harness.md",
        "[# such runs in a row](../explanation/when-agents-die.md) of less than # minutes each are quarantine",
        (RESTART.max_unproductive, SHORT),
    ),
    ("reference/command-harness.md", "where it reports by hooks, # that change nothing are", (BREAKER.stop,)),
    (
        "reference/command-harness.md",
        "# such runs of less than # minutes within # minutes are quarantine",
        (RESTART.max_crashes, SHORT, PERIOD),
    ),
    ("reference/command-harness.md", "[# runs in a row without progress]", (RESTART.max_unproductive,)),
    (
        "reference/states.md",
        "# crashes within # minutes, [# runs in a row without progress]",
        (RESTART.max_crashes, PERIOD, RESTART.max_unproductive),
    ),
    ("how-to/get-told.md", "# runs in a row achieved nothing", (RESTART.max_unproductive,)),
    ("how-to/get-told.md", "# times in a row it could not be told so", (TROUBLE,)),
    ("how-to/get-told.md", "its model's service failed # turns in a row", (TROUBLE,)),
    ("how-to/run-loops.md", "# iterations in a row without progress (`warn`)", (BREAKER.warn,)),
    ("how-to/run-loops.md", "# in a row (`stop`)", (BREAKER.stop,)),
    ("how-to/run-loops.md", "stopped after # iterations (`notes_stop`)", (BREAKER.notes_stop,)),
    ("how-to/run-loops.md", "could not be read within # seconds", (BREAKER.time_limit,)),
    ("how-to/self-healing.md", "after # a warning, after # the loop stops", (BREAKER.warn, BREAKER.stop)),
    ("how-to/self-healing.md", "# idle iterations", (BREAKER.stop,)),
    ("how-to/self-healing.md", "grep '# iterations without progress'", (BREAKER.stop,)),
    ("how-to/self-healing.md", "`breaker.warn` | # iterations", (BREAKER.warn,)),
    ("how-to/self-healing.md", "`breaker.stop` | # iterations", (BREAKER.stop,)),
    ("explanation/when-agents-die.md", "# minutes (`restart.productive`)", (SHORT,)),
    ("explanation/when-agents-die.md", "`restart.max_unproductive` (#) of them in a row", (RESTART.max_unproductive,)),
    ("explanation/when-agents-die.md", "when # hours have passed without such an end", (FORGOTTEN_AFTER / HOUR,)),
    (
        "explanation/when-agents-die.md",
        "`restart.max_crashes` (#) runs that lasted less than # minutes, within `restart.period` (# minutes)",
        (RESTART.max_crashes, SHORT, PERIOD),
    ),
    (
        "explanation/when-agents-die.md",
        "dies at the same age # times in a row, each time after more than # minutes",
        (STEADY, SHORT),
    ),
    ("explanation/when-agents-die.md", "and # such runs that were short are quarantine", (RESTART.max_crashes,)),
    (
        "explanation/when-agents-die.md",
        "after # such runs in a row (`restart.max_unproductive`) that lasted less than # minutes",
        (RESTART.max_unproductive, SHORT),
    ),
    ("explanation/when-agents-die.md", "as an iteration: # in a row that change nothing stop", (BREAKER.stop,)),
    ("explanation/resume-and-brief.md", "lived less than # minutes (`restart.productive`)", (SHORT,)),
    ("requirements.md", "After # iterations without progress the breaker is HALF_OPEN", (BREAKER.warn,)),
    ("requirements.md", "# times in a row without changed work stop it", (BREAKER.stop,)),
    ("promises.md", "given up after # runs in a row", (RESTART.max_unproductive,)),
)
"""Page below docs, its words with # in the place of each figure, and what these are by default."""

OF_THE_BREAKER = re.compile(
    rf"\b{NUMBER} (?:such )?(?:crashes|runs|iterations)\b|\b{NUMBER} (?:of them |times )?in a row that change", re.I
)
"""What looks like such a figure."""
OTHERS = (
    "3 runs)", "between two iterations", "eight such runs of one task are spared", "one iteration on trial", "one runs",
    "two runs",
)  # fmt: skip
"""What is another one: of resumes, of tasks and their outages, of a library's callers."""


def text_of(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def told_by(words: str) -> re.Pattern[str]:
    return re.compile(f"({NUMBER})".join(re.escape(part) for part in words.split("#")), re.IGNORECASE)


@pytest.mark.parametrize(("page", "words", "figures"), TOLD)
def test_a_figure_by_which_agents_are_given_up_is_the_codes_default(
    page: str, words: str, figures: tuple[float, ...]
) -> None:
    found = told_by(words).search(text_of(page))

    assert found is not None, f"docs/{page} does not say: {words}"
    numbers = {word: number for number, word in WORDS.items()}
    assert [numbers.get(one.lower(), one) for one in found.groups()] == [
        int(figure) if isinstance(numbers.get(one.lower()), int) else f"{figure:g}"
        for one, figure in zip(found.groups(), figures, strict=True)
    ]


def test_no_page_tells_such_a_figure_that_no_row_holds() -> None:
    left = []
    for page in PAGES:
        if page.parent == ROOT or "docs" not in page.parts:
            continue
        name = page.relative_to(ROOT / "docs").as_posix()
        text = text_of(name)
        for where, words, _ in TOLD:
            if where == name:
                text = told_by(words).sub("", text)
        text = re.sub("|".join(map(re.escape, OTHERS)), "", text, flags=re.IGNORECASE)
        left += [f"{name}: {text[max(0, one.start() - 40) : one.end() + 40]}" for one in OF_THE_BREAKER.finditer(text)]

    assert left == []
