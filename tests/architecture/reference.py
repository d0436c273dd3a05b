"""docs/reference/phoenixctl.md, drawn from the table of operations by `-m tests.architecture.reference`."""

from __future__ import annotations

from pathlib import Path

from phoenixd.api.operations import OPERATIONS
from phoenixd.api.operations.operation import Operation, Parameter

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/phoenixctl.md"
HEAD = """\
# phoenixctl

Drawn from the table of operations; every verb takes `--socket PATH`, and those that show something take `--json`.

| exit code | means |
|---|---|
| 0 | ok |
| 1 | failed |
| 2 | usage |
| 3 | the condition is true (`status NAME`: it is not running; `brief check`: not to be relied on; \
`tokens check`: a handoff is due; `phase check`: something is wrong; `task status ID`: it failed or was canceled; \
`resonance status NAME`, `resonance check NAME --wait`: its marker is missed, lost or being restored; \
`breaker show`: it is OPEN; \
`doctor`: something needs repair) |
| 4 | not found |
| 5 | denied |
| 6 | conflict: the present state does not allow it (`wait`: it takes a person first; \
`up`: a different daemon runs there) |
| 7 | the daemon is not reachable |
| 8 | timed out |

| verb | does | HTTP |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    rows = [_row(operation) for operation in OPERATIONS if operation.words]
    return HEAD + "\n".join(rows) + "\n"


def _row(operation: Operation) -> str:
    words = " ".join(operation.words)
    shown = [_shown(parameter) for parameter in operation.parameters if not parameter.hidden]
    usage = " ".join([words, *filter(None, shown)])
    route = f"`{operation.method} {operation.path}`" if operation.path else ""
    return f"| `{usage}` | {operation.summary} | {route} |"


def _shown(parameter: Parameter) -> str:
    is_argv = parameter.type == "strings"
    if parameter.type == "words":
        return f"[{parameter.name.upper()}...]"
    if parameter.flag is None:
        spelled = "-- ARGV..." if is_argv else parameter.name.upper()
        return spelled if parameter.required else f"[{spelled}]"
    spelled = parameter.flag if parameter.type == "boolean" else f"{parameter.flag} {parameter.metavar}"
    return spelled if parameter.required else f"[{spelled}]"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
