"""A session as Claude Code 2.1.197 would have written it down."""

from __future__ import annotations

import shlex
from typing import Any, assert_never

from tests.eval_brief.blind import claude_tools as tools
from tests.eval_brief.blind import session as form
from tests.eval_brief.blind.claude_lines import Lines
from tests.eval_brief.blind.claude_tasks import TaskList
from tests.eval_brief.blind.patterns import BEGAN, CWD, HOME, pattern, sha
from tests.eval_brief.blind.session import Event, Session

Use = tuple[str, dict[str, Any]]


class ClaudeSession:
    """Goes through a session's events once, and keeps what the CLI would keep."""

    def __init__(self, session: Session) -> None:
        self.lines = Lines(session.id, session.git.branch if session.git else "HEAD")
        self.tasks = TaskList()
        self._session = session
        self._turn_open = False
        self._turn_began = BEGAN
        self._calls: dict[str, tuple[str, str]] = {}
        self._seen_files: set[str] = set()
        self._queued: list[str] = []
        self._unread: list[tuple[str, float]] = []
        self._timers: list[str] = []
        self._is_first = True

    def play(self) -> None:
        """Write all of it."""
        self.lines.begin()
        events = self._session.event
        for number, event in enumerate(events):
            self.lines.times.at(event.t)
            self._hear(event, events[number + 1 :])
        # The CLI reads its queue from the front, and all of it: what still waits was queued after whatever was read.
        for text, moment in self._unread:
            self.lines.queue("enqueue", text, moment)

    @property
    def turn_open(self) -> bool:
        return self._turn_open

    def _hear(self, event: Event, rest: tuple[Event, ...]) -> None:
        following = rest[0] if rest else None
        if not isinstance(event, form.Person | form.Queued | form.TurnEnds | form.EndedJob) and not self._turn_open:
            self._wake()
        match event:
            case form.Person(_, text):
                if self._turn_open:
                    self.lines.interrupt()
                self._begin()
                self.lines.prompt(text)
                if self._is_first:
                    for kind in ("agent_listing_delta", "skill_listing"):
                        self.lines.attach("claude-work", kind)
                self._is_first = False
            case form.Agent(_, text):
                self.lines.say(text, [], _stop(rest), goes_on=isinstance(following, _JOINS))
            case form.TurnEnds():
                if self._turn_open:
                    self.lines.end_turn(self._turn_began)
                self._turn_open = False
            case form.Queued(_, text, is_read):
                if not is_read:
                    self._unread.append((text, self.lines.times.read()))
                else:
                    self.lines.queue("enqueue", text)
                    self._queued.append(text)
                    if not isinstance(following, _JOINS):
                        self._read_queue()
            case form.EndedJob(_, job, code, _):
                self._ended(job, code, is_last_word=_stop(rest) is None)
            case form.Compacted():
                self._compact()
            case _:
                self._use(event, following)
                self._read_queue()

    def _begin(self) -> None:
        self._turn_open, self._turn_began = True, self.lines.times.now

    def _use(self, event: Any, following: Event | None) -> None:
        match event:
            case form.Run(_, command, code, output, is_background, job):
                given: dict[str, Any] = {"command": command, "description": _described(command)}
                call = self._call(("Bash", given | ({"run_in_background": True} if is_background else {})))
                if is_background:
                    task = "b" + self.lines.ids.short(8)
                    self._calls[job] = (call, task)
                    tools.background(self.lines, call, task)
                elif code is not None:
                    tools.bash(self.lines, call, code, output)
            case form.Committed(_, message, files):
                words = " ".join(map(shlex.quote, files)) or "-A"
                command = f"git add {words} && git commit -m {shlex.quote(message)}"
                call = self._call(("Bash", {"command": command, "description": "Commit"}))
                name = sha(self._session.id, message)
                branch = self._session.git.branch if self._session.git else "main"
                output = (
                    f"[{branch} {name}] {message}\n {len(files) or 1} files changed, 12 insertions(+), 3 deletions(-)"
                )
                tools.bash(self.lines, call, 0, output, {"commit": {"sha": name, "kind": "committed"}})
            case form.Write(_, path, failed):
                self._write(f"{CWD}/{path}", failed)
            case form.Read(_, path, output):
                self._seen_files.add(f"{CWD}/{path}")
                tools.read_file(
                    self.lines, self._call(("Read", {"file_path": f"{CWD}/{path}"})), f"{CWD}/{path}", output
                )
            case form.Web(_, url, output):
                tools.fetched(
                    self.lines, self._call(("WebFetch", {"url": url, "prompt": "What does it say?"})), url, output
                )
            case form.Tasks(_, items):
                for uses, results in self.tasks.becomes(items):
                    for call, (name, like, content, told) in zip(self._call_all(uses), results, strict=True):
                        self.lines.result(call, name, like, content, told)
            case form.Plan(_, plan, approved):
                self._plan(plan, approved)
            case form.Question():
                self._ask(event)
            case form.Permission(_, command, answer):
                is_asked_for = isinstance(following, form.Run) and following.run == command
                if answer == "allow" and is_asked_for:
                    return  # the call stands in the transcript once, and nothing of the permission
                call = self._call(("Bash", {"command": command, "description": _described(command)}))
                if answer == "allow":
                    tools.bash(self.lines, call, 0, "")
                elif answer == "deny":
                    self._reject(call, "Bash")
            case form.Wakeup(_, text, fired):
                call = self._call(("ScheduleWakeup", {"delaySeconds": 1200, "reason": text, "prompt": text}))
                tools.cron_told(self.lines, call, self.lines.times.now + 1200)
                if fired:
                    self._timers.append(text)
            case _:
                assert_never(event)

    def _call(self, use: Use) -> str:
        return self._call_all([use])[0]

    def _call_all(self, uses: list[Use]) -> list[str]:
        return self.lines.say("", uses, "tool_use")

    def _write(self, path: str, failed: bool) -> None:
        if path not in self._seen_files and not failed:
            content = f"{path.rsplit('/', 1)[-1]}\n"
            self._seen_files.add(path)
            tools.wrote(self.lines, self._call(("Write", {"file_path": path, "content": content})), path, content)
            return
        given = {"replace_all": False, "file_path": path, "old_string": "one", "new_string": "two"}
        call = self._call(("Edit", given))
        if failed:
            tools.edit_failed(self.lines, call)
        else:
            tools.edited(self.lines, call, path)

    def _ask(self, event: form.Question) -> None:
        options = [{"label": option, "description": option} for option in event.options]
        asked = {"question": event.question, "header": "Question", "multiSelect": False, "options": options}
        call = self._call(("AskUserQuestion", {"questions": [asked]}))
        if event.answer is not None:
            like = tools.result_of("claude-work", "AskUserQuestion")
            content = (
                f'Your questions have been answered: "{event.question}"="{event.answer}". You can now continue with'
                " these answers in mind."
            )
            told = {"questions": [asked], "answers": {event.question: event.answer}, "annotations": {}}
            self.lines.result(call, "AskUserQuestion", like, content, told)

    def _plan(self, plan: str, approved: bool) -> None:
        path = f"{HOME}/.claude/plans/{self.lines.ids.short(6)}-plan.md"
        call = self._call(("EnterPlanMode", {}))
        like = tools.result_of("claude-plan", "EnterPlanMode")
        self.lines.result(call, "EnterPlanMode", like, like["message"]["content"][0]["content"], like["toolUseResult"])
        self.lines.attach("claude-plan", "plan_mode", planFilePath=path)
        tools.wrote(self.lines, self._call(("Write", {"file_path": path, "content": plan})), path, plan)
        call = self._call(("ExitPlanMode", {"plan": plan, "planFilePath": path}))
        if approved:
            tools.plan_file(self.lines, call, path, plan)
        else:
            self._reject(call, "ExitPlanMode")

    def _reject(self, call: str, name: str) -> None:
        like = pattern("claude-permission-open", lambda line: line["toolUseResult"] == "User rejected tool use")
        self.lines.result(call, name, like, tools.REJECTED, "User rejected tool use")
        self.lines.put(pattern("claude-permission-open", lambda line: "interrupted" in str(line["message"]["content"])))
        self._turn_open = False

    def _read_queue(self) -> None:
        for text in self._queued:
            self.lines.queue("remove")
            self.lines.attach("claude-queued-open", "queued_command", prompt=text)
        self._queued = []

    def _ended(self, job: str, code: int, is_last_word: bool) -> None:
        call, task = self._calls[job]
        text = tools.notice(self.lines, call, task, code)
        self.lines.queue("enqueue", text)
        if self._turn_open:
            self.lines.queue("remove")
            self.lines.attach("claude-notices", "queued_command", prompt=text)
            return
        self.lines.queue("dequeue")
        self._begin()
        line = pattern("claude-work", lambda line: line["origin"] == {"kind": "task-notification"})
        line["message"]["content"] = text
        self.lines.put(line)
        if is_last_word:
            # The CLI has the model answer to such a notice, which is none of the session's words.
            self.lines.say("OK.", [], "end_turn")
            self.lines.end_turn(self._turn_began)
            self._turn_open = False

    def _wake(self) -> None:
        """An agent at work without a prompt: one of its timers fired, or it answers a refusal."""
        self._begin()
        for text in self._timers[:1]:
            self._timers.remove(text)
            self.lines.queue("enqueue", text)
            self.lines.queue("dequeue")
            self.lines.put(pattern("claude-notices", lambda line: line["subtype"] == "scheduled_task_fire"))
            line = pattern("claude-notices", lambda line: line["promptSource"] == "system")
            line["message"]["content"] = text
            self.lines.put(line)

    def _compact(self) -> None:
        line = pattern("claude-timers", lambda line: line["subtype"] == "compact_boundary")
        line["compactMetadata"] |= {"trigger": "auto", "preTokens": 168_400, "postTokens": 9_210}
        self.lines.put(line)
        self.lines.put(pattern("claude-timers", lambda line: line["isCompactSummary"] is True))
        self.lines.attach("claude-timers", "hook_additional_context")
        self.lines.keep_books()


_JOINS = (
    form.Agent, form.Run, form.Write, form.Read, form.Web, form.Tasks, form.Plan, form.Question, form.Permission,
    form.Wakeup, form.Committed,
)  # fmt: skip


def _stop(rest: tuple[Event, ...]) -> str | None:
    """Why an answer of the model ended; None where its end was not seen."""
    for event in rest:
        if isinstance(event, form.TurnEnds):
            return "end_turn"
        if isinstance(event, _JOINS):
            return "tool_use"
        if isinstance(event, form.Person):
            return None
    return None


def _described(command: str) -> str:
    return f"Run {command.split()[0]}" if command.split() else "Run it"
