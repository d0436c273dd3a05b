"""tmux: the terminal of all agents, its server, its panes, and text that goes in and out."""
