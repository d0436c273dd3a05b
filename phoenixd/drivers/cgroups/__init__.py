"""Control groups: a leaf for each run, and what the kernel counts there."""
