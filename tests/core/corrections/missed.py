"""The cases that come out otherwise than their author said; README.md says why."""

MISSED = frozenset({"COR-10", "COR-12", "COR-19"})
