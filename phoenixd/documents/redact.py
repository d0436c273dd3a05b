"""Secrets taken out of text before it is written anywhere. Every step is linear in the length of the text.

An agent chooses what it prints, so a pattern that backtracks would let it stop the daemon: quantifiers are possessive
or bounded, and nothing is required after an unbounded run. What shows nothing may
stand in the middle of a secret, and a face takes it out later: so the text is looked at without that, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import log2
from typing import Any

from phoenixd.documents.plain_text import without_hidden, without_sequences
from phoenixd.documents.private_keys import without_private_keys
from phoenixd.documents.secret_places import in_small_letters, names_only, without_placed
from phoenixd.documents.secret_shapes import VENDORS, WRAPPED, alternatives, without_marked

Clean = Callable[[str], str]
"""Takes the secrets out of a text."""
CleanOf = Callable[[str | None, str], str]
"""Takes the secrets out of a text, also those of the named agent's variables; None: of no agent's."""

REDACTED = "[redacted]"
SHORTEST_VALUE = 8
"""Characters of a variable's value that is looked for as it stands; shorter ones would blot out ordinary words."""
SHORT, MOST_KNOWN = 128, 1024
"""Characters of a text that is remembered with what became of it, and how many texts are: hooks say again and again in
which session and directory they are, and by which tool."""

_NAME_WORD = re.compile(
    alternatives(
        [f"{kind}{between}key" for kind in ("api", "access", "private") for between in ("", "_", "-", ".", " ")]
        + ["pass", "pwd", "secret", "cred", "token", "key", "auth", "access", *VENDORS]
    )
)
"""In text made lower: what may be a part of a secret's name."""

_ASSIGNED = re.compile(
    r"(?P<rest>[\w.-]{0,40}+(?:[ \t][\w.-]{1,20}+){0,2})"
    r"(?P<between>[\\\"'\])]{0,4}+[ \t]{0,24}+(?P<sign>=>|[:?|]?={1,3}|\|\||:{1,3}|>|,)[ \t]{0,4}+"
    r"(?:(?i:bearer|basic|token)[ \t]{1,4}+)?)"
    r"(?P<value>\\\"[^\"\\\n]{4,200}+\\\"|\"(?:[^\"\\\n]|\\[^\n]){4,200}\"|\"[^\"\n]{4,200}+\"|'[^'\n]{4,200}+'"
    r"|(?:\\?[\"'`])?[^\s\"'`<>(){}\[\],;\\]{4,64}+)"
)
_CODE = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]\w*)*")
"""A name, or one of its parts."""
_CMDLET = re.compile(r"(?:Get|Read|New|Import|ConvertTo|ConvertFrom)-[A-Z][A-Za-z]+")
_POWERSHELL = re.compile(r"\$[\w:]*$")
_CALLED = re.compile(r"[(\[](?!\d+[)\]])")
_COMPARED = re.compile(r"[ \t]+={2,3}[ \t]+")
_PARTS = re.compile(r"[_. -]")
_TALK = frozenset(
    """
    must should shall cannot can may too not is was has are required invalid incorrect missing expired authentication
    mismatch does doesn
    """.split()
)
"""What a message says of a password, and nobody takes for one."""
_TYPES = frozenset({"str", "string", "bytes", "secretstr", "optional", "bool", "int", "number", "any", "object"})
"""What languages call the type of such a name."""
_OWNERS = frozenset(
    """
    self this cls os process config cfg conf settings args options opts params env environ secrets credentials creds
    request req ctx context user account client form data props state input values kwargs event event app db
    """.split()
)
"""What programs take a secret from."""
_ON = re.compile(r"[^\s\"'`<>(){}\[\],;\\]*+")
"""What goes on after the part of a value that was judged."""
_ALWAYS = re.compile(r"pass(?:word|wd|phrase)|pwd|secret|credential|creds")
"""Names whose value is a secret whatever it looks like."""
_ABOUT = re.compile(r"(?:^|[_.-])(?:ur[li]|endpoint|file|path|dir)$")
_PLACE = re.compile(r"(?:https?://[^\s/@?]+(?:/[^\s@?]*)?|[~.]?/[^\s]*)$")
"""Where something is, which is no secret as long as nothing in it is one."""
_MOSTLY = re.compile(r"token|(?:api|access|private)[_. -]?key|auth(?!or(?!iz))|cred")
_RANDOM = re.compile(r"(?!\d{4}-\d\d)[\w=+-][\w=.+/:%~-]{13,}")
_BEARER = re.compile(
    rf"\b((?i:bearer|basic))([ \t]{{1,4}}+)([A-Za-z0-9_\-.~+/=]{{40,}}+{WRAPPED}|[A-Za-z0-9_\-.~+/=]{{12,}}+)"
)
_CURL = re.compile(r"\bcurl\b(?:[^\n\\]|\\.|\\\n){1,2000}")
_CURL_USER = re.compile(r"((?<![\w-])(?:-[A-Za-z]{0,6}u|--user)[= ]{0,4}[\"']?[^\s\"':]{0,100}:)([^\s\"']{3,200}+)")
_XML_PASSWORD = re.compile(r"(password\"[ \t]{1,4}value=\")([^\"\n]{4,200}+)", re.IGNORECASE)
_KIND_SECRET = re.compile(r"\bkind[\"']?:[ \t]{0,4}[\"']?secret\b", re.IGNORECASE)
_SECRET_DATA = re.compile(
    r"^([ \t]{1,16}[\w.-]{1,80}:[ \t]{1,4}[\"']?)([A-Za-z0-9+/]{10,}+={0,3})(?=[\"']?[ \t]{0,4}$)", re.MULTILINE
)
_USERINFO = re.compile(r"(://[^\s/:@]{0,100}+:)([^\s/@]{1,200}+)@")
_ESCAPE = re.compile(r"\\{1,8}+u(?!00(?:[01]|22|5[cC])|[dD][89a-fA-F])([0-9a-fA-F]{4})")
"""A character as JSON may write it; not one that has to be written so, nor half of one."""
_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|pwd|secret|credential|token|(api|access|private)_?key|_key$|auth(?!or(?!iz))",
    re.IGNORECASE,
)


def redact(text: str, values: Sequence[str] = (), marks: Sequence[str] = ()) -> str:
    """Take out what looks like a secret, every one of `values` (see `secret_values`), and what begins with one of
    `marks`, an operator's own.

    A text with a secret comes back without escape sequences and invisible characters, which may stand in the middle of
    it, and one with a secret in JSON's escapes without these; any other text keeps them.
    """
    if len(text) <= SHORT:
        return _redacted_again(text, tuple(values), tuple(marks))
    return _redacted_anew(text, values, marks)


@lru_cache(MOST_KNOWN)
def _redacted_again(text: str, values: tuple[str, ...], marks: tuple[str, ...]) -> str:
    return _redacted_anew(text, values, marks)


def _redacted_anew(text: str, values: Sequence[str], marks: Sequence[str]) -> str:
    text = _redacted_as_shown(text, values, marks)
    if "\\u" in text:
        bare = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
        if bare != text and (cleaned := _redacted_as_shown(bare, values, marks)) != bare:
            return cleaned
    return text


def _redacted_as_shown(text: str, values: Sequence[str], marks: Sequence[str]) -> str:
    for shown in _as_shown(text):
        bare = _redacted(shown, values, marks)
        if bare != shown:
            return bare
    return _redacted(text, values, marks)


def _as_shown(text: str) -> Iterator[str]:
    """What faces may make of a text, where that is another one: both ways to treat an escape sequence."""
    shown = without_hidden(without_sequences(text))
    if shown != text:
        yield shown
        if (other := without_hidden(text)) != shown:
            yield other


def _redacted(text: str, values: Sequence[str], marks: Sequence[str]) -> str:
    for value in values:
        text = _without_cut_off(text.replace(value, REDACTED), value)
    for mark in marks:
        if mark in text:
            text = _marked(mark).sub(REDACTED, text)
    text = without_marked(without_private_keys(text, REDACTED), REDACTED)
    if "://" in text:
        text = _USERINFO.sub(lambda found: found[0] if names_only(found[2]) else f"{found[1]}{REDACTED}@", text)
    text = _BEARER.sub(_replace_bearer, text)
    return _without_assigned(without_placed(_without_told(text), REDACTED))


def secret_values(environment: Mapping[str, str], certain: Iterable[str] = ()) -> tuple[str, ...]:
    """The values to look for: those of variables with a secret's name, and of the names in `certain`; longest first."""
    names = set(certain)
    return _looked_for(frozenset(value for name, value in environment.items() if name in names or _is_secrets(name)))


@lru_cache(4096)
def _is_secrets(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


@lru_cache(64)
def _looked_for(found: frozenset[str]) -> tuple[str, ...]:
    """Those values in each way in which they may be written; agents have most of their variables in common."""
    # Of a value of several lines each may turn up alone: a key in a file, say, told as JSON.
    lines = {line.strip() for value in found if "\n" in value for line in value.split("\n")}
    escaped = {json.dumps(value, ensure_ascii=plain)[1:-1] for value in found | lines for plain in (True, False)}
    # A tool's result is JSON within JSON, and some write a slash with a backslash.
    escaped |= {json.dumps(value)[1:-1] for value in escaped}
    escaped |= {value.replace("/", "\\/") for value in found | lines if not value.startswith("/")}
    # A path or a socket is where a secret lies, not the secret.
    kept = {value for value in found | lines | escaped if len(value) >= SHORTEST_VALUE and not value.startswith("/")}
    return tuple(sorted(kept, key=lambda value: (-len(value), value)))


def redact_json(value: Any, clean: Callable[[str], str]) -> Any:
    """The same for a value of any shape, names included: two names that are cleaned to the same stay two."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {redact_name(str(name), clean): redact_json(item, clean) for name, item in value.items()}
    return [redact_json(item, clean) for item in value] if isinstance(value, list | tuple) else value


def redact_name(name: str, clean: Callable[[str], str]) -> str:
    """A name, or what is left of it and its digest where a secret stands in it."""
    cleaned = clean(name)
    return name if cleaned == name else f"{cleaned} {sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


@lru_cache(256)
def _marked(mark: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(mark)}[A-Za-z0-9_+/=.~-]{{{SHORTEST_VALUE},}}+")


def _without_cut_off(text: str, value: str) -> str:
    """The text without the beginning of `value` at its end: the text may have been cut within the secret."""
    ending = text[-SHORTEST_VALUE:]
    at = value.find(ending) if len(ending) == SHORTEST_VALUE else -1
    while at >= 0:
        length = at + SHORTEST_VALUE
        if text.endswith(value[:length]):
            return f"{text[:-length]}{REDACTED}"
        at = value.find(ending, at + 1)
    return text


def _without_told(text: str) -> str:
    """Secrets that are known by what stands before them: a flag of curl's, an attribute, the kind of a document."""
    if "curl" in text:
        text = _CURL.sub(lambda command: _CURL_USER.sub(_keep_first, command[0]), text)
    if "value=" in text:
        text = _XML_PASSWORD.sub(_keep_first, text)
    if "kind" in text and _KIND_SECRET.search(text):
        text = _SECRET_DATA.sub(_keep_first, text)
    return text


def _without_assigned(text: str) -> str:
    """What is assigned to a name that speaks of a secret."""
    kept: list[str] = []
    position = 0
    for word in _NAME_WORD.finditer(in_small_letters(text)):
        if word.start() < position:
            continue
        found = _ASSIGNED.match(text, word.end())
        if found is None:
            continue
        value = found["value"]
        opening = value[: len(value) - len(value.lstrip("\\\"'`"))]
        bare = value.strip("\\\"'`")
        name = word[0] + found["rest"].lower()
        is_named = not opening and _is_code(text, word.start(), name, found)
        if not is_named and _is_secret(name, found["sign"], bare):
            begin = found.start("value") + len(opening)
            kept += [text[position:begin], REDACTED]
            closed = len(opening) + len(bare) < len(value)
            position = begin + len(bare) if closed else _end(text, begin + len(bare))
    return "".join([*kept, text[position:]]) if kept else text


def _end(text: str, position: int) -> int:
    going_on = _ON.match(text, position)
    return going_on.end() if going_on is not None else position


def _is_code(text: str, at: int, name: str, found: re.Match[str]) -> bool:
    """Whether what stands without quotes behind a name is code or talk that only names a secret.

    at: where the name begins. A file of variables has its names in capitals, and what is assigned there is a value.
    """
    value, end, sign = found["value"].rstrip(":.,"), found.end("value"), found["sign"]
    if _CMDLET.fullmatch(value):
        return _POWERSHELL.search(text, max(0, at - 60), at) is not None
    if _CODE.fullmatch(value) is None:
        return False
    if sign == "::":
        return True
    if text[at : at + 2].isupper():
        return False
    if _CALLED.match(text, end) or _COMPARED.fullmatch(found["between"]):
        return True
    first, _, rest = value.partition(".")
    if rest:
        return first in _OWNERS and _NAME_WORD.search(rest.lower()) is not None
    if value.lower() in (name, _PARTS.split(name)[-1]):
        return text[end : end + 1] in (",", ")", ";") or text[max(0, at - 1) : at] == "."
    return sign == ":" and (value.lower() in _TYPES or value.lower() in _TALK)


def _is_secret(name: str, sign: str, value: str) -> bool:
    if value.startswith((REDACTED, "$", "%")) or names_only(value):
        return False
    if _ABOUT.search(name) and _PLACE.match(value) and not _has_drawn_part(value):
        return False
    is_one_word = " " not in name and "\t" not in name
    is_assigned = sign not in (",", ">", "||")
    if is_one_word and is_assigned and (_ALWAYS.search(name) or (name == "pass" and "=" in sign)):
        # Programs tell the directory that they work in by the same name.
        return not (name == "pwd" and value.startswith("/"))
    # `tokens: 120000` and `token: expired` are talk about secrets, not secrets.
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if is_assigned and (_MOSTLY.search(name) or _ALWAYS.search(name)):
        return (has_digit and has_letter and len(value) >= 8) or len(value) >= 32
    is_mixed = has_digit and (has_letter or len(value) >= 15)
    return is_mixed and _RANDOM.fullmatch(value) is not None and "://" not in value and _entropy(value[:200]) >= 2.5


def _has_drawn_part(place: str) -> bool:
    """Whether part of an address or a path looks as if it let somebody in."""
    return any(
        len(part) >= 12 and any(map(str.isdigit, part)) and any(map(str.isalpha, part))
        for part in place.partition("://")[2].split("/")[1:] or place.split("/")
    )


def _entropy(value: str) -> float:
    """Bits for each character: words of a language have fewer than what was drawn by lot."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * log2(share) for share in shares)


def _keep_first(match: re.Match[str]) -> str:
    return match[0] if names_only(match[2]) else f"{match[1]}{REDACTED}"


def _replace_bearer(match: re.Match[str]) -> str:
    word, blank, value = match.groups()
    secret = any(character.isdigit() for character in value) or len(value) >= 32
    return f"{word}{blank}{REDACTED}" if secret else match[0]
