"""Completion for fish 3."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.ctl.shells.spoken import ASKED, COMMON_OPTIONS, GROUPED, SELECTORS, Option, Value, Verb, groups, summary

HEAD = """\
# phoenixctl for fish, made from its table of operations. Load it with: phoenixctl completion fish | source

# The words before the cursor that are no options.
function __phoenixctl_words
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        string match -qr '^-' -- $word; or echo $word
    end
end

# Whether the words begin so.
function __phoenixctl_is
    set -l wanted (string split ' ' -- $argv[1])
    set -l words (__phoenixctl_words)
    set -l many (count $wanted)
    test (count $words) -ge $many; and test "$words[1..$many]" = "$wanted"
end

# Whether the words begin so, and that many more stand there.
function __phoenixctl_at
    __phoenixctl_is $argv[1]; or return 1
    set -l words (__phoenixctl_words)
    test (count $words) -eq (math (count (string split ' ' -- $argv[1])) + $argv[2])
end

# Words that choose agents: behind a colon all that it may stand for, else names.
function __phoenixctl_selectors
    if string match -q '*:*' -- (commandline -ct)
        string split ' ' -- '{selectors}'
        {grouped}
    else
        {agents}
    end
end

complete -c phoenixctl -f
"""


def script() -> str:
    """The script."""
    lines = [f"complete -c phoenixctl{_option(one)}" for one in COMMON_OPTIONS]
    for word, members in groups().items():
        said = f"-a {word} -d {_quoted(summary(members))}"
        lines.append(f"complete -c phoenixctl -n 'test (count (__phoenixctl_words)) -eq 0' {said}")
        if len(members[0].words) > 1:
            lines += [
                f"complete -c phoenixctl -n '__phoenixctl_at {word} 0' -a {verb.words[1]} -d {_quoted(verb.summary)}"
                for verb in members
            ]
        for verb in members:
            lines += _verb(verb)
    head = HEAD
    for name, told in (("selectors", SELECTORS), ("grouped", GROUPED), ("agents", ASKED["agents"])):
        head = head.replace(f"{{{name}}}", told)
    return head + "\n".join(lines) + "\n"


def _verb(verb: Verb) -> Iterator[str]:
    condition = f"-n {_quoted(f'__phoenixctl_is {_nested(verb.name)}')}"
    for one in verb.options:
        if one not in COMMON_OPTIONS:
            yield f"complete -c phoenixctl {condition}{_option(one)}"
    for number, place in enumerate(verb.places):
        where = (
            f"__phoenixctl_is {_nested(verb.name)}"
            if place.repeats
            else f"__phoenixctl_at {_nested(verb.name)} {number}"
        )
        if (offered := _offered(place.value)) is not None:
            yield f"complete -c phoenixctl -n {_quoted(where)} {offered}"


def _nested(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _option(one: Option) -> str:
    short = f" -s {one.short[1:]}" if one.short is not None else ""
    takes = ""
    if one.value is not None:
        takes = f" -r {_offered(one.value) or ''}".rstrip()
    return f" -l {one.flag[2:]}{short}{takes} -d {_quoted(one.help)}"


def _offered(value: Value) -> str | None:
    if value.words:
        return f"-a {_quoted(' '.join(value.words))}"
    if value.selects:
        return "-a '(__phoenixctl_selectors)'"
    match value.kind:
        case None:
            return None
        case "files":
            return "-F"
        case "directories":
            return "-a '(__fish_complete_directories)'"
        case "verbs":
            return f"-a {_quoted(' '.join(groups()))}"
        case kind:
            return f"-a {_quoted(f'({ASKED[kind]})')}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
