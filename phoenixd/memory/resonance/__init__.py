"""An agent's marker on disk, and what its sessions are told of it."""
