"""Acknowledgements that are answered otherwise than their author said, and why."""

MISSED: dict[str, str] = {
    "ack-05": (
        "ruling: who speaks is known by its run; what an ack says beyond what is asked for, such as a generation, is "
        "not compared"
    ),
    "ack-11": "ruling: a second ack is refused as one that nothing waits for; it changes nothing",
}
