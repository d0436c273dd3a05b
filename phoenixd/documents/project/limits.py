"""Whether the plans and contexts of a project keep within their limit (E68), and what is planned where one does not."""

from __future__ import annotations

import shlex

from phoenixd.core.spec import PhaseRules
from phoenixd.documents.project.reading import line_count
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

MOST_FILES, MOST_BYTES = 1000, 16 << 20
"""Of all the plans and contexts of a project that a look each minute reads."""
MOST_TIMES = 10
"""Times its limit that a plan may be long, and its split be planned by the daemon, each time that the plan changes."""


def too_long(tree: Tree, rules: PhaseRules, workspace: str, now: str) -> tuple[str, ...]:
    """A sentence for each file that is too long, or cannot be read, in the order of the phases. now: RFC 3339."""
    told = []
    unread = {one.path: one for one in tree.unread}
    where = f"--project {tree.project} --workspace {shlex.quote(workspace)}"
    for phase in tree.phases:
        plan = tree.paths.plan(phase)
        for path in (plan, tree.paths.context(phase)):
            if path in unread:
                told.append(f"{path} was not read: {unread[path].why}; {unread[path].remedy}")
            if (count := line_count(tree.files.get(path, b""))) <= rules.max_lines:
                continue
            summarise = f"phoenixctl phase summarise {phase} {where}"
            if path != plan:
                planned = f"shorten it: {summarise}"
            elif count > MOST_TIMES * rules.max_lines:
                planned = f"so long a plan's split is planned by its verb alone: phoenixctl phase split {phase} {where}"
            else:
                planned = _split(tree, phase, rules, where, now)
            told.append(f"{path} has {count} lines, and {rules.max_lines} are the most; {planned}")
    return tuple(told)


def _split(tree: Tree, phase: str, rules: PhaseRules, where: str, now: str) -> str:
    """The split that is planned, or why there can be none."""
    try:
        parts = ", ".join(split(tree, phase, rules, now).told[1:-1])
    except BadProject as error:
        return f"it cannot be split: {error.message}; {error.remedy}"
    when = "the next handoff splits it" if rules.auto_split else "no handoff splits it"
    return f"{when} ({parts}); at once: phoenixctl phase split {phase} {where}"
