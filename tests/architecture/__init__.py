"""Rules about the code itself: who may import whom, and whether the documentation tells the truth."""
