"""Man pages, made from the table of operations and from the configuration with every default.

Standard library only: the wheel is built from here, before anything is installed. A page names no date, so that the
same source gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from phoenixd import __version__
from phoenixd.api import exits
from phoenixd.api.operations import verbs
from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.core.selection import KEYS
from phoenixd.ctl.shells.spoken import COMMON_OPTIONS, Option, Verb, spoken

SECTION = re.compile(r"^(?:# )?\[(?P<name>[^\]]+)\](?: *# (?P<said>.*))?$")
MORE = re.compile(r"^ +# (?P<said>.*)$")
KEY = re.compile(r"^(?P<off># )?(?P<key>[a-z][a-z0-9_.]*|NAME) = (?P<value>.*?)(?: +# (?P<said>.*))?$")
SEE_ALSO = (
    ("phoenixctl", "1"), ("phoenixd", "8"), ("phoenixd.toml", "5"), ("tmux", "1"), ("systemctl", "1"),
)  # fmt: skip
DAEMON_OPTIONS = (
    Option("--config", "configuration directory or file"),
    Option("--state-dir", "where everything lives that has to survive"),
    Option("--runtime-dir", "where the sockets are"),
    Option("--log-level", "debug, info, warning or error"),
    Option("--version", "print the version"),
)
VALUES = {"--config": "PATH", "--state-dir": "DIR", "--runtime-dir": "DIR", "--log-level": "LEVEL"}
ENVIRONMENT = (
    ("PHOENIX_SOCKET", "the daemon's socket, as --socket"),
    ("PHOENIX_STATE_DIR", "the state directory, as phoenixd --state-dir"),
    ("PHOENIX_RUNTIME_DIR", "the runtime directory, as phoenixd --runtime-dir"),
    ("PAGER", "what shows a text that is longer than the terminal; empty for none"),
    ("NO_COLOR", "where it is set, nothing is coloured"),
    ("TZ", "the time zone in which times are typed and shown; without it, the machine's"),
    ("COLUMNS", "how wide a text is made that goes to a pipe; without it, nothing there is cut"),
)
PLACES = (
    ("/etc/phoenixd, ~/.config/phoenixd", "the configuration: phoenixd.toml, conf.d/*.toml, agents.d/*.toml"),
    ("/var/lib/phoenixd, ~/.local/state/phoenixd", "the journal, declared agents, their briefs, the log"),
    (
        "/run/phoenixd, $XDG_RUNTIME_DIR/phoenixd, ~/.local/state/phoenixd/run",
        "the sockets of the control API and of tmux; the last one for an account that does not linger",
    ),
)
DAEMON_ENVIRONMENT = (
    ("PHOENIX_STATE_DIR", "the state directory, where --state-dir names none"),
    ("PHOENIX_RUNTIME_DIR", "the runtime directory, where --runtime-dir names none"),
    (
        "CONFIGURATION_DIRECTORY, STATE_DIRECTORY, RUNTIME_DIRECTORY",
        "configuration, state and runtime directory, as systemd names them to a unit",
    ),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR", "where these three lie, unless something else names them"),
)
SIGNALS = (
    ("SIGTERM, SIGINT, SIGQUIT", "end the daemon in order; the agents live on"),
    ("SIGHUP", "has it read the configuration again, as phoenixctl apply"),
)
ENDS = (
    ("0", "it was asked to end"),
    ("1", "it cannot run; the reason is printed"),
    ("2", "the command line makes no sense"),
    ("6", "another daemon owns the state directory or the runtime directory, or an agent asks"),
    ("78", "the configuration cannot be used"),
)


def phoenixctl() -> str:
    """phoenixctl(1)."""
    lines = [*_head("PHOENIXCTL", 1, "phoenixctl", "see and steer the agents that phoenixd keeps at work")]
    lines += [".SH SYNOPSIS", ".B phoenixctl", "[\\fIVERB\\fR] [\\fIARGUMENTS\\fR]", ".SH DESCRIPTION"]
    lines += _paragraph(
        "It asks the daemon phoenixd over its socket. Without a verb it prints the status: what needs you, "
        "whether everything is alive, and what happened since you looked. Data goes to standard output, refusals with "
        "a remedy to standard error. A text that is longer than the terminal goes to a pager; what goes to a pipe is "
        "not cut."
    )
    lines += [".SH OPTIONS", "Every verb takes these.", *(line for one in COMMON_OPTIONS for line in _option(one))]
    lines.append(".SH VERBS")
    for verb in spoken():
        lines += _verb(verb, verbs()[verb.words])
    lines.append(".SH SELECTORS")
    lines += _paragraph("Verbs that act on agents take names, patterns such as 'shop-*', and keys with values:")
    lines += _terms((f"{key}:", said) for key, said in KEYS.items())
    lines += [".PP", _text("Different keys have to match together, and ! takes out: p:shop s:idle '!shop-old'.")]
    lines += [".SH EXIT STATUS", *_terms((str(code), said) for code, said in exits.MEANINGS.items())]
    lines += [".SH ENVIRONMENT", *_terms(ENVIRONMENT)]
    return _page([*lines, *_see_also("phoenixctl")])


def phoenixd() -> str:
    """phoenixd(8)."""
    lines = [*_head("PHOENIXD", 8, "phoenixd", "keep AI coding agents at work, whatever dies")]
    lines += [".SH SYNOPSIS", ".B phoenixd"]
    lines += [f"[{_bold(one.flag)}{_value_of(one)}]" for one in DAEMON_OPTIONS]
    lines.append(".SH DESCRIPTION")
    lines += _paragraph(
        "phoenixd owns a tmux session for each agent, notices when one dies or hangs, resumes its session or begins "
        "a new one with a brief, and says why. It stays in the foreground. phoenixctl up starts it in the background, "
        "and phoenixctl install-service makes systemd units for it. Agents outlive the daemon: the next one finds them."
    )
    lines += [".SH OPTIONS", *(line for one in DAEMON_OPTIONS for line in _option(one, VALUES.get(one.flag)))]
    lines += [".SH ENVIRONMENT", *_terms(DAEMON_ENVIRONMENT), ".SH SIGNALS", *_terms(SIGNALS)]
    lines += [".SH EXIT STATUS", *_terms(ENDS), ".SH FILES", *_terms(PLACES)]
    return _page([*lines, *_see_also("phoenixd")])


def configuration(text: str) -> str:
    """phoenixd.toml(5). text: config/phoenixd.toml, every key with its default and what it does."""
    intro, _, rest = text.partition("\n\n")
    lines = [*_head("PHOENIXD.TOML", 5, "phoenixd.toml", "configuration of phoenixd"), ".SH DESCRIPTION"]
    # What the file says of itself as a file stands in its first paragraph.
    _, _, said = intro.partition("\n#\n")
    lines += _paragraph(" ".join(line.lstrip("# ") for line in said.splitlines()))
    lines += [".SH KEYS", "Every key with its default. A key that has none is shown with an example."]
    words: list[str] = []
    for line in [*_whole(rest), ""]:
        section, key = SECTION.match(line), KEY.match(line)
        if section is None and key is None and line.startswith("# "):
            words.append(line[2:])
            continue
        lines += _paragraph(" ".join(words))
        words = []
        if section is not None:
            lines += [".SS " + _text(f"[{section['name']}]"), *_paragraph(section["said"] or "")]
        elif key is not None:
            default = " (example)" if key["off"] else ""
            lines += [".TP", f"{_bold(key['key'])} = {_text(key['value'])}{default}", _text(key["said"] or "")]
    lines += [".SH FILES", *_terms(PLACES[:2])]
    return _page([*lines, *_see_also("phoenixd.toml")])


def _whole(text: str) -> list[str]:
    """The lines, each with the lines on which its comment goes on."""
    found: list[str] = []
    for line in text.splitlines():
        more = MORE.match(line)
        if more is not None and found:
            found[-1] = f"{found[-1]} {more['said']}"
        else:
            found.append(line)
    return found


def _verb(verb: Verb, operations: tuple[Operation, ...]) -> Iterator[str]:
    of_all = [one for one in _positional(operations) if all(one in other.parameters for other in operations)]
    places = " ".join(_place(one, is_needed=one in of_all) for one in _positional(operations))
    command = "-- COMMAND" if verb.runs else ""
    yield ".SS " + " ".join(filter(None, (_bold(verb.name), _text(places), _text(command))))
    yield _text(f"{verb.summary}.")
    for one in _positional(operations):
        yield from _term(f"\\fI{_text(one.name.upper())}\\fR", one.told)
    own = [one for one in verb.options if one not in COMMON_OPTIONS]
    for option in own:
        yield from _option(option)
    meant = dict(pair for operation in operations for pair in operation.exits)
    if meant:
        told = "; ".join(f"{code}: {said}" for code, said in sorted(meant.items()))
        yield ".PP"
        yield _text(f"Exit status here: {told}.")


def _positional(operations: tuple[Operation, ...]) -> list[Parameter]:
    found = {one.name: one for operation in operations for one in operation.parameters}
    return [one for one in found.values() if one.flag is None and not one.hidden and one.type != "strings"]


def _place(one: Parameter, *, is_needed: bool) -> str:
    name = f"{one.name.upper()}..." if one.type == "words" else one.name.upper()
    return name if one.required and is_needed else f"[{name}]"


def _option(one: Option, value: str | None = None) -> Iterator[str]:
    chosen = one.value.words if one.value is not None else ()
    shown = "|".join(chosen) if chosen else value or one.metavar
    takes = f" \\fI{_text(shown)}\\fR" if one.value is not None or value is not None else ""
    spelled = ", ".join(_bold(flag) for flag in reversed(one.spellings))
    yield from _term(f"{spelled}{takes}", one.help)


def _value_of(one: Option) -> str:
    return f" \\fI{VALUES[one.flag]}\\fR" if one.flag in VALUES else ""


def _head(title: str, section: int, name: str, said: str) -> Iterator[str]:
    yield '.\\" Made from the table of operations at each build; change that.'
    yield f'.TH {title} {section} "" "phoenixd {__version__}" "phoenixd"'
    # Words are not broken: a name that was broken cannot be copied.
    yield from (".nh", ".ad l", ".SH NAME", f"{name} \\- {_text(said)}")


def _see_also(own: str) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {name} ({section})" for name, section in SEE_ALSO if name != own).replace(",\n", " ,\n")


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, said in pairs:
        yield from _term(_bold(term), said)


def _term(term: str, said: str) -> Iterator[str]:
    yield from (".TP", term, _text(said))


def _paragraph(words: str) -> list[str]:
    return [".PP", _text(words)] if words else []


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _text(text: str) -> str:
    """Words as roff prints them; none is taken for a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    escaped = escaped.replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _page(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines if line)
