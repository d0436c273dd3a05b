"""A session as the Gemini CLI 0.61.0 would have written it down (with a model that is given `write_todos`)."""

from __future__ import annotations

import json
import shlex
from typing import Any, assert_never

from tests.eval_brief.blind import session as form
from tests.eval_brief.blind.claude_lines import stamp
from tests.eval_brief.blind.patterns import CWD, Ids, Line, Times, as_line, pattern, sha
from tests.eval_brief.blind.session import Event, Session

WORK, PERMISSION, BACKGROUND = "gemini-work", "gemini-permission-open", "gemini-background"
_NO_MATCH = (
    "Could not find an exact match for 'old_string' in '{path}'. If previous edits modified the file or you are"
    " modifying lines outside your recent read window, please use ReadFile to inspect the target lines before retrying"
    " with an exact 'old_string'."
)


class GeminiSession:
    """Goes through a session's events once. What had not come back at the end was never written."""

    def __init__(self, session: Session) -> None:
        self.made: list[bytes] = []
        self.session_id = ""
        self._session = session
        self._ids, self._times = Ids(session.id), Times()
        self._turn_open = False
        self._answer: Line | None = None
        self._history: list[tuple[str, list[dict[str, Any]]]] = []
        self._jobs: dict[str, tuple[int, str]] = {}
        self._seen_files: set[str] = set()

    @property
    def turn_open(self) -> bool:
        return self._turn_open

    def play(self) -> None:
        """Write all of it."""
        self.session_id = self._ids.uuid()
        head = pattern(WORK, lambda line: "projectHash" in line)
        moment = stamp(self._times.read())
        self._write(head | {"sessionId": self.session_id, "startTime": moment, "lastUpdated": moment})
        self._write(pattern(WORK, lambda line: "messages" in line["$set"]))
        for number, event in enumerate(self._session.event):
            self._times.at(event.t)
            self._hear(event, self._session.event[number + 1 :])

    def _hear(self, event: Event, rest: tuple[Event, ...]) -> None:
        following = rest[0] if rest else None
        match event:
            case form.Person(_, text):
                if self._turn_open:  # only a person who stopped the turn can have a prompt taken before its end
                    self._record(pattern(PERMISSION, lambda line: line["type"] == "info"))
                self._turn_open = True
                self._prompt(text)
            case form.Agent(_, text):
                self._turn_open = True
                self._say(text)
                if not isinstance(following, _CALLS):
                    self._answer = None
            case form.TurnEnds():
                self._turn_open = False
            case form.Queued(_, text, is_read):
                if is_read:
                    self._prompt(text)
            case form.EndedJob(_, job, code, _):
                if self._turn_open:
                    pid, command = self._jobs[job]
                    words = f"- [PID {pid}] EXITED: `{command}` (Exit Code: {code})"
                    self._use("list_background_processes", {}, words, BACKGROUND)
            case form.Compacted():
                self._write({"$set": {"sessionId": self.session_id}})
                self._record(pattern("gemini-session", lambda line: line["type"] == "info" and line["content"] == ""))
            case _:
                self._turn_open = True
                self._tool(event, following)

    def _tool(self, event: Any, following: Event | None) -> None:
        match event:
            case form.Run(_, command, code, output, is_background, job):
                given: dict[str, Any] = {"command": command, "description": f"Run {command.split()[0]}"}
                if is_background:
                    pid = self._ids.number()
                    self._jobs[job] = (pid, command)
                    words = f"Command moved to background (PID: {pid}). Output hidden. Press Ctrl+B to view."
                    self._use("run_shell_command", given | {"is_background": True}, _untrusted(words))
                elif code is None:
                    self._say("")
                else:
                    self._use("run_shell_command", given, self._shell(code, output))
            case form.Committed(_, message, files):
                words = " ".join(map(shlex.quote, files)) or "-A"
                command = f"git add {words} && git commit -m {shlex.quote(message)}"
                branch = self._session.git.branch if self._session.git else "main"
                output = f"[{branch} {sha(self._session.id, message)}] {message}\n {len(files) or 1} files changed"
                given = {"command": command, "description": "Commit"}
                self._use("run_shell_command", given, self._shell(0, output))
            case form.Write(_, path, failed):
                self._edit(f"{CWD}/{path}", failed)
            case form.Read(_, path, output):
                self._seen_files.add(f"{CWD}/{path}")
                self._use("read_file", {"file_path": f"{CWD}/{path}"}, output)
            case form.Web(_, url, output):
                self._use("web_fetch", {"prompt": f"What does {url} say?"}, output)
            case form.Tasks(_, items):
                todos = [{"description": task.text, "status": task.status} for task in items]
                told = "\n".join(f"{number}. [{task.status}] {task.text}" for number, task in enumerate(items, 1))
                words = f"Successfully updated the todo list. The current list is now:\n{told}"
                self._use("write_todos", {"todos": todos}, words)
            case form.Question():
                options = [{"label": option, "description": option} for option in event.options]
                asked = {"question": event.question, "header": "Choice", "type": "choice", "options": options}
                if event.answer is None:
                    self._say("")
                    return
                answer = json.dumps({"answers": {"0": event.answer}}, ensure_ascii=False, separators=(",", ":"))
                self._use("ask_user", {"questions": [asked]}, answer)
            case form.Permission(_, command, answer):
                if answer == "allow" and isinstance(following, form.Run) and following.run == command:
                    return  # the call stands in the chat once, and nothing of the permission
                given = {"command": command, "description": f"Run {command.split()[0]}"}
                if answer == "allow":
                    self._use("run_shell_command", given, self._shell(0, ""))
                elif answer == "deny":
                    self._deny(given)
                else:
                    self._say("")
            case form.Plan() | form.Wakeup():
                raise ValueError("the Gemini CLI has no such tool")
            case _:
                assert_never(event)

    # Lines.

    def _write(self, line: Line) -> None:
        self.made.append(as_line(line))

    def _record(self, line: Line, keep_id: bool = False) -> None:
        """A record, and the note of when the chat was changed."""
        moment = stamp(self._times.read())
        self._write(line | ({} if keep_id else {"id": self._ids.uuid(), "timestamp": moment}))
        self._write({"$set": {"lastUpdated": moment}})

    def _prompt(self, text: str) -> None:
        self._answer = None
        self._history.append(("user", [{"text": text}]))
        self._record({**_like("user", "text"), "content": [{"text": text}]})

    def _say(self, text: str) -> None:
        """An answer as it stands before its tools came back."""
        if self._answer is not None and not text:
            return
        line = pattern(WORK, lambda line: line["type"] == "gemini" and "toolCalls" not in line)
        line |= {"content": text, "id": self._ids.uuid(), "timestamp": stamp(self._times.read())}
        line["tokens"] |= {"input": 15_300 + 800 * len(self.made), "total": 15_340 + 800 * len(self.made)}
        self._answer = line
        self._history.append(("gemini", [{"text": text}] if text else []))
        self._record(line, keep_id=True)

    def _use(self, name: str, given: dict[str, Any], output: str, sample: str = WORK, error: bool = False) -> None:
        answer, status = ({"error": output}, "error") if error else ({"output": output}, "success")
        self._finish(name, given, answer, status, _like_call(name, sample, error))

    def _finish(self, name: str, given: dict[str, Any], response: dict[str, str], status: str, like: Line) -> None:
        """The answer once more, with its call; then the call's result as the model gets it."""
        self._say("")
        assert self._answer is not None
        call = f"{name}__{self._ids.short(10)}"
        part = {"functionResponse": {"id": call, "name": name, "response": response}}
        wanted = [one for one in like["toolCalls"] if one["name"] == name]
        told = next((one for one in wanted if one["status"] == status), wanted[0])
        told |= {"id": call, "args": given, "result": [part], "status": status, "timestamp": stamp(self._times.read())}
        self._record(self._answer | {"toolCalls": [told]}, keep_id=True)
        self._history[-1][1].append({"functionCall": {"id": call, "name": name, "args": given}})
        self._answer = None
        if status != "cancelled":
            self._history.append(("user", [part]))
            self._record({**_like("user", "functionResponse"), "content": [part]})

    def _shell(self, code: int, output: str) -> str:
        told = [f"Output: {output.rstrip(chr(10)) or '(empty)'}"]
        told += [f"Exit Code: {code}"] if code else []
        return _untrusted("\n".join([*told, f"Process Group PGID: {self._ids.number()}"]))

    def _edit(self, path: str, failed: bool) -> None:
        if path not in self._seen_files and not failed:
            self._seen_files.add(path)
            words = f"Successfully created and wrote to new file: {path}. Here is the updated code:\none\n"
            self._use("write_file", {"file_path": path, "content": "one\n"}, words)
            return
        given = {"file_path": path, "instruction": "Change it", "old_string": "one", "new_string": "two"}
        if failed:
            self._use("replace", given, _NO_MATCH.format(path=path), error=True)
        else:
            words = f"Successfully modified file: {path} (1 replacements). Here is the updated code:\ntwo\n"
            self._use("replace", given, words)

    def _deny(self, given: dict[str, Any]) -> None:
        """A denial ends the turn, and the CLI writes the conversation before it once more."""
        like = pattern(PERMISSION, lambda line: line["toolCalls"][0]["status"] == "cancelled")
        told = {"error": "[Operation Cancelled] Reason: User denied execution."}
        self._finish("run_shell_command", given, told, "cancelled", like)
        self._record(pattern(PERMISSION, lambda line: line["type"] == "info"))
        prompts = [at for at, (who, parts) in enumerate(self._history) if who == "user" and "text" in parts[0]]
        self._history = self._history[: prompts[-1]] if prompts else []
        context = pattern(WORK, lambda line: "messages" in line["$set"])["$set"]["messages"][0]["content"]
        again = []
        for number, (who, parts) in enumerate(self._history):
            line = {"id": self._ids.uuid(), "timestamp": stamp(self._times.read()), "type": who}
            line["content"] = [*context, *parts] if number == 0 else parts
            again.append(line | ({"thoughts": [], "tokens": None} if who == "gemini" else {}))
        for line in again:
            self._write(line)
        self._write({"$set": {"messages": again, "lastUpdated": stamp(self._times.read())}})
        self._turn_open, self._answer = False, None


def _like(kind: str, part: str) -> Line:
    return pattern(WORK, lambda line: line["type"] == kind and part in line["content"][0])


def _like_call(name: str, sample: str, error: bool) -> Line:
    """Of web_fetch only a refusal was recorded; what came back has the keys of any other tool's result."""
    wanted = "error" if error or name == "web_fetch" else "success"

    def fits(line: Line) -> bool:
        return any(call["name"] == name and call["status"] == wanted for call in line["toolCalls"])

    return pattern(sample, fits)


def _untrusted(words: str) -> str:
    return f"<untrusted_context>\n{words}\n</untrusted_context>"


_CALLS = (form.Run, form.Write, form.Read, form.Web, form.Tasks, form.Question, form.Permission, form.Committed)
