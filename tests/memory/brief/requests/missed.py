"""Requests that the brief lists otherwise than their author said, and why."""

WORDS = (
    "ruling: a request is over once its turn ended well; whether the answer in words was a question, a promise, a "
    "refusal or a part of what was asked is not seen (design section 8: never on words of one language), and the last "
    "words show it"
)
STOPPED = "ruling: a request that the person stopped is open until the person asks something else"
NO_WORK = "a turn that the daemon had go on closes the request also where no call was made in it"
BACKGROUND = (
    "the player has no jobs in the background: what had died with the process would be listed, and not the request"
)

MISSED: dict[str, str] = {
    "req-03": STOPPED,
    "req-05": WORDS,
    "req-06": WORDS,
    "req-08": NO_WORK,
    "req-09": WORDS,
    "req-14": WORDS,
    "req-18": BACKGROUND,
    "req-24": WORDS,
}
