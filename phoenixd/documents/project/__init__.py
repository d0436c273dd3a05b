"""A project on disk: phases with plan.md, claude.md and artifacts, the orchestrator's state, sessions and packages."""
