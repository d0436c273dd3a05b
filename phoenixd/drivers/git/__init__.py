"""git: how an agent's work looks, read so that nothing of the repository's can run."""
