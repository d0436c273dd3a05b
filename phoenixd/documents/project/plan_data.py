"""A plan as data (E70): its tasks, and what its usual sections say."""

from __future__ import annotations

from phoenixd.documents.project import layout
from phoenixd.documents.project.markdown import Heading
from phoenixd.documents.project.models import PhasePlan, PlanTask
from phoenixd.documents.project.plan import NOTHING, SIGNS, Plan, bare, phase_status


def phase_plan(phase: str, plan: Plan) -> PhasePlan:
    """The plan as data (E70)."""
    return PhasePlan(
        phase_number=layout.phase_number(phase),
        phase_name=phase,
        description=_said_below(plan, "overview"),
        objectives=_listed_below(plan, "objectives"),
        tasks=tuple(
            PlanTask(
                id=one.id, description=one.title, status=one.status, assigned_agent=one.agent,
                dependencies=one.dependencies, artifacts=one.artifacts,
            )
            for one in plan.tasks
        ),
        dependencies=_listed_below(plan, "dependencies"),
        actual_lines=len(plan.lines),
        status=phase_status(plan.tasks),
    )  # fmt: skip


def _said_below(plan: Plan, title: str) -> str:
    heading = _heading(plan, title)
    if heading is None:
        return ""
    inner = next((one.line for one in plan.headings if heading.line < one.line < heading.end), heading.end)
    return " ".join(" ".join(plan.lines[heading.body : inner]).split())[:2000]


def _listed_below(plan: Plan, title: str) -> tuple[str, ...]:
    heading = _heading(plan, title)
    if heading is None:
        return ()
    lines = [line.strip() for line in plan.lines[heading.body : heading.end]]
    said = [line[2:].strip() for line in lines if line[:2] in ("- ", "* ", "+ ")]
    return tuple(line[:2000] for line in said if line.strip(SIGNS).lower() not in NOTHING)


def _heading(plan: Plan, title: str) -> Heading | None:
    inside = [(one.line, one.end) for one in plan.tasks if not one.is_box]
    return next(
        (
            one
            for one in plan.headings
            if bare(one.text).lower() == title and not any(begin < one.line < end for begin, end in inside)
        ),
        None,
    )
