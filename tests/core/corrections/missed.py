"""Corrections that are answered otherwise than their author said, and why."""

MISSED: dict[str, str] = {
    "COR-10": "ruling: another prompt ends no crash loop, for it is no key of the start",
    "COR-12": "ruling: of runs that had nothing to show it is not kept which limit ended each",
    "COR-19": "ruling: a breaker that is reset starts nothing; `start` re-arms it",
}
