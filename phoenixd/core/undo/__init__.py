"""What operators did that can be taken back: how it was before, and the way back to it."""
