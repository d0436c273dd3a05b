"""The technical writer's part of claude.md, and a package's summary: facts of plan, state and session, in words."""

from __future__ import annotations

from phoenixd.documents.plain_text import clip, one_line
from phoenixd.documents.project import graph
from phoenixd.documents.project.models import OrchestratorState
from phoenixd.documents.project.own_part import BEGIN, END
from phoenixd.documents.project.plan import Plan
from phoenixd.documents.project.reading import lines_of, read_text
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, state_after
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.errors import BadProject

MOST, LINE_LIMIT, SUMMARY_LIMIT = 10, 200, 2000


def technical_writer(tree: Tree, sources: Sources) -> Changes:
    """claude.md of the current phase with phoenixd's own part brought up to date; all else in it keeps its bytes.

    Raises BadProject where that part has lost its first or its last line.
    """
    state = tree.state() or state_after(tree, None, sources)
    if state.current_phase is None or state.current_phase not in tree.phases:
        return Changes()
    path = tree.paths.context(state.current_phase)
    held = tree.files.get(path)
    if held is None:
        raise BadProject(f"{path} is not there", "phoenixctl phase init")
    lines = lines_of(read_text(held, path))
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    part = [f"{line}{newline}" for line in (BEGIN, *_part(tree, state, sources), END)]
    changed = "".join(_with_part(lines, part, path, newline)).encode()
    return Changes({path: changed}) if changed != held else Changes()


def summary(tree: Tree, state: OrchestratorState, sources: Sources) -> str:
    """The package's contextSummary: never empty, for the plans always tell something (E42)."""
    said = [_standing(state)]
    upcoming = _next(tree, state)
    said += [f"Next: {'; '.join(upcoming[:3])}."] if upcoming else []
    said += [f"{line}." for line in session_lines(sources)[:6]]
    return clip(sources.clean(" ".join(said)), SUMMARY_LIMIT)


def _part(tree: Tree, state: OrchestratorState, sources: Sources) -> list[str]:
    lines = ["", "## Current State", "", f"As of {sources.now}:", "", f"- {_standing(state)}"]
    lines += [f"- {sources.clean(line)}" for line in session_lines(sources)]
    lines += ["", "## Next Steps", ""]
    return [*lines, *(f"- {line}" for line in _next(tree, state)[:MOST] or ["every task is completed"]), ""]


def _standing(state: OrchestratorState) -> str:
    where = state.current_phase or "no phase"
    done, left = len(state.completed_tasks), len(state.pending_tasks)
    return f"{state.project_name} is in {where}, step {state.current_step}: {done} tasks completed, {left} pending."


def _next(tree: Tree, state: OrchestratorState) -> list[str]:
    """What can begin now, else what is open."""
    plans: dict[str, Plan] = tree.plans()
    if state.current_phase in plans:
        found = [task.title for task in graph.ready(plans, state.current_phase)]
        blocked = [f"{task.title} (blocked)" for task in plans[state.current_phase].tasks if task.status == "blocked"]
        if found or blocked:
            return [one_line(title, LINE_LIMIT) for title in (*found, *blocked)]
    return [one_line(title, LINE_LIMIT) for title in state.pending_tasks]


def session_lines(sources: Sources) -> list[str]:
    """What the predecessor's session left, as its ledger has it."""
    ledger: SessionLedger | None = sources.ledger
    if ledger is None:
        return []
    failed = [run for run in ledger.runs.values() if run.outcome is not None and run.outcome.failed]
    asked = [one for one in ledger.questions.values() if one.answers is None]
    jobs = [job for job in ledger.jobs.values() if not job.is_over]
    lines = [f"Commands that failed last: {_listed([run.text for run in failed[-5:]])}"] if failed else []
    if asked:
        lines.append(f"Questions without an answer: {_listed([q.text for one in asked[-3:] for q in one.questions])}")
    if jobs:
        lines.append(f"Went on in the background: {_listed([job.what for job in jobs[-5:]])}")
    if ledger.files:
        lines.append(f"Files written last: {_listed([one.path for one in list(ledger.files.values())[-MOST:]])}")
    if ledger.speech.agent:
        lines.append(f'Last words of the session: "{one_line(ledger.speech.agent[-1].text, 600)}"')
    return lines


def _listed(items: list[str]) -> str:
    return "; ".join(one_line(item, LINE_LIMIT) for item in items)


def _with_part(lines: tuple[str, ...], part: list[str], path: str, newline: str) -> list[str]:
    begins = [number for number, line in enumerate(lines) if line.strip() == BEGIN]
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    if not begins and not ends:
        apart = [] if not lines or not lines[-1].strip() else [newline]
        if lines and not lines[-1].endswith(("\n", "\r")):
            apart = [newline, newline]
        return [*lines, *apart, *part]
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise BadProject(
            f"{path} has lost a line that says where phoenixd's part begins or ends",
            f"delete that part with its first and last line, which say phoenixd, from {path}",
        )
    return [*lines[: begins[0]], *part, *lines[ends[0] + 1 :]]
