"""Ends that are decided otherwise than their author said, and why."""

MISSED: dict[str, str] = {
    "end-11": (
        "the player takes the sentence of Codex with the words around it, and has no host's time zone; of the "
        "sentence alone, in that zone, the daemon waits until the time that the author names"
    ),
    "end-20": "ruling: exit 0 too early is a failed start, which counts as a crash; the fifth within 30 min gives up",
    "end-24": "ruling: a session is too old to be resumed by when it was last active, and not by when it began",
}
