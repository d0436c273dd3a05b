"""What fails, why, what was done about it, and whether that helped (seed C)."""
