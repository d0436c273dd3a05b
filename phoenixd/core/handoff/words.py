"""What agents are told of a handoff. Facts and no percentages: an agent is not to manage its own context (X1)."""

FINISH = (
    "phoenixd hands this project over to a fresh session now. Finish the step that you are at, and begin nothing new. "
    "Then write down, as your last answer, what only you know: decisions and their reasons, what you tried in vain, "
    "and what is half done. Do not start tasks or background work; whatever is open is kept for your successor."
)

BEGIN_NOTHING = (
    "phoenixd is handing this project over to a fresh session: no new work may begin here. Finish what you are at, and "
    "say in your last answer what your successor has to know."
)

HANDS_OFF = (
    "phoenixd has handed this project over to a fresh session, and what you changed now would be lost to it. Use no "
    "tools; answer in words what is asked of you."
)

NOT_SHORTENED = (
    "phoenixd hands this project over to a fresh session before the context is full. Until then nothing is shortened."
)

CALLED_OFF = "phoenixd has called the handover of this project off. Go on with your work as before."

REMINDER = (
    "phoenixd has no acknowledgement of the handover from you yet. Read your handoff package as your first prompt "
    "says, and run phoenixctl handoff ack as it is told there, or end your answer in the line HANDOFF-ACK JSON, or "
    "write handoff-ack.json."
)

READ_AGAIN = (
    "phoenixd has written your handoff package again: what it said before is not what stands in the project now. Read "
    "it again as your first prompt says, and acknowledge it as it is now: run phoenixctl handoff ack, or end your "
    "answer in the line HANDOFF-ACK JSON, or write handoff-ack.json anew."
)

FILE_REFUSED = "phoenixd refused your handoff-ack.json: "
"""How the word begins of a file that acknowledges a package and was not believed."""

ADDENDUM = "phoenixd: after your handoff package was written, "
"""How the word begins of what came too late for a package."""


KNOWN = {
    FINISH: "the word to finish for its handoff",
    CALLED_OFF: "word that its handoff is called off",
    REMINDER: "the word to acknowledge its package",
    READ_AGAIN: "the word to read its package again",
}


def file_refused(why: str) -> str:
    """The word that a file that acknowledges was not believed, and what is to be done."""
    return f"{FILE_REFUSED}{why}. Read your handoff package again as your first prompt says, and write that file anew."


def is_ours(prompt: str) -> bool:
    """Whether a prompt is one of these words, and no person's or agent's own."""
    return prompt.startswith((ADDENDUM, FILE_REFUSED)) or prompt.strip() in KNOWN


def what(prompt: str) -> str:
    """Which of these words a prompt is."""
    if prompt.startswith(FILE_REFUSED):
        return "word that its handoff-ack.json was refused"
    return KNOWN.get(prompt.strip(), "word of what came too late for its package")
