"""Acknowledgements that are answered otherwise than their author said, and why."""

FILE = (
    "finding: an ack is taken by the command, or at the end of an answer, as the successor is told; a file "
    "handoff-ack.json is read by nobody, though E47 names it"
)

MISSED: dict[str, str] = {
    "ack-02": FILE,
    "ack-05": (
        "ruling: who speaks is known by its run; what an ack says beyond what is asked for, such as a generation, is "
        "not compared"
    ),
    "ack-11": "ruling: a second ack is refused as one that nothing waits for; it changes nothing",
    "ack-16": FILE,
}
