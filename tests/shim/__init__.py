"""The shim for real: a process on a terminal of its own, driven over its link as the daemon does it."""
