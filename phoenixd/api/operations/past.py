"""What an agent did and used, and how what waited for a person ended."""

from __future__ import annotations

from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.api.operations.parameters import NAME, SELECT, TEXT_FORM


# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
def most(what: str, default: int, maximum: int = 1000, flag: str | None = None) -> Parameter:
    return Parameter(
        "limit", "query", "integer", f"this many {what} at most", default=default, minimum=1, maximum=maximum,
        flag=flag, hidden=flag is None,
    )


PAST: tuple[Operation, ...] = (
    Operation(
        "list_items", (), "What waits for a person, or what waited within 7 days: by whom and how it ended",
        (
            Parameter(
                "state", "query", "string", "open: what waits; closed: what waited", default="open",
                choices=("open", "closed"),
            ),
            Parameter("item", "query", "integer", "only the one of this number, in full", minimum=1),
            Parameter(
                "numbers", "query", "string", "only those of these numbers, with commas: 7,8",
                pattern=r"[0-9]{1,15}(,[0-9]{1,15}){0,99}", shape="up to 100 numbers with commas, such as 7,8",
            ),
            SELECT, most("of them, the newest", 200), *TEXT_FORM,
        ),
        path="/v1/items", response="Items",
    ),
    Operation(
        "show_usage", (), "How full an agent's context was: samples of 30 days, the oldest first",
        (
            NAME, Parameter("since", "query", "string", "from then on: 8h, 18:00, yesterday, a date"),
            most("samples, the newest", 1000, 10_000),
        ),
        path="/v1/agents/{name}/usage", response="Usage", text=False,
    ),
    Operation(
        "list_turns", ("turns",), "An agent's turns out of its transcript: prompt, tools and tokens of each",
        (NAME, most("turns, the newest", 20, flag="--limit"), *TEXT_FORM), path="/v1/agents/{name}/turns",
        response="Turns",
    ),
    Operation(
        "read_screen", (), "What an agent's terminal shows now, with its colours where ansi=1; looking changes nothing",
        (
            NAME, Parameter("ansi", "query", "boolean", "with colours, as SGR sequences and no others", default=False),
            Parameter("lines", "query", "integer", "only the last N", minimum=1, maximum=10_000),
        ),
        path="/v1/agents/{name}/screen", response="Screen", text=False,
    ),
)
# fmt: on
