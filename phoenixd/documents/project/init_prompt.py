"""What a successor is told first: facts and paths (E44, E45). Never the hash nor the word, which prove that it read."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.documents.plain_text import clip, one_line
from phoenixd.documents.project import layout
from phoenixd.documents.project.models import FailedApproach, HandoffPackage

LIMIT = 12_000
"""Characters. What is left out stands in the package, whose path is told."""
MOST_LISTED = 40
LINE_LIMIT, PATH_LIMIT, SUMMARY_LIMIT = 160, 512, 3000


def render(package: HandoffPackage, package_path: str, how_to_ack: str) -> str:
    """The prompt of the new session. how_to_ack: how phoenixd takes the acknowledgement, in a sentence or two."""
    for most in (MOST_LISTED, 15, 5):
        text = "\n".join(_lines(package, package_path, how_to_ack, most))
        if len(text) <= LIMIT:
            return f"{text}\n"
    return f"{clip(text, LIMIT)}\n"


def _lines(package: HandoffPackage, package_path: str, how_to_ack: str, most: int) -> list[str]:
    state, current = package.project_state, package.current_phase
    plan = package.plan_files.get(current) if current is not None else None
    context = [path for path in package.claude_md_files if current is not None and f"/{current}/" in path]
    lines = [
        "Take up this project where the orchestrator before you left off.",
        "",
        f"Previous session: {package.previous_session_id}",
        f"Your session: {package.new_session_id}",
        f"Project: {package.project_name}",
        f"Current phase: {current or 'none'}",
        f"Current step: {state.current_step}",
        f"Handoff package: {package_path}",
        "",
        "Summary:",
        clip(state.context_summary.strip(), SUMMARY_LIMIT) or "none was written; the plan tells the work",
        "",
        "What there is:",
        f"- plans: {_names(package.plan_files, most)}",
        f"- claude.md files: {len(package.claude_md_files)}",
        f"- artifacts: {_artifacts(package)}",
        f"- memory files: {len(package.memory_files)}",
    ]
    if package.degraded:
        lines += ["", "Not everything was brought up to date before this handoff. Look at it yourself:"]
        lines += _list(package.failures, most)
    if package.running:
        lines += ["", "Work that the previous session left in the background:", *_list(package.running, most)]
    lines += ["", f"Completed tasks ({len(state.completed_tasks)}):", *_list(state.completed_tasks, most, last=True)]
    lines += ["", f"Pending tasks ({len(state.pending_tasks)}):", *_list(state.pending_tasks, most)]
    if package.contradicted:
        false = [f"{one.of}: {claim}" for one in package.contradicted for claim in one.claims]
        lines += ["", "Claims in reports that the facts contradict; do not rest on them:", *_list(false, most)]
    if package.scratchpad:
        lines += ["", "Tried without success:", *_list([_in_vain(one) for one in package.scratchpad], most)]
    phases = layout.in_order(list(package.plan_files))
    reference = [package.plan_files[phase] for phase in phases if phase != current]
    if reference:
        lines += ["", "For reference alone, each with its claude.md beside it; load none of them before you need it:"]
        lines += _list(reference, most, limit=PATH_LIMIT)
    to_load = [path for path in (plan, *context) if path is not None]
    lines += [
        "",
        "Your task:",
        f"1. Read the handoff package, {package_path}, and go by what it says.",
        f"2. Load the current phase: {', '.join(to_load) or 'none is current; read the package for the phases'}."
        " The other phases are for reference: read one when you need it.",
        "3. Continue with the first pending task whose dependencies are completed.",
        "4. Report progress as you go. From it phoenixd keeps plan.md, claude.md and the orchestrator's state;"
        " write nothing below .claude/ yourself, but for the file of step 5.",
        f"5. Once you have read all this, acknowledge to phoenixd, which then ends the previous session. {how_to_ack}",
    ]
    return lines


def _artifacts(package: HandoffPackage) -> str:
    count = len(package.artifacts) if package.artifact_count is None else package.artifact_count
    return f"{count} files" + (", listed in the manifests" if count > len(package.artifacts) else "")


def _names(plans: dict[str, str], most: int) -> str:
    phases = layout.in_order(list(plans))
    return ", ".join(phases[:most]) + (f" and {len(phases) - most} more" if len(phases) > most else "") or "none"


def _list(items: Sequence[str], most: int, *, last: bool = False, limit: int = LINE_LIMIT) -> list[str]:
    """At most `most` items: the newest of what is over, the first of what is to come. The others are counted."""
    if not items:
        return ["- none"]
    shown = items[-most:] if last else items[:most]
    lines = [f"- {one_line(item, limit)}" for item in shown]
    rest = len(items) - len(shown)
    more = [f"- and {rest} {'earlier' if last else 'more'}, all in the package"] if rest else []
    return [*more, *lines] if last else [*lines, *more]


def _in_vain(one: FailedApproach) -> str:
    """What to avoid, where somebody wrote that down; else what was tried, how often, and why that failed."""
    if one.avoid_approach:
        return one.avoid_approach
    tries = f", {one.attempts} times" if one.attempts is not None and one.attempts > 1 else ""
    return f"{one.approach}{tries}: {one.failure_reason}" if one.failure_reason else f"{one.approach}{tries}"
