"""The links to the shims: one socket each, and what crosses it."""
