"""phoenixctl's entry. `status` is the verb that is typed all day, so it goes by hand to the socket and back.

Nothing may be imported here but built-in modules and `wire`: the interpreter's own start is all that a look should
cost. Whatever does more than look goes to `command_line`.
"""

from __future__ import annotations

import posix
import sys

from phoenixd.ctl import wire

NO_NAME = {
    "status": "/v1/agents",
    "inbox": "/v1/inbox",
    "since": "/v1/since",
    "events": "/v1/events",
    "prompt": "/v1/prompt",
}
WITH_NAME = {"status": "/v1/agents/{}", "explain": "/v1/agents/{}/explain"}
"""Verbs that only look, and where; the table of operations says the same, and a test compares them."""
FLAGS = {"--json": "", "--all": "all=1"}
LOOKS = ("/v1/agents", "/v1/since")


def main(arguments: list[str] | None = None) -> int:
    """Run a verb and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    words, socket = without_socket(given)
    target = plain_target(words)
    if target is not None:
        code = _copy(target, socket, "--json" in words)
        if code is not None:
            return code
        if words == ["prompt"]:
            # Where a shell's prompt asks, an explanation each time would be in the way.
            wire.write(1, b"?\n")
            return 7
    if "site" not in sys.modules:
        # The launcher starts python without it; whatever comes now may need what is installed.
        import site

        site.main()
    from phoenixd.ctl.command_line import run

    return run(given)


def without_socket(given: list[str]) -> tuple[list[str], str | None]:
    """The arguments without `--socket PATH`, and the path; the last one counts. Without a path, or a verb, all
    stays as it is."""
    words: list[str] = []
    socket: str | None = None
    rest = iter(given)
    for word in rest:
        name, equals, path = word.partition("=")
        if name == "--socket" and (path := path if equals else next(rest, "")) and (equals or path[0] != "-"):
            socket = path
        elif name == "--socket":
            return given, None
        else:
            words.append(word)
    return (words, socket) if words else (given, None)


def plain_target(given: list[str]) -> str | None:
    """The path that answers these arguments, when they only look, at most at one agent; None for everything else."""
    verb, *words = given or ["status"]
    names = [word for word in words if word not in FLAGS]
    query = [FLAGS[word] for word in words if FLAGS.get(word)]
    if query and (verb != "status" or names):
        return None
    if verb == "since" and len(names) == 1 and names[0][:1] not in ("", "-"):
        return wire.with_query("/v1/since", [f"time={wire.quoted(names[0])}"], looks=True)
    if names:
        path = WITH_NAME.get(verb)
        return wire.with_query(path.format(names[0]), []) if path and len(names) == 1 and _is_name(names[0]) else None
    path = NO_NAME.get(verb)
    return wire.with_query(path, query, looks=path in LOOKS) if path else None


def _is_name(word: str) -> bool:
    return 0 < len(word) <= 32 and word[0] not in "-_" and word.strip("abcdefghijklmnopqrstuvwxyz0123456789_-") == ""


def _copy(target: str, socket: str | None, as_json: bool) -> int | None:
    """Copy the daemon's answer; None when it has to be told at leisure why there is none."""
    answer = wire.ask(wire.sockets(wire.environment(), socket), "GET", target, as_json=as_json)
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
