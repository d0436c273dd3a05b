"""What `doctor` and `config check` print: what is the same of several agents once, with their names; the worst last.

What is printed last stands nearest to the prompt, and is on the screen however much came before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from phoenixd.api.finding import Finding
from phoenixd.api.pages.layout import Page, clean, counted, page, wrap
from phoenixd.config.problems import Problem

LEVELS = {"ok": "*", "warning": "~", "problem": "!"}
NAMES_SHOWN = 8
T = TypeVar("T")


def doctor(findings: Sequence[Finding], here: Page, *, everything: bool = False) -> str:
    """Findings, the worst last, each with its remedy; what is well is a count, unless everything is wanted."""
    count = {level: sum(one.level == level for one in findings) for level in LEVELS}
    wrong = count["problem"] + count["warning"]
    if wrong:
        lines = [f"{wrong} of {counted(len(findings), 'check')} need attention.", ""]
    else:
        lines = [f"All is as it should be, in {counted(count['ok'], 'check')}.", ""]
    ranked = sorted(findings, key=lambda one: tuple(LEVELS).index(one.level))
    shown = ranked if everything else ranked[count["ok"] :]
    groups = alike(shown, lambda one: (one.level, *_words(one)))
    for group in groups:
        lines += _told(group, here)
    if wrong:
        well = "1 check is well" if count["ok"] == 1 else f"{count['ok']} checks are well"
        see = "" if everything or not count["ok"] else here.reaching("; see: phoenixctl doctor --all")
        bad = sum(group[0].level != "ok" for group in groups)
        lines += ["", f"{counts(count['problem'], 'problem', count['warning'])}{told_in(wrong, bad)}; {well}{see}"]
    elif not everything:
        lines.append(here.ending("see each: phoenixctl doctor --all"))
    return page(lines)


def problems(found: Iterable[Problem], files: Sequence[str] = ()) -> list[str]:
    """What is wrong with a configuration, a line each: warnings, then errors, each in the order of files and lines."""
    places = {file: number for number, file in enumerate(files)}
    ranked = sorted(found, key=lambda one: (one.severity == "error", places.get(one.file, len(files)), one.line or 0))
    # What concerns no agent is told whole, with its place.
    groups = alike(
        ranked, lambda one: (one.severity, one.below, one.together or one.message, "" if one.agent else one.place)
    )
    return [f"{group[0].severity}: {_problem(group)}" for group in groups]


def counts(worst: int, noun: str, warnings: int) -> str:
    """How many of both kinds; of none nothing is said."""
    told = [counted(number, word) for number, word in ((worst, noun), (warnings, "warning")) if number]
    return ", ".join(told)


def told_in(found: int, shown: int) -> str:
    """In how many places they stand above, where that is another number; what is the same of several stands once."""
    return f", told in {counted(shown, 'place')}" if shown != found else ""


def alike(found: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Those of one key together, in the order in which the first of them came."""
    groups: dict[Hashable, list[T]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return list(groups.values())


def _told(group: Sequence[Finding], here: Page) -> list[str]:
    first, sign = group[0], here.sign(LEVELS[group[0].level])
    said, remedy = first.title, first.remedy
    detail = first.detail
    if len(group) > 1:
        title, detail, general = _words(first)
        said = f"{_agents([one.agent for one in group])}: {title.removeprefix('NAME: ').replace('NAME', 'each')}"
        remedy = first.remedy if general == first.remedy else f"{first.remedy}; and so for each of them"
        detail = detail.replace("NAME", "each")
    told = wrap(f"{said}: {detail}" if detail else said, here.width - 2)
    lines = [f"{sign} {line}" if number == 0 else f"  {line}" for number, line in enumerate(told)]
    return [*lines, here.reaching(f"    do: {' '.join(clean(remedy).split())}")] if remedy else lines


def _words(one: Finding) -> tuple[str, str, str]:
    """Title, detail and remedy as they are of any agent, and so the same for all of whom the same is to be told."""
    if not one.agent:
        return one.title, one.detail, one.remedy
    name = re.compile(rf"(?<![\w./-]){re.escape(one.agent)}(?![\w/-])")
    title, detail, remedy = (name.sub("NAME", words) for words in (one.title, one.together or one.detail, one.remedy))
    return title, detail, remedy


def _problem(group: Sequence[Problem]) -> str:
    first = group[0]
    if len(group) == 1:
        return str(first)
    more = len({(one.file, one.line) for one in group}) - 1
    place = first.place if not more else f"{first.place} and {counted(more, 'place')} more"
    who = _agents([one.agent or "" for one in group])
    return ": ".join(part for part in (place, who, first.below, first.together or first.message) if part)


def _agents(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{len(names)} agents ({', '.join(names[:NAMES_SHOWN])}{more})"
