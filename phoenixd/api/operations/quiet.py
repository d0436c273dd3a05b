"""What keeps the noise down: mutes, alerts that were seen, and how far an operator has looked."""

from __future__ import annotations

from phoenixd.api.operations.operation import NAME_PATTERN, Operation, Parameter
from phoenixd.api.operations.parameters import CHOSEN, TEXT_FORM

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
LONG = Parameter("for", "body", "duration", "for how long, 7d at most", flag="--for", default="1h")
NUMBER = Parameter(
    "id", "path", "string", "the number that inbox shows", required=True, pattern=NAME_PATTERN, names="items",
    shape="a number such as 7", listed="phoenixctl inbox",
)

QUIET: tuple[Operation, ...] = (
    Operation(
        "mute_agent", ("mute",), "Tell nobody of agents' alerts for a time; they stand all the same, and are counted",
        (*CHOSEN, LONG, *TEXT_FORM), method="POST", path="/v1/agents/{name}/mute", rights="operate", response="Outcome",
    ),
    Operation(
        "unmute_agent", ("unmute",), "Tell of agents' alerts again, and of what was held back and still stands",
        (*CHOSEN, *TEXT_FORM), method="POST", path="/v1/agents/{name}/unmute", rights="operate", response="Outcome",
    ),
    Operation(
        "ack_alert", ("ack",), "Say that you have seen an alert: it is shown apart, until it ends and returns",
        (NUMBER, *TEXT_FORM), method="POST", path="/v1/alerts/{id}/ack", rights="operate", response="Message",
    ),
    Operation(
        "looked", ("looked",), "Say that you have seen all up to now: status and since last begin there",
        (
            Parameter(
                "upto", "body", "string",
                "not up to now, but up to this row of the journal, or to the cursor of an answer",
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/looked", response="Looked",
    ),
)
# fmt: on
