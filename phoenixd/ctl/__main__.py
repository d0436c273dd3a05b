"""phoenixctl's entry. `status` is the verb that is typed all day, so it goes by hand to the socket and back.

Nothing may be imported here but built-in modules and `wire`, and not even `__future__`, which is a file too: the
interpreter's own start is all that a look should cost. Whatever does more than look goes to `command_line`.
"""

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
PROMPT_TIMEOUT = 1.0


def main(arguments: list[str] | None = None) -> int:
    """Run a verb and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    words, common = without_common(given)
    wire.show(colour=common.get("--color"), pager="--no-pager" not in common, socket=common.get("--socket"))
    target = plain_target(words)
    if target is not None:
        # A shell shows no prompt until it is there.
        timeout = PROMPT_TIMEOUT if words == ["prompt"] else wire.TIMEOUT
        code = _copy(target, common.get("--socket"), "--json" in words, timeout)
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
        # So may both packages be, for which the launcher has put modules that say nothing.
        for name in ("phoenixd.ctl", "phoenixd"):
            if not hasattr(sys.modules[name], "__file__"):
                del sys.modules[name]
    from phoenixd.ctl.command_line import run

    return run(given)


def without_common(given: list[str]) -> tuple[list[str], dict[str, str]]:
    """The arguments without those of every verb (`--socket PATH`, `--color WHEN`, `--no-pager`), and these; the last
    of each counts. Where one lacks its value or has a wrong one, or there is no verb, all stays as it is."""
    words: list[str] = []
    found: dict[str, str] = {}
    rest = iter(given)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--no-pager":
            found[word] = ""
        elif name not in ("--socket", "--color"):
            words.append(word)
        elif not (value := value if equals else next(rest, "")) or (not equals and value[0] == "-"):
            return given, {}
        elif name == "--color" and value not in wire.COLOURS:
            return given, {}
        else:
            found[name] = value
    return (words, found) if words else (given, {})


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


def _copy(target: str, socket: str | None, as_json: bool, timeout: float) -> int | None:
    """Copy the daemon's answer; None when it has to be told at leisure why there is none."""
    answer = wire.ask(wire.sockets(wire.environment(), socket), "GET", target, as_json=as_json, timeout=timeout)
    if answer is None or (as_json and answer.status >= 400):
        return None
    if not as_json and answer.status < 400 and wire.wants_pager(answer.body):
        from phoenixd.ctl import pager

        pager.page(answer.body)
        return answer.exit
    return wire.tell(answer)


class _Output:
    """Standard output for `print`. Where it cannot be written, that is told, and the verb ends as without a reader."""

    def __init__(self) -> None:
        self._inner = sys.stdout

    def write(self, text: str) -> int:
        try:
            return self._inner.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            wire.lose(error)
            raise BrokenPipeError from error

    def flush(self) -> None:
        try:
            self._inner.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            wire.lose(error)
            raise BrokenPipeError from error

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def _occupy() -> None:
    """Have closed descriptors refuse to be written to, and be at their end for who reads: a socket would take their
    place, and Python has no stream."""
    for number, stream, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, stream) is None:
            opened = posix.open("/dev/null", posix.O_RDONLY)
            if opened != number:
                posix.dup2(opened, number)
            setattr(sys, stream, open(number, mode, closefd=False))


def entry() -> None:
    """Run and leave at once: what an interpreter tidies up on its way out, the kernel does faster."""
    _occupy()
    sys.stdout = _Output()
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # The reader has gone, or it was told that nobody could be one.
    try:
        sys.stderr.flush()
    except OSError:
        pass  # There is nowhere left to say it; the exit code does.
    posix._exit(1 if wire.is_lost() else code)


if __name__ == "__main__":
    entry()
