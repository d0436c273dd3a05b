"""What an agent is told of the background jobs that ended with its process."""

from __future__ import annotations

from phoenixd.core.agent.activity import LostJobs
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.times import timestamp

LIMIT = 1200
"""Characters of all jobs together; they are the agent's own words."""


def lost_jobs_sentence(lost: LostJobs) -> str:
    """The fact and the remedy, in two sentences."""
    jobs = one_line("; ".join(lost.jobs), LIMIT).rstrip(".")
    return (
        f"Background jobs and wake-ups ended with run {lost.incarnation} at {timestamp(lost.at_wall)}, and none of "
        f"them runs any more: {jobs}. Begin again what is still needed."
    )
