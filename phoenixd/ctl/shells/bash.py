"""Completion for bash 4.2 and later."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.ctl.shells.spoken import ASKED, GROUPED, SELECTORS, Value, Verb, groups, spoken

SCRIPT = """\
# phoenixctl for bash, made from its table of operations. Load it with: source <(phoenixctl completion bash)

# Sets `options` and `places` of a verb; each place is words, or @ and a kind, and the last one with + repeats.
_phoenixctl_verb() {{
    options='{common}' places=()
    case $1 in
{verbs}
    esac
}}

# Sets `value` of an option of a verb; fails where it takes none.
_phoenixctl_value() {{
    case "$1 $2" in
{values}
        *) return 1 ;;
    esac
}}

_phoenixctl_offer() {{
    case $1 in
{asked}
        @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
        @directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
        @selectors)
            if [[ $2 == *:* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "{selectors} $({grouped})" -- "$2")
            else
                _phoenixctl_offer @agents "$2"
            fi
            ;;
        @*) ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
    esac
}}

# Sets `typed` to the words up to the cursor. Readline takes a colon for the end of a word; here it is a part of one.
_phoenixctl_words() {{
    local index word blanks rest=$COMP_LINE
    typed=()
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}} blanks=${{rest%%[![:blank:]]*}}
        rest=${{rest:${{#blanks}}}} rest=${{rest:${{#word}}}}
        if ((index > 0)) && [[ -z $blanks && ( $word == *:* || ${{typed[-1]}} == *: ) ]]; then
            typed[${{#typed[@]}} - 1]+=$word
        else
            typed+=("$word")
        fi
    done
}}

_phoenixctl() {{
    local typed current verb='' option='' place=0 index last word options value places
    _phoenixctl_words
    last=$((${{#typed[@]}} - 1)) current=${{typed[-1]}}
    COMPREPLY=()
    for ((index = 1; index < last; index++)); do
        word=${{typed[index]}}
        if [[ $word == -- ]]; then
            # The command of an agent: a program, then its arguments.
            if ((index + 1 == last)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            else
                _phoenixctl_offer @files "$current"
            fi
            return
        elif [[ -n $option && $word == = ]]; then
            continue
        elif [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            _phoenixctl_value "$verb" "$word" && option=$word
        elif [[ -z $verb || " {groups} " == *" $verb "* ]]; then
            verb="${{verb:+$verb }}$word"
        else
            place=$((place + 1))
        fi
    done
    [[ $current == = ]] && current=''
    if [[ -n $option ]]; then
        _phoenixctl_value "$verb" "$option" && _phoenixctl_offer "$value" "$current"
        return
    fi
    _phoenixctl_verb "$verb"
    if [[ $current == -* ]]; then
        _phoenixctl_offer "$options" "$current"
        return
    fi
    if ((${{#places[@]}} > 0)); then
        value=''
        if ((place < ${{#places[@]}})); then
            value=${{places[place]}}
        elif [[ ${{places[${{#places[@]}} - 1]}} == *+ ]]; then
            value=${{places[${{#places[@]}} - 1]}}
        fi
        [[ -n $value ]] && _phoenixctl_offer "${{value%+}}" "$current"
    fi
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        # What stands before the colon is no part of the word that Readline replaces.
        COMPREPLY=("${{COMPREPLY[@]#"${{current%:*}}:"}}")
    fi
    return 0
}}
complete -F _phoenixctl phoenixctl
"""


def script() -> str:
    """The script."""
    found = groups()
    several = [word for word, members in found.items() if len(members[0].words) > 1]
    first = _case("", "", [" ".join(found)])
    seconds = [_case(word, "", [" ".join(verb.words[1] for verb in found[word])]) for word in several]
    verbs = [_case(verb.name, _options(verb), [_place(one.value, one.repeats) for one in verb.places])
             for verb in spoken()]  # fmt: skip
    common = next(verb for verb in spoken() if verb.words == ("version",))
    values = [line for verb in spoken() for line in _values(verb)]
    # An option that every verb takes may stand before the verb, too.
    values += [f"        ' {flag}') value='{_spelled(one.value)}' ;;" for one in common.options if one.value is not None
               for flag in one.spellings]  # fmt: skip
    asked = "\n".join(
        f'        @{kind}) mapfile -t COMPREPLY < <(compgen -W "$({command})" -- "$2") ;;'
        for kind, command in ASKED.items()
    )
    asked += f"\n        @verbs) mapfile -t COMPREPLY < <(compgen -W '{' '.join(found)}' -- \"$2\") ;;"
    return SCRIPT.format(
        common=_options(common), verbs="\n".join([first, *seconds, *verbs]), values="\n".join(values), asked=asked,
        groups=" ".join(several), selectors=SELECTORS, grouped=GROUPED,
    )  # fmt: skip


def _case(verb: str, options: str, places: list[str]) -> str:
    told = f"options='{options}' " if options else ""
    return f"        '{verb}') {told}places=({' '.join(repr(place) for place in places)}) ;;"


def _options(verb: Verb) -> str:
    return " ".join(flag for one in verb.options for flag in one.spellings)


def _values(verb: Verb) -> Iterator[str]:
    for one in verb.options:
        if one.value is not None:
            spellings = "|".join(f"'{verb.name} {flag}'" for flag in one.spellings)
            yield f"        {spellings}) value='{_spelled(one.value)}' ;;"


def _place(value: Value, repeats: bool) -> str:
    return _spelled(value) + ("+" if repeats else "")


def _spelled(value: Value) -> str:
    kind = "selectors" if value.selects else value.kind or "none"
    return " ".join(value.words) if value.words else f"@{kind}"
