"""`completion bash|zsh|fish`: scripts from the table; agents' names are asked of the daemon."""

from __future__ import annotations

from phoenixd.api.operations import OPERATIONS, verbs
from phoenixd.api.operations.operation import Operation
from phoenixd.ctl.grammar import Command

NAMES = "phoenixctl status --json 2>/dev/null | tr '{' '\\n' | sed -n 's/^\"name\": \"\\([a-z0-9_-]*\\)\".*/\\1/p'"
"""Agents' names, for the shell: they hold nothing that would need quoting."""
MATCHES = 'compgen -W "$words" -- "$current"'


def completion(command: Command) -> int:
    """Print the script."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[command.given["shell"]](), end="")
    return 0


def bash() -> str:
    """For bash 4 and later."""
    cases = "".join(
        f"        {word}) words='{' '.join(_next_words(word))}' names={int(_takes_name(word))} ;;\n"
        for word in _first_words()
    )
    return f"""# phoenixctl for bash. Load it with: source <(phoenixctl completion bash)
_phoenixctl() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words='' names=0
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{" ".join(_first_words())}'
    else
        case ${{COMP_WORDS[1]}} in
{cases}        esac
        if [ "$names" -eq 1 ] && [[ $current != -* ]]; then
            words="$words $({NAMES})"
        fi
    fi
    mapfile -t COMPREPLY < <({MATCHES})
}}
complete -F _phoenixctl phoenixctl
"""


def zsh() -> str:
    """For zsh, by its own completion of bash's."""
    script = bash().replace(f"mapfile -t COMPREPLY < <({MATCHES})", f"COMPREPLY=($({MATCHES}))")
    return f"""#compdef phoenixctl
# phoenixctl for zsh. Load it with: source <(phoenixctl completion zsh)
autoload -Uz bashcompinit && bashcompinit
{script}"""


def fish() -> str:
    """For fish 3 and later."""
    lines = ["# phoenixctl for fish. Load it with: phoenixctl completion fish | source", "complete -c phoenixctl -f"]
    for word in _first_words():
        summary = _operations(word)[0].summary.replace("'", "")
        lines.append(f"complete -c phoenixctl -n __fish_use_subcommand -a {word} -d '{summary}'")
        seen = f"-n '__fish_seen_subcommand_from {word}'"
        lines += [
            f"complete -c phoenixctl {seen} -l {following[2:]}"
            if following.startswith("--")
            else f"complete -c phoenixctl {seen} -a {following}"
            for following in _next_words(word)
        ]
        if _takes_name(word):
            names = NAMES.replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"complete -c phoenixctl {seen} -a '({names})'")
    return "\n".join(lines) + "\n"


def _first_words() -> list[str]:
    return list(dict.fromkeys(words[0] for words in verbs()))


def _operations(word: str) -> list[Operation]:
    return [operation for operation in OPERATIONS if operation.words[:1] == (word,)]


def _next_words(word: str) -> list[str]:
    seconds = [operation.words[1] for operation in _operations(word) if len(operation.words) > 1]
    flags = [parameter.flag for one in _operations(word) for parameter in one.parameters if parameter.flag]
    choices = [
        choice for one in _operations(word) for parameter in one.parameters if parameter.flag is None
        for choice in parameter.choices if not parameter.hidden
    ]  # fmt: skip
    return list(dict.fromkeys([*seconds, *choices, *flags, "--json", "--socket", "--help"]))


def _takes_name(word: str) -> bool:
    return any(
        parameter.flag is None and parameter.name in ("name", "agent") and parameter.place in ("path", "query")
        for operation in _operations(word)
        for parameter in operation.parameters
    )
