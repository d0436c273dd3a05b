"""Texts of which a secret is left, or that lost what is none, and why."""

MISSED: dict[str, str] = {
    "redact-21": "known: what a vendor's page calls an example has the mark of a secret, and is taken out like one",
    "redact-29": "known: what begins as a token does is taken for one also in a data address",
    "redact-36": "known: a digest behind a name with `key` in it is taken for a key; only people know which is which",
}
