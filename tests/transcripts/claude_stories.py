"""What is played to Claude Code for the samples: each story is one session, and returns the program to be killed."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.real.claude_room import Room
from tests.real.terminal import Program
from tests.stub.scenario import Step, ToolUse, Usage
from tests.transcripts.record_claude import type_line
from tests.waiting import eventually_sync

PARSER = "def parse(x):\n    return x\n"
PLAN = "# Move to SQLite\n\n1. Write the schema\n2. Copy the rows\n3. Drop the old table\n"


def step(text: str, *tools: ToolUse) -> Step:
    usage = Usage(input_tokens=12, output_tokens=40, cache_read_input_tokens=15_000, cache_creation_input_tokens=300)
    return Step(text, tools, usage=usage)


def shell(command: str, **more: object) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "Run", **more})


def create(text: str) -> ToolUse:
    return ToolUse("TaskCreate", {"subject": text, "description": f"{text}, all of it", "activeForm": text})


def update(task: str, **what: str) -> ToolUse:
    return ToolUse("TaskUpdate", {"taskId": task, **what})


def todo(*items: tuple[str, str]) -> ToolUse:
    return ToolUse("TodoWrite", {"todos": [{"content": c, "status": s, "activeForm": c} for c, s in items]})


def question(text: str, header: str, *labels: str) -> ToolUse:
    options = [{"label": label, "description": "as it says"} for label in labels]
    asked = {"question": text, "header": header, "multiSelect": False, "options": options}
    return ToolUse("AskUserQuestion", {"questions": [asked]})


def ended(room: Room, program: Program, after: int = 0, limit: float = 60) -> int:
    number = room.hooks.wait_for("Stop", after=after, timeout=limit).number
    eventually_sync(lambda: "esc to interrupt" not in program.screen(), what="an idle screen")
    written(room, "turn_duration")
    return number


def written(room: Room, words: str, times: int = 1) -> None:
    """The CLI writes in batches; what the sample is to hold has to be there before the kill."""
    eventually_sync(lambda: room.transcript().read_text().count(words) >= times, what=f"{words!r} in the transcript")


def work(room: Room) -> Program:
    parser, readme = f"{room.workspace}/parser.py", f"{room.workspace}/README.md"
    wrong = {"file_path": parser, "old_string": "no such text", "new_string": "y"}
    room.scenario.add(
        step("I plan it.", *map(create, ("Write the parser", "Test the parser", "Document the parser"))),
        step("", update("1", status="in_progress")),
        step("", ToolUse("Write", {"file_path": parser, "content": PARSER})),
        step("", ToolUse("Edit", {"file_path": parser, "old_string": "return x", "new_string": "return x.strip()"})),
        step("", ToolUse("Edit", wrong)),
        step("", ToolUse("Read", {"file_path": readme})),
        step("", shell("echo '2 passed'; exit 0"), shell("echo '1 failed, 1 passed'; echo oh >&2; exit 1")),
        step("", ToolUse("WebFetch", {"url": f"{room.extra_env['PAGE']}/rates", "prompt": "What is the limit?"})),
        step("", update("1", status="completed"), update("2", status="in_progress")),
        step("", ToolUse("TaskList", {})),
        step("", question("Which store shall I take?", "Store", "Redis", "SQLite")),
        step("", shell("git add parser.py && git commit -m 'feat: a parser'")),
        step("The parser is done; SQLite it is."),
        step("I start it.", shell("sleep 3; echo built", run_in_background=True),
             shell("sleep 1; echo broken; exit 2", run_in_background=True)),
        step("Both run in the background."),
        step("One ended."),
        step("The other ended too."),
    )  # fmt: skip
    program = room.fresh("Write a parser.")
    program.wait_screen("Which store.*Redis", timeout=90)
    program.type("Down", "Enter")
    number = ended(room, program)
    type_line(program, "Now build in the background")
    for _ in range(3):
        number = ended(room, program, number)
    return program


def todowrite(room: Room) -> Program:
    room.extra_env["CLAUDE_CODE_ENABLE_TASKS"] = "0"
    room.scenario.add(
        step("I plan.", todo(("Write it", "in_progress"), ("Test it", "pending"))),
        step("", todo(("Write it", "completed"), ("Test it", "in_progress"))),
        step("Half done."),
    )
    program = room.fresh("Write it.")
    ended(room, program)
    return program


def task_changes(room: Room) -> Program:
    done = {"status": "completed"}
    room.scenario.add(
        step("I plan it.", create("One"), create("Two"), create("Three")),
        step("", update("1", subject="One and a half"), update("2", status="deleted"), update("9", **done)),
        step("", create("Four")),
        step("", update("1", **done), update("3", **done), update("4", **done)),
        step("All done."),
    )
    program = room.fresh("Plan.")
    ended(room, program)
    return program


def question_open(room: Room) -> Program:
    room.scenario.add(step("I have to ask.", question("Shall I drop the old table?", "Table", "Drop it", "Keep it")))
    program = room.fresh("Clean the database.")
    program.wait_screen("Shall I drop.*Keep it", timeout=60)
    written(room, "AskUserQuestion")
    return program


def permission_open(room: Room) -> Program:
    room.extra_settings = {}
    asks = [step(*one) for one in (("It goes.", shell("rm -rf old")), ("Again.", shell("touch a && rm -rf build")))]
    room.scenario.add(*asks, step("Allowed."), step("Once more.", shell("rm -rf dist")))
    program = room.fresh("Remove what is old.")
    program.wait_screen("Do you want to proceed", timeout=60)
    program.type("Escape")
    written(room, "interrupted by user")
    program.wait_screen("for shortcuts")
    type_line(program, "Then the build")
    program.wait_screen("touch a.*Do you want to proceed", timeout=60)
    program.type("Enter")
    ended(room, program)
    type_line(program, "And dist")
    program.wait_screen("rm -rf dist.*Do you want to proceed", timeout=60)
    written(room, "rm -rf dist")
    return program


def plan(room: Room) -> Program:
    room.scenario.add(step("I plan.", ToolUse("EnterPlanMode", {})), step("A question of yours first?"))
    program = room.fresh("Plan the move to SQLite.")
    number = ended(room, program)
    found = re.search(r"(/[^\s\"]+/\.claude/plans/[^\s\"]+\.md)", room.transcript().read_text())
    assert found is not None
    room.scenario.add(
        step("", ToolUse("Write", {"file_path": found[1], "content": PLAN})),
        step("The plan stands.", ToolUse("ExitPlanMode", {})),
        step("", ToolUse("Write", {"file_path": f"{room.workspace}/schema.sql", "content": "create table a(b);\n"})),
        step("The schema stands."),
    )
    type_line(program, "Go on")
    program.wait_screen("Would you like to proceed", timeout=60)
    program.type("Down", "Enter")
    ended(room, program, number)
    return program


def plan_rejected(room: Room) -> Program:
    room.scenario.add(step("", ToolUse("ExitPlanMode", {})))
    program = room.fresh("Plan it.", "--permission-mode", "plan")
    program.wait_screen("Exit plan mode", timeout=60)
    program.type("Escape")
    written(room, "interrupted by user")
    return program


def queued_open(room: Room) -> Program:
    room.scenario.add(step("I wait.", shell("sleep 4")), step("Both read.", shell("sleep 300")))
    program = room.fresh("Wait a little.")
    number = room.hooks.wait_for("PreToolUse", timeout=60).number
    type_line(program, "and read the queue too")
    room.hooks.wait_for("PreToolUse", after=number, timeout=60)
    type_line(program, "then write the changelog")
    written(room, "then write the changelog")
    return program


def timers(room: Room) -> Program:
    wakeup = {"delaySeconds": 1200, "reason": "the deploy takes twenty minutes", "prompt": "look at the deploy"}
    room.scenario.add(
        step("I set it.", ToolUse("ScheduleWakeup", wakeup),
             ToolUse("CronCreate", {"cron": "*/30 * * * *", "prompt": "check the queue", "recurring": True})),
        step("A job runs.", shell("sleep 400", run_in_background=True)),
        step("Timers are set."),
        step("After it."),
    )  # fmt: skip
    program = room.fresh("Look at the deploy later.")
    number = ended(room, program)
    type_line(program, "/compact")
    number = room.hooks.wait_for("PostCompact", after=number, timeout=60).number
    program.wait_screen("Compacted")
    type_line(program, "After the compaction")
    ended(room, program, number)
    return program


def notices(room: Room) -> Program:
    once = {"cron": "* * * * *", "prompt": "look at the deploy", "recurring": False}
    room.scenario.add(
        step("A job.", shell("sleep 1; echo oh; exit 3", run_in_background=True)),
        step("", shell("sleep 3")),
        step("The job failed."),
        step("A timer.", ToolUse("CronCreate", once)),
        step("It is set."),
        step("The deploy is through."),
    )
    program = room.fresh("Build.")
    number = ended(room, program)
    type_line(program, "And set a timer")
    number = ended(room, program, number)
    ended(room, program, number, limit=130)
    written(room, "turn_duration", times=3)
    return program


def unanswered(room: Room) -> Program:
    room.scenario.add(step("Hello."), *(Step(fault="hang") for _ in range(3)))
    program = room.fresh("Say hello.")
    ended(room, program)
    type_line(program, "translate the footer")
    written(room, "translate the footer")
    for ended_at in ("10:00:00Z", "11:00:00Z"):
        program.kill()
        program.wait_exit()
        said = f"You were interrupted at 2026-11-21T{ended_at} (signal 9). Continue."
        program = room.resume(said)
        written(room, said)
    return program


STORIES: dict[str, Callable[[Room], Program]] = {
    "work": work,
    "todowrite": todowrite,
    "task-changes": task_changes,
    "question-open": question_open,
    "permission-open": permission_open,
    "plan": plan,
    "plan-rejected": plan_rejected,
    "queued-open": queued_open,
    "timers": timers,
    "notices": notices,
    "unanswered": unanswered,
}
