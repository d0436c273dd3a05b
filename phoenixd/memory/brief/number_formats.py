"""The formats in which test runners, compilers and coverage tools tell numbers: of programs, and of no language.

Each has all that stands around the number in such an output: in a whole one "3 errors" alone may be of anything.
"""

from __future__ import annotations

import re

_BARE = r"\d{1,7}"
_COUNT = rf"({_BARE})"
_SHARE = r"\d{1,3}(?:\.\d{1,4})?"
PRINTED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(shape, re.MULTILINE))
    for name, shape in (
        ("tests_passed", rf"(?<![\w./-]){_COUNT} (?:passed|passing|pass)\b|(?<![\w./-])({_BARE}/{_BARE}) passed\b"),
        ("tests_passed", rf"\bPassed: +{_COUNT}\b|^. pass {_COUNT}$|^OK \({_COUNT} tests?\b|\bPASS={_COUNT}\b"),
        ("tests_passed", rf"^\d\d:\d\d \+{_COUNT}(?: [~-]\d+)*:"),
        ("tests_passed", rf"(?<![\w./-])({_BARE} of {_BARE}) test configurations passed\b"),
        ("tests_failed", rf"(?<![\w./-]){_COUNT} (?:failed|failing|fail|tests failed)\b|\bFailed: +{_COUNT}\b"),
        ("tests_failed", rf"^. fail {_COUNT}$|\bFailures: {_COUNT}\b|\b\d+ examples?, {_COUNT} failures?\b"),
        ("tests_failed", rf"\bwith {_COUNT} failures?\b|^\d\d:\d\d \+\d+(?: ~\d+)? -{_COUNT}:|\bERROR={_COUNT}\b"),
        ("tests", rf"\bRan {_COUNT} tests? in\b|\bTests run: {_COUNT}\b|^Tests: {_COUNT}, Assertions\b"),
        ("tests", rf"\bExecuted {_COUNT} tests?\b|\b{_COUNT} tests completed\b"),
        ("tests", rf"\btests failed out of {_COUNT}\b|\bTOTAL={_COUNT}\b"),
        ("examples", rf"\b{_COUNT} examples?, \d+ failures?\b"),
        ("errors", rf"\b[Ff]ound {_COUNT} errors?\b|\b{_COUNT} errors?, \d+ warnings?\b"),
        ("errors", rf"\bdue to {_COUNT} previous errors?\b"),
        ("warnings", rf"\b\d+ errors?, {_COUNT} warnings?\b|\bgenerated {_COUNT} warnings?\b"),
        ("coverage", rf"^TOTAL\b[^\n%]{{1,120}}?({_SHARE}%)|^All files +\| +({_SHARE})|\bcoverage: ({_SHARE}%) of"),
        ("pages", rf"^Output written on [^\n]{{1,200}} \({_COUNT} pages?\b"),
    )
)
