"""How the rules of triage do on failures that were recorded from the real CLIs."""
