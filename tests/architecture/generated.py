"""What the documentation takes from the code's tables; `python -m tests.architecture.generated` writes it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from phoenixd.clinic import states
from phoenixd.core import alert_kinds, hearing, hooks
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.typing import machine

ROOT = Path(__file__).parents[2]


def alerts() -> str:
    """The table of docs/how-to/get-told.md; neighbours with the same sentences share a row."""
    return "\n".join(("| kind | raised when | over when |", "|---|---|---|", *_alert_rows()))


def _alert_rows() -> Iterator[str]:
    for (raised, over), kinds in groupby(alert_kinds.TABLE, key=lambda kind: (kind.raised, kind.over)):
        yield f"| {', '.join(f'`{kind.name}`' for kind in kinds)} | {raised} | {over} |"


def hearing_table() -> str:
    """Which parts hear which event, in order; events with the same row share a line."""
    lines = ["| event | the agent's parts, in order | the fleet's parts, in order |", "|---|---|---|"]
    for row, kinds in groupby(hearing.TABLE, key=lambda kind: hearing.TABLE[kind]):
        own = [name_of(part) for one in row if isinstance(one, tuple) for part in one]
        lines.append(f"| {_listed(kind.__name__ for kind in kinds)} | {_listed(own)} | {_listed(_fleets(row))} |")
    return "\n".join(lines)


def _fleets(row: hearing.Row) -> Iterator[str]:
    has_own = any(isinstance(one, tuple) for one in row)
    for at, one in enumerate(row):
        if isinstance(one, tuple):
            continue
        # What is asked before the agent's own parts are is marked, because the rest comes after them.
        is_first = has_own and any(isinstance(later, tuple) for later in row[at + 1 :])
        yield f"{name_of(one)}` (first)`" if is_first else name_of(one)


def hearing_parts() -> str:
    """What each part does: the first sentence of its docstring."""
    parts = {
        part for row in hearing.TABLE.values() for one in row for part in (one if isinstance(one, tuple) else (one,))
    }
    lines = (f"| `{name_of(part)}` | {_first_sentence(part)} |" for part in sorted(parts, key=name_of))
    return "\n".join(("| part | does |", "|---|---|", *lines))


def typing_steps() -> str:
    """What a text waits for at each step, and the rule that judges a look there: the first sentences of both."""
    lines = (
        f"| `{step.__name__}` | {_first_sentence(step)} | `{name_of(rule)}` | {_first_sentence(rule)} |"
        for step, rule in machine.HEARS.items()
    )
    return "\n".join(("| step | where the text is | rule | what it does |", "|---|---|---|---|", *lines))


def diagram(kind: type) -> Callable[[], str]:
    """The way of one event through its row."""

    def drawn() -> str:
        own, lines = 0, ["```mermaid", "flowchart LR", f"  event([{kind.__name__}])"]
        before = "event"
        for one in hearing.TABLE[kind]:
            for part in one if isinstance(one, tuple) else (one,):
                own += 1
                box = f"[{name_of(part)}]" if isinstance(one, tuple) else f"[[{name_of(part)}]]"
                lines.append(f"  {before} --> p{own}{box}")
                before = f"p{own}"
        return "\n".join((*lines, "```"))

    return drawn


def name_of(part: Callable[..., object]) -> str:
    """Where in the core it stands: two rooms may both have a `parts.hear`."""
    return f"{part.__module__.removeprefix('phoenixd.core.')}.{part.__name__}"


def run_states() -> str:
    """The states of a run that the clinic goes around."""
    lines = ["```mermaid", "stateDiagram-v2", f"  [*] --> {states.BEGINS}"]
    lines += [f"  {before} --> {then}: {turn}" for (before, turn), then in states.TRANSITIONS.items()]
    lines += [f"  {state} --> [*]" for state in states.ENDS]
    return "\n".join((*lines, "```"))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names).replace("` (first)``", "` (first)")


def _first_sentence(part: Callable[..., object]) -> str:
    return " ".join((part.__doc__ or "").split("\n\n")[0].split()).replace("|", "\\|")


STATES = "docs/reference/states.md"
PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/how-to/get-told.md", "| kind | raised when"): alerts,
    ("docs/how-to/heal-failed-runs.md", "```mermaid\nstateDiagram-v2"): run_states,
    (STATES, "| event | the agent's parts"): hearing_table,
    (STATES, "| part | does"): hearing_parts,
    (STATES, "| step | where the text is"): typing_steps,
    (STATES, "```mermaid\nflowchart LR\n  event([ToolStarted])"): diagram(hooks.ToolStarted),
    (STATES, "```mermaid\nflowchart LR\n  event([TurnEnded])"): diagram(hooks.TurnEnded),
    (STATES, "```mermaid\nflowchart LR\n  event([AgentExited])"): diagram(AgentExited),
    (STATES, "```mermaid\nflowchart LR\n  event([StopRequested])"): diagram(StopRequested),
}
"""The page and the beginning of each part, which goes on to the next empty line."""


def rewritten(page: str, begins: str, text: str) -> str:
    """The page with that part put in place."""
    head, _, rest = page.partition(begins)
    return head + text + rest[rest.index("\n\n") :]


if __name__ == "__main__":
    for (name, begins), make in PARTS.items():
        path = ROOT / name
        path.write_text(rewritten(path.read_text(encoding="utf-8"), begins, make()), encoding="utf-8")
