"""Runs that end by asking for the next one (exit 100 or 101): what follows where that goes on and changes nothing."""
