"""The one grammar by which agents are chosen, for every verb and every face: `shop-*`, `p:web s:idle`, `!builder`.

A selector is words. A word is a name or a pattern (`*`, `?`, `[abc]`), or a key with values: `s:idle,waiting`. A `!`
before a word takes out what the word matches. Names are joined by "or", values of one key likewise; different keys
have to match together: `p:web s:idle !web-1` is all of the project web that is idle, without web-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from phoenixd.core.kind import Kind
from phoenixd.core.nearest import did_you_mean, nearest
from phoenixd.core.patterns import SIGNS, Pattern, is_pattern, pattern
from phoenixd.core.refusal import Refusal

MOST_CHARACTERS = 65_536
MOST_WORDS = 2_000
LONGEST_WORD = 200
SHOWN = 60
"""Characters of a wrong word that a refusal repeats."""

NAME = "name"
KEYS = {
    "s": "its state, activity or group",
    "h": "its harness",
    "k": "its kind",
    "p": "its project",
    "l": "one of its labels",
    "needs": "you: what waits for a person",
}
NOBODY = {
    NAME: "no agent is called so",
    "h": "no agent has this harness",
    "p": "no agent has this project",
    "l": "no agent has this label",
}
"""Why a value leaves nobody out, of keys that may have any value."""
STATES = (
    "stopped", "starting", "running", "stopping", "backing_off", "parked", "quarantined", "handing_off", "restoring",
    "working", "idle", "waiting", "needs_you", "healing", "resting", "unknown",
)  # fmt: skip
"""What `s:` may say: the states, the activities and the groups of a row."""
CLOSED = {"s": STATES, "k": tuple(kind.value for kind in Kind), "needs": ("you",)}
"""Keys whose values are known beforehand; a value that no agent could ever have is refused."""
HELP = "phoenixctl help select"


@dataclass(frozen=True, slots=True)
class Subject:
    """What selectors read of an agent. words: state, activity and group; needs: whether it waits for a person."""

    name: str
    kind: str
    harness: str
    words: tuple[str, ...]
    needs: bool = False
    project: str | None = None
    labels: tuple[str, ...] = ()

    def values(self, key: str) -> tuple[str, ...]:
        """What is compared with a word of this key."""
        match key:
            case "s":
                return self.words
            case "h":
                return (self.harness,)
            case "k":
                return (self.kind,)
            case "p":
                return (self.project,) if self.project else ()
            case "l":
                return self.labels
            case "needs":
                return ("you",) if self.needs else ()
            case _:
                return (self.name,)


def named(name: str) -> Subject:
    """A subject for selectors that ask for nothing but names."""
    return Subject(name, "", "", ())


@dataclass(frozen=True, slots=True)
class Term:
    """One word. exact: the values without signs of a pattern; patterns: the others."""

    key: str
    exact: frozenset[str]
    patterns: tuple[Pattern, ...] = ()
    is_out: bool = False

    def matches(self, subject: Subject) -> bool:
        return any(
            value in self.exact or any(one.matches(value) for one in self.patterns)
            for value in subject.values(self.key)
        )


@dataclass(frozen=True, slots=True)
class Selector:
    """What was typed, understood. Without words it takes every agent."""

    text: str
    terms: tuple[Term, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The agents that it names: each has to be there before a verb acts."""
        named = {name for term in self.terms if term.key == NAME and not term.is_out for name in term.exact}
        return tuple(sorted(named))

    def takes(self, subject: Subject) -> bool:
        """Whether it chooses this agent."""
        wanted: dict[str, bool] = {}
        for term in self.terms:
            if term.is_out:
                if term.matches(subject):
                    return False
            elif not wanted.get(term.key):
                wanted[term.key] = term.matches(subject)
        return all(wanted.values())


def renamed(selector: Selector, name: Callable[[str], str]) -> Selector:
    """The same with other words for the agents that it names."""
    terms = (
        replace(term, exact=frozenset(map(name, term.exact))) if term.key == NAME else term for term in selector.terms
    )
    return replace(selector, terms=tuple(terms))


EVERYBODY = Selector("")


def parse(words: str | Sequence[str]) -> Selector | Refusal:
    """A selector of one text, or of several words; every word may hold several, with spaces between them."""
    text = words if isinstance(words, str) else " ".join(words)
    if len(text) > MOST_CHARACTERS:
        return _refused(f"the selector has {len(text)} characters, the limit is {MOST_CHARACTERS}")
    found = text.split()
    if len(found) > MOST_WORDS:
        return _refused(f"the selector has {len(found)} words, the limit is {MOST_WORDS}")
    terms: list[Term] = []
    for word in found:
        term = _term(word)
        if isinstance(term, Refusal):
            return term
        terms.append(term)
    return Selector(" ".join(found), tuple(terms))


def given(text: str) -> Selector | Refusal:
    """A selector that somebody gave. An empty one is a slip, such as a variable without a value, and takes nobody."""
    if text.strip():
        return parse(text)
    return _refused("an empty selector chooses nobody; all agents are '*'")


ALL = "all"
NO_ALL = "there is no agent all; all agents are chosen by a quoted '*'"


def choose(
    selector: Selector, subjects: Iterable[Subject], others: Iterable[Subject] = ()
) -> tuple[str, ...] | Refusal:
    """The agents that a verb is to act on, by name.

    Refused are a name that is not there, a `!` that leaves nobody out because of what it names, and nothing at all.
    others: agents that are there and cannot be chosen; a `!` may name them.
    """
    known = {subject.name: subject for subject in subjects}
    absent = [name for name in selector.names if name not in known]
    if absent:
        word = absent[0]
        if absent == [ALL]:
            return Refusal("not_found", NO_ALL, HELP)
        more = f", nor {' nor '.join(absent[1:3])}" if len(absent) > 1 else ""
        close = nearest(word, known)
        told = f"there is no agent {_short(word)}{more}{f'; did you mean {close}?' if close else ''}"
        return Refusal("not_found", told, f"phoenixctl status {close}" if close else "phoenixctl status --all")
    if (idle := _idle_exclusion(selector, (*known.values(), *others))) is not None:
        return idle
    taken = tuple(sorted(name for name, subject in known.items() if selector.takes(subject)))
    return taken or nothing(selector, len(known))


def _idle_exclusion(selector: Selector, there: Sequence[Subject]) -> Refusal | None:
    """Why a `!` cannot be meant as it stands: a slip in it takes in those whom it was to leave out.

    A value of a closed key may have no agent now; a name, a project, a label or a CLI that no agent has is a slip.
    """
    for term in selector.terms:
        if not term.is_out or term.key in CLOSED:
            continue
        values = list(dict.fromkeys(value for subject in there for value in subject.values(term.key)))
        for value in sorted(term.exact):
            if value not in values:
                return _leaves_nobody_out(term.key, value, nearest(value, values))
        for one in term.patterns:
            if not any(map(one.matches, values)):
                return _leaves_nobody_out(term.key, one.text, _like(one.text, values))
    return None


def _like(text: str, values: Sequence[str]) -> str | None:
    """The value that a pattern was perhaps meant for: its plain characters are compared with as many of each value."""
    plain = "".join(character for character in text if character not in SIGNS)
    beginnings = {value[: len(plain) + 1]: value for value in reversed(values)}
    close = nearest(plain, beginnings)
    return beginnings[close] if close is not None else None


def _leaves_nobody_out(key: str, value: str, close: str | None) -> Refusal:
    what = f"!{_short(value)}" if key == NAME else f"!{key}:{_short(value)}"
    told = f"{what} leaves nobody out: {NOBODY[key]}{f'; did you mean {close}?' if close else ''}"
    if key == NAME and close:
        return Refusal("not_found", told, f"phoenixctl status {close}")
    return Refusal("not_found", told, "phoenixctl status --all")


def nothing(selector: Selector, there: int) -> Refusal:
    """Nothing matches: how many agents there are says whether the selector or the fleet is to blame."""
    if not there:
        return Refusal("not_found", "no agent is there", "phoenixctl add NAME -- COMMAND")
    are = "1 agent is" if there == 1 else f"{there} agents are"
    what = f"{_short(selector.text)}: " if selector.text else ""
    return Refusal("not_found", f"{what}nothing matches; {are} there", "phoenixctl status --all")


def broken(expected: Sequence[str], chosen: Sequence[str], again: str = "phoenixctl status --all") -> Refusal | None:
    """Why a verb may not act: other agents match now than those that a person was shown; None where the same do.

    again: the command that shows whom the verb means now.
    """
    gone = sorted({*expected} - {*chosen})
    new = sorted({*chosen} - {*expected})
    if not gone and not new:
        return None
    changes = [f"{_named(new)} matches too"] if new else []
    changes += [f"{_named(gone)} does not match any more"] if gone else []
    return Refusal("conflict", f"nothing was done: {', and '.join(changes)}", again)


def _term(word: str) -> Term | Refusal:
    is_out = word.startswith("!")
    rest = word.removeprefix("!")
    if len(word) > LONGEST_WORD:
        return _refused(f"the selector's word {_short(word)} has {len(word)} characters, the limit is {LONGEST_WORD}")
    key, colon, given = rest.partition(":") if ":" in rest else (NAME, "", rest)
    if colon and key not in KEYS:
        keys = ", ".join(f"{one}:" for one in KEYS)
        close = nearest(key, KEYS)
        meant = f"; did you mean {close}:?" if close else ";"
        return _refused(f"a selector has no key {_short(key)}:{meant} the keys are: {keys}")
    values = [value for value in given.split(",") if value]
    if not values:
        return _refused(f"{_short(word)} names nothing" + (f": {key}: is {KEYS[key]}" if colon else ""))
    exact = frozenset(value for value in values if not is_pattern(value))
    patterns = tuple(pattern(value) for value in values if value not in exact)
    term = Term(key, exact, patterns, is_out)
    for value in values if key in CLOSED else ():
        if value not in CLOSED[key] and not any(map(pattern(value).matches, CLOSED[key])):
            meant = did_you_mean(value, CLOSED[key]) or ";"
            return _refused(f"{key}: cannot be {_short(value)}{meant} it is one of: {', '.join(CLOSED[key])}")
    return term


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _short(text: str) -> str:
    """A word as a refusal repeats it: escapes and lone surrogates are shown, never sent."""
    cut = text[:SHOWN] + ("..." if len(text) > SHOWN else "")
    return cut if cut.isprintable() else repr(cut)


def _refused(why: str) -> Refusal:
    return Refusal("invalid", why, HELP)
