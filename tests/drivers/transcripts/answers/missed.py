"""Answers that are told otherwise than their author said, and why."""

MISSED: dict[str, str] = {
    "answer-02": (
        "ruling: where the call that asks is not known, a record that is older than the answer tells nothing of it; "
        "which calls were open then is not read"
    ),
    "answer-03": (
        "known: where the call that asks is not known, the first call that a hook's answer settles afterwards is taken "
        "for it; that another one was open as well is not read"
    ),
    "second-09": (
        "ruling: unknown, where a call failed with the words of the denial and no record says that it was denied: of a "
        "CLI that writes no such record each denial would be told as one that came too late"
    ),
}
