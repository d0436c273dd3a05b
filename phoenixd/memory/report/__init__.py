"""An agent's report held against facts. Pure, but for `verification.py`, which asks for the facts."""
