"""What a run is at: is a turn open, what was heard of it, which calls are in flight, and when is silence a hang."""
