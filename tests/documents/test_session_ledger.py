"""What a session's ledger says of recorded sessions of the three CLIs, and of lines that nobody records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.documents import session_ledger
from phoenixd.documents.deeds import PromptQueued, Spoke, TaskRow, TasksListed, TimerAsked
from phoenixd.documents.kept_ledger import VERSION, KeptLedger, cleaned, read_kept, render_kept
from phoenixd.documents.ledger_tasks import MOST_TASKS
from phoenixd.documents.ledger_words import AGENT_CHARS, CUT, WORDS_LIMIT
from phoenixd.documents.redact import redact
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.transcript import Prompted, Record, TurnEnded
from phoenixd.planting import challenge_text
from tests.documents.ledgers import FORMS, facts_in, ledger_of, recorded
from tests.transcripts.samples import HERE, answer, claude, prompt, tool_result, tool_use

RECORDED = sorted(path.stem for path in HERE.glob("*.jsonl"))

TASKS = {
    "claude-work": [("1", "Write the parser", "done"), ("2", "Test the parser", "active"),
                    ("3", "Document the parser", "open")],
    "claude-todowrite": [(None, "Write it", "done"), (None, "Test it", "active")],
    "claude-task-changes": [("1", "One and a half", "done"), ("2", "Two", "dropped"), ("3", "Three", "done"),
                            ("4", "Four", "done")],
    "codex-work": [(None, "Write the parser", "done"), (None, "Test it", "active")],
    "gemini-work": [(None, "Write the parser", "done"), (None, "Test it", "active"), (None, "Document it", "open")],
}  # fmt: skip

RUNS = {
    "claude-work": [("echo '2 passed'; exit 0", 0), ("echo '1 failed, 1 passed'; echo oh >&2; exit 1", 1),
                    ("git add parser.py && git commit -m 'feat: a parser'", 0), ("sleep 1; echo broken; exit 2", 2),
                    ("sleep 3; echo built", 0)],
    "codex-code-mode": [("echo '1 failed'; exit 1", 1), ("echo '2 passed'", 0)],
    "codex-session": [("echo 49 failures; seq 1 5", 0), ("exit 3", 3), ("sleep 3", 0)],
    "gemini-work": [("echo '2 passed'", 0), ("echo '1 failed'; exit 1", 1), ("sleep 4", 0)],
}  # fmt: skip

JOBS = {
    "claude-work": [("sleep 3; echo built", "done", 0), ("sleep 1; echo broken; exit 2", "failed", 2)],
    "claude-timers": [("sleep 400", None, None)],
    "claude-2.1.330": [("sleep 2; exit 1", "failed", 1)],
    "claude-notices": [("sleep 1; echo oh; exit 3", "failed", 3)],
    "codex-work": [("sleep 2; echo late; exit 4", "failed", 4), ("sleep 500", None, None)],
    "codex-question-open": [("sleep 2; echo late; exit 4", "failed", 4)],
    "gemini-work": [("sleep 300", None, None)],
    "gemini-background": [("sleep 2; echo late; exit 4", "failed", 4)],
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_task_list_of_a_recorded_session_is_as_it_stood_at_its_end(name: str) -> None:
    tasks = recorded(name).tasks

    assert [(task.id, task.text, task.status) for task in tasks.rows] == TASKS.get(name, [])
    assert tasks.is_known is (name in TASKS)


def test_a_task_that_the_cli_does_not_know_or_has_no_tool_for_is_none() -> None:
    """2.1.330 refuses TaskCreate, and a change of a task that does not exist is no error."""
    assert recorded("claude-2.1.330").tasks.rows == []
    asked = tool_use("t-1", "TaskUpdate", taskId="9", status="completed")
    refused = tool_result("t-1", "Task not found", toolUseResult={"success": False, "taskId": "9"})

    assert ledger_of(asked + refused).tasks.rows == []


def test_an_older_listing_takes_no_task_away_and_brings_none_back() -> None:
    """Calls of one request run side by side: a listing may have been made before a change that is written first."""
    created = tool_use("t-1", "TaskCreate", subject="One") + told("t-1", task={"id": "1", "subject": "One"})
    created += tool_use("t-2", "TaskCreate", subject="Two") + told("t-2", task={"id": "2", "subject": "Two"})
    deleted = tool_use("t-3", "TaskUpdate", taskId="1", status="deleted")
    deleted += told("t-3", success=True, taskId="1", statusChange={"from": "pending", "to": "deleted"})
    listed = tool_use("t-4", "TaskList") + told("t-4", tasks=[{"id": "1", "subject": "One", "status": "pending"}])

    tasks = ledger_of(created + deleted + listed).tasks

    assert [(task.text, task.status) for task in tasks.rows] == [("One", "dropped"), ("Two", "open")]


def test_a_list_that_the_agent_wrote_counts_once_the_call_came_back_well() -> None:
    rows = [{"content": "One", "status": "pending"}]
    asked = tool_use("t-1", "TodoWrite", todos=rows)

    assert ledger_of(asked).tasks.rows == []
    assert ledger_of(asked + tool_result("t-1", failed=True)).tasks.rows == []
    assert [task.text for task in ledger_of(asked + tool_result("t-1")).tasks.rows] == ["One"]


@pytest.mark.parametrize("name", RUNS)
def test_the_newest_run_of_each_command_is_known_with_its_exit_code(name: str) -> None:
    runs = [(run.text, run.code) for run in recorded(name).runs.values() if "apply_patch" not in run.text]

    assert runs == RUNS[name]
    assert all(run.failed is (run.code != 0) for run in recorded(name).runs.values())


def test_a_command_that_a_person_refused_or_stopped_failed_at_nothing() -> None:
    for name in ("claude-permission-open", "codex-permission-open", "gemini-permission-open"):
        refused = [(run.code, run.failed) for run in recorded(name).runs.values() if run.code is None]
        assert refused == [(None, None)], name


def test_a_command_that_a_person_refused_is_marked_so() -> None:
    refused = recorded("claude-permission-open").runs.values()

    assert [(run.text, run.interrupted) for run in refused if run.failed is None] == [("rm -rf old", True)]


def test_a_job_that_codex_ended_itself_was_stopped_and_did_not_fail() -> None:
    """Its exit code is then a number below 0."""
    item = {"type": "CommandExecution", "id": "c-1", "process_id": "7", "command": ["/bin/bash", "-lc", "sleep 9"]}
    line = {"type": "event_msg", "payload": {"type": "item_completed", "item": {**item, "exit_code": -1}}}
    runs = ledger_of(json.dumps(line).encode(), FORMS["codex"]).runs.values()

    assert [(run.text, run.code, run.failed, run.interrupted) for run in runs] == [("sleep 9", None, None, True)]


def test_an_interruption_is_of_the_turn_in_hand_and_not_of_the_one_before() -> None:
    """Where a CLI marks no end of a turn, nothing tells how the one before ended."""
    ledger = SessionLedger()
    for fact in (Prompted("One.", None), Prompted("Two.", None), Prompted("and this", None, queued=True)):
        ledger.hear(Record("prompt", None, (fact,)))
    ledger.hear(Record("system", None, (TurnEnded("interrupted", None),)))

    assert [(one.text, one.turn) for one in ledger.speech.person] == [
        ("One.", None), ("Two.", "interrupted"), ("and this", "interrupted"),
    ]  # fmt: skip


def test_a_command_in_flight_is_running_and_has_not_ended() -> None:
    for name in ("claude-permission-open", "codex-permission-open"):
        assert [one.text for one in recorded(name).running()] == ["rm -rf dist"]
    assert [one.text for one in recorded("codex-work").running()] == ["sleep 600"]


def test_a_code_that_means_something_else_than_failure_is_unknown() -> None:
    """Claude Code reads the 1 of a grep as: nothing found, and does not tell the code."""
    read = {"stdout": "", "interrupted": False, "returnCodeInterpretation": "No matches found"}
    runs = ledger_of(tool_use("t-1", command="grep x y") + tool_result("t-1", toolUseResult=read)).runs

    assert [(run.code, run.failed) for run in runs.values()] == [(None, False)]


def test_of_two_runs_of_a_command_the_newer_one_counts() -> None:
    failed = tool_use("t-1", command="npm  test") + tool_result("t-1", "Exit code 1\nno", failed=True)
    passed = tool_use("t-2", command="npm test ") + tool_result("t-2", toolUseResult={"stdout": "ok"})

    assert [run.failed for run in ledger_of(failed + passed).runs.values()] == [False]
    assert [run.failed for run in ledger_of(passed + failed).runs.values()] == [True]


@pytest.mark.parametrize("name", RECORDED)
def test_background_jobs_are_known_with_their_ends(name: str) -> None:
    jobs = [(job.what, job.how, job.code) for job in recorded(name).jobs.values() if job.is_command]

    assert jobs == JOBS.get(name, [])
    assert all(job.is_over is (job.how is not None) for job in recorded(name).jobs.values())


def test_what_a_program_of_codex_left_in_the_background_is_a_job() -> None:
    assert [(job.job, "sleep 300" in job.what, job.is_over) for job in recorded("codex-code-mode").jobs.values()] == [
        ("82014", True, False)
    ]


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("claude-work", ["parser.py"]),
        ("claude-plan", ["reactive-crafting-scott.md", "schema.sql"]),
        ("codex-work", ["parser.py", "b.py"]),
        ("codex-code-mode", ["parser.py"]),
        ("gemini-work", ["parser.py"]),
    ],
)
def test_files_that_the_clis_own_tools_wrote_are_known(name: str, files: list[str]) -> None:
    assert [file.path.rsplit("/", 1)[-1] for file in recorded(name).files.values()] == files


def test_a_file_that_could_not_be_written_is_none() -> None:
    asked = tool_use("t-1", "Edit", file_path="/w/a.py", old_string="no", new_string="x")

    assert ledger_of(asked + tool_result("t-1", failed=True)).files == {}
    assert [file.path for file in ledger_of(asked + tool_result("t-1")).files.values()] == ["/w/a.py"]


def test_a_plan_is_known_with_its_text_and_what_became_of_it() -> None:
    approved = list(recorded("claude-plan").plans.values())
    rejected = list(recorded("claude-plan-rejected").plans.values())

    assert [(plan.approved, plan.path) for plan in approved] == [
        (True, "/home/user/.claude/plans/reactive-crafting-scott.md")
    ]
    assert "2. Copy the rows" in (approved[0].text or "")
    assert [plan.approved for plan in rejected] == [False]
    waiting = ledger_of(tool_use("t-1", "ExitPlanMode", plan="1. One"))
    assert [(plan.text, plan.approved) for plan in waiting.plans.values()] == [("1. One", None)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claude-work", [("Which store shall I take?", ("SQLite",))]),
        ("claude-question-open", [("Shall I drop the old table?", None)]),
        ("codex-question-open", [("Which store shall I take?", ("SQLite",)), ("Which store shall I take?", None)]),
        ("gemini-work", [("Which store shall I take?", ("SQLite",))]),
        ("gemini-question-open", []),
    ],
)
def test_questions_are_known_with_their_options_and_answers(name: str, told: list[Any]) -> None:
    asked = recorded(name).questions.values()

    assert [(one.questions[0].text, one.answers) for one in asked] == told
    assert all(len(one.questions[0].options) == 2 for one in asked)


def test_a_timer_stands_until_it_is_taken_back_or_fired() -> None:
    standing = recorded("claude-timers").timers
    made = tool_use("t-1", "CronCreate", cron="* * * * *", prompt="Look.")
    made += told("t-1", id="c-1", humanSchedule="Every minute", recurring=True, durable=False)

    assert [(one.when, one.prompt, one.is_schedule, one.is_durable) for one in standing.values()] == [
        ("*/30 * * * *", "check the queue", True, False)
    ]
    assert recorded("claude-notices").timers == {}
    assert [one.timer for one in ledger_of(made).timers.values()] == ["c-1"]
    assert ledger_of(made + tool_use("t-2", "CronDelete", id="c-1") + tool_result("t-2")).timers == {}


def test_a_wake_up_that_was_refused_is_none_and_one_that_was_not_has_its_time() -> None:
    asked = tool_use("t-1", "ScheduleWakeup", delaySeconds=60, reason="CI", prompt="Look at CI")

    assert ledger_of(asked + told("t-1", scheduledFor=0)).timers == {}
    made = ledger_of(asked + told("t-1", scheduledFor=1_795_280_000_000)).timers
    assert [(one.prompt, one.due) for one in made.values()] == [("Look at CI", 1_795_280_000.0)]


def test_a_prompt_waits_until_the_cli_reads_it() -> None:
    assert [one.text for one in recorded("claude-queued-open").waiting] == ["then write the changelog"]
    for name in RECORDED:
        assert name == "claude-queued-open" or not recorded(name).waiting, name


def test_what_a_timer_tells_is_no_persons_prompt() -> None:
    ledger = ledger_of(
        tool_use("t-1", "CronCreate", cron="* * * * *", prompt="Look.")
        + told("t-1", id="c-1", humanSchedule="Every minute", recurring=True)
    )
    ledger.hear(Record(None, None, (PromptQueued("Look.", False, None), PromptQueued("Look here.", False, None))))

    assert [(one.text, one.by_cli) for one in ledger.waiting] == [("Look.", True), ("Look here.", False)]


def test_the_last_words_of_person_and_agent_are_known_and_which_ended_a_turn() -> None:
    words = recorded("claude-queued-open").speech.newest()

    assert [(one.speaker, one.text, one.queued, one.is_final, one.turn) for one in words] == [
        ("person", "Wait a little.", False, None, None),
        ("agent", "I wait.", False, False, None),
        ("person", "and read the queue too", True, None, None),
        ("agent", "Both read.", False, False, None),
    ]
    for name, last in (("codex-session", "Done."), ("claude-plan", "The schema stands.")):
        newest = recorded(name).speech.newest()[-1]
        assert (newest.speaker, newest.text, newest.is_final) == ("agent", last, True)
    for name, asked in (("codex-permission-open", "Then the build"), ("gemini-permission-open", "Then the build")):
        assert [one.turn for one in recorded(name).speech.person if one.text == asked] == ["interrupted"]


def test_a_prompt_that_was_written_behind_its_answer_was_said_before_it() -> None:
    ledger = recorded("claude-work")

    assert [one.text for one in ledger.speech.newest()][:2] == ["Write a parser.", "I plan it."]
    assert ledger.began_at == ledger.speech.newest()[0].at


def test_gemini_says_a_record_anew_and_it_is_said_once() -> None:
    said = [one.text for one in recorded("gemini-permission-open").speech.agent]

    assert said == ["It goes.", "Allowed.", "Again.", "Third."]


def test_sidechains_do_not_count() -> None:
    asked = claude("assistant", isSidechain=True, message={"content": [
        {"type": "tool_use", "id": "t-1", "name": "TodoWrite", "input": {"todos": [{"content": "x"}]}},
        {"type": "text", "text": "I am a subagent."},
    ]})  # fmt: skip
    ledger = ledger_of(asked + tool_result("t-1", isSidechain=True))

    assert (ledger.tasks.is_known, ledger.speech.newest(), ledger.pending) == (False, [], {})


@pytest.mark.parametrize("name", RECORDED)
def test_the_session_began_with_its_first_record(name: str) -> None:
    ledger = recorded(name)

    assert ledger.began_at is not None
    assert ledger.newest_at is not None
    assert ledger.began_at <= ledger.newest_at


@pytest.mark.parametrize(
    ("name", "is_open"),
    [("claude-work", False), ("claude-queued-open", True), ("codex-work", True), ("codex-code-mode", False),
     ("gemini-work", None), ("claude-plan-rejected", False)],
)  # fmt: skip
def test_whether_a_turn_was_open_at_the_end_is_known_where_the_cli_tells(name: str, is_open: bool | None) -> None:
    assert recorded(name).turn_open is is_open


def test_every_row_is_bounded() -> None:
    """Everything is an agent's, and without end: whatever it does, the ledger stays within its bounds."""
    ledger = SessionLedger()
    for number in range(400):
        call, long = f"t-{number}", "x" * 5000
        for line in (
            prompt(f"{number} {long}"), answer(f"{number} {long}"),
            tool_use(call, command=f"{number} {long}"), tool_result(call, "Exit code 1", failed=True),
            tool_use(f"b{call}", command=f"{number} {long}"), told(f"b{call}", backgroundTaskId=f"j{number}"),
            tool_use(f"f{call}", "Write", file_path=f"/{number}/{long}"), tool_result(f"f{call}"),
            tool_use(f"p{call}", "ExitPlanMode", plan=long * 3), tool_use(f"q{call}", "AskUserQuestion", questions=[
                {"question": long, "options": [{"label": long[:400]}] * 20}] * 12),
            tool_use(f"c{call}", "CronCreate", cron=long, prompt=f"{number}{long}"),
            told(f"c{call}", id=call, humanSchedule="x"),
            tool_use(f"n{call}", "TaskCreate", subject=f"{number}{long}"),
            told(f"n{call}", task={"id": f"{number}", "subject": f"{number}{long}"}),
            tool_use(f"o{call}", command=f"open {number}{long}"),
            b'{"type":"queue-operation","operation":"enqueue","content":"%d%s"}' % (number, long.encode()),
        ):  # fmt: skip
            if (record := FORMS["claude"].record(line)) is not None:
                ledger.hear(record)

    assert len(ledger.tasks.rows) == MOST_TASKS
    assert max(len(task.text) for task in ledger.tasks.rows) <= 300
    assert len(ledger.runs) == session_ledger.MOST_RUNS
    assert max(len(run.text) for run in ledger.runs.values()) <= 500
    assert (len(ledger.jobs), len(ledger.files)) == (session_ledger.MOST_JOBS, session_ledger.MOST_FILES)
    assert (len(ledger.plans), len(ledger.questions)) == (session_ledger.MOST_PLANS, session_ledger.MOST_QUESTIONS)
    assert (len(ledger.timers), len(ledger.waiting)) == (session_ledger.MOST_TIMERS, session_ledger.MOST_WAITING)
    assert len(ledger.pending) <= session_ledger.MOST_PENDING
    assert sum(len(words.text) for words in ledger.speech.agent) <= AGENT_CHARS
    assert max(len(words.text) for words in ledger.speech.newest()) <= WORDS_LIMIT


LONG_NAME = "x" * 100_000
TOKEN = "ghp_" + "A1b2C3d4E5" * 4


def named_lines(form: str, name: str) -> bytes:
    """Calls, and what came of them, that bear a name of an agent's choice."""
    at = "2026-11-21T10:00:00Z"
    if form == "codex":
        call = {"type": "function_call", "name": "exec_command", "call_id": name, "arguments": '{"cmd":"pytest"}'}
        over = {"type": "function_call_output", "call_id": name, "output": "Process exited with code 1"}
        lines: list[Any] = [{"timestamp": at, "type": "response_item", "payload": one} for one in (call, over)]
    elif form == "gemini":
        used = {
            "id": name,
            "name": "run_shell_command",
            "args": {"command": "pytest"},
            "status": "success",
            "timestamp": at,
            "result": [{"functionResponse": {"response": {"output": "Exit Code: 1"}}}],
        }
        lines = [{"id": name, "timestamp": at, "type": "gemini", "content": "I test.", "toolCalls": [used]}]
    else:
        return b"".join(
            (
                tool_use(name, command="pytest"),
                tool_result(name, "Exit code 1", failed=True),
                tool_use(f"job {name}", command="npm run dev"),
                told(f"job {name}", backgroundTaskId=f"job {name}"),
                tool_use(f"task {name}", "TaskCreate", subject="Do it"),
                told(f"task {name}", task={"id": f"task {name}", "subject": "Do it"}),
                tool_use(f"plan {name}", "ExitPlanMode", plan="a plan"),
                tool_use(f"timer {name}", "CronCreate", cron="* * * * *", prompt="look"),
                told(f"timer {name}", id=f"timer {name}", humanSchedule="x"),
                tool_use(f"open {name}", command="pytest -k one"),
                b'{"type":"queue-operation","operation":"enqueue","content":"and then"}',
            )
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)  # fmt: skip


def test_names_of_any_length_are_bounded_and_stay_names() -> None:
    for form in FORMS:
        one, other = f"{LONG_NAME}1", f"{LONG_NAME}2"
        ledger = ledger_of(named_lines(form, one) + named_lines(form, other), FORMS[form])
        kept = render_kept(KeptLedger(VERSION, "/t.jsonl", 1, 2, 0, "", is_whole=True, ledger=ledger))

        assert len(kept) < 10_000, form
        assert [run.code for run in ledger.runs.values()] == [1], form
        if form == "claude":
            assert (len(ledger.jobs), len(ledger.tasks.rows), len(ledger.plans), len(ledger.timers)) == (2, 2, 2, 2)


def test_no_secret_stands_in_the_names_of_a_ledger_that_is_kept() -> None:
    for form in FORMS:
        one, other = TOKEN, TOKEN[:-1] + "9"
        ledger = ledger_of(named_lines(form, one) + named_lines(form, other), FORMS[form])
        swept = cleaned(ledger, redact)
        kept = render_kept(KeptLedger(VERSION, "/t.jsonl", 1, 2, 0, "", is_whole=True, ledger=swept))

        assert b"ghp_" not in kept, form
        assert len(swept.tasks.rows) == len({row.id for row in swept.tasks.rows}), form
        assert (len(swept.jobs), len(swept.plans)) == (len(ledger.jobs), len(ledger.plans)), form


@pytest.mark.parametrize("name", RECORDED)
def test_the_names_of_a_recorded_session_are_no_secrets(name: str) -> None:
    """They stay as they are, so that what comes back after a restart finds its call."""
    ledger = recorded(name)
    swept = cleaned(ledger, redact)

    assert swept.session_id == ledger.session_id
    for rows in ("pending", "jobs", "plans", "questions", "timers"):
        assert list(getattr(swept, rows)) == list(getattr(ledger, rows))


def test_where_there_are_too_many_tasks_those_that_are_over_go_first() -> None:
    ledger = SessionLedger()
    rows = tuple(TaskRow(f"{n}", f"task {n}", "open" if n < 5 else "done") for n in range(MOST_TASKS + 50))
    ledger.hear(Record(None, None, (TasksListed(None, rows, False, None),)))

    assert [task.id for task in ledger.tasks.rows if task.status == "open"] == ["0", "1", "2", "3", "4"]
    assert len(ledger.tasks.rows) == MOST_TASKS


def test_a_call_is_asked_and_its_answer_alone_makes_it_so() -> None:
    ledger = SessionLedger()
    ledger.hear(Record("assistant", None, (TimerAsked("t-1", "soon", "Look.", False, None),)))

    assert ledger.timers == {}
    assert list(ledger.pending) == ["t-1"]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_every_value_of_a_recorded_line_may_be_anything(name: str) -> None:
    """No line raises, whatever stands where the CLI writes something else."""
    form = FORMS[name.split("-", 1)[0]]
    ledger = SessionLedger()
    for line in (HERE / f"{name}.jsonl").read_bytes().splitlines():
        found = json.loads(line)
        for other in (None, 7, -1.5, True, "\ud800x", [], {}, [None, 7, "x", {}, []], {"\ud800": {"id": 7}}):
            for twisted in twists(found, other):
                if (record := form.record(json.dumps(twisted).encode())) is not None:
                    ledger.hear(record)
    assert read_kept(render_kept(KeptLedger(VERSION, "", 0, 0, 0, "", True, ledger))) is not None
    assert facts_in(HERE / f"{name}.jsonl")


def twists(found: Any, other: Any) -> list[Any]:
    """A value with each of its parts replaced, one at a time."""
    made: list[Any] = []
    parts = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, part in parts:
        for replaced in (other, *twists(part, other)):
            whole = dict(found) if isinstance(found, dict) else list(found)
            whole[key] = replaced
            made.append(whole)
    return made


def told(call: str, **result: Any) -> bytes:
    return tool_result(call, "Done.", toolUseResult=result)


HUGE = 2_000_000
"""Characters of a hostile text: a pattern that tries each of them anew would be at it for hours."""


@pytest.mark.parametrize(
    "text",
    ["a" * 1329 + " " + "b " * HUGE, " " * HUGE + "x", ("a" * 21 + " ") * (HUGE // 22) + "字", "字" * HUGE, "-" * HUGE],
    ids=["words", "blanks", "long words", "no blanks", "signs"],
)
def test_an_utterance_is_shortened_in_one_pass_whatever_it_is_made_of(text: str) -> None:
    ledger = SessionLedger()
    ledger.hear(Record("prompt", 1.0, (Prompted(text, 1.0),)))

    assert len(ledger.speech.person[0].text) <= WORDS_LIMIT


@pytest.mark.parametrize("line_break", ["\n", ""], ids=["lines", "one line"])
@pytest.mark.parametrize(
    "sentence",
    [
        "第{}段：我已经修改了登录模块，并且运行了全部测试，结果是通过的。",
        "{}段落:認証の修正は終わりました。配布の手順がまだです。",
    ],
)
def test_a_long_utterance_without_blanks_keeps_both_ends(sentence: str, line_break: str) -> None:
    said = [sentence.format(number) for number in range(160)]
    ledger = SessionLedger()
    ledger.hear(Record("prompt", 1.0, (Prompted(line_break.join(said), 1.0),)))
    kept = ledger.speech.person[0].text

    assert len(kept) > WORDS_LIMIT - 200
    assert kept.startswith(said[0])
    assert kept.endswith(line_break.join(said[-3:]))


@pytest.mark.parametrize("assigned", ["password: {}", "password = {}", 'password = "{} and more of it"', "Bearer {}"])
@pytest.mark.parametrize("end", ["head", "tail"])
def test_no_secret_stands_behind_a_cut_that_took_its_name(assigned: str, end: str) -> None:
    """Wherever the cut goes through an assignment: secrets are taken out of what is left, and some go by their name."""
    secret = "hunter2secretA1b2C3"
    told = assigned.format(secret)
    room = 4000 - len(CUT)
    at = room // 3 if end == "head" else room - room // 3
    for cut in range(len(told) + 1):
        filled = "w " * 3000
        if end == "head":
            text = filled[: at - cut] + " " + told + " " + filled
        else:
            text = filled + " " + told + (" and so on" + filled)[: at - len(told) + cut]
        ledger = SessionLedger()
        ledger.hear(Record("assistant", 1.0, (Spoke(text, True, 1.0),)))

        assert "hunter2" not in redact(ledger.speech.agent[0].text), cut


def test_a_check_at_a_turns_end_and_its_answer_are_no_part_of_the_last_words() -> None:
    feedback = f"Stop hook feedback:\n{challenge_text(3, 'builder')}"
    held_up = prompt(feedback, isMeta=True)
    lines = (prompt("Build the shop."), answer("The shop is built."), held_up, answer("1a2b3c", "r-2"))
    ledger = ledger_of(b"".join(lines))

    assert [words.text for words in ledger.speech.newest()] == ["Build the shop.", "The shop is built."]
    assert ledger.turn_open is False
    later = ledger_of(b"".join((*lines, prompt("And the till."), answer("It rings.", "r-3"))))
    assert [words.text for words in later.speech.newest()][2:] == ["And the till.", "It rings."]


def test_a_cli_that_writes_the_check_as_a_prompt_is_understood_too() -> None:
    ledger = SessionLedger()
    asked = Record("prompt", 1.0, (Prompted(challenge_text(3, "builder"), 1.0),))
    for record in (asked, Record("assistant", 2.0, (Spoke("1a2b3c", True, 2.0), TurnEnded("done", 2.0)))):
        ledger.hear(record)

    assert ledger.speech.newest() == []


class TestWhatWaits:
    """Claude Code does not write which prompt of those that wait it has read; the prompt that follows tells."""

    def waits(self, *lines: bytes) -> list[str]:
        return [one.text for one in ledger_of(b"".join(lines)).waiting]

    def queue(self, operation: str, text: str | None = None) -> bytes:
        content = {"content": text} if text is not None else {}
        return claude("queue-operation", operation=operation, **content)

    def read(self, text: str) -> bytes:
        return claude("attachment", attachment={"type": "queued_command", "prompt": text, "commandMode": "prompt"})

    def test_what_was_typed_before_a_restart_still_waits_after_another_prompt_was_read(self) -> None:
        before = prompt("Write it."), self.queue("enqueue", "translate the footer")
        after = (
            prompt("Go on."),
            self.queue("enqueue", "and the icons"),
            self.queue("remove"),
            self.read("and the icons"),
        )

        assert self.waits(*before, *after) == ["translate the footer"]
        assert self.waits(*before, *after, answer()) == ["translate the footer"]

    def test_in_one_process_the_first_is_read_first(self) -> None:
        typed = prompt("Write it."), self.queue("enqueue", "one"), self.queue("enqueue", "two")

        assert self.waits(*typed, self.queue("remove"), self.read("one"), answer()) == ["two"]
        assert self.waits(*typed, self.queue("dequeue"), answer(), answer()) == ["two"], "what it was is not written"
        assert self.waits(*typed, self.queue("dequeue"), self.queue("dequeue"), answer()) == []

    def test_a_note_of_the_clis_own_is_taken_and_not_the_prompt_before_it(self) -> None:
        note = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"
        typed = prompt("Write it."), self.queue("enqueue", "translate the footer"), prompt("Go on.")

        assert self.waits(*typed, self.queue("enqueue", note), self.queue("dequeue"), answer()) == [
            "translate the footer"
        ]

    def test_what_is_taken_is_known_to_the_next_daemon_too(self) -> None:
        ledger = ledger_of(prompt("Write it.") + self.queue("enqueue", "one") + self.queue("remove"))
        kept = read_kept(render_kept(KeptLedger(VERSION, "/t", 0, 0, 0, "", True, ledger)))
        assert kept is not None

        for line in (self.read("one"), answer()):
            record = FORMS["claude"].record(line)
            assert record is not None
            kept.ledger.hear(record)

        assert (kept.ledger.waiting, kept.ledger.taken) == ([], 0)


def test_a_turn_of_codex_that_a_kill_ended_is_not_over_by_the_next_one() -> None:
    """Its agent had spoken, and no end was written; the word that a turn begins is."""
    lines = (HERE / "codex-work.jsonl").read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if b'"task_complete"' in line]
    said = next(number for number, line in enumerate(lines) if b"The parser is written." in line)
    killed = b"".join(lines[: said + 2] + lines[ends[0] + 1 :])

    first = [words.turn for words in ledger_of(killed, FORMS["codex"]).speech.person]

    assert b"The parser is written." in killed
    assert first[0] is None
    assert next(words.turn for words in recorded("codex-work").speech.person) == "done"
