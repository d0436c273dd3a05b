"""Tasks: work that somebody hands to a worker of its own, queued, run, collected and told (E53 to E59)."""
