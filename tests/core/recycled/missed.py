"""Recycled runs that are stopped, or go on, otherwise than their author said, and why."""

MISSED: dict[str, str] = {
    "person-in-the-middle": (
        "a round in which a person asked for something is not counted, and the count goes on behind it; the author has "
        "the person's word set it to 0"
    ),
}
