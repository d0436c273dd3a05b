"""Whether the plans and contexts of a project keep within their limit (E68), and what is planned where one does not."""

from __future__ import annotations

import shlex

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project.reading import line_count
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

MOST_FILES, MOST_BYTES = 1000, 16 << 20
"""Of all the plans and contexts of a project that a look each minute reads."""
MOST_TIMES = 10
"""Times its limit that a plan may be long, and its split be planned by the daemon, each time that the plan changes."""

MOST_PARTS = 5
"""Of a planned split that are told; an alert has room for so much, and the command comes first."""


def too_long(tree: Tree, rules: PhaseRules, workspace: str, now: str) -> tuple[str, ...]:
    """A sentence for each file that is too long, or cannot be read, in the order of the phases. now: RFC 3339."""
    told, most = [], rules.max_lines
    unread = {one.path: one for one in tree.unread}
    where = f"--project {tree.project} --workspace {shlex.quote(workspace)}"
    for phase in tree.phases:
        plan = tree.paths.plan(phase)
        for path in (plan, tree.paths.context(phase)):
            if path in unread:
                told.append(f"{path} was not read: {unread[path].why}; {unread[path].remedy}")
            if (count := line_count(tree.files.get(path, b""))) <= most:
                continue
            at_once = f"phoenixctl phase {'split' if path == plan else 'summarise'} {phase} {where}"
            planned = (
                _split(tree, phase, rules, at_once, now) if path == plan and count <= MOST_TIMES * most else at_once
            )
            told.append(f"{path} has {count} lines, and {most} are the most: {planned}")
    return tuple(told)


def _split(tree: Tree, phase: str, rules: PhaseRules, at_once: str, now: str) -> str:
    """The command, and the split that is planned; or why there can be none."""
    try:
        parts = split(tree, phase, rules, now).told[1:-1]
    except BadProject as error:
        return f"it cannot be split: {error.message}; {error.remedy}"
    when = "the next handoff splits it" if rules.auto_split else "no handoff splits it"
    more = (f"and {len(parts) - MOST_PARTS} more",) if len(parts) > MOST_PARTS else ()
    return f"{at_once}; {when} ({', '.join((*parts[:MOST_PARTS], *more))})"
