"""An agent's papers: state.json, the brief, the logs of what was done and resolved, its breaker's file."""
