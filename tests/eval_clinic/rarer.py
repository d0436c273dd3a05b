"""How each CLI is driven into rarer ends: what gateways refuse, flags and settings, dialogs, signals, healthy turns.

python -m tests.eval_clinic.record OUT [PATTERN] tests.eval_clinic.rarer
"""

from __future__ import annotations

import json
import signal
import time
import uuid
from collections.abc import Iterator

from phoenixd.harness.pins import PINS
from tests.eval_clinic import deaths, ends, healthy
from tests.eval_clinic.ends import Drive, begin, session_of, settle, turn_failed
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import GOAL, Room
from tests.eval_clinic.vendors import LATE, REFUSALS, page
from tests.stub.scenario import Rejection, Step


def recipes() -> Iterator[Recipe]:
    for harness, refusals in REFUSALS.items():
        for number, (fault, (kind, rejection)) in enumerate(refusals.items()):
            yield Recipe(harness, _pin(harness, number), kind, fault, ends.refused(kind, rejection))
    for harness, late in LATE.items():
        for number, (fault, (kind, rejection)) in enumerate(late.items()):
            yield Recipe(harness, _pin(harness, number), kind, fault, _late(kind, rejection))
    yield from _ends()
    yield from _healthy()


def _pin(harness: str, number: int) -> str:
    return PINS[harness][number // 2 % len(PINS[harness])]


def _ends() -> Iterator[Recipe]:
    yield Recipe("claude", NEWER, "terminal", "name not found", _name_not_found)
    yield Recipe("claude", OLDER, "terminal", "call cut in its stream", _call_cut)
    yield Recipe("claude", NEWER, "headless", "stalled stream", _stalled)
    yield Recipe("codex", CODEX, "headless", "stalled stream", _stalled)
    yield Recipe("claude", OLDER, "headless", "limit of turns", _flagged("--max-turns", "1", works=True))
    yield Recipe("claude", NEWER, "headless", "limit of cost", _flagged("--max-budget-usd", "0.0001", works=True))
    yield Recipe("gemini", GEMINI, "headless", "limit of turns", _gemini_settings('{"model": {"maxSessionTurns": 1}}'))
    yield Recipe("gemini", GEMINI, "headless", "broken settings", _gemini_settings('{"model": {"maxSession'))
    yield Recipe("codex", CODEX, "headless", "unknown provider", _flagged("-c", 'model_provider="nonesuch"'))
    yield Recipe("claude", NEWER, "terminal", "settings missing", _settings_missing)
    for harness, variable in (("claude", "ANTHROPIC"), ("codex", "OPENAI"), ("gemini", "GEMINI")):
        yield Recipe(harness, PINS[harness][0], "headless", "no key", _without_key(f"{variable}_API_KEY"))
    yield Recipe("claude", NEWER, "terminal", "key dialog", _key_dialog)
    yield Recipe("claude", OLDER, "terminal", "resume by no id", _picker)
    yield Recipe("claude", NEWER, "headless", "session destroyed", _destroyed)
    yield Recipe("codex", CODEX, "headless", "session destroyed", _destroyed)
    yield Recipe("claude", NEWER, "headless", "killed by SIGABRT", deaths.killed("headless", signal.SIGABRT))
    yield Recipe("claude", OLDER, "terminal", "killed by SIGBUS", deaths.killed("terminal", signal.SIGBUS))
    yield Recipe("claude", NEWER, "terminal", "killed by SIGHUP", deaths.killed("terminal", signal.SIGHUP))
    yield Recipe("codex", CODEX, "headless", "killed by SIGABRT", deaths.killed("headless", signal.SIGABRT))
    yield Recipe("gemini", GEMINI, "headless", "killed by SIGQUIT", deaths.killed("headless", signal.SIGQUIT))
    yield Recipe("claude", NEWER, "headless", "killed before an answer", _killed_early)
    yield Recipe("claude", NEWER, "headless", "program of another machine", _foreign)
    yield Recipe("codex", CODEX, "headless", "node not found", _no_node)
    yield Recipe("gemini", GEMINI, "terminal", "node not found", _no_node)
    yield Recipe("gemini", GEMINI, "headless", "module not found", _module_missing)
    yield Recipe("gemini", GEMINI, "headless", "filtered", ends.cut("headless", stop="filtered"))
    yield Recipe("codex", CODEX, "headless", "filtered", ends.cut("headless", stop="filtered"))


def _healthy() -> Iterator[Recipe]:
    yield Recipe("claude", NEWER, "terminal", "healthy, left by keys", _left_by_keys)
    yield Recipe("codex", CODEX, "terminal", "healthy, left by keys", _left_by_keys)
    yield Recipe("claude", OLDER, "headless", "healthy, 503 in HTML that passed", _page_that_passed)
    yield Recipe("codex", CODEX, "headless", "healthy, 503 in HTML that passed", _page_that_passed)
    yield Recipe("claude", OLDER, "terminal", "healthy, stopped in a turn", _stopped_in_a_turn)
    yield Recipe("gemini", GEMINI, "terminal", "healthy, stopped in a turn", _stopped_in_a_turn)
    yield Recipe("codex", CODEX, "headless", "healthy, stopped by SIGINT", _interrupted_by_the_operator)
    yield Recipe("codex", CODEX, "terminal", "healthy, cleared", _cleared("/new"))
    yield Recipe("gemini", GEMINI, "terminal", "healthy, cleared", _cleared("/clear"))
    yield Recipe("claude", NEWER, "headless", "healthy, a command was killed", _command("sh -c 'kill -9 $$'"))
    full = "echo 'write error: No space left on device' >&2; exit 1"
    yield Recipe("codex", CODEX, "headless", "healthy, a command had no room", _command(full))
    yield Recipe("claude", OLDER, "terminal", "healthy, resumed after a kill", _resumed_after_a_kill)
    yield Recipe("claude", NEWER, "headless", "healthy, a server of tools failed", _tools_missing)
    yield Recipe(
        "claude", NEWER, "terminal", "healthy, asked a person", _says("Which of the two drawers shall I take?")
    )
    errors = "The log says: 429 Too Many Requests, then 'context length exceeded' and 'stream disconnected'. Fixed."
    yield Recipe("codex", CODEX, "terminal", "healthy, talks of errors", _says(errors))
    yield Recipe("gemini", GEMINI, "terminal", "healthy, talks of errors", _says(errors))
    yield Recipe("claude", OLDER, "terminal", "healthy, never asked", _never_asked)
    yield Recipe("claude", NEWER, "terminal", "healthy, thinks long", _thinks_long)


def _late(kind: str, rejection: Rejection) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text=ends.TEXT, fault="error_mid_stream", error=rejection, times=None))
        begin(room, kind)
        if kind == "terminal":
            turn_failed(room)

    return drive


def _name_not_found(room: Room) -> None:
    room.env["ANTHROPIC_BASE_URL"] = "http://api.shop.invalid"
    room.in_terminal()
    turn_failed(room)


def _call_cut(room: Room) -> None:
    call = room.cli.shell("echo 3 > items; cat items").tool_use
    room.answer(Step(tool_use=call, fault="end_mid_block", times=None))
    room.in_terminal()
    turn_failed(room)


def _stalled(room: Room) -> None:
    room.answer(room.cli.shell("ls"), Step(text=ends.TEXT, fault="hang_mid_stream", times=None))
    room.headless(wait=False)
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    deaths._end_as_hung(room, 20)


def _flagged(*flags: str, works: bool = False) -> Drive:
    def drive(room: Room) -> None:
        if works:
            room.answer(room.cli.shell("ls"), room.cli.shell("ls docs"), room.cli.shell("ls docs/plan.md"))
        room.headless(GOAL, *flags)

    return drive


def _gemini_settings(text: str) -> Drive:
    def drive(room: Room) -> None:
        (room.workspace / ".gemini").mkdir()
        (room.workspace / ".gemini" / "settings.json").write_text(text)
        room.answer(room.cli.shell("ls"), room.cli.shell("ls docs"), room.cli.shell("ls docs/plan.md"))
        room.headless()

    return drive


def _settings_missing(room: Room) -> None:
    room.in_terminal(GOAL, "--settings", str(room.workspace / "team-settings.json"))
    room.wait_exit()
    settle(room, 0.5)


def _without_key(variable: str) -> Drive:
    def drive(room: Room) -> None:
        room.env[variable] = ""
        room.headless()

    return drive


def _key_dialog(room: Room) -> None:
    """A key in the environment that nobody has agreed to."""
    room.env["ANTHROPIC_API_KEY"] = "sk-test-another-dummy"
    room.in_terminal()
    room.until_screen("API key")
    settle(room, 3)


def _picker(room: Room) -> None:
    """What was noted as the session is no id: the CLI asks which one is meant."""
    room.in_terminal("Go on where you stopped.", resume="till-report")
    settle(room, 6)


def _destroyed(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    session = session_of(room)
    for path in room._transcripts():
        path.write_bytes(b"\0" * path.stat().st_size)
    room.headless("Do the second item.", resume=session)


def _killed_early(room: Room) -> None:
    room.answer(Step(hold="never"))
    room.headless(wait=False)
    room.asked()
    settle(room)
    room.signal(signal.SIGKILL)
    room.wait_exit()


def _foreign(room: Room) -> None:
    room.binary = room.root / room.harness
    room.binary.write_bytes(b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\xb7\0" + bytes(44))
    room.binary.chmod(0o755)
    room.headless()


def _no_node(room: Room) -> None:
    (room.root / "bin").mkdir()
    for name in ("env", "sh"):
        (room.root / "bin" / name).symlink_to(f"/bin/{name}")
    room.env["PATH"] = str(room.root / "bin")
    begin(room, "terminal" if room.harness == "gemini" else "headless")
    room.wait_exit()
    settle(room, 0.5)


def _module_missing(room: Room) -> None:
    room.env["NODE_OPTIONS"] = "--require /opt/company/preload.js"
    room.headless()


def _left_by_keys(room: Room) -> None:
    healthy._works(room)
    # Codex leaves at the first; a second one would meet what stands behind it.
    room.type(*["C-c"] * (1 if room.harness == "codex" else 2))
    room.wait_exit()
    settle(room, 0.5)


def _page_that_passed(room: Room) -> None:
    room.refuse(page(503, "Service Temporarily Unavailable"), times=1)
    room.answer(Step(text="All is done."))
    room.headless()


def _stopped_in_a_turn(room: Room) -> None:
    room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
    room.in_terminal()
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    settle(room)
    room.signal(signal.SIGTERM, asked=True)
    room.wait_exit()
    settle(room, 0.5)


def _interrupted_by_the_operator(room: Room) -> None:
    room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
    room.headless(wait=False)
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    settle(room)
    room.signal(signal.SIGINT, asked=True)
    room.wait_exit()
    settle(room, 0.5)


def _cleared(word: str) -> Drive:
    def drive(room: Room) -> None:
        healthy._works(room)
        room.type(word, "Enter")
        settle(room, 4)

    return drive


def _command(command: str) -> Drive:
    """A command fails in words that a rule may fear, and the agent goes on."""

    def drive(room: Room) -> None:
        room.answer(room.cli.shell(command), Step(text="That command failed, so I counted by hand. All is done."))
        room.headless()

    return drive


def _resumed_after_a_kill(room: Room) -> None:
    room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
    room.headless(wait=False)
    room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
    settle(room)
    room.signal(signal.SIGKILL)
    room.wait_exit()
    room.answer(Step(text="I went on, and all is done."))
    room.in_terminal("Go on where you stopped.", resume=session_of(room))
    room.until_hook("Stop")
    settle(room)


def _tools_missing(room: Room) -> None:
    servers = json.dumps({"mcpServers": {"stock": {"command": "/opt/company/stock-server"}}})
    room.answer(room.cli.shell("ls"), Step(text="All is done."))
    room.headless(GOAL, "--strict-mcp-config", f"--mcp-config={servers}")


def _says(text: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(Step(text=text))
        room.in_terminal()
        room.until_hook(healthy.ENDED[room.harness])
        settle(room)

    return drive


def _never_asked(room: Room) -> None:
    room.session = str(uuid.uuid4())
    room.in_terminal("")
    room.until_hook("SessionStart")
    settle(room, 3)


def _thinks_long(room: Room) -> None:
    room.answer(Step(hold="never"))
    room.in_terminal()
    room.asked()
    time.sleep(20)
