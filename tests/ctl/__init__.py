"""phoenixctl as people run it: a process, its exit code, its two outputs."""
