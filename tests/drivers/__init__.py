"""The drivers against the real outside: tmux on private sockets, real processes, real files."""
