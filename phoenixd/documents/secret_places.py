"""Secrets that nothing but their place tells: behind an option, in an element or a tuple, below a heading.

Quantifiers are possessive or bounded, and a rule is tried only where a word of its own stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

_KIND = r"(?:secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|auth)"
_PHRASES = r"(?:pass(?:word|wd|phrase)|pwd)"
_SURE = rf"(?:{_PHRASES}|secret)"
_QUOTE = r"[\\\"'`]{0,4}"
_WORD, _BARE = r"([^\s\"']++)", r"([^\s\"'`]++)"
_MIXED = r"((?=[^\s]{0,60}\d)(?=[^\s]{0,60}[A-Za-z])(?![~.])[^\s=\"'`/]{8,}+)"
"""What looks as if it had been drawn by lot, and is no path and no pair."""
_ADJACENT = r"(?!(?:ing|ort|rotocol)\b)([^\s\"'$`;),|=-][^\s\"'`]*+)"
_NO_TALK = (
    r"(?!(?:flags?|options?|arguments?|args?|param(?:eter)?s?|file|field|values?|prompt|or|and|is|are|was|via|with|to|in|from"
    r"|as|for|on|by|the|a|an|instead|when|if|not|can|must|should)\b)"
)
"""What goes on behind the name of an option where people speak of it."""
_OPTIONS = r"[ \t](?:[^\n|;&]{0,200}?[ \t])??"
"""What stands between a command and one of its options."""
_NAMED = r"(?<![\w-])--(?:\w{1,30}-){0,4}"
_SALT, _HASH = r"[./A-Za-z0-9]{1,64}", r"[A-Za-z0-9+/=]{16,}+"

_OPTION_RULES = (
    # Options whose name ends with what they take. What follows as an option of its own is no value.
    ("--", rf"({_NAMED}{_PHRASES}[ \t]{{1,4}}{_QUOTE})(?![-<\[(|&;>,.)]){_NO_TALK}{_BARE}"),
    ("--", rf"({_NAMED}{_KIND}[ \t]{{1,4}}{_QUOTE}){_MIXED}"),
    ("--requirepass", rf"(--requirepass[ \t=]{{1,4}}{_QUOTE}){_WORD}"),
    ("--masterauth", rf"(--masterauth[ \t=]{{1,4}}{_QUOTE}){_WORD}"),
    ("mysql", rf"(\bmysql[\w-]{{0,20}}{_OPTIONS}-p){_ADJACENT}"),
    ("mariadb", rf"(\bmariadb[\w-]{{0,20}}{_OPTIONS}-p){_ADJACENT}"),
    ("login ", rf"(\blogin{_OPTIONS}-p[ \t]{{1,4}}{_QUOTE})(?!\d{{1,5}}\b)(?![-;),|]){_NO_TALK}{_BARE}"),
    ("sshpass", rf"(\bsshpass[ \t]{{1,4}}-p[ \t]{{0,4}}{_QUOTE}){_BARE}"),
    ("redis-cli", rf"(\bredis-cli{_OPTIONS}-a[ \t]{{1,4}}{_QUOTE}){_BARE}"),
    ("pass:", rf"((?<![\w-])-pass(?:in|out)?[ \t]{{1,4}}pass:){_WORD}"),
)
_FILE_RULES = (
    # netrc: each word and its value part by blanks or lines; a line may have its number before it.
    ("login", r"(\blogin[ \t]+[^\s]{1,200}\s{1,40}(?:\d{1,6}[ \t]{1,8})?password[ \t]{1,8})([^\s]++)"),
    ("requirepass", rf"((?m:^)[ \t]{{0,20}}requirepass[ \t]{{1,4}}{_QUOTE}){_WORD}"),
    ("masterauth", rf"((?m:^)[ \t]{{0,20}}masterauth[ \t]{{1,4}}{_QUOTE}){_WORD}"),
    ("identified", r"((?i:\bidentified[ \t]{1,4}by[ \t]{1,4}(?:password[ \t]{1,4})?)')([^'\n]++)"),
    ("password '", r"((?i:\b(?:with|role|user|encrypted|set)\b[^\n']{0,120}?\bpassword) ')([^'\n]++)"),
    ("={", r"((?i:\b(?:pwd|password)[ \t]{0,4}=)\{)([^}\n]++)"),
    ("oracle:", r"(\bjdbc:oracle:(?:thin|oci\d?):[\w.$#-]{1,60}/)([^\s@/]++)"),
    ("sqlplus", r"(\bsqlplus[ \t]{1,4}[\w.$#-]{1,60}/)([^\s@/]++)"),
    # An element of XML holds its secret as it stands, with blanks and references to characters.
    ("</", rf"((?i:<[\w.:-]{{0,60}}{_SURE}(?:\s[^>\n]{{0,200}})?>))([^<\n]++)"),
)
_CODE_RULES = (
    # The second of two, for a service that takes a name and a password.
    *(
        (
            word,
            rf"({word}s?[ \t]{{0,4}}=[ \t]{{0,4}}\([ \t]{{0,4}}[\"'][^\"'\n]{{0,200}}[\"'][ \t]{{0,4}},[ \t]{{0,4}}"
            r"[\"'])([^\"'\n]++)",
        )
        for word in ("auth", "cred", "credential")
    ),
    # A constant with its type, and one that is defined by a call.
    (
        ": ",
        rf"((?i:key|token|{_SURE})[ \t]{{0,4}}:[ \t]{{1,4}}[\w.\[\]|]{{1,40}}[ \t]{{1,4}}="
        rf"[ \t]{{0,4}}[bBrRuU]{{0,2}}[\"']){_MIXED}",
    ),
    (
        "define",
        rf"((?i:\bdefine\([ \t]{{0,4}}[\"']\w{{0,60}}{_SURE})[\"'][ \t]{{0,4}},[ \t]{{0,4}}[\"'])"
        r"([^\"'\n]++)",
    ),
    # Addresses at which anybody who knows them may post.
    (
        "hook",
        r"(https?://[^\s/]{1,200}/(?:[\w.-]{1,40}/){0,4}(?:hooks|webhooks?)/)"
        r"((?=[^\s/]{0,60}\d)[A-Za-z0-9_-]{16,}+)",
    ),
)
_ADDRESS_RULES = (
    # A signature lets anybody who has the address do what it is for.
    ("sig", r"((?i:[?&](?:[\w-]{1,30}-)?sig(?:nature)?=))([^&\s\"'<>]{16,}+)"),
)
_HASH_RULES = (
    # Hashes of passwords can be attacked without a limit.
    ("$2", r"()(\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53})"),
    (
        "$",
        rf"()(\$(?:1|5|6|7|y|apr1|sha1|md5)\$(?:rounds=\d{{1,9}}\$)?{_SALT}\$(?:{_SALT}\$)?[./A-Za-z0-9]{{20,}}+)",
    ),
    ("$argon2", rf"()(\$argon2(?:id|i|d)\$[\w=,$]{{1,80}}\$[A-Za-z0-9+/]{{8,100}}\${_HASH})"),
    ("pbkdf2", rf"()(\bpbkdf2\w{{0,20}}[$:][\w$=,.:]{{1,80}}[$:]{_HASH})"),
    ("scrypt", rf"()(\bb?scrypt[$:][\w$=,.:]{{1,80}}[$:]{_HASH})"),
    ("{ss", r"((?i:\{ssha\d{0,3}\}))([A-Za-z0-9+/=$.]{16,}+)"),
    ("{cr", r"((?i:\{crypt\}))([A-Za-z0-9+/=$.]{16,}+)"),
)
_COMPILED = tuple(
    (word, re.compile(pattern))
    for word, pattern in (*_OPTION_RULES, *_FILE_RULES, *_CODE_RULES, *_ADDRESS_RULES, *_HASH_RULES)
)
"""What stands in the text, in small letters, where a rule can hold; and what goes before a secret, and the secret."""

_YAML = re.compile(
    rf"^([ \t]{{0,40}}(?:-[ \t]{{1,4}})?(?i:[\w.-]{{0,60}}_{_SURE})[ \t]{{0,4}}:[ \t]{{1,4}})"
    r"(?![\"'$|>{&*!\[])([^\s#][^\n#]{0,200}[^\s#])(?=[ \t]{0,20}(?:#|$))",
    re.MULTILINE,
)
"""A value without quotes, which goes on to the end of its line."""
_EXPRESSION = re.compile(r"=|\|\||\?\?|[,;({]$")
_PHRASE = re.compile(r"(?i:\b(?:seed|recovery|mnemonic|backup|secret)[ -](?:phrase|words|seed))\b[^\n]{0,80}")
_WORDS = re.compile(r"\s{0,20}((?:[a-z]{3,8}[ \t\n]{1,4}){11,23}[a-z]{3,8}\b)")
_CODES = re.compile(r"(?i:\b(?:recovery|backup|scratch|one[- ]time|emergency)[ -](?:codes?|keys?))\b[^\n]{0,80}\n")
_CODE = re.compile(
    r"([ \t]{0,20}(?:[-*]|\d{1,2}[.)])?[ \t]{0,4})((?=[^\n]{0,40}[\d_])[\w-]{6,40}+)(?=[ \t]*(?:\n|$))\n?"
)
MOST_CODES = 32

_COOKIES = re.compile(r"(?i:\b(?:set-)?cookie[\"']?[ \t]{0,4}:)[^\n]{1,8000}")
_COOKIE = re.compile(r"([\w.-]{1,100}=)([^;\s\"'\\]{16,}+)")
_TOLD = (
    "password", "passphrase", "passwort", "kennwort", "mot de passe", "contraseña", "senha", "пароль", "wachtwoord",
    "パスワード", "密码", "密碼",
)  # fmt: skip
_TOLD_TOO = ("api key", "token", "secret")
_SIGNED = (
    r"(?=[^\s]{0,60}(?:[\d$!@#%^&*~+]|[A-Z][^\s]{0,30}-[A-Z]))(?!\d{4}-\d\d|https?:|[\"'\[<{(/$%*])"
    r"([^\s\"'`“«»”,;()]{6,}+)"
)
"""What no word of a language looks like: a digit or a sign is in it."""
_DRAWN = (
    r"(?!\d{4}-\d\d)((?=[^\s]{0,80}\d)(?=[^\s]{0,80}[A-Z])(?=[^\s]{0,80}[a-z])[A-Za-z0-9_.+=-]{16,}+|[a-f0-9]{32,}+)"
)
_OF_ITS_OWN = r"(?![ \t](?:polic|field|rule|manager|strength|length|hash|prompt|file|form|input|box|count|limit))"
"""A password, and not a thing about passwords."""
_IS = r"(?:[^\n:：.!?]|[.!?](?=\S)){0,60}?(?i:\b(?:is|ist|lautet|est|es|é)\b)[ \t]{1,3}(?::[ \t])?"
_SAID = (
    (_TOLD, re.compile(rf"{_OF_ITS_OWN}{_IS}{_SIGNED}")),
    (_TOLD_TOO, re.compile(rf"{_OF_ITS_OWN}{_IS}{_DRAWN}")),
    (_TOLD, re.compile(rf"{_IS}[\"“«]([^\"”»\n]{{6,80}})(?=[\"”»])")),
    (_TOLD, re.compile(rf"{_OF_ITS_OWN}[^\n:：]{{0,60}}?(?::[ \t]{{1,3}}|：[ \t]{{0,3}}){_SIGNED}")),
)
"""How people tell a secret to an agent, in some languages: what goes before it, and what goes on from there."""
_CAPITALS = re.compile("[A-Z]+")
_REFERENCE = re.compile(
    r"\$[A-Za-z_]\w*|\$\{\w+(?::?\?[^}\n]*)?\}|\$\([^()\n]*\)|%\w+%|%\(\w+\)s|\$?\{\{ ?[\w.]+ ?\}\}|[*x.]{3,}|"
    r"(?:your|replace|insert)[_-][a-z_-]+|(?:YOUR|REPLACE|INSERT)[_-][A-Z_-]+|PASSWORD\]?|"
    r"(?:op|vault|ssm|akv|awssm|gcpsm|doppler)://[\w.-]+/[\w./-]+"
)
"""A variable, a placeholder, or the address of a secret in a store of secrets."""
LITERALS = frozenset({"true", "false", "null", "nil", "none", "undefined", "yes", "no", "on", "off", "inherit"})
"""Words of configuration languages that are no texts."""


def names_only(value: str) -> bool:
    """Whether a value says where a secret is, or that there is none, and is none itself."""
    return value.lower() in LITERALS or _REFERENCE.fullmatch(value) is not None


def without_placed(text: str, mark: str) -> str:
    """The text with `mark` in the place of every secret that its place tells."""
    lowered = text.lower()

    def hide(found: re.Match[str]) -> str:
        return found[0] if names_only(found[2]) or found[2].startswith(mark) else f"{found[1]}{mark}"

    for word, pattern in _COMPILED:
        if word in lowered:
            text = pattern.sub(hide, text)
    if "cookie" in lowered:
        text = _COOKIES.sub(lambda found: _COOKIE.sub(hide, found[0]), text)
    text = _without(text, sorted(_said(text)), mark)
    if "_" in text and ":" in text:
        text = _YAML.sub(lambda found: hide(found) if _is_text(found[2]) else found[0], text)
    if "phrase" in lowered or "words" in lowered or "seed" in lowered:
        text = _below(text, _PHRASE, _phrase, mark)
    if "code" in lowered or "key" in lowered:
        text = _below(text, _CODES, _listed, mark)
    return text


def _is_text(value: str) -> bool:
    """Whether words behind a key are a value of YAML, and no annotation or expression of a program."""
    return " " in value and not _EXPRESSION.search(value)


def in_small_letters(text: str) -> str:
    """The text in small letters, each in its place."""
    lowered = text.lower()
    # A few capitals of other scripts become two letters.
    return lowered if len(lowered) == len(text) else _CAPITALS.sub(lambda found: found[0].lower(), text)


def _said(text: str) -> Iterator[tuple[int, int]]:
    """What people tell after a word that speaks of it."""
    lowered = in_small_letters(text)
    for words, said in _SAID:
        for word in words:
            position = lowered.find(word)
            while position >= 0:
                position += len(word)
                if (found := said.match(text, position)) and not names_only(found[1]):
                    yield found.span(1)
                position = lowered.find(word, position)


def _without(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    kept, position = list[str](), 0
    for begin, end in spans:
        if begin >= position:
            kept += [text[position:begin], mark]
            position = end
    return "".join([*kept, text[position:]]) if kept else text


def _below(
    text: str, heading: re.Pattern[str], found: Callable[[str, int], Iterator[tuple[int, int]]], mark: str
) -> str:
    """The text without what stands below each heading."""
    return _without(text, (span for head in heading.finditer(text) for span in found(text, head.end())), mark)


def _phrase(text: str, position: int) -> Iterator[tuple[int, int]]:
    """The words from which a wallet can be made again."""
    if words := _WORDS.match(text, position):
        yield words.span(1)


def _listed(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Codes, one in a line, that let somebody in once."""
    for _ in range(MOST_CODES):
        code = _CODE.match(text, position)
        if code is None:
            return
        yield code.span(2)
        position = code.end()
