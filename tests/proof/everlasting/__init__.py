"""`./dev proof everlasting`: handoffs of a whole daemon, by a real Claude Code and by programs, kill -9 among them."""
