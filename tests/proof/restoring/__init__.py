"""kill -9 of the daemon at each of the seven steps of a restoration."""
