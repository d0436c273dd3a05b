"""Completion for zsh 5."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.ctl.shells.spoken import (
    ASKED,
    COMMON_OPTIONS,
    GROUPED,
    SELECTORS,
    Option,
    Place,
    Value,
    Verb,
    groups,
    summary,
)

SCRIPT = """\
#compdef phoenixctl
# phoenixctl for zsh, made from its table of operations. Load it with: source <(phoenixctl completion zsh)

{asked}
_phoenixctl_selectors() {{
  local -a found
  [[ $PREFIX == *:* ]] || {{ _phoenixctl_agents "$@"; return }}
  found=({selectors} ${{(f)"$({grouped})"}})
  compadd "$@" -a found
}}

_phoenixctl_verbs() {{
  local -a verbs
  verbs=(
{verbs}
  )
  _describe -t commands verb verbs
}}

_phoenixctl() {{
  local curcontext=$curcontext state line ret=1
  typeset -A opt_args
  _arguments -C \\
{common}    '1:verb:_phoenixctl_verbs' \\
    '*::argument:->argument' && ret=0
  [[ $state == argument ]] || return ret
  case $words[1] in
{cases}
  esac
  return ret
}}

# Loaded from the fpath it is called at once; sourced, it says whom it completes.
if [[ $funcstack[1] == _phoenixctl ]]; then
  _phoenixctl "$@"
else
  compdef _phoenixctl phoenixctl
fi
"""
ACTIONS = {"files": "_files", "directories": "_files -/", "verbs": "_phoenixctl_verbs"}


def script() -> str:
    """The script."""
    found = groups()
    asked = "".join(
        f'_phoenixctl_{kind}() {{\n  local -a found\n  found=(${{(f)"$({command})"}})\n  compadd "$@" -a found\n}}\n'
        for kind, command in ASKED.items()
    )
    verbs = "\n".join(f"    {_quoted(f'{word}:{summary(members)}')}" for word, members in found.items())
    common = "".join(f"    {_option(one)} \\\n" for one in COMMON_OPTIONS)
    cases = "\n".join(line for word, members in found.items() for line in _group(word, members))
    return SCRIPT.format(asked=asked, selectors=SELECTORS, grouped=GROUPED, verbs=verbs, common=common, cases=cases)


def _group(word: str, members: tuple[Verb, ...]) -> Iterator[str]:
    if len(members[0].words) == 1:
        yield f"    {word})"
        yield f"      {_arguments(members[0])} && ret=0"
        yield "      ;;"
        return
    seconds = " ".join(f"{verb.words[1]}\\:{_plain(verb.summary)!r}" for verb in members)
    yield f"    {word})"
    what = _quoted(f"1:what:(({seconds}))")
    yield f"      _arguments -C {what} {_quoted('*::argument:->what')} && ret=0"
    yield "      [[ $state == what ]] || return ret"
    yield "      case $words[1] in"
    for verb in members:
        yield f"        {verb.words[1]}) {_arguments(verb)} && ret=0 ;;"
    yield "      esac"
    yield "      ;;"


def _arguments(verb: Verb) -> str:
    told = [_option(one) for one in verb.options]
    told += [_place(number, one) for number, one in enumerate(verb.places, 1)]
    if verb.runs:
        told.append(_quoted("*::command:_normal"))
    return " ".join(("_arguments -s", *told))


def _option(one: Option) -> str:
    value = f":value:{_action(one.value)}" if one.value is not None else ""
    said = f"[{_plain(one.help)}]{value}"
    if one.short is None:
        return _quoted(f"{'*' if one.repeats else ''}{one.flag}{said}")
    return f"'({one.flag} {one.short})'{{{one.flag},{one.short}}}{_quoted(said)}"


def _place(number: int, one: Place) -> str:
    return _quoted(f"{'*' if one.repeats else number}:{one.name}:{_action(one.value)}")


def _action(value: Value) -> str:
    if value.words:
        return f"({' '.join(value.words)})"
    if value.kind is None:
        return " "
    if value.selects:
        return "_phoenixctl_selectors"
    return ACTIONS.get(value.kind, f"_phoenixctl_{value.kind}")


def _plain(text: str) -> str:
    """Words without what means something within a specification of zsh."""
    return "".join(letter for letter in text.replace(":", ",") if letter not in "[]()'\"\\`$")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
