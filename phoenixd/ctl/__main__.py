"""phoenixctl's entry. `status` is the verb that is typed all day, so it goes by hand to the socket and back.

Nothing may be imported here but built-in modules and `wire`: the interpreter's own start is all that a `status` should
cost. Whatever is not a plain `status` goes to `command_line`.
"""

from __future__ import annotations

import posix
import sys

from phoenixd.ctl import wire

FLAGS = {"--json": "", "--all": "all=1"}


def main(arguments: list[str] | None = None) -> int:
    """Run a verb and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    target = status_target(given)
    if target is not None:
        code = _status(target, "--json" in given)
        if code is not None:
            return code
    if "site" not in sys.modules:
        # The launcher starts python without it; whatever comes now may need what is installed.
        import site

        site.main()
    from phoenixd.ctl.command_line import run

    return run(given)


def status_target(given: list[str]) -> str | None:
    """The path that answers these arguments, when they are a plain status; None for everything else."""
    words = given or ["status"]
    if words[0] != "status":
        return None
    names = [word for word in words[1:] if word not in FLAGS]
    if len(names) > 1 or not all(_is_name(name) for name in names):
        return None
    query = [FLAGS[word] for word in words[1:] if FLAGS.get(word)]
    if names and query:
        return None
    return wire.with_query(f"/v1/agents/{names[0]}" if names else "/v1/agents", query + ([] if names else wire.look()))


def _is_name(word: str) -> bool:
    return 0 < len(word) <= 32 and word[0] not in "-_" and word.strip("abcdefghijklmnopqrstuvwxyz0123456789_-") == ""


def _status(target: str, as_json: bool) -> int | None:
    """Copy the daemon's answer; None when it has to be told at leisure why there is none."""
    answer = wire.ask(wire.sockets(wire.environment()), "GET", target, as_json=as_json)
    if answer is None or (as_json and answer.status >= 400):
        return None
    return wire.tell(answer)


def entry() -> None:
    """Run and leave at once: what an interpreter tidies up on its way out, the kernel does faster."""
    code = main()
    if "io" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
    posix._exit(code)


if __name__ == "__main__":
    entry()
