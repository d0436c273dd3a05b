"""A session as Codex 0.169.0 would have written it down (with its plan tool switched on)."""

from __future__ import annotations

import json
import shlex
from typing import Any, assert_never

from tests.eval_brief.blind import session as form
from tests.eval_brief.blind.claude_lines import stamp
from tests.eval_brief.blind.patterns import CWD, Ids, Line, Times, as_line, pattern, sha, strings
from tests.eval_brief.blind.session import Event, Session

WORK, PERMISSION, ASKED = "codex-work", "codex-permission-open", "codex-question-open"
_TIMES = {"started_at_ms": 1000, "completed_at_ms": 1000, "create_time": 1.0, "started_at": 1, "completed_at": 1}
_NOT_AT_WORK = (form.Person, form.Queued, form.TurnEnds, form.EndedJob, form.Compacted)


class CodexSession:
    """Goes through a session's events once."""

    def __init__(self, session: Session) -> None:
        self.made: list[bytes] = []
        self.session_id = ""
        self._session = session
        self._ids, self._times = Ids(session.id), Times()
        self._names: dict[str, str] = {}
        self._turn = ""
        self._turn_open = False
        self._text_said = ""
        self._jobs: dict[str, tuple[str, int, str]] = {}
        self._seen_files: set[str] = set()
        self._requests = 0

    @property
    def turn_open(self) -> bool:
        return self._turn_open

    def play(self) -> None:
        """Write all of it."""
        self.session_id = self._ids.uuid()
        self._put(pattern(WORK, lambda line: line["type"] == "session_meta"))
        for number, event in enumerate(self._session.event):
            self._times.at(event.t)
            self._hear(event, self._session.event[number + 1 :])

    def _hear(self, event: Event, rest: tuple[Event, ...]) -> None:
        if not self._turn_open and not isinstance(event, _NOT_AT_WORK):
            self._begin()
        match event:
            case form.Person(_, text):
                if self._turn_open:
                    self._interrupt()
                self._begin()
                self._prompt(text)
            case form.Agent(_, text):
                self._say(text, ends=not (rest and isinstance(rest[0], _CALLS)))
            case form.TurnEnds():
                if self._turn_open:
                    line = self._event("task_complete")
                    self._put(line, last_agent_message=self._text_said)
                self._turn_open = False
            case form.Queued(_, text, is_read):
                if is_read:
                    self._prompt(text)
            case form.EndedJob(_, job, code, output):
                self._ended(job, code, output)
            case form.Compacted():
                self._put(pattern("codex-session", lambda line: line["type"] == "compacted"))
                self._usage()
            case _:
                self._use(event, rest[0] if rest else None)

    def _use(self, event: Any, following: Event | None) -> None:
        match event:
            case form.Run(_, command, code, output, is_background, job):
                given = {"cmd": command} | ({"yield_time_ms": 1000} if is_background else {})
                call = self._call("exec_command", given)
                if is_background:
                    number = self._ids.number()
                    self._jobs[job] = (call, number, command)
                    words = f"Wall time: 1.0011 seconds\nProcess running with session ID {number}\n"
                    self._returned(call, self._chunk(words, ""))
                elif code is not None:
                    self._exited(call, command, code, output)
            case form.Committed(_, message, files):
                words = " ".join(map(shlex.quote, files)) or "-A"
                command = f"git add {words} && git commit -m {shlex.quote(message)}"
                branch = self._session.git.branch if self._session.git else "main"
                output = f"[{branch} {sha(self._session.id, message)}] {message}\n {len(files) or 1} files changed\n"
                self._exited(self._call("exec_command", {"cmd": command}), command, 0, output)
            case form.Write(_, path, failed):
                self._patch(path, failed)
            case form.Read(_, path, output):
                command = f"sed -n '1,240p' {shlex.quote(path)}"
                self._exited(self._call("exec_command", {"cmd": command}), command, 0, output)
            case form.Web(_, url, output):
                command = f"curl -sSL {shlex.quote(url)}"
                self._exited(self._call("exec_command", {"cmd": command}), command, 0, output)
            case form.Tasks(_, items):
                plan = [{"step": task.text, "status": task.status} for task in items]
                self._returned(self._call("update_plan", {"plan": plan}), "Plan updated")
            case form.Question():
                self._ask(event)
            case form.Permission(_, command, answer):
                if answer == "allow" and isinstance(following, form.Run) and following.run == command:
                    return  # the call stands in the transcript once, and nothing of the permission
                asked = {"sandbox_permissions": "require_escalated", "justification": "It is needed."}
                call = self._call("exec_command", {"cmd": command, **asked})
                if answer == "allow":
                    self._exited(call, command, 0, "")
                elif answer == "deny":
                    self._abort(call)
            case form.Plan() | form.Wakeup():
                raise ValueError("Codex has no such tool")
            case _:
                assert_never(event)

    # Lines.

    def _put(self, line: Line, **payload: Any) -> None:
        """Write a line with this session's ids and times in the place of the recorded ones."""
        moment = self._times.read()
        line["timestamp"], line["ordinal"] = stamp(moment), len(self.made)
        for holder, key in strings(line):
            if key in ("turn_id", "root_turn_id"):
                holder[key] = self._turn
            elif key in ("thread_id", "session_id") or (key == "id" and line["type"] == "session_meta"):
                holder[key] = self.session_id
            elif key in _TIMES:
                holder[key] = type(_TIMES[key])(moment * _TIMES[key])
            elif key == "id" and str(holder[key]).startswith("call_") and "stub" not in str(holder[key]):
                pass  # a command is known by the id of the call that ran it
            elif key in ("id", "client_id", "response_id", "message_id", "revision"):
                holder[key] = self._own(str(holder[key]))
        line["payload"] |= payload
        self.made.append(as_line(line))

    def _own(self, recorded: str) -> str:
        """An id of the same form."""
        head = recorded.rsplit("_", 1)[0] + "_" if "_" in recorded else ""
        return head + self._ids.uuid()

    def _event(self, kind: str) -> Line:
        return pattern(WORK, lambda line: line["type"] == "event_msg" and line["payload"]["type"] == kind)

    def _item(self, kind: str) -> Line:
        return pattern(WORK, lambda line: line["payload"]["item"]["type"] == kind)

    def _begin(self) -> None:
        self._turn, self._turn_open, self._text_said = self._ids.uuid(), True, ""
        self._put(self._event("task_started"))
        if len(self.made) == 2:
            self._put(pattern(WORK, lambda line: line["payload"]["role"] == "developer"))
            self._put(pattern(WORK, lambda line: "<environment_context>" in line["payload"]["content"][0]["text"]))
            self._put(pattern(WORK, lambda line: line["type"] == "world_state"))
        self._put(pattern(WORK, lambda line: line["type"] == "turn_context"))
        self._put(self._event("thread_settings_applied"))

    def _prompt(self, text: str) -> None:
        def is_prompt(line: Line) -> bool:
            return line["payload"]["role"] == "user" and "<" not in line["payload"]["content"][0]["text"]

        line = pattern(WORK, is_prompt)
        line["payload"]["content"][0]["text"] = text
        self._put(line)
        line = self._item("UserMessage")
        line["payload"]["item"]["content"][0]["text"] = text
        self._put(line)

    def _say(self, text: str, ends: bool) -> None:
        self._text_said = text
        line = self._item("AgentMessage")
        line["payload"]["item"]["content"][0]["text"] = text
        self._put(line)
        line = pattern(WORK, lambda line: line["payload"]["role"] == "assistant")
        line["payload"]["content"][0]["text"] = text
        self._put(line)
        if ends:
            self._usage()

    def _call(self, name: str, given: dict[str, Any] | str) -> str:
        """A call of a tool, with the usage of the answer that it ends."""
        self._requests += 1
        call = f"call_{self._ids.short(24)}"
        kind = "custom_tool_call" if isinstance(given, str) else "function_call"
        line = pattern(WORK, lambda line: line["payload"]["type"] == kind)
        key = "input" if isinstance(given, str) else "arguments"
        words = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, separators=(",", ":"))
        self._put(line, name=name, call_id=call, **{key: words})
        self._put(self._counted(pattern(WORK, lambda line: line["type"] == "token_usage_record")))
        return call

    def _usage(self) -> None:
        self._put(self._counted(self._event("token_count")))

    def _counted(self, line: Line) -> Line:
        for holder, key in strings(line):
            if key in ("input_tokens", "cached_input_tokens", "total_tokens"):
                holder[key] += 900 * (self._requests + len(self.made))
        return line

    def _returned(self, call: str, output: str, kind: str = "function_call_output") -> None:
        self._put(pattern(WORK, lambda line: line["payload"]["type"] == kind), call_id=call, output=output)
        self._usage()

    def _chunk(self, how: str, output: str) -> str:
        return f"Chunk ID: {self._ids.short(6)}\n{how}Original token count: {len(output) // 4}\nOutput:\n{output}"

    def _exited(self, call: str, command: str, code: int, output: str) -> None:
        output = output if not output or output.endswith("\n") else f"{output}\n"
        self._executed(call, command, code, output)
        self._returned(call, self._chunk(f"Wall time: 0.8120 seconds\nProcess exited with code {code}\n", output))

    def _executed(self, call: str, command: str, code: int, output: str) -> None:
        line = self._item("CommandExecution")
        made = {"command": ["/bin/bash", "-lc", command], "parsed_cmd": [{"type": "unknown", "cmd": command}]}
        made |= {"status": "failed" if code else "completed", "aggregated_output": output, "exit_code": code}
        line["payload"]["item"] |= {**made, "process_id": str(self._ids.number())}
        line["payload"]["item"]["id"] = call
        self._put(line)

    def _ended(self, job: str, code: int, output: str) -> None:
        """An agent that is at work learns it when it asks; else only the event stands there."""
        call, number, command = self._jobs[job]
        output = output if not output or output.endswith("\n") else f"{output}\n"
        if not self._turn_open:
            self._executed(call, command, code, output)
            return
        asking = self._call("write_stdin", {"session_id": number, "chars": "", "yield_time_ms": 5000})
        self._executed(call, command, code, output)
        self._returned(asking, self._chunk(f"Wall time: 0.4120 seconds\nProcess exited with code {code}\n", output))

    def _patch(self, path: str, failed: bool) -> None:
        is_new = path not in self._seen_files and not failed
        body = f"*** Add File: {path}\n+one" if is_new else f"*** Update File: {path}\n@@\n-one\n+two"
        call = self._call("apply_patch", f"*** Begin Patch\n{body}\n*** End Patch")
        if failed:
            words = f"apply_patch verification failed: Failed to find expected lines in {CWD}/{path}:\none"
            self._returned(call, words, "custom_tool_call_output")
            return
        self._seen_files.add(path)
        told = f"Success. Updated the following files:\n{'A' if is_new else 'M'} {path}\n"
        line = self._item("FileChange")
        change = {"type": "add", "content": "one\n"} if is_new else {
            "type": "update", "unified_diff": "@@ -1 +1 @@\n-one\n+two\n", "move_path": None}  # fmt: skip
        line["payload"]["item"] |= {"id": call, "changes": {f"{CWD}/{path}": change}, "stdout": told}
        self._put(line)
        words = f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{told}"
        self._returned(call, words, "custom_tool_call_output")

    def _ask(self, event: form.Question) -> None:
        options = [{"label": option, "description": option} for option in event.options]
        asked = {"id": "choice", "header": "Choice", "question": event.question, "options": options}
        call = self._call("request_user_input", {"questions": [asked]})
        if event.answer is None:
            return
        line = pattern(ASKED, lambda line: line["type"] == "retained_context")
        line["payload"]["questions"] = [{"question": event.question, "answer": event.answer}]
        self._put(line, call_id=call)
        answer = {"answers": {"choice": {"answers": [event.answer]}}}
        self._returned(call, json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    def _abort(self, call: str) -> None:
        self._returned(call, "Wall time: 1.7 seconds\naborted by user")
        self._interrupt()

    def _interrupt(self) -> None:
        """A person stopped the turn: only so can a prompt come before its end."""
        self._put(pattern(PERMISSION, lambda line: "<turn_aborted>" in line["payload"]["content"][0]["text"]))
        self._put(pattern(PERMISSION, lambda line: line["payload"]["type"] == "turn_aborted"))
        self._turn_open = False


_CALLS = (form.Run, form.Write, form.Read, form.Web, form.Tasks, form.Question, form.Permission, form.Committed)
